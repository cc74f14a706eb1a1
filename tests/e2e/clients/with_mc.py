"""mc, MinIO's command: bodies in signed chunks, checksums inside them."""

import json
import os

NAME = "mc 20250313080218"
ENVIRONMENT = "mc"
QUIET = "says of every MethodNotAllowed that the object exists already, and keeps the server's message to itself"


def mc(box, *words, **options):
    folder = f"{box.scratch}/mc"
    if not os.path.exists(f"{folder}/config.json"):
        box.run(
            "mc",
            "--config-dir",
            folder,
            "alias",
            "set",
            "tarn",
            box.url,
            box.access_key,
            box.secret_key,
            "--api",
            "s3v4",
            "--path",
            "on",
        )
    return box.run("mc", "--config-dir", folder, *words, **options)


def entries(box, *words):
    return [json.loads(line)["key"] for line in mc(box, "--json", "ls", *words).decode().splitlines()]


def repositories(box):
    return [name.rstrip("/") for name in entries(box, "tarn")]


def make_bucket(box, name):
    mc(box, "mb", f"tarn/{name}")


def remove_bucket(box, name):
    mc(box, "rb", f"tarn/{name}")


def put(box, files):
    mc(box, "cp", "--recursive", "--quiet", f"{box.tree(files)}/", f"tarn/{box.repo}/")


def get(box, files):
    box.spread(
        files, lambda prefix, directory: mc(box, "cp", "--recursive", "--quiet", f"tarn/{box.repo}/{prefix}", f"{directory}/")
    )


def get_range(box, key, first, count):
    return mc(box, "cat", "--offset", first, f"tarn/{box.repo}/{key}")[:count]


def list_directory(box, prefix):
    return [prefix + name for name in entries(box, f"tarn/{box.repo}/{prefix}")]


def list_all(box, prefix):
    return [prefix + name for name in entries(box, "--recursive", f"tarn/{box.repo}/{prefix}")]


def rename(box, source, target):
    mc(box, "mv", "--recursive", "--quiet", f"tarn/{box.repo}/{source}", f"tarn/{box.repo}/{target}")


def delete_directory(box, prefix):
    mc(box, "rm", "--recursive", "--force", f"tarn/{box.repo}/{prefix}")


def delete(box, keys):
    mc(box, "rm", "--force", "--stdin", stdin="".join(f"tarn/{box.repo}/{key}\n" for key in keys).encode())


def presign(box, key):
    return json.loads(mc(box, "--json", "share", "download", f"tarn/{box.repo}/{key}"))["share"]


def refused(box, key, path):
    return mc(box, "cp", "--quiet", path, f"tarn/{box.repo}/{key}", fails=True).decode()


def also_mirrors(box):
    tree = box.tree({"a.txt": box.write("a", "first"), "below/b.txt": box.write("b", "second")})
    mc(box, "mirror", "--quiet", tree, f"tarn/{box.repo}/dev/mirrored")
    assert sorted(list_all(box, "dev/mirrored/")) == ["dev/mirrored/a.txt", "dev/mirrored/below/b.txt"]
    (tree / "a.txt").unlink()
    mc(box, "mirror", "--quiet", "--remove", tree, f"tarn/{box.repo}/dev/mirrored")
    assert list_all(box, "dev/mirrored/") == ["dev/mirrored/below/b.txt"]


def also_tells_look_alikes_apart(box):
    def run(verb, source, target):
        mc(box, verb, "--quiet", f"tarn/{box.repo}/{source}", f"tarn/{box.repo}/{target}")

    box.tells_look_alikes_apart(
        copy=lambda *keys: run("cp", *keys), move=lambda *keys: run("mv", *keys), sync=lambda *places: run("mirror", *places)
    )
