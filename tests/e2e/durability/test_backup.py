"""Backups as operators take and restore them: `tarn admin backup` beside a busy server, and a second tarnd on the copy."""

import json
import random
import shutil
import stat
import subprocess
import threading
import time
from pathlib import Path

import clients
import lakefs
import pytest
import servers
from command import Cli
from long_tests import LONG

WITHOUT_GRACE = {
    "TARN_GC_INTERVAL_HOURS": "0",
    "TARN_GC_GRACE_HOURS": "0",
    "TARN_GC_UNREACHABLE_DAYS": "0",
    "TARN_GC_SHARE_MAX": "100",
}
TIMEOUT = 120
WRITE_PAUSE = 0.01  # leaves processors to the backup


def body_of(key, number):
    """Bytes that say what they are: a reader recognises any other."""
    head = f"{key}:{number}:".encode()
    return head + random.Random(f"{key}:{number}").randbytes(number * 37 % 4000)


def check_body(key, body):
    name, number = body.split(b":", 2)[:2]
    assert name.decode() == key and body == body_of(key, int(number)), (key, body[:60])


def admin(server, *words, status=0):
    """The output of `tarn admin` with the configuration of `server`; its log too if it fails, as `status` says."""
    ended = subprocess.run(
        [servers.program("tarn"), "admin", *map(str, words), "--data", str(server.data_dir)],
        env=server.environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert ended.returncode == status, (words, ended.returncode, ended.stdout, ended.stderr)
    return ended.stdout if status == 0 else ended.stdout + ended.stderr


def backup_id(text):
    return next(line.split()[1] for line in text.splitlines() if line.startswith("backup "))


def manifest(place, id, server):
    """The record of a complete backup, in a directory or in a bucket of the server's store."""
    if isinstance(place, Path):
        return json.loads((place / "backups" / id / "manifest.json").read_text())
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    s3 = clients.boto3_client(server.versitygw)
    return json.loads(s3.get_object(Bucket=bucket, Key=f"{prefix}/backups/{id}/manifest.json")["Body"].read())


def read_everything(server, name):
    """Compares every object of every branch and commit, and returns how many there were."""
    s3 = clients.boto3_client(server)
    repository = lakefs.repository(name, client=clients.lakefs_client(server))
    refs = {branch.id for branch in repository.branches()} | {commit.id for commit in repository.ref("main").log()}
    read = 0
    for ref in refs:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=name, Prefix=f"{ref}/")
        for item in (item for page in pages for item in page.get("Contents", [])):
            body = s3.get_object(Bucket=name, Key=item["Key"])["Body"].read()
            check_body(item["Key"].removeprefix(f"{ref}/"), body)
            read += 1
    return read


class Busy:
    """Writers, and collections without grace, until the end of the block."""

    def __init__(self, server, name, cli):
        self.server, self.name, self.cli = server, name, cli
        self.ends = threading.Event()
        self.failures = []
        self.removed = 0
        self.threads = [threading.Thread(target=self.watch, args=(work,)) for work in (self.write, self.collect)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()
        assert not self.failures, self.failures

    def watch(self, work):
        try:
            work()
        except Exception as failure:  # shown by the test
            self.failures.append(repr(failure))

    def write(self):
        s3 = clients.boto3_client(self.server)
        main = lakefs.repository(self.name, client=clients.lakefs_client(self.server)).branch("main")
        number = 0
        while not self.ends.wait(WRITE_PAUSE):
            number += 1
            key = f"key-{number % 17}"
            if number % 5 == 4:
                s3.delete_object(Bucket=self.name, Key=f"main/{key}")
            else:
                s3.put_object(Bucket=self.name, Key=f"main/{key}", Body=body_of(key, number))
            if number % 50 == 0:
                main.commit(f"commit {number}")

    def collect(self):
        while not self.ends.is_set():
            self.removed += self.cli.json("gc", "run", "--wait")["removed_objects"]

    def wait_for_removals(self, more):
        goal, deadline = self.removed + more, time.monotonic() + TIMEOUT
        while self.removed < goal:
            assert not self.failures and time.monotonic() < deadline, (self.failures, self.removed, goal)
            time.sleep(0.05)


@pytest.fixture
def scratch():
    made = []

    def make(kind):
        made.append(servers.scratch_directory(kind))
        return made[-1]

    yield make
    for directory in made:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def started():
    running = []

    def start(server):
        running.append(server.start())
        return server

    yield start
    for server in running:
        if server.alive():
            server.stop()


# The first test covers both stores; each of the others runs over one of them, with the long tests over both.
LOCAL, S3 = (pytest.mark.parametrize("lake", ["local", "s3"] if LONG else [kind], indirect=True) for kind in ("local", "s3"))


@pytest.fixture(params=["local", "s3"])
def lake(request, initialised_data, versitygw, scratch, started, name, tmp_path):
    environment = dict(WITHOUT_GRACE)
    if request.param == "s3":
        s3 = clients.boto3_client(versitygw)
        for bucket in (f"lake-{name}", f"backup-{name}", f"copy-{name}"):
            s3.create_bucket(Bucket=bucket)
        environment.update(versitygw.tarnd_environment())
    server = started(servers.Tarnd(scratch("lake"), environment=environment).copy_data_of(initialised_data))
    server.kind, server.shared, server.versitygw = request.param, environment, versitygw
    space = f"s3://lake-{name}/x" if request.param == "s3" else f"local://{name}"
    lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=space)
    server.cli = Cli(server, tmp_path / "home", name)
    return server


def test_a_backup_of_a_busy_server_restores_to_what_can_all_be_read(lake, name, scratch, started, tmp_path):
    place = f"s3://backup-{name}/nightly" if lake.kind == "s3" else scratch("backups") / "nightly"
    with Busy(lake, name, lake.cli) as busy:
        busy.wait_for_removals(10)
        taken = admin(lake, "backup", place, "--objects")
        busy.wait_for_removals(10)
        again = admin(lake, "backup", place, "--objects", "--include-master-key")
        busy.wait_for_removals(10)
    listed = admin(lake, "backups")
    for text, has_key in ((taken, False), (again, True)):
        id = backup_id(text)
        assert id in listed and manifest(place, id, lake)["master_key"]["included"] == has_key
        admin(lake, "release-backup", id, status=1)  # it holds nothing any more
    if lake.kind == "local":
        assert stat.S_IMODE(Path(place).stat().st_mode) == 0o700

    copy = servers.Tarnd(scratch("copy"), environment=lake.shared)
    move = ("--move", f"s3://lake-{name}=s3://copy-{name}") if lake.kind == "s3" else ()
    refused = admin(copy, "restore", place, "--backup-id", backup_id(taken), *move, status=1)
    assert str(lake.data_dir / "master.key") in refused
    assert not (copy.data_dir / "pg").exists()
    copy.data_dir.mkdir(mode=0o711, exist_ok=True)
    shutil.copy(lake.data_dir / "master.key", copy.data_dir / "master.key")
    restored = admin(copy, "restore", place, "--backup-id", backup_id(taken), *move)
    assert backup_id(taken) in restored
    admin(copy, "restore", place, "--backup-id", backup_id(taken), *move, status=1)  # the database is not empty now
    started(copy)
    assert read_everything(copy, name) > 10
    cli = Cli(copy, tmp_path / "copy", name)
    assert cli.json("verify", f"tarn://{name}", "--objects", "all", "--deep").get("findings", []) == []
    assert cli.json("gc", "run", "--wait")["state"] == "done"
    clients.boto3_client(copy).put_object(Bucket=name, Key="main/key-0", Body=body_of("key-0", 1))
    assert read_everything(copy, name) > 10
    assert read_everything(lake, name) > 10


@S3
def test_a_listing_is_restored_on_the_store_that_it_lists(lake, name, scratch, started, tmp_path):
    place = scratch("backups") / "nightly"
    with Busy(lake, name, lake.cli) as busy:
        busy.wait_for_removals(10)
        taken = admin(lake, "backup", place, "--keep", "1h", "--include-master-key")
        record = manifest(place, backup_id(taken), lake)
        assert record["held_until"] and record["held_until"] in taken
        time.sleep(3)
    for _ in range(3):
        lake.cli.json("gc", "run", "--wait")
    # The original goes on beside the copy, on the same store: it removes nothing of it, and the copy collects nothing.
    environment = dict(lake.shared, TARN_STORE_LOCAL_ROOT=str(lake.objects_dir))
    copy = servers.Tarnd(scratch("copy"), environment=environment)
    refused = admin(copy, "restore", place, status=1)
    assert "--database-only" in refused
    assert "tarn admin adopt" in admin(copy, "restore", place, "--database-only")
    started(copy)
    assert read_everything(copy, name) > 10
    cli = Cli(copy, tmp_path / "copy", name)
    assert cli.json("verify", f"tarn://{name}", "--objects", "all", "--deep").get("findings", []) == []
    run = json.loads(cli.run("gc", "run", "--wait", "-o", "json", status=1).text)
    assert run["state"] == "refused" and f"tarn admin adopt {name}" in run["error"]
    refused = clients.Rest(copy)("POST", f"/repositories/{name}/branches/main/objects?path=a", data="of the copy")
    assert (refused.status_code, refused.json()["code"]) == (403, "owned_by_another_database")
    clients.boto3_client(lake).put_object(Bucket=name, Key="main/key-1", Body=body_of("key-1", 9))
    for _ in range(3):
        assert cli.run("gc", "run", "--wait", "-o", "json", status=1)
    assert read_everything(lake, name) > 10
    lake.stop()
    assert cli.json("gc", "run", "--adopt", "--wait")["state"] == "done"
    assert read_everything(copy, name) > 10
    assert cli.json("verify", f"tarn://{name}", "--objects", "all", "--deep").get("findings", []) == []


@LOCAL
def test_a_killed_backup_is_none_and_its_hold_is_released(lake, name, scratch):
    if lake.kind == "s3":
        pytest.skip("one store is enough for the process")
    s3 = clients.boto3_client(lake)
    for number in range(30):
        s3.put_object(Bucket=name, Key=f"main/key-{number}", Body=body_of(f"key-{number}", number))
    place = scratch("backups")
    command = [servers.program("tarnd"), "--backup", str(place), "--objects", "--data", str(lake.data_dir)]
    process = subprocess.Popen(command, env=lake.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + TIMEOUT
    while not list(place.glob("backups/*/database.dump")):
        assert process.poll() is None and time.monotonic() < deadline
    process.kill()
    process.wait()
    assert not list(place.glob("backups/*/manifest.json"))
    assert admin(lake, "backups", place) == ""
    admin(lake, "restore", place, status=1)
    killed = admin(lake, "backups").split()[0]
    assert killed in admin(lake, "backup", place, status=1)
    admin(lake, "release-backup", killed)
    admin(lake, "backup", place, "--objects")
    assert len(list(place.glob("backups/*/manifest.json"))) == 1
    assert len(list(place.glob("objects/**/data/*/*"))) == 30


@S3
def test_old_backups_are_removed_and_the_rest_can_be_restored(lake, name, scratch, started):
    place = f"s3://backup-{name}/nightly" if lake.kind == "s3" else scratch("backups") / "nightly"
    s3 = clients.boto3_client(lake)
    ids = []
    for number in range(3):
        s3.put_object(Bucket=name, Key="main/same", Body=body_of("same", 1))
        s3.put_object(Bucket=name, Key="main/changing", Body=body_of("changing", number))
        ids.append(backup_id(admin(lake, "backup", place, "--objects")))
        lake.cli.run("gc", "run", "--wait")
        lake.cli.run("gc", "run", "--wait")
    shown = admin(lake, "prune-backups", place, "--keep", "1", "--dry-run")
    assert [one for one in ids if one in shown] == ids[:2]
    young = admin(lake, "prune-backups", place, "--keep", "1", "--older-than", "1d")
    assert [one for one in ids if one in young] == []
    assert "--keep" in admin(lake, "prune-backups", place, status=2)
    assert "--keep" in admin(lake, "prune-backups", place, "--keep", "0", status=1)
    listed = admin(lake, "backups", place)
    assert [one for one in ids if one in listed] == ids
    pruned = admin(lake, "prune-backups", place, "--keep", "1")
    assert [one for one in ids if one in pruned] == ids[:2]
    listed = admin(lake, "backups", place)
    assert [one for one in ids if one in listed] == ids[2:]
    copy = servers.Tarnd(scratch("copy"), environment=lake.shared)
    copy.data_dir.mkdir(mode=0o711, exist_ok=True)
    shutil.copy(lake.data_dir / "master.key", copy.data_dir / "master.key")
    move = ("--move", f"s3://lake-{name}=s3://copy-{name}") if lake.kind == "s3" else ()
    admin(copy, "restore", place, *move)
    started(copy)
    assert read_everything(copy, name) >= 2
    copied = clients.boto3_client(copy)
    assert copied.get_object(Bucket=name, Key="main/changing")["Body"].read() == body_of("changing", 2)


@LOCAL
def test_bad_orders_are_refused(lake, name, scratch):
    if lake.kind == "s3":
        pytest.skip("one store is enough for the messages")
    place = scratch("backups")
    assert '--keep "soon"' in admin(lake, "backup", place, "--keep", "soon", status=1)
    assert '"ftp://x/y"' in admin(lake, "backup", "ftp://x/y", status=1)
    assert admin(lake, "backups", place) == ""
    admin(lake, "restore", place, status=1)
    assert str(place / "absent") in admin(lake, "restore", place / "absent", status=1)
    assert "absent" in admin(lake, "release-backup", "absent", status=1)
    copy = servers.Tarnd(scratch("copy"))
    assert str(copy.data_dir / "master.key") in admin(copy, "backup", place, status=1)
    assert admin(lake, "backups", place) == ""
    taken = manifest(place, backup_id(admin(lake, "backup", place)), lake)
    copy.data_dir.mkdir(mode=0o711)
    (copy.data_dir / "master.key").write_text("ab" * 32 + "\n")
    assert taken["master_key"]["fingerprint"] in admin(copy, "restore", place, "--database-only", status=1)
    assert '--move "x"' in admin(copy, "restore", place, "--move", "x", status=1)
    nowhere = servers.Tarnd(scratch("nowhere"))
    for words in (("backups",), ("prune-backups", place, "--keep", "1"), ("release-backup", "x")):
        assert str(nowhere.data_dir) in admin(nowhere, *words, status=1)
    assert not (nowhere.data_dir / "pg").exists()
