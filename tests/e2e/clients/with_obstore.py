"""obstore, the Python face of the object_store library that polars, deltalake and Lance use."""

import datetime
import functools

import obstore
from obstore.store import S3Store

NAME = "obstore 0.12.1"
ENVIRONMENT = "light"
NOT_OFFERED = {
    "repositories": "a store is one bucket",
    "made_bucket": "a store is one bucket",
    "rename": "renames one object, knows no directories",
}


@functools.cache
def store(box):
    return S3Store(
        box.repo,
        endpoint=box.url,
        region="us-east-1",
        access_key_id=box.access_key,
        secret_access_key=box.secret_key,
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
        retry_config={"max_retries": 1},
    )


def put(box, files):
    for key, path in files.items():
        with open(path, "rb") as file:
            obstore.put(store(box), key, file)


def get(box, files):
    for key, path in files.items():
        with open(path, "wb") as file:
            for piece in obstore.get(store(box), key):
                file.write(piece)


def get_range(box, key, first, count):
    return bytes(obstore.get_range(store(box), key, start=first, length=count))


def list_directory(box, prefix):
    found = obstore.list_with_delimiter(store(box), prefix or None)
    return [entry["path"] for entry in found["objects"]] + [f"{name}/" for name in found["common_prefixes"]]


def list_all(box, prefix):
    return [entry["path"] for page in obstore.list(store(box), prefix) for entry in page]


def delete_directory(box, prefix):
    delete(box, list_all(box, prefix))


def delete(box, keys):
    obstore.delete(store(box), keys)


def presign(box, key):
    return obstore.sign(store(box), "GET", key, datetime.timedelta(hours=1))


def refused(box, key, path):
    try:
        put(box, {key: path})
    except obstore.exceptions.BaseError as error:
        return str(error)
    return None


def also_updates_only_what_it_has_seen(box):
    first = obstore.put(store(box), "dev/state", b"1")
    second = obstore.put(store(box), "dev/state", b"2", mode={"e_tag": first["e_tag"]})
    try:
        obstore.put(store(box), "dev/state", b"3", mode={"e_tag": first["e_tag"]})
        raise AssertionError("an update over another's was accepted")
    except obstore.exceptions.PreconditionError:
        pass
    assert obstore.head(store(box), "dev/state")["e_tag"] == second["e_tag"]


def also_creates_once(box):
    obstore.put(store(box), "dev/once", b"1", mode="create")
    try:
        obstore.put(store(box), "dev/once", b"2", mode="create")
        raise AssertionError("created twice")
    except obstore.exceptions.AlreadyExistsError:
        pass
