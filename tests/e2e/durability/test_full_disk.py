"""Disks that are really full and really read-only, as small file systems in memory."""

import contextlib
import os
import subprocess
import threading
import time

import boto3
import botocore.config
import botocore.exceptions
import clients
import lakefs
import pytest
import requests
import servers
from s3_requests import commit, rest, signed
from small_disk import Disk

MIB = 1024 * 1024
RECOVERY_SECONDS = 90

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def store(scratch_dir, initialised_data):
    """(server, the disk that has its objects and nothing else)"""
    disk = Disk(scratch_dir / "disk", "24m")
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data)
    # The store that this database was set up with, elsewhere.
    subprocess.run(["cp", "-a", str(server.objects_dir), str(disk.place / "objects")], check=True)
    server.environment["TARN_STORE_LOCAL_ROOT"] = str(disk.place / "objects")
    server.start()
    rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    yield server, disk
    server.stop()
    disk.unmount()


def put(server, key, body, api):
    """(status, code, reason); over REST the code is the reason."""
    if api == "s3":
        answer = signed(server, "PUT", f"/lake/main/{key}", body=body)
        return answer.status, "" if answer.status == 200 else answer.code, answer.headers.get("x-tarn-error", "")
    answer = requests.post(
        f"{server.url}/api/v1/repositories/lake/branches/main/objects?path={key}",
        data=body,
        timeout=120,
        auth=(server.access_key, server.secret_key),
        headers={"Content-Type": "application/octet-stream"},
    )
    return answer.status_code, answer.json().get("code", ""), answer.headers.get("X-Tarn-Error", "")


def ready(server):
    answer = requests.get(server.url + "/_ready", timeout=60)
    return answer.status_code, answer.text


def becomes(ask, expected, seconds=RECOVERY_SECONDS):
    """Asks until the answer is the expected one; a look at readiness tries the store every few seconds."""
    deadline = time.monotonic() + seconds
    while (answer := ask()) != expected:
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def body_of(key, size=MIB):
    return (key.encode() + b".") * (size // (len(key) + 1))


def all_there(server, keys):
    for key in keys:
        answer = signed(server, "GET", f"/lake/main/{key}")
        assert (answer.status, answer.body) == (200, body_of(key)), key
    listed = rest(server, "GET", "/repositories/lake/refs/main/objects/ls?amount=1000")["results"]
    assert sorted(item["path"] for item in listed) == sorted(keys)


def test_a_full_store_refuses_writes_and_keeps_what_it_has(store):
    server, disk = store
    disk.fill(leave=6 * MIB)
    kept, refused = [], {}
    while len(refused) < 2:
        for api in ("rest", "s3"):
            key = f"{api}-{len(kept)}"
            status, code, reason = put(server, key, body_of(key), api)
            if status < 300:
                kept.append(key)
            else:
                refused[api] = (status, code)
                assert reason == "store_full"
    assert refused == {"rest": (507, "store_full"), "s3": (507, "InsufficientStorage")}
    assert "tarn_store_free_bytes" in requests.get(server.url + "/metrics", timeout=60).text
    assert len(kept) >= 4
    disk.fill()
    becomes(lambda: ready(server), (503, "not ready\nstore local: store_full\n"))
    assert "error store_full" in server.process.log.read_text()
    all_there(server, kept)
    commit(server, "lake")
    begun = signed(server, "POST", "/lake/main/parts?uploads")
    upload = begun.xml.findtext("UploadId")
    part = signed(server, "PUT", f"/lake/main/parts?partNumber=1&uploadId={upload}", body=b"x" * 5 * MIB)
    assert (part.status, part.xml.findtext("Code")) == (507, "InsufficientStorage")
    disk.make_room()
    assert put(server, "after", body_of("after"), "rest")[0] == 201
    assert signed(server, "PUT", f"/lake/main/parts?partNumber=1&uploadId={upload}", body=b"x" * MIB).status == 200
    becomes(lambda: ready(server), (200, "ready\n"))
    all_there(server, [*kept, "after"])
    # Of what was refused no byte is left: the marker of the repository, the objects and the part.
    assert len(server_files(disk)) == len(kept) + 3


def requests_logged(server, operation):
    return [
        line
        for line in server.process.log.read_text().splitlines()
        if " request " in line and f"operation={operation} " in line and "status=507" in line
    ]


def test_sdks_are_told_of_a_full_disk_once_and_in_the_same_words(store):
    server, disk = store
    disk.fill()
    s3 = boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
        config=botocore.config.Config(retries={"max_attempts": 5, "mode": "standard"}),
    )
    with pytest.raises(botocore.exceptions.ClientError) as by_boto3:
        s3.put_object(Bucket="lake", Key="main/boto3", Body=b"x" * MIB)
    assert by_boto3.value.response["ResponseMetadata"]["HTTPStatusCode"] == 507
    assert by_boto3.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    assert len(requests_logged(server, "PutObject")) == 1
    branch = lakefs.repository("lake", client=clients.lakefs_client(server)).branch("main")
    with pytest.raises(lakefs.exceptions.ServerException) as by_lakefs:
        branch.object("lakefs").upload(data=b"x" * MIB, pre_sign=False)
    assert by_lakefs.value.status_code == 507
    assert len(requests_logged(server, "uploadObject")) == 1
    assert all(" error request " in line for line in requests_logged(server, "PutObject"))
    assert by_boto3.value.response["ResponseMetadata"]["HTTPHeaders"]["x-tarn-error"] == "store_full"
    assert by_lakefs.value.body["code"] == "store_full"


def server_files(disk):
    return [path for path in servers.files_below(disk.place / "objects") if not path.startswith("filler")]


def test_a_store_that_is_mounted_read_only_is_read(store):
    server, disk = store
    assert put(server, "before", body_of("before"), "s3")[0] == 200
    disk.mount_again("ro")
    assert put(server, "new", b"x", "rest")[:2] == (503, "store_read_only")
    assert put(server, "new", b"x", "s3") == (503, "ServiceUnavailable", "store_read_only")
    becomes(lambda: ready(server), (503, "not ready\nstore local: store_read_only\n"))
    all_there(server, ["before"])
    commit(server, "lake")
    disk.mount_again("rw")
    assert put(server, "new", body_of("new"), "rest")[0] == 201
    becomes(lambda: ready(server), (200, "ready\n"))
    all_there(server, ["before", "new"])


@pytest.fixture
def database(scratch_dir, initialised_data):
    """(server, the disk that has its database; the objects are elsewhere)"""
    disk = Disk(scratch_dir / "disk", "200m")
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_STORE_LOCAL_ROOT": scratch_dir / "objects"})
    server.data_dir = disk.place / "data"
    server.copy_data_of(initialised_data)
    subprocess.run(["cp", "-a", str(server.objects_dir), str(scratch_dir / "objects")], check=True)
    server.start()
    rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    yield server, disk
    server.stop()
    disk.unmount()


def write_until_refused(server, kept):
    """The first refusal."""
    for n in range(20_000):
        key = f"k{len(kept)}-{n}"
        status, code, _ = put(server, key, body_of(key, 64), "rest")
        if status != 201:
            return status, code
        kept.append(key)
    raise AssertionError("a full disk refuses nothing")


def test_a_full_database_refuses_writes_and_keeps_what_it_has(database):
    server, disk = database
    kept = []
    assert put(server, "first", body_of("first", 64), "rest")[0] == 201
    kept.append("first")
    disk.fill()
    assert ready(server) == (503, "not ready\ndatabase: database_full\n")
    assert write_until_refused(server, kept) == (507, "database_full")
    assert signed(server, "GET", "/lake/main/first").status == 200
    disk.make_room()
    assert ready(server) == (200, "ready\n")
    assert put(server, "after", b"x", "rest")[0] == 201
    assert kept_of(server, kept) == []
    commit(server, "lake")


def kept_of(server, keys):
    """Those of the keys that are not there."""
    return [key for key in keys if signed(server, "GET", f"/lake/main/{key}").body != body_of(key, 64)]


@contextlib.contextmanager
def log_that_is_full(server):
    """Fills the log again and again, from its first failure on. Its next segment finds no room, which ends PostgreSQL, and it
    comes back in the room of old segments."""
    socket = next(server.data_dir.glob("pg/*/postmaster.pid")).read_text().splitlines()[4]
    command = [
        "/usr/lib/postgresql/15/bin/psql",
        "-X",
        "-q",
        "-h",
        socket,
        "-U",
        "postgres",
        "-d",
        "postgres",
        "-c",
        "SELECT pg_logical_emit_message(true, 'fill', repeat(md5(random()::text), 32768))",
    ]
    stopped, ending = threading.Event(), threading.Event()

    def fill():
        while not ending.is_set():
            if subprocess.run(command, capture_output=True, check=False).returncode != 0:
                stopped.set()
                ending.wait(0.05)  # it restarts

    filling = threading.Thread(target=fill)
    filling.start()
    try:
        assert stopped.wait(RECOVERY_SECONDS), "PostgreSQL has room for its log on a full disk"
        yield
    finally:
        ending.set()
        filling.join()


def test_a_database_that_cannot_write_its_log_comes_back_by_itself(database):
    server, disk = database
    kept = [f"kept{n}" for n in range(50)]
    for key in kept:
        assert put(server, key, body_of(key, 64), "rest")[0] == 201
    disk.fill()
    with log_that_is_full(server):
        deadline = time.monotonic() + RECOVERY_SECONDS
        while True:
            status, code, _ = put(server, f"kept{len(kept)}", body_of(f"kept{len(kept)}", 64), "rest")
            if status != 201:
                break
            kept.append(f"kept{len(kept)}")
            assert time.monotonic() < deadline, "PostgreSQL comes back before each write"
        assert (status, code) in [(503, "unavailable"), (503, "in_doubt"), (507, "database_full")]
        becomes(lambda: ready(server), (503, "not ready\ndatabase: database_full\n"))
    assert server.alive()
    disk.make_room()
    becomes(lambda: put(server, "after", body_of("after", 64), "rest")[0], 201)
    becomes(lambda: ready(server), (200, "ready\n"))
    assert kept_of(server, [*kept, "after"]) == []
    commit(server, "lake")
