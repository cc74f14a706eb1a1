"""Copies of a database beside the original, on one store, with default settings and a clock that moves on: neither loses anything."""

import shutil
import subprocess
import time

import clients
import pytest
import servers
from jumping_clock import JumpingClock

HOUR = 3600
WAIT_SECONDS = 60
REFUSED = "owned_by_another_database"


def tarnd_on(url, directory, objects, **environment):
    return servers.Tarnd(
        directory,
        arguments=["--database", url],
        environment={"TARN_AUTH_MASTER_KEY": "a5" * 32, "TARN_STORE_LOCAL_ROOT": objects, **environment},
    )


@pytest.fixture
def started():
    running = []

    def start(server):
        server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        if server.alive():
            server.stop()


@pytest.fixture
def clock(scratch_dir):
    return JumpingClock(scratch_dir, "database")


@pytest.fixture
def database(scratch_dir, clock, monkeypatch):
    cluster = servers.Postgres(scratch_dir / "postgres")
    with monkeypatch.context() as patch:
        for name, value in clock.environment().items():
            patch.setenv(name, value)
        cluster.start()
    yield cluster
    cluster.stop()


def put(server, key, text):
    return clients.Rest(server)("POST", f"/repositories/lake/branches/main/objects?path={key}", data=text)


def must_put(server, key, text):
    answer = put(server, key, text)
    assert answer.status_code == 201, (key, answer.status_code, answer.text)


def text_of(server, key):
    return clients.Rest(server)("GET", f"/repositories/lake/refs/main/objects?path={key}").text


def commit(server):
    answer = clients.Rest(server)("POST", "/repositories/lake/branches/main/commits", json={"message": "m"})
    assert answer.status_code == 201, answer.text


def runs_of(server):
    return clients.Rest(server)("GET", "/repositories/lake/gc/runs?amount=100").json()["results"]


def wait_for_run(server, count):
    """The newest of `count` collections that have ended by themselves."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        ended = [run for run in runs_of(server) if run["state"] != "running"]
        if len(ended) >= count:
            return ended[0]
        assert time.monotonic() < deadline, ended
        time.sleep(0.2)


def ready(server):
    answer = clients.requests.get(f"{server.url}/_ready", timeout=20)
    return answer.status_code, answer.text


@pytest.mark.timeout(300)
def test_a_copy_from_before_the_first_collection_and_its_original_lose_nothing(database, clock, scratch_dir, started):
    objects = scratch_dir / "objects"
    original = started(tarnd_on(database.url(), scratch_dir / "original", objects))
    clients.Rest(original)("POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    for number in range(30):
        must_put(original, f"full-{number}", "overwritten")
        must_put(original, f"full-{number}", f"kept {number}")
    original.stop()
    database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tarn' AND pid <> pg_backend_pid()")
    subprocess.run(
        [
            servers.POSTGRES_PROGRAMS / "psql",
            "-X",
            "-q",
            "-d",
            database.url("postgres"),
            "-c",
            "CREATE DATABASE copy TEMPLATE tarn",
        ],
        check=True,
    )
    original.start()
    copy = started(tarnd_on(database.url("copy"), scratch_dir / "copy", objects))
    for number in range(10):
        must_put(original, f"new-{number}", f"new {number}")
    commit(original)

    stored = servers.files_below(objects)
    answer = put(copy, "new-0", "of the copy")
    assert (answer.status_code, answer.json()["code"]) == (403, REFUSED), answer.text
    assert servers.files_below(objects).keys() == stored.keys()
    s3 = clients.boto3_client(copy)
    with pytest.raises(s3.exceptions.ClientError) as refused:
        s3.put_object(Bucket="lake", Key="main/new-0", Body=b"of the copy")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert ready(original)[0] == 200
    status, text = ready(copy)
    assert status == 503 and "store of lake" in text and "tarn admin adopt" in text, text
    assert text_of(copy, "full-1") == "kept 1"

    # Three days of schedules: the first collections mark, the later ones remove.
    for day in range(1, 4):
        clock.jump_to(day * 25 * HOUR)
        assert wait_for_run(copy, day)["state"] == "refused"
        assert wait_for_run(original, day)["state"] == "done"
        for number in range(30):
            assert text_of(original, f"full-{number}") == f"kept {number}"
        for number in range(10):
            assert text_of(original, f"new-{number}") == f"new {number}"
    assert sum(run["removed_objects"] for run in runs_of(original)) == 30, "what was overwritten goes"

    # The original is given up: the copy takes the store over, and the original may not write any more.
    adopted = subprocess.run(
        [servers.program("tarn"), "admin", "adopt", "--data", str(copy.data_dir), "--database", database.url("copy")],
        env=copy.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert adopted.stdout.split() == ["lake", "local://lake"]
    deadline = time.monotonic() + WAIT_SECONDS
    while put(copy, "of-the-copy", "of the copy").status_code != 201:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    while put(original, "late", "late").status_code == 201:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert put(original, "late", "late").json()["code"] == REFUSED
    assert ready(copy)[0] == 200 and ready(original)[0] == 503


def test_an_adoption_takes_what_it_can_and_is_noticed_at_once(database, scratch_dir, started):
    objects = scratch_dir / "objects"
    original = started(tarnd_on(database.url(), scratch_dir / "original", objects))
    rest = clients.Rest(original)
    for name in ("lake", "gone", "broken"):
        assert rest("POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"}).status_code == 201
    must_put(original, "a", "a")
    assert rest("DELETE", "/repositories/gone").status_code == 204
    original.stop()
    database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'tarn' AND pid <> pg_backend_pid()")
    subprocess.run(
        [
            servers.POSTGRES_PROGRAMS / "psql",
            "-X",
            "-q",
            "-d",
            database.url("postgres"),
            "-c",
            "CREATE DATABASE copy TEMPLATE tarn",
        ],
        check=True,
    )
    in_the_way = objects / "broken/_tarn/collector"
    if in_the_way.is_dir():  # the original has claimed the store already
        shutil.rmtree(in_the_way)
    in_the_way.write_text("a file")
    copy = started(tarnd_on(database.url("copy"), scratch_dir / "copy", objects))
    assert put(copy, "b", "b").json()["code"] == REFUSED
    assert ready(copy)[0] == 503

    adopt = [servers.program("tarn"), "admin", "adopt", "--data", str(copy.data_dir), "--database", database.url("copy")]
    done = subprocess.run(adopt, env=copy.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.split() == ["lake", "local://lake", "gone", "local://gone"]
    assert "\nbroken  not adopted: " in done.stderr
    deadline = time.monotonic() + WAIT_SECONDS
    while "store of lake" in ready(copy)[1]:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    must_put(copy, "b", "b")
    assert clients.Rest(copy)("POST", "/repositories/gone/undelete").status_code == 200
    answer = clients.Rest(copy)("POST", "/repositories/gone/branches/main/objects?path=a", data="a")
    assert answer.status_code == 201, answer.text

    in_the_way.unlink()
    assert subprocess.run(adopt, env=copy.environment, capture_output=True, check=False).returncode == 0


@pytest.mark.timeout(300)
def test_a_standby_that_is_promoted_by_hand_writes_nothing(pair, scratch_dir, started):
    first, second = pair.first, pair.second
    url = "postgresql://postgres@127.0.0.1:{}/tarn"
    objects = scratch_dir / "objects"
    original = started(tarnd_on(url.format(first.port), scratch_dir / "original", objects))
    clients.Rest(original)("POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    must_put(original, "a", "a")
    first.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
    first.ask("SELECT pg_reload_conf()")
    second.promote()
    copy = started(tarnd_on(url.format(second.port), scratch_dir / "copy", objects))
    assert put(copy, "b", "b").json()["code"] == REFUSED
    must_put(original, "b", "b")
    assert text_of(copy, "a") == "a"
    assert ready(copy)[0] == 503
    assert clients.Rest(copy)("DELETE", "/repositories/lake").status_code == 204
    assert ready(copy)[0] == 200, "no repository of the copy has a store of the original"
    assert text_of(original, "b") == "b"
