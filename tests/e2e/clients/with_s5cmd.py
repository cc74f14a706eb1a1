"""s5cmd (AWS's SDK for Go, first generation): Content-MD5 everywhere, ranged reads of every object."""

NAME = "s5cmd 0.3.3"
ENVIRONMENT = "light"
NOT_OFFERED = {"get_range": "copies and prints whole objects"}


def s5cmd(box, *words, **options):
    return box.run("s5cmd", "--endpoint-url", box.url, "--retry-count", "1", *words, **box.keys_in_environment(), **options)


def repositories(box):
    return [line.split("s3://")[1] for line in s5cmd(box, "ls").decode().splitlines()]


def make_bucket(box, name):
    s5cmd(box, "mb", f"s3://{name}")


def remove_bucket(box, name):
    s5cmd(box, "rb", f"s3://{name}")


def put(box, files):
    s5cmd(box, "cp", f"{box.tree(files)}/", f"s3://{box.repo}/")


def get(box, files):
    box.spread(files, lambda prefix, directory: s5cmd(box, "cp", f"s3://{box.repo}/{prefix}*", f"{directory}/"))


def list_directory(box, prefix):
    lines = s5cmd(box, "ls", f"s3://{box.repo}/{prefix}").decode().splitlines()
    return [prefix + (line.split(None, 1)[1] if line.lstrip().startswith("DIR ") else line.split(None, 3)[3]) for line in lines]


def list_all(box, prefix):
    lines = s5cmd(box, "ls", "--show-fullpath", f"s3://{box.repo}/{prefix}*").decode().splitlines()
    return [line.removeprefix(f"s3://{box.repo}/") for line in lines]


def rename(box, source, target):
    s5cmd(box, "mv", f"s3://{box.repo}/{source}*", f"s3://{box.repo}/{target}")


def delete_directory(box, prefix):
    s5cmd(box, "rm", f"s3://{box.repo}/{prefix}*")


def delete(box, keys):
    s5cmd(box, "rm", *(f"s3://{box.repo}/{key}" for key in keys))


def presign(box, key):
    return s5cmd(box, "presign", f"s3://{box.repo}/{key}").decode().strip()


def refused(box, key, path):
    said = s5cmd(box, "cp", path, f"s3://{box.repo}/{key}", fails=True).decode()
    assert "MethodNotAllowed" in said, said
    return said


def also_tells_look_alikes_apart(box):
    def run(verb, source, target):
        s5cmd(box, verb, f"s3://{box.repo}/{source}", f"s3://{box.repo}/{target}")

    box.tells_look_alikes_apart(
        copy=lambda *keys: run("cp", *keys),
        move=lambda *keys: run("mv", *keys),
        sync=lambda source, target: run("sync", source + "*", target),
    )
