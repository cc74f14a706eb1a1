"""TensorFlow with tensorflow-io's file system over S3, and an experiment that lives on it."""

import functools

import tensorflow as tf
import tensorflow_io  # noqa: F401  (brings the file system)
from sentiment_flow import *  # noqa: F403

NAME = "tensorflow-io 0.37.1"
ENVIRONMENT = "tensorflow"
HEAVY = True
NOT_OFFERED = {
    "repositories": "paths begin with a bucket",
    "made_bucket": "paths begin with a bucket",
    "list_root": "a branch without objects is listed like a file, for a directory is what has something in it",
    "presign": "no such function",
}


@functools.cache
def files_of(box):
    point_to(box)  # noqa: F405
    return tf.io.gfile


def put(box, files):
    for key, path in files.items():
        files_of(box).copy(path, f"s3://{box.repo}/{key}", overwrite=True)


def get(box, files):
    for key, path in files.items():
        files_of(box).copy(f"s3://{box.repo}/{key}", path, overwrite=True)


def get_range(box, key, first, count):
    with files_of(box).GFile(f"s3://{box.repo}/{key}", "rb") as source:
        source.seek(first)
        return source.read(count)


def list_directory(box, prefix):
    gfile, place = files_of(box), f"s3://{box.repo}/{prefix}"
    names = [name.rstrip("/") for name in gfile.listdir(place)]
    return [prefix + name + ("/" if gfile.isdir(place + name) else "") for name in names]


def list_all(box, prefix):
    top = f"s3://{box.repo}/{prefix}".rstrip("/")
    return [
        f"{directory}/{name}".removeprefix(f"s3://{box.repo}/")
        for directory, _, names in files_of(box).walk(top)
        for name in names
    ]


def rename(box, source, target):
    files_of(box).rename(f"s3://{box.repo}/{source}", f"s3://{box.repo}/{target}")


def delete(box, keys):
    for key in keys:
        files_of(box).remove(f"s3://{box.repo}/{key}")


def delete_directory(box, prefix):
    files_of(box).rmtree(f"s3://{box.repo}/{prefix}")


def refused(box, key, path):
    try:
        put(box, {key: path})
    except tf.errors.OpError as error:
        return str(error)
    return None


def also_appends_to_a_file(box):
    """Appending reads what is there and puts the whole."""
    gfile, place = files_of(box), f"s3://{box.repo}/dev/appended.txt"
    for line in ("first\n", "second\n"):
        with gfile.GFile(place, "a") as target:
            target.write(line)
    with gfile.GFile(place, "r") as source:
        assert source.read() == "first\nsecond\n"
    assert gfile.stat(place).length == 13


def also_tells_what_is_not_there(box):
    gfile = files_of(box)
    assert gfile.exists(f"s3://{box.repo}/dev") and gfile.isdir(f"s3://{box.repo}/main/tree")
    assert not gfile.exists(f"s3://{box.repo}/dev/nothing") and not gfile.exists(f"s3://{box.repo}/nothing/x")
    try:
        gfile.GFile(f"s3://{box.repo}/dev/nothing", "rb").read()
    except tf.errors.NotFoundError:
        pass
    else:
        raise AssertionError("it was read")


def also_restores_the_latest_of_several_checkpoints(box):
    files_of(box)
    variable, place = tf.Variable(0.0), f"s3://{box.repo}/dev/kept"
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(variable=variable), place, max_to_keep=2)
    for value in (1.0, 2.0, 3.0):
        variable.assign(value)
        manager.save()
    assert [path.rpartition("/")[2] for path in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert not files_of(box).exists(f"{place}/ckpt-1.index")
    variable.assign(0.0)
    tf.train.Checkpoint(variable=variable).restore(tf.train.latest_checkpoint(place)).assert_consumed()
    assert variable.numpy() == 3.0
