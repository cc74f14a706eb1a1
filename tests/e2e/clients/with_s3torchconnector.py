"""s3torchconnector: datasets and checkpoints of PyTorch, over the common runtime of AWS (CRT)."""

import functools
import os
from pathlib import Path

import torch
from s3torchconnector import S3Checkpoint, S3ClientConfig, S3IterableDataset, S3MapDataset, S3ReaderConstructor
from s3torchconnectorclient import S3Exception
from s3torchconnectorclient._mountpoint_s3_client import MountpointS3Client

NAME = "s3torchconnector 1.5.0"
ENVIRONMENT = "torch"
HEAVY = True
NOT_OFFERED = {"repositories": "no such function", "made_bucket": "no such function", "presign": "no such function"}


@functools.cache
def options(box):
    os.environ.update(box.keys_in_environment())
    return {"region": "us-east-1", "endpoint": box.url, "s3client_config": S3ClientConfig(force_path_style=True)}


@functools.cache
def client(box):
    """Its client below datasets and checkpoints, for operations that those do not offer."""
    options(box)
    return MountpointS3Client("us-east-1", endpoint=box.url, force_path_style=True)


def checkpoint(box):
    return S3Checkpoint(**options(box))


def dataset(box, keys, kind=S3MapDataset, **more):
    return kind.from_objects([f"s3://{box.repo}/{key}" for key in keys], **options(box), **more)


def put(box, files):
    for key, path in files.items():
        with checkpoint(box).writer(f"s3://{box.repo}/{key}") as target:
            target.write(Path(path).read_bytes())


def get(box, files):
    for sample, path in zip(dataset(box, list(files)), files.values(), strict=True):
        with open(path, "wb") as target:
            target.write(sample.read())


def get_range(box, key, first, count):
    sample = dataset(box, [key], reader_constructor=S3ReaderConstructor.range_based())[0]
    sample.seek(first)
    return sample.read(count)


def list_directory(box, prefix):
    pages = list(client(box).list_objects(box.repo, prefix, "/"))
    return [found for page in pages for found in [*(info.key for info in page.object_info), *page.common_prefixes]]


def list_all(box, prefix):
    return [sample.key for sample in S3IterableDataset.from_prefix(f"s3://{box.repo}/{prefix}", **options(box))]


def rename(box, source, target):
    for key in list_all(box, source):
        client(box).copy_object(box.repo, key, box.repo, target + key.removeprefix(source))
        client(box).delete_object(box.repo, key)


def delete(box, keys):
    for key in keys:
        client(box).delete_object(box.repo, key)


def delete_directory(box, prefix):
    delete(box, list_all(box, prefix))


def refused(box, key, path):
    try:
        put(box, {key: path})
    except S3Exception as error:
        return str(error)
    return None


def also_trains_from_shards_in_workers(box):
    """Both kinds of datasets, the second shared between two processes of a loader."""
    keys = [f"dev/samples/{number:03}.pt" for number in range(40)]
    for number, key in enumerate(keys):
        with checkpoint(box).writer(f"s3://{box.repo}/{key}") as target:
            torch.save(torch.full((16,), float(number)), target)
    place = f"s3://{box.repo}/dev/samples/"
    mapped = S3MapDataset.from_prefix(place, transform=torch.load, **options(box))
    assert [int(mapped[n][0]) for n in range(len(mapped))] == list(range(40))
    iterated = S3IterableDataset.from_prefix(place, transform=torch.load, enable_sharding=True, **options(box))
    loader = torch.utils.data.DataLoader(iterated, batch_size=4, num_workers=2)
    assert sorted(int(row[0]) for batch in loader for row in batch) == list(range(40))


def also_goes_on_from_a_checkpoint(box):
    torch.manual_seed(1)
    model, place = torch.nn.Linear(1024, 4096), f"s3://{box.repo}/dev/checkpoints/model.pt"
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(8, 1024)).square().mean().backward()
        optimizer.step()
        with checkpoint(box).writer(place) as target:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, target)
    with checkpoint(box).reader(place) as source:
        loaded = torch.load(source)
    assert all(torch.equal(model.state_dict()[name], value) for name, value in loaded["model"].items())
    assert loaded["optimizer"]["state"][0]["step"] == 2
