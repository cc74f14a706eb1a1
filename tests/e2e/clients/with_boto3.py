"""boto3 with its defaults: transfer manager, CRC32 of everything, SigV2 in presigned URLs."""

import functools
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

NAME = "boto3 1.43.117"
ENVIRONMENT = "tests"
TLS = ["put", "get", "odd_keys", "presign", "write_to_tag"]


@functools.cache
def client(box):
    options = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1})
    return boto3.client(
        "s3",
        endpoint_url=box.url,
        aws_access_key_id=box.access_key,
        aws_secret_access_key=box.secret_key,
        region_name="us-east-1",
        config=options,
        verify=box.ca or None,
    )


def repositories(box):
    return [bucket["Name"] for bucket in client(box).list_buckets()["Buckets"]]


def make_bucket(box, name):
    client(box).create_bucket(Bucket=name)


def remove_bucket(box, name):
    client(box).delete_bucket(Bucket=name)


def put(box, files):
    for key, path in files.items():
        client(box).upload_file(path, box.repo, key)


def get(box, files):
    for key, path in files.items():
        client(box).download_file(box.repo, key, path)


def get_range(box, key, first, count):
    return client(box).get_object(Bucket=box.repo, Key=key, Range=f"bytes={first}-{first + count - 1}")["Body"].read()


def list_directory(box, prefix):
    pages = client(box).get_paginator("list_objects_v2").paginate(Bucket=box.repo, Prefix=prefix, Delimiter="/")
    return [
        found
        for page in pages
        for found in [
            *(entry["Key"] for entry in page.get("Contents", [])),
            *(entry["Prefix"] for entry in page.get("CommonPrefixes", [])),
        ]
    ]


def list_all(box, prefix):
    pages = client(box).get_paginator("list_objects_v2").paginate(Bucket=box.repo, Prefix=prefix)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def rename(box, source, target):
    for key in list_all(box, source):
        client(box).copy({"Bucket": box.repo, "Key": key}, box.repo, target + key.removeprefix(source))
        client(box).delete_object(Bucket=box.repo, Key=key)


def delete(box, keys):
    for start in range(0, len(keys), 1000):
        objects = [{"Key": key} for key in keys[start : start + 1000]]
        assert "Errors" not in client(box).delete_objects(Bucket=box.repo, Delete={"Objects": objects})


def delete_directory(box, prefix):
    delete(box, list_all(box, prefix))


def presign(box, key):
    return client(box).generate_presigned_url("get_object", Params={"Bucket": box.repo, "Key": key})


def refused(box, key, path):
    try:
        client(box).put_object(Bucket=box.repo, Key=key, Body=Path(path).read_bytes())
    except ClientError as error:
        assert error.response["Error"]["Code"] == "MethodNotAllowed"
        return str(error)
    return None


def also_tells_look_alikes_apart(box):
    def copy(source, target):
        client(box).copy({"Bucket": box.repo, "Key": source}, box.repo, target)

    def move(source, target):
        client(box).copy_object(Bucket=box.repo, Key=target, CopySource={"Bucket": box.repo, "Key": source})
        client(box).delete_object(Bucket=box.repo, Key=source)

    def sync(source, target):
        for key in list_all(box, source):
            copy(key, target + key.removeprefix(source))

    box.tells_look_alikes_apart(copy, move, sync)
