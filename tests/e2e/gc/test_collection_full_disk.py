"""Collections on full disks: one that finds no room fails clearly and removes nothing that is shown; the next one finishes."""

import os
import random
import subprocess
import time

import pytest
import servers
from s3_requests import commit, rest, signed
from small_disk import MIB, Disk

GARBAGE = 4000  # rows of candidates that fit into no page that the database has
WAIT_SECONDS = 90
FINISHED = 0o440
DIGITS = "0123456789abcdefghijklmnopqrstuv"
SETTINGS = {
    "TARN_GC_INTERVAL_HOURS": "0",
    "TARN_GC_GRACE_HOURS": "0",
    "TARN_GC_UNREACHABLE_DAYS": "0",
    "TARN_GC_BUSY_PERCENT": "100",
}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")


@pytest.fixture
def place(request, scratch_dir, initialised_data):
    """(server, the disk that has its database or its objects, as the parameter says)"""
    disk = Disk(scratch_dir / "disk", {"database": "200m", "objects": "24m"}[request.param])
    objects = (disk.place if request.param == "objects" else scratch_dir) / "objects"
    server = servers.Tarnd(scratch_dir / "tarnd", environment={**SETTINGS, "TARN_STORE_LOCAL_ROOT": objects})
    if request.param == "database":
        server.data_dir = disk.place / "data"
    server.copy_data_of(initialised_data)
    subprocess.run(["cp", "-a", str(server.objects_dir), str(objects)], check=True)
    server.objects = objects
    server.start()
    rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    yield server, disk
    server.stop()
    disk.unmount()


def put(server, key, body):
    assert signed(server, "PUT", f"/lake/main/{key}", body=body).status == 200, key


def fill(server):
    """Objects that are shown, committed and staged, each over an older version that is not; {key: body}."""
    kept = {f"{kind}/{number}": f"{kind} {number}".encode() for kind in ("committed", "staged") for number in range(20)}
    for key, body in kept.items():
        put(server, key, b"overwritten")
        put(server, key, body)
        if key == "committed/19":
            commit(server, "lake")
    return kept


def base32hex(data):
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join(DIGITS[int(bits[at : at + 5], 2)] for at in range(0, len(bits), 5))


def make_garbage(server, count):
    """As if uploads had ended without a reference."""
    data = server.objects / "lake" / "data"
    owner = data.stat()
    moment = int((time.time() - 3600) * 1000)
    for number in range(count):
        shard = data / base32hex(bytes([number % 256]) + bytes(11))
        shard.mkdir(exist_ok=True)
        path = shard / base32hex((moment + number).to_bytes(6, "big") + random.randbytes(6))
        path.write_bytes(b"garbage")
        path.chmod(FINISHED)
        for made in (shard, path):
            os.chown(made, owner.st_uid, owner.st_gid)


def collect(server):
    def newest():
        runs = rest(server, "GET", "/repositories/lake/gc/runs?amount=1")
        return (runs["results"] or [{"run": 0}])[0], runs["requested"] and "retry_date" not in runs

    before = newest()[0]["run"]
    rest(server, "POST", "/repositories/lake/gc/runs", json={"yes_delete": 100})
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        found, requested = newest()
        if found["run"] > before and found["state"] != "running" and not requested:
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def check(server, kept):
    for key, body in kept.items():
        answer = signed(server, "GET", f"/lake/main/{key}")
        assert (answer.status, answer.body) == (200, body), key


def stored(server):
    return len([path for path in servers.files_below(server.objects) if path.startswith("lake/data/")])


def finish(server, kept):
    """Nothing is left over of what failed."""
    for _ in range(3):
        report = collect(server)
        assert (report["state"], report["failed_objects"]) == ("done", 0), report
        check(server, kept)
    assert stored(server) == len(kept)


@pytest.mark.parametrize("place", ["database"], indirect=True)
@pytest.mark.parametrize("moment", ["candidates", "removal"])
def test_a_database_without_room(place, moment):
    server, disk = place
    kept = fill(server)
    assert collect(server)["state"] == "done"
    make_garbage(server, GARBAGE)
    if moment == "removal":
        assert collect(server)["found_objects"] == GARBAGE
    before = stored(server)
    disk.fill()
    report = collect(server)
    assert report["state"] == "failed", report
    assert report["error"] == "the disk of the database is full: its operator has to make room"
    check(server, kept)
    assert before - stored(server) <= report["removed_objects"] + 1000, "those of one statement may be noted later"
    disk.make_room()
    finish(server, kept)


@pytest.mark.parametrize("place", ["objects"], indirect=True)
def test_a_full_store_gets_room(place):
    server, disk = place
    kept = fill(server)
    for number in range(6):
        put(server, f"big/{number}", bytes([number]) * MIB)
    for number in range(6):
        assert signed(server, "DELETE", f"/lake/main/big/{number}").status == 204
    assert collect(server)["state"] == "done", "the first one writes to the store whose database it is"
    disk.fill()
    assert signed(server, "PUT", "/lake/main/refused", body=b"x" * MIB).status == 507
    reports = [collect(server) for _ in range(2)]
    assert [report["state"] for report in reports] == ["done", "done"]
    assert sum(report["removed_objects"] for report in reports) == len(kept) + 6, "of each key the first version"
    put(server, "again", b"x" * MIB)
    check(server, kept)
