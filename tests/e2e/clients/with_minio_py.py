"""minio-py: asks for the region first, signs the length, sends plain bodies."""

import functools

import urllib3
from minio import Minio
from minio.commonconfig import CopySource
from minio.deleteobjects import DeleteObject
from minio.error import S3Error

NAME = "minio-py 7.2.20"
ENVIRONMENT = "light"
TLS = ["put", "get", "odd_keys", "presign", "write_to_tag"]


@functools.cache
def client(box):
    http = urllib3.PoolManager(ca_certs=box.ca or None, retries=False, timeout=60)
    return Minio(box.address, access_key=box.access_key, secret_key=box.secret_key, secure=box.secure, http_client=http)


def repositories(box):
    return [bucket.name for bucket in client(box).list_buckets()]


def make_bucket(box, name):
    client(box).make_bucket(name)


def remove_bucket(box, name):
    client(box).remove_bucket(name)


def put(box, files):
    for key, path in files.items():
        client(box).fput_object(box.repo, key, path)


def get(box, files):
    for key, path in files.items():
        client(box).fget_object(box.repo, key, path)


def get_range(box, key, first, count):
    answer = client(box).get_object(box.repo, key, offset=first, length=count)
    try:
        return answer.read()
    finally:
        answer.close()
        answer.release_conn()


def list_directory(box, prefix):
    return [entry.object_name for entry in client(box).list_objects(box.repo, prefix=prefix)]


def list_all(box, prefix):
    return [entry.object_name for entry in client(box).list_objects(box.repo, prefix=prefix, recursive=True)]


def rename(box, source, target):
    for key in list_all(box, source):
        client(box).copy_object(box.repo, target + key.removeprefix(source), CopySource(box.repo, key))
        client(box).remove_object(box.repo, key)


def delete_directory(box, prefix):
    delete(box, list_all(box, prefix))


def delete(box, keys):
    assert list(client(box).remove_objects(box.repo, [DeleteObject(key) for key in keys])) == []


def presign(box, key):
    return client(box).presigned_get_object(box.repo, key)


def refused(box, key, path):
    try:
        client(box).fput_object(box.repo, key, path)
    except S3Error as error:
        assert error.code == "MethodNotAllowed"
        return str(error)
    return None
