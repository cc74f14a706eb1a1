"""Verbs of both versions of rclone."""

import json


def configuration(box):
    return box.write(
        "rclone.conf",
        f"""[tarn]
type = s3
provider = Other
endpoint = {box.url}
region = us-east-1
access_key_id = {box.access_key}
secret_access_key = {box.secret_key}
force_path_style = true
""",
    )


def rclone(box, *words, **options):
    return box.run("rclone", "--config", configuration(box), "--retries", "1", "--low-level-retries", "2", *words, **options)


def repositories(box):
    return [line.rstrip("/") for line in rclone(box, "lsf", "tarn:").decode().splitlines()]


def make_bucket(box, name):
    rclone(box, "mkdir", f"tarn:{name}")


def remove_bucket(box, name):
    rclone(box, "rmdir", f"tarn:{name}")


def put(box, files):
    rclone(box, "copy", box.tree(files), f"tarn:{box.repo}")


def get(box, files):
    box.spread(files, lambda prefix, directory: rclone(box, "copy", f"tarn:{box.repo}/{prefix}", directory))


def get_range(box, key, first, count):
    return rclone(box, "cat", "--offset", first, "--count", count, f"tarn:{box.repo}/{key}")


def list_directory(box, prefix):
    return [prefix + line for line in rclone(box, "lsf", f"tarn:{box.repo}/{prefix}").decode().splitlines()]


def list_all(box, prefix):
    return list(sizes(box, prefix))


def sizes(box, prefix):
    found = json.loads(rclone(box, "lsjson", "--recursive", "--files-only", f"tarn:{box.repo}/{prefix}"))
    return {prefix + entry["Path"]: entry["Size"] for entry in found}


def rename(box, source, target):
    rclone(box, "moveto", f"tarn:{box.repo}/{source}", f"tarn:{box.repo}/{target}")


def delete_directory(box, prefix):
    rclone(box, "purge", f"tarn:{box.repo}/{prefix}")


def delete(box, keys):
    branch = keys[0].partition("/")[0]
    names = box.write("delete.txt", "".join(key.partition("/")[2] + "\n" for key in keys))
    rclone(box, "delete", "--files-from-raw", names, "--no-traverse", f"tarn:{box.repo}/{branch}")


def presign(box, key):
    return rclone(box, "link", "--expire", "1h", f"tarn:{box.repo}/{key}").decode().strip()


def refused(box, key, path):
    said = rclone(box, "copyto", path, f"tarn:{box.repo}/{key}", fails=True).decode()
    assert "MethodNotAllowed" in said, said
    return said


def also_checks_and_syncs(box):
    """`check` compares the ETag of multipart objects too, by the md5 that rclone puts beside it."""
    tree = box.tree({"a.txt": box.write("a", "first"), "below/b.txt": box.write("b", "second")})
    (tree / "large.bin").write_bytes(bytes(range(256)) * (1 << 13))
    target = f"tarn:{box.repo}/dev/synced"
    rclone(box, "sync", "--s3-upload-cutoff", "1M", "--s3-chunk-size", "5M", tree, target)
    rclone(box, "check", tree, target)
    (tree / "a.txt").write_text("changed")
    assert b"1 differences found" in rclone(box, "check", tree, target, fails=True)
    (tree / "below/b.txt").unlink()
    rclone(box, "sync", tree, target)
    assert sorted(list_all(box, "dev/synced/")) == ["dev/synced/a.txt", "dev/synced/large.bin"]
    rclone(box, "check", "--download", tree, target)


def also_tells_look_alikes_apart(box):
    def run(verb, source, target):
        rclone(box, verb, f"tarn:{box.repo}/{source}", f"tarn:{box.repo}/{target}")

    box.tells_look_alikes_apart(
        copy=lambda *keys: run("copyto", *keys),
        move=lambda *keys: run("moveto", *keys),
        sync=lambda *places: run("sync", *places),
    )
