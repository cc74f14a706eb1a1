"""A database that hangs, fails over or comes back: what was acknowledged is there, and writes go on within seconds."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
import requests
import servers
from long_tests import LONG

WRITERS = 24
# After the new primary takes writes, an acknowledged write comes within this time.
BACK_SECONDS = 3
ROUNDS = 5 if LONG else 1


@pytest.fixture
def start(pair, session_scratch):
    """Starts a tarnd over a database URL."""
    started = []

    def start(url, **environment):
        server = servers.Tarnd(
            session_scratch / f"failover-{time.monotonic_ns()}",
            arguments=["--database", url],
            environment={"TARN_AUTH_MASTER_KEY": "a5" * 32, **environment},
        )
        started.append(server.start())
        answer = call(server, "POST", "repositories", json={"name": "lake", "storage_namespace": "local://lake"})
        assert answer.status_code == 201, answer.text
        return server

    yield start
    for server in started:
        server.kill()


def call(server, method, path, timeout=60, **more):
    return requests.request(
        method, f"{server.url}/api/v1/{path}", auth=(server.access_key, server.secret_key), timeout=timeout, **more
    )


def put(server, key, body=b"x", branch="main", **more):
    return call(
        server,
        "POST",
        f"repositories/lake/branches/{branch}/objects",
        params={"path": key},
        data=body,
        headers={"Content-Type": "application/octet-stream", **more.pop("headers", {})},
        **more,
    )


def commit(server, branch="main", **more):
    return call(server, "POST", f"repositories/lake/branches/{branch}/commits", json={"message": "m"}, **more)


def exists(server, key, ref="main"):
    return call(server, "GET", f"repositories/lake/refs/{ref}/objects/stat", params={"path": key}).status_code == 200


class Writers:
    """Clients that repeat nothing; what was acknowledged is kept, and when."""

    def __init__(self, server):
        self.server = server
        self.acknowledged = []  # (time, key)
        self.longest = 0
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(number,)) for number in range(WRITERS)]
        for thread in self.threads:
            thread.start()

    def write(self, number):
        count = 0
        while not self.stopping.is_set():
            key = f"w{number}/{count:05}"
            count += 1
            begun = time.monotonic()
            try:
                answer = put(self.server, key)
            except requests.RequestException:
                answer = None
            now = time.monotonic()
            self.longest = max(self.longest, now - begun)
            if answer is not None and answer.status_code == 201:
                self.acknowledged.append((now, key))
            else:
                time.sleep(0.05)

    def first_after(self, moment):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            after = [at for at, _ in list(self.acknowledged) if at > moment]
            if after:
                return min(after) - moment
            time.sleep(0.02)
        return float("inf")

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def missing(self):
        listed, after = set(), ""
        while True:
            page = call(
                self.server, "GET", "repositories/lake/refs/main/objects/ls", params={"amount": 1000, "after": after}
            ).json()
            listed.update(item["path"] for item in page["results"])
            if not page["pagination"]["has_more"]:
                return [key for _, key in self.acknowledged if key not in listed]
            after = page["pagination"]["next_offset"]


def hang_and_fail_over(pair, server, waking=False):
    """Seconds from the promotion to the first acknowledged write; asks that nothing acknowledged is lost."""
    writers = Writers(server)
    assert writers.first_after(time.monotonic()) < 10
    time.sleep(0.5)
    pair.first.hang()
    time.sleep(1)
    pair.fail_over()
    promoted = time.monotonic()
    if waking:
        pair.first.go_on()
    back = writers.first_after(promoted)
    time.sleep(0.5)
    writers.stop()
    print(
        f"first write {back:.2f} s after the promotion, longest request {writers.longest:.2f} s,"
        f" {len(writers.acknowledged)} acknowledged"
    )
    assert commit(server).status_code == 201
    assert requests.get(f"{server.url}/_ready", timeout=10).status_code == 200
    pair.first.kill()
    assert writers.missing() == []
    assert pair.second.ask("SELECT timeline FROM timelines ORDER BY timeline") == ["00000001", "00000002"]
    return back


def test_a_primary_that_hangs_with_both_hosts_in_the_url(pair, start):
    assert hang_and_fail_over(pair, start(pair.url())) < BACK_SECONDS


@pytest.mark.skipif(not shutil.which("haproxy", path="/usr/sbin"), reason="haproxy is not installed")
@pytest.mark.parametrize("options", ["", " on-marked-down shutdown-sessions"] if LONG else [""])
def test_a_primary_that_hangs_behind_haproxy(pair, start, options):
    server = start(pair.start_proxy(options))
    assert hang_and_fail_over(pair, server) < BACK_SECONDS


@pytest.mark.skipif(not shutil.which("haproxy", path="/usr/sbin"), reason="haproxy is not installed")
def test_an_old_primary_that_wakes_up_behind_haproxy(pair, start):
    """It answers, but its commits wait for a standby that has left."""
    server = start(pair.start_proxy(""))
    assert hang_and_fail_over(pair, server, waking=True) < 2 * BACK_SECONDS


def sync_waits(pair):
    return pair.first.ask("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'")


def while_waiting_for_the_standby(pair, sends, how):
    """Sends, and terminates or cancels whatever waits for the standby until all are answered."""
    answers = {}
    threads = [
        threading.Thread(target=lambda name=name, send=send: answers.update({name: send()})) for name, send in sends.items()
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for pid in sync_waits(pair):
            pair.first.ask(f"SELECT {how}({pid})")
        time.sleep(0.05)
    return answers


@pytest.mark.parametrize("how", ["pg_terminate_backend", "pg_cancel_backend"])
def test_what_the_standby_never_had_is_not_acknowledged(pair, start, how):
    """Neither way is the write kept at a failover, although it is there until then."""
    server = start(pair.url(), TARN_FAULT_POINT="sql.branches_publish_commit.before=stop")
    assert put(server, "before").status_code == 201
    committing = {}
    thread = threading.Thread(target=lambda: committing.update(commit=commit(server)))
    thread.start()
    stopped = Path(f"/proc/{server.process.pid}/stat")
    deadline = time.monotonic() + 20
    while stopped.read_text().rsplit(")", 1)[1].split()[0] != "T":  # it holds its branch and is about to publish
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pair.second.kill()
    os.kill(server.process.pid, signal.SIGCONT)
    answers = while_waiting_for_the_standby(
        pair,
        {
            "object": lambda: put(server, "a"),
            "conditional": lambda: put(server, "b", headers={"If-None-Match": "*"}),
            "publication": lambda: thread.join() or committing["commit"],
        },
        how,
    )
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 503)
    assert {answer.headers["X-Tarn-Error"] for answer in answers.values()} == {"in_doubt"}
    assert {answer.headers["Retry-After"] for answer in answers.values()} == {"1"}


def contents(server, ref):
    listed = call(server, "GET", f"repositories/lake/refs/{ref}/objects/ls", params={"amount": 1000}).json()["results"]
    return {
        item["path"]: call(server, "GET", f"repositories/lake/refs/{ref}/objects", params={"path": item["path"]}).text
        for item in listed
    }


def write_commits(server, name, count=3):
    """Returns the commits, oldest first."""
    made = []
    for number in range(count):
        assert put(server, f"{name}/{number}", f"{name} {number}".encode()).status_code == 201
        answer = commit(server)
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["id"])
    return made


def test_a_standby_that_lacked_the_last_writes(pair, start, session_scratch):
    """They are lost. A server that has seen them and accepts that works on, although others are given the same numbers again."""
    pair.first.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
    pair.first.ask("SELECT pg_reload_conf()")
    shared = {
        "TARN_STORE_LOCAL_ROOT": session_scratch / f"objects-{time.monotonic_ns()}",
        "TARN_AUTH_MASTER_KEY": "a5" * 32,
        "TARN_DB_LOST_WRITES": "accept",
        "TARN_STORE_PROMOTED_STANDBY": "adopt",
    }
    stays = start(pair.url(), **shared)

    def another():
        return servers.Tarnd(
            session_scratch / f"failover-{time.monotonic_ns()}", arguments=["--database", pair.url()], environment=shared
        ).start()

    kept = write_commits(stays, "kept")
    pair.first.process.wait_until(
        lambda: pair.first.ask("SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication") == ["t"], "the standby"
    )
    pair.second.kill()  # one that hangs would still read what its sockets hold
    # PostgreSQL tells a standby of 32 numbers at once.
    handed_out = pair.first.ask("SELECT max(nextval('node_nids')) FROM generate_series(1, 64)")[0]
    before = another()
    lost = write_commits(before, "lost")
    assert call(before, "POST", "repositories/lake/branches", json={"name": "dev", "source": "main"}).status_code == 201
    assert [len(contents(stays, one)) for one in lost] == [4, 5, 6]
    before.kill()
    pair.first.kill()
    pair.second.launch()
    pair.fail_over()
    pair.second.ask(f"SELECT setval('node_nids', {handed_out}) FROM node_nids WHERE last_value < {handed_out}")
    after = another()
    try:
        found = write_commits(after, "found")
        assert call(after, "POST", "repositories/lake/branches", json={"name": "dev", "source": "main"}).status_code == 201
        expected = {f"kept/{number}": f"kept {number}" for number in range(3)}
        assert contents(stays, kept[-1]) == expected
        for number, one in enumerate(found):
            expected[f"found/{number}"] = f"found {number}"
            assert contents(stays, one) == contents(after, one) == expected
        for ref in ("main", "dev"):
            assert contents(stays, ref) == contents(after, ref) == expected
        assert call(stays, "GET", f"repositories/lake/commits/{lost[-1]}").status_code == 404
        write_commits(stays, "again", 1)
        expected["again/0"] = "again 0"
        assert contents(stays, "main") == contents(after, "main") == expected
    finally:
        after.kill()


def test_branches_are_free_soon_after_the_database_was_away(pair, start):
    pair.first.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
    pair.first.ask("SELECT pg_reload_conf()")
    server = start(pair.url())
    branches = [f"b{number}" for number in range(10)]
    for branch in branches:
        assert call(server, "POST", "repositories/lake/branches", json={"name": branch, "source": "main"}).status_code == 201
    stopping = threading.Event()

    def loop(branch):
        count = 0
        while not stopping.is_set():
            count += 1
            if put(server, f"k{count}", branch=branch).status_code == 201:
                commit(server, branch)

    for _ in range(ROUNDS):
        stopping.clear()
        threads = [threading.Thread(target=loop, args=(branch,)) for branch in branches]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        pair.first.restart_immediately()
        restarted = time.monotonic()
        stopping.set()
        took = {}
        for thread in threads:
            thread.join()

        def try_branch(branch, took=took, restarted=restarted):
            while put(server, "after", branch=branch).status_code != 201 or commit(server, branch).status_code != 201:
                time.sleep(0.02)
            took[branch] = time.monotonic() - restarted

        threads = [threading.Thread(target=try_branch, args=(branch,)) for branch in branches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("writable after", {branch: round(seconds, 2) for branch, seconds in took.items()})
        assert max(took.values()) < 2
