"""pyarrow's S3FileSystem (AWS's SDK for C++): always multipart, unsigned chunked parts with a CRC64NVME trailer."""

import functools

import pyarrow
from pyarrow import fs

NAME = "pyarrow 26.0.1"
ENVIRONMENT = "analytics"
HEAVY = True
NOT_OFFERED = {"presign": "no such function"}
PIECE = 1 << 20


@functools.cache
def system(box):
    return fs.S3FileSystem(
        access_key=box.access_key,
        secret_key=box.secret_key,
        region="us-east-1",
        scheme="http",
        endpoint_override=box.address,
        allow_bucket_creation=True,
        allow_bucket_deletion=True,
    )


def repositories(box):
    return [entry.path for entry in system(box).get_file_info(fs.FileSelector(""))]


def make_bucket(box, name):
    system(box).create_dir(name)


def remove_bucket(box, name):
    system(box).delete_dir(name)


def put(box, files):
    for key, path in files.items():
        with system(box).open_output_stream(f"{box.repo}/{key}") as target, open(path, "rb") as source:
            while piece := source.read(PIECE):
                target.write(piece)


def get(box, files):
    for key, path in files.items():
        with system(box).open_input_stream(f"{box.repo}/{key}") as source, open(path, "wb") as target:
            while piece := source.read(PIECE):
                target.write(piece)


def get_range(box, key, first, count):
    with system(box).open_input_file(f"{box.repo}/{key}") as file:
        return file.read_at(count, first)


def found(box, prefix, recursive):
    return system(box).get_file_info(fs.FileSelector(f"{box.repo}/{prefix}", recursive=recursive))


def list_directory(box, prefix):
    return [
        entry.path.removeprefix(f"{box.repo}/") + ("/" if entry.type == fs.FileType.Directory else "")
        for entry in found(box, prefix, False)
    ]


def list_all(box, prefix):
    return [entry.path.removeprefix(f"{box.repo}/") for entry in found(box, prefix, True) if entry.type == fs.FileType.File]


def rename(box, source, target):
    for key in list_all(box, source):
        system(box).move(f"{box.repo}/{key}", f"{box.repo}/{target}{key.removeprefix(source)}")
    if system(box).get_file_info(f"{box.repo}/{source}").type == fs.FileType.Directory:
        system(box).delete_dir(f"{box.repo}/{source}")


def delete_directory(box, prefix):
    system(box).delete_dir(f"{box.repo}/{prefix}")


def delete(box, keys):
    for key in keys:
        system(box).delete_file(f"{box.repo}/{key}")


def refused(box, key, path):
    try:
        put(box, {key: path})
    except OSError as error:
        return str(error)
    return None


def also_makes_directories(box):
    """Down from the branch, which is always there."""
    system(box).create_dir(f"{box.repo}/dev/made/below", recursive=True)
    assert system(box).get_file_info(f"{box.repo}/dev/made/below").type == fs.FileType.Directory
    assert pyarrow.__version__ == NAME.split()[1]
