"""TensorBoard without TensorFlow: its own file system over boto3, with ListObjects version 1."""

import functools
import os
from pathlib import Path

from botocore.exceptions import ClientError
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat import tf
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

NAME = "tensorboard 2.21.0"
ENVIRONMENT = "mlflow"
HEAVY = True
NOT_OFFERED = {
    "repositories": "no such function",
    "made_bucket": "no such function",
    "list_root": 'asks for the directory "/"',
    "rename": "no such function",
    "delete_directory": "deletes nothing",
    "delete_many": "deletes nothing",
    "presign": "no such function",
}


@functools.cache
def files_of(box):
    # Its own variable, S3_ENDPOINT, is read when it is imported.
    os.environ.update(box.keys_in_environment(), AWS_ENDPOINT_URL_S3=box.url)
    # TensorBoard's compat.tf names itself so where TensorFlow is not installed and its own file system serves instead.
    assert tf.__version__ == "stub", "this is to be its own file system"
    return tf.io.gfile


def put(box, files):
    for key, path in files.items():
        with files_of(box).GFile(f"s3://{box.repo}/{key}", "wb") as target:
            target.write(Path(path).read_bytes())


def get(box, files):
    for key, path in files.items():
        with files_of(box).GFile(f"s3://{box.repo}/{key}", "rb") as source, open(path, "wb") as target:
            target.write(source.read())


def get_range(box, key, first, count):
    with files_of(box).GFile(f"s3://{box.repo}/{key}", "rb") as source:
        source.read(first)
        return source.read(count)


def list_directory(box, prefix):
    gfile, place = files_of(box), f"s3://{box.repo}/{prefix}"
    return [prefix + name + ("/" if gfile.isdir(place + name) else "") for name in gfile.listdir(place)]


def list_all(box, prefix):
    top = f"s3://{box.repo}/{prefix}".rstrip("/")
    return [
        f"{directory}/{name}".removeprefix(f"s3://{box.repo}/")
        for directory, _, names in files_of(box).walk(top)
        for name in names
    ]


def refused(box, key, path):
    try:
        put(box, {key: path})
    except ClientError as error:
        return str(error)
    return None


def loss(step):
    return Event(step=step, wall_time=step, summary=Summary(value=[Summary.Value(tag="loss", simple_value=1 / step)]))


def also_reads_events_while_they_are_written(box):
    """The file is put whole at each flush; the reader asks for what comes after the end it knows, and is told 416
    when that is nothing."""
    gfile, place = files_of(box), f"s3://{box.repo}/dev/logs/run"
    writer = EventFileWriter(place)
    loader = EventFileLoader(gfile.glob(f"{place}/events*")[0])
    assert [event.file_version for event in loader.Load()] == ["brain.Event:2"]
    for first in (1, 101):
        for step in range(first, first + 100):
            writer.add_event(loss(step))
        writer.flush()
        assert [event.step for event in loader.Load()] == list(range(first, first + 100))
        assert list(loader.Load()) == []
    writer.close()


def also_shows_the_events_of_a_branch(box):
    gfile = files_of(box)
    for run in ("a", "b"):
        writer = EventFileWriter(f"s3://{box.repo}/dev/board/{run}")
        writer.add_event(loss(1))
        writer.close()
    assert gfile.exists(f"s3://{box.repo}/dev") and gfile.exists(f"s3://{box.repo}/dev/board")
    assert not gfile.exists(f"s3://{box.repo}/dev/nothing")
    assert sorted(gfile.listdir(f"s3://{box.repo}/dev/board")) == ["a", "b"]
    shown = EventAccumulator(f"s3://{box.repo}/dev/board/a").Reload()
    assert [(event.step, event.value) for event in shown.Scalars("loss")] == [(1, 1.0)]
