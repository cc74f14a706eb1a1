"""Imports from MinIO, whose listings say times to the millisecond and whose HEAD says them to the second.

What every store can show is in ../versioning/test_imports.py; building MinIO takes minutes, so that this runs with the heavy clients."""

import client_matrix
import clients
import lakefs
import pytest
import servers
from command import Cli
from import_requests import finished

OBJECTS = 30


@pytest.fixture(scope="module")
def minio(disk_scratch, pytestconfig):
    if pytestconfig.getoption("--clients") == "light":
        pytest.skip("MinIO takes minutes to build: ./dev test --clients")
    binary = client_matrix.environment_directory("minio") / "bin/minio"
    server = servers.Minio(disk_scratch / "minio", binary).start()
    yield server
    server.stop()


@pytest.fixture
def lake(minio, scratch_dir):
    """(tarnd over MinIO, client of the bucket "lake" there)"""
    bucket = clients.boto3_client(minio)
    bucket.create_bucket(Bucket="lake")
    server = servers.Tarnd(scratch_dir / "tarnd", environment=minio.tarnd_environment()).start()
    yield server, bucket
    server.stop()
    empty(bucket)


def empty(bucket):
    for item in bucket.list_objects_v2(Bucket="lake").get("Contents", []):
        bucket.delete_object(Bucket="lake", Key=item["Key"])
    bucket.delete_bucket(Bucket="lake")


def imported(server, bucket):
    """REST and the path of the verification of what was imported from lake/in/."""
    for n in range(OBJECTS):
        bucket.put_object(Bucket="lake", Key=f"in/{n:02}", Body=b"x" * n)
    rest = clients.Rest(server)
    lakefs.repository("digits", client=clients.lakefs_client(server)).create(storage_namespace="s3://lake/ns")
    answer = rest(
        "POST",
        "/repositories/digits/branches/main/import",
        json={
            "paths": [{"type": "common_prefix", "path": "s3://lake/in/", "destination": "raw/"}],
            "commit": {"message": "lake"},
        },
    )
    assert finished(rest, "digits", "main", answer.json()["id"])["completed"]
    return rest, "/repositories/digits/refs/main/import/verify"


def test_sources_that_nobody_touched_are_as_imported(lake):
    server, bucket = lake
    rest, verify = imported(server, bucket)
    # The reason for the test: else it would pass with any server.
    listed = bucket.list_objects_v2(Bucket="lake", Prefix="in/")["Contents"]
    assert any(item["LastModified"].microsecond for item in listed)
    assert all(bucket.head_object(Bucket="lake", Key=item["Key"])["LastModified"].microsecond == 0 for item in listed)
    found = rest("GET", verify).json()
    assert (found["objects"], found["sources"], found["results"]) == (OBJECTS, OBJECTS, [])
    assert rest("GET", "/repositories/digits/refs/main/objects?path=raw/07").content == b"x" * 7


def test_sources_that_changed_are_named(lake, tmp_path):
    server, bucket = lake
    rest, verify = imported(server, bucket)
    bucket.put_object(Bucket="lake", Key="in/03", Body=b"yyy")
    bucket.delete_object(Bucket="lake", Key="in/05")
    found = rest("GET", verify).json()
    assert [(item["path"], item["problem"]) for item in found["results"]] == [("raw/03", "changed"), ("raw/05", "missing")]
    cli = Cli(server, tmp_path)
    assert [item["path"] for item in cli.json("import-verify", "tarn://digits/main/", status=20)["items"]] == ["raw/03", "raw/05"]
