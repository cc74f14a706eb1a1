"""aws-cli 1: today's checksums (CRC32 of everything), SigV2 in presigned URLs."""

import json
import os

NAME = "aws-cli 1.45.11"
ENVIRONMENT = "light"
TLS = ["put", "presign", "write_to_tag"]
IMPORTS = ("awscli.clidriver", "awscli.handlers", "awscli.customizations.s3.subcommands")


def aws(box, *words, **options):
    box.write(".aws/config", "[default]\ns3 =\n  addressing_style = path\n")
    return box.run("aws", "--endpoint-url", box.url, *words, imports=IMPORTS, **box.keys_in_environment(), **options)


def repositories(box):
    return [line.split()[-1] for line in aws(box, "s3", "ls").decode().splitlines()]


def make_bucket(box, name):
    aws(box, "s3", "mb", f"s3://{name}")


def remove_bucket(box, name):
    aws(box, "s3", "rb", f"s3://{name}")


def put(box, files):
    aws(box, "s3", "cp", "--recursive", "--only-show-errors", box.tree(files), f"s3://{box.repo}/")


def get(box, files):
    box.spread(
        files,
        lambda prefix, directory: aws(
            box, "s3", "cp", "--recursive", "--only-show-errors", f"s3://{box.repo}/{prefix}", directory
        ),
    )


def get_range(box, key, first, count):
    target = f"{box.scratch}/range"
    aws(box, "s3api", "get-object", "--bucket", box.repo, "--key", key, "--range", f"bytes={first}-{first + count - 1}", target)
    return open(target, "rb").read()


def list_directory(box, prefix):
    lines = aws(box, "s3", "ls", f"s3://{box.repo}/{prefix}").decode().splitlines()
    return [prefix + (line.split(None, 1)[1] if line.lstrip().startswith("PRE ") else line.split(None, 3)[3]) for line in lines]


def list_all(box, prefix):
    lines = aws(box, "s3", "ls", "--recursive", f"s3://{box.repo}/{prefix}").decode().splitlines()
    return [line.split(None, 3)[3] for line in lines]


def rename(box, source, target):
    aws(box, "s3", "mv", "--recursive", "--only-show-errors", f"s3://{box.repo}/{source}", f"s3://{box.repo}/{target}")


def delete_directory(box, prefix):
    aws(box, "s3", "rm", "--recursive", "--only-show-errors", f"s3://{box.repo}/{prefix}")


def delete(box, keys):
    for start in range(0, len(keys), 1000):
        file = box.write("delete.json", json.dumps({"Objects": [{"Key": key} for key in keys[start : start + 1000]]}))
        answer = json.loads(aws(box, "s3api", "delete-objects", "--bucket", box.repo, "--delete", f"file://{file}"))
        assert "Errors" not in answer


def presign(box, key):
    return aws(box, "s3", "presign", f"s3://{box.repo}/{key}").decode().strip()


def refused(box, key, path):
    said = aws(box, "s3", "cp", path, f"s3://{box.repo}/{key}", fails=True).decode()
    assert "An error occurred (MethodNotAllowed)" in said, said
    return said


def also_syncs_only_what_differs(box):
    tree = box.tree({"a.txt": box.write("a", "first"), "below/b.txt": box.write("b", "second")})
    for file in ("a.txt", "below/b.txt"):
        # Sync compares with times of whole seconds: what is younger than its copy by less would go again.
        os.utime(tree / file, (1_700_000_000, 1_700_000_000))
    words = ["s3", "sync", "--no-progress", tree, f"s3://{box.repo}/dev/synced"]
    assert aws(box, *words).count(b"upload:") == 2
    assert aws(box, *words) == b""
    (tree / "a.txt").write_text("first, but longer")
    assert aws(box, *words).count(b"upload:") == 1


def also_tells_look_alikes_apart(box):
    def run(verb, source, target):
        aws(box, "s3", verb, "--only-show-errors", f"s3://{box.repo}/{source}", f"s3://{box.repo}/{target}")

    box.tells_look_alikes_apart(
        copy=lambda *keys: run("cp", *keys), move=lambda *keys: run("mv", *keys), sync=lambda *places: run("sync", *places)
    )
