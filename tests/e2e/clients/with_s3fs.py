"""s3fs, the file system that fsspec, pandas, dask and others use."""

import functools

import s3fs

NAME = "s3fs 2026.9.0"
ENVIRONMENT = "tests"
TLS = ["put", "get", "odd_keys", "presign", "write_to_tag"]


@functools.cache
def system(box):
    return s3fs.S3FileSystem(
        key=box.access_key,
        secret=box.secret_key,
        endpoint_url=box.url,
        use_listings_cache=False,
        client_kwargs={"region_name": "us-east-1", "verify": box.ca or None},
    )


def repositories(box):
    return system(box).ls("")


def make_bucket(box, name):
    system(box).mkdir(name)


def remove_bucket(box, name):
    system(box).rmdir(name)


def put(box, files):
    for key, path in files.items():
        system(box).put_file(path, f"{box.repo}/{key}")


def get(box, files):
    for key, path in files.items():
        system(box).get_file(f"{box.repo}/{key}", path)


def get_range(box, key, first, count):
    return system(box).cat_file(f"{box.repo}/{key}", start=first, end=first + count)


def list_directory(box, prefix):
    return [
        entry["name"].removeprefix(f"{box.repo}/") + ("/" if entry["type"] == "directory" else "")
        for entry in system(box).ls(f"{box.repo}/{prefix}", detail=True)
    ]


def list_all(box, prefix):
    return [name.removeprefix(f"{box.repo}/") for name in system(box).find(f"{box.repo}/{prefix}")]


def rename(box, source, target):
    # Its mv of a directory also copies the directory itself, which is no object on any S3.
    system(box).copy(f"{box.repo}/{source}", f"{box.repo}/{target}", recursive=True)
    system(box).rm(f"{box.repo}/{source}", recursive=True)


def delete_directory(box, prefix):
    system(box).rm(f"{box.repo}/{prefix}", recursive=True)


def delete(box, keys):
    system(box).rm([f"{box.repo}/{key}" for key in keys])


def presign(box, key):
    return system(box).sign(f"{box.repo}/{key}")


def refused(box, key, path):
    try:
        system(box).put_file(path, f"{box.repo}/{key}")
    except OSError as error:
        return str(error)
    return None
