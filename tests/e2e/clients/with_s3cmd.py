"""s3cmd: paths with a slash after the bucket, access lists asked before copies, SigV2 in presigned URLs."""

NAME = "s3cmd 2.3.0"
ENVIRONMENT = "system"
NOT_OFFERED = {"get_range": "can only go on with a partial file"}
IMPORTS = ("S3.S3", "S3.FileLists")


def s3cmd(box, *words, **options):
    file = box.write(
        "s3cfg",
        f"""[default]
access_key = {box.access_key}
secret_key = {box.secret_key}
host_base = {box.address}
host_bucket = {box.address}
use_https = False
max_retries = 1
""",
    )
    return box.run("s3cmd", "--config", file, "--no-progress", *words, imports=IMPORTS, **options)


def repositories(box):
    return [line.split("s3://")[1] for line in s3cmd(box, "ls").decode().splitlines()]


def make_bucket(box, name):
    s3cmd(box, "mb", f"s3://{name}")


def remove_bucket(box, name):
    s3cmd(box, "rb", f"s3://{name}")


def put(box, files):
    s3cmd(box, "put", "--recursive", f"{box.tree(files)}/", f"s3://{box.repo}/")


def get(box, files):
    box.spread(files, lambda prefix, directory: s3cmd(box, "get", "--recursive", f"s3://{box.repo}/{prefix}", f"{directory}/"))


def list_directory(box, prefix):
    lines = s3cmd(box, "ls", f"s3://{box.repo}/{prefix}").decode().splitlines()
    return [line.split(f"s3://{box.repo}/", 1)[1] for line in lines]


def list_all(box, prefix):
    lines = s3cmd(box, "ls", "--recursive", f"s3://{box.repo}/{prefix}").decode().splitlines()
    return [line.split(f"s3://{box.repo}/", 1)[1] for line in lines]


def rename(box, source, target):
    s3cmd(box, "mv", "--recursive", f"s3://{box.repo}/{source}", f"s3://{box.repo}/{target}")


def delete_directory(box, prefix):
    s3cmd(box, "rm", "--recursive", f"s3://{box.repo}/{prefix}")


def delete(box, keys):
    s3cmd(box, "rm", *(f"s3://{box.repo}/{key}" for key in keys))


def presign(box, key):
    return s3cmd(box, "signurl", f"s3://{box.repo}/{key}", "+3600").decode().strip()


def refused(box, key, path):
    return s3cmd(box, "put", path, f"s3://{box.repo}/{key}", fails=True).decode()


def also_copies_and_tells_about_an_object(box):
    s3cmd(box, "cp", f"s3://{box.repo}/main/small.txt", f"s3://{box.repo}/dev/copied.txt")
    said = s3cmd(box, "info", f"s3://{box.repo}/dev/copied.txt").decode()
    assert "File size: 100" in said and "FULL_CONTROL" in said, said


def also_tells_look_alikes_apart(box):
    def run(verb, source, target):
        s3cmd(box, verb, f"s3://{box.repo}/{source}", f"s3://{box.repo}/{target}")

    box.tells_look_alikes_apart(
        copy=lambda *keys: run("cp", *keys), move=lambda *keys: run("mv", *keys), sync=lambda *places: run("sync", *places)
    )
