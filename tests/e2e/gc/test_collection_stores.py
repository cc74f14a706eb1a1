"""Garbage collection on S3 buckets that keep versions or lock objects, and among files of others."""

import datetime
import shutil

import clients
import lakefs
import pytest
import requests
import servers
from command import Cli

SETTINGS = {"TARN_GC_INTERVAL_HOURS": "0", "TARN_GC_GRACE_HOURS": "0", "TARN_GC_UNREACHABLE_DAYS": "0"}
OBJECTS = 1200  # more than one request removes


@pytest.fixture(scope="module")
def moto(session_scratch):
    """It has versions and locks, which versitygw lacks."""
    server = servers.Moto(session_scratch / "collection-moto")
    server.access_key = server.secret_key = "moto-collection-key"
    server.region = "us-east-1"
    server.start()
    yield server
    server.stop()


@pytest.fixture
def start(initialised_data, tmp_path, name):
    made = []

    def start(store, **environment):
        directory = servers.scratch_directory("collection")
        server = servers.Tarnd(directory, environment={**SETTINGS, **servers.s3_store_of(store), **environment})
        made.append(server.copy_data_of(initialised_data).start())
        server.cli = Cli(server, tmp_path / "home", name)
        server.s3 = clients.boto3_client(server)
        return server

    yield start
    for server in made:
        server.stop()
        shutil.rmtree(server.directory, ignore_errors=True)


def versions(store, bucket):
    found = store.list_object_versions(Bucket=bucket)
    return [
        (item["Key"], item["VersionId"])
        for kind in ("Versions", "DeleteMarkers")
        for item in found.get(kind, [])
        if "/data/" in item["Key"]
    ]


def collect(server):
    return server.cli.json("gc", "run", "--wait", "--yes-delete", "100")


def fill(server, name, space):
    lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=space)
    for body in (b"first", b"second"):
        server.s3.put_object(Bucket=name, Key="main/a", Body=body)


@pytest.mark.parametrize("option", ["false", "true"])
def test_versioned_buckets_keep_versions_unless_they_are_to_go(moto, start, name, option):
    store = clients.boto3_client(moto)
    store.create_bucket(Bucket=name)
    store.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    server = start(moto, TARN_STORE_S3_REMOVE_VERSIONS=option)
    fill(server, name, f"s3://{name}/space")
    assert len(versions(store, name)) == 2
    collect(server)
    assert collect(server)["removed_objects"] == 1
    # An object, and else the version that is removed and its marker.
    assert len(versions(store, name)) == (1 if option == "true" else 3)
    assert server.s3.get_object(Bucket=name, Key="main/a")["Body"].read() == b"second"


def test_locked_objects_stay_and_are_reported(moto, start, name):
    store = clients.boto3_client(moto)
    store.create_bucket(Bucket=name, ObjectLockEnabledForBucket=True)
    server = start(moto, TARN_STORE_S3_REMOVE_VERSIONS="true")
    fill(server, name, f"s3://{name}/space")
    [planned] = [path for path, _ in versions(store, name) if path.split("/", 1)[1] not in live_of(server, name)]
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    store.put_object_retention(Bucket=name, Key=planned, Retention={"Mode": "COMPLIANCE", "RetainUntilDate": until})
    collect(server)
    report = collect(server)
    assert (report["state"], report["removed_objects"], report["failed_objects"]) == ("done", 0, 1)
    shown = server.cli.json("gc", "report", str(report["run"]))
    assert shown["failures"] and planned.split("/", 1)[1] in shown["failures"][0] and "AccessDenied" in shown["failures"][0]
    assert planned in [path for path, _ in versions(store, name)]
    assert collect(server)["failed_objects"] == 1, "it is tried again"


def live_of(server, name):
    """Paths below the namespace of the object that is shown."""
    address = lakefs.repository(name, client=clients.lakefs_client(server)).branch("main").object("a").stat().physical_address
    return {address.split("/space/", 1)[1]}


def test_many_objects_go_with_few_requests_and_nothing_else_is_touched(versitygw, start, name):
    store = clients.boto3_client(versitygw)
    store.create_bucket(Bucket=name)
    server = start(versitygw)
    fill(server, name, f"s3://{name}/space")
    outside = ["other/data/x", "space/notes.txt", "space-2/data/y", "space/data/readme"]
    for key in outside:
        store.put_object(Bucket=name, Key=key, Body=b"theirs")
    server.s3.put_object(Bucket=name, Key="main/many/0", Body=b"x")
    made = {path for path in versitygw.stored(name) if path.startswith("space/data/") and path not in outside}
    example = sorted(made)[0]
    # As if uploads had ended without a reference: names that are like those of objects.
    digits = "0123456789abcdefghijklmnopqrstuv"
    garbage = []
    for number in range(OBJECTS):
        suffix = digits[number // 1024 % 32] + digits[number // 32 % 32] + digits[number % 32] + "0"
        garbage.append(example[:-4] + suffix)
    for key in set(garbage) - made:
        store.put_object(Bucket=name, Key=key, Body=b"garbage")
    found = collect(server)
    assert found["strangers"] == 1
    before = requests_of(server)
    report = collect(server)
    assert report["removed_objects"] == found["found_objects"] >= OBJECTS
    assert requests_of(server) - before == -(-report["removed_objects"] // 1000)
    left = set(versitygw.stored(name))
    assert set(outside) <= left and not set(garbage) - made & left
    assert server.s3.get_object(Bucket=name, Key="main/a")["Body"].read() == b"second"


def requests_of(server):

    for line in requests.get(f"{server.url}/metrics", timeout=10).text.splitlines():
        if line.startswith('tarn_store_seconds_count{operation="s3_delete_objects"}'):
            return float(line.split()[1])
    return 0
