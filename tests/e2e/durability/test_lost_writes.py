"""A database that lacks what was acknowledged: no server uses it without a word, and none follows an old primary."""

import json
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest
import requests
import servers
from long_tests import LONG

ROUNDS = 50 if LONG else 4


class Fleet:
    """Servers over one database and one store."""

    def __init__(self, scratch, url):
        self.scratch = scratch
        self.url = url
        self.each = []
        self.shared = {"TARN_STORE_LOCAL_ROOT": scratch / f"objects-{time.monotonic_ns()}", "TARN_AUTH_MASTER_KEY": "a5" * 32}

    def start(self, **environment):
        server = servers.Tarnd(
            self.scratch / f"lost-{time.monotonic_ns()}",
            arguments=["--database", self.url],
            environment={**self.shared, **environment},
        )
        self.each.append(server)
        server.start()
        if len(self.each) == 1:
            answer = call(server, "POST", "repositories", json={"name": "lake", "storage_namespace": "local://lake"})
            assert answer.status_code == 201, answer.text
        return server

    def accept_loss(self):
        command = [
            servers.program("tarn"),
            "admin",
            "accept-loss",
            "--database",
            self.url,
            "--data",
            self.scratch / f"none-{time.monotonic_ns()}",
        ]
        return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout

    def stop(self):
        for server in self.each:
            server.kill()


@pytest.fixture
def fleet(pair, session_scratch):
    fleet = Fleet(session_scratch, pair.url())
    yield fleet
    fleet.stop()


def call(server, method, path, timeout=60, **more):
    return requests.request(
        method, f"{server.url}/api/v1/{path}", auth=(server.access_key, server.secret_key), timeout=timeout, **more
    )


def put(server, key, body=b"x"):
    return call(
        server,
        "POST",
        "repositories/lake/branches/main/objects",
        params={"path": key},
        data=body,
        headers={"Content-Type": "application/octet-stream"},
    )


def get(server, key):
    return call(server, "GET", "repositories/lake/refs/main/objects", params={"path": key})


def until(holds, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def write_until_taken(server, key):
    until(lambda: put(server, key).status_code == 201, f"{server.url} takes no writes")


def is_refused(server):
    answer = put(server, "refused")
    return answer.status_code == 503 and answer.headers["X-Tarn-Error"] == "database_went_back"


def events(server, name):
    return [line for line in (server.directory / "tarnd.log").read_text().splitlines() if name in line]


@pytest.mark.parametrize("is_synchronous", [True, False])
def test_an_old_primary_that_returns_while_the_new_one_restarts(pair, fleet, is_synchronous):
    if not is_synchronous:
        pair.set_synchronous("")
    server = fleet.start()
    write_until_taken(server, "before")
    pair.wait_for_standby()
    pair.first.kill()
    pair.fail_over()
    write_until_taken(server, "after")
    pair.first.launch()  # alone, on the old timeline
    for round_ in range(3):
        pair.second.process.stop(signal.SIGQUIT)
        until(lambda: is_refused(server), "the old primary is refused")
        assert get(server, "after").status_code == 503
        assert not requests.get(f"{server.url}/_ready", timeout=10).ok
        pair.second.launch()
        write_until_taken(server, f"after {round_}")
        assert get(server, "after").status_code == 200
    assert pair.first.ask("SELECT count(*) FROM lost_writes") == ["1"]
    # Another that has seen nothing takes the newer one.
    other = fleet.start()
    assert get(other, "after 2").status_code == 200
    assert events(other, "two_primaries")
    write_until_taken(other, "more")  # the first has taken the store over for the new primary, or does so soon


def test_an_old_primary_that_returns_before_its_successor_was_seen(pair, fleet):
    pair.set_synchronous("")
    server = fleet.start()
    write_until_taken(server, "before")
    pair.wait_for_standby()
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        pair.first.kill()
        pair.fail_over()
        pair.first.launch()
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    write_until_taken(server, "after")
    assert get(server, "before").status_code == 200
    assert events(server, "two_primaries")
    assert pair.second.ask("SELECT count(*) FROM database_starts") == ["2"]
    assert pair.first.ask("SELECT count(*) FROM database_starts") == ["1"]


def test_a_server_starts_beside_a_first_host_that_hangs(pair, fleet):
    write_until_taken(fleet.start(), "before")
    pair.first.hang()
    pair.fail_over()
    begun = time.monotonic()
    try:
        server = fleet.start()
        assert time.monotonic() - begun < 15
        assert get(server, "before").status_code == 200
        assert put(server, "after").status_code == 201
    finally:
        pair.first.go_on()


def lose_writes(pair, server, count=3):
    """An asynchronous standby is promoted that lacks `count` writes."""
    pair.set_synchronous("")
    write_until_taken(server, "kept")
    pair.wait_for_standby()
    pair.other().kill()
    for number in range(count):
        assert put(server, f"lost {number}").status_code == 201
    pair.leader.kill()
    pair.other().launch()
    pair.take_over()


@pytest.mark.parametrize("count", [1, 30])
def test_a_standby_without_the_last_writes_is_refused_until_the_loss_is_accepted(pair, fleet, count):
    server = fleet.start()
    other = fleet.start()
    lose_writes(pair, server, count)
    until(lambda: is_refused(server), "the loss is noticed")
    until(lambda: is_refused(other), "the other server hears of it")
    answer = requests.get(f"{server.url}/_ready", timeout=10)
    assert answer.status_code == 503
    assert "database_went_back" in answer.text and "commits since" in answer.text
    metrics = requests.get(f"{server.url}/metrics", timeout=10).text
    assert "tarn_database_went_back 1" in metrics
    assert len(events(server, "error database_went_back")) == 1
    assert "commits since" in fleet.accept_loss()
    for one in (server, other):
        write_until_taken(one, "accepted")
        assert get(one, "kept").status_code == 200
        assert get(one, "lost 0").status_code == 404
    assert events(server, "lost_writes_accepted")
    assert "tarn_database_went_back 0" in requests.get(f"{server.url}/metrics", timeout=10).text
    assert "No server misses" in fleet.accept_loss()


def test_a_server_that_accepts_says_what_was_lost(pair, fleet):
    server = fleet.start(TARN_DB_LOST_WRITES="accept")
    lose_writes(pair, server)
    write_until_taken(server, "accepted")
    assert get(server, "lost 0").status_code == 404
    assert events(server, "lost_writes_accepted")
    assert "tarn_lost_commits_total" in requests.get(f"{server.url}/metrics", timeout=10).text


def test_a_restored_snapshot_is_refused_although_its_timeline_is_the_same(pair, fleet):
    pair.set_synchronous("")
    server = fleet.start()
    pair.second.kill()
    write_until_taken(server, "kept")
    pair.first.kill()
    snapshot = pair.directory / "snapshot"
    pair.first.copy_to(snapshot)
    pair.first.launch()
    write_until_taken(server, "lost")
    pair.first.kill()
    shutil.rmtree(pair.first.data)
    subprocess.run(["cp", "-a", str(snapshot), str(pair.first.data)], check=True)
    pair.first.launch()
    # It grows past what it lacks before the server looks.
    pair.first.ask("CREATE TABLE other AS SELECT generate_series(1, 100000)")
    until(lambda: is_refused(server), "the loss is noticed")
    fleet.accept_loss()
    write_until_taken(server, "accepted")
    assert get(server, "lost").status_code == 404


def test_a_rewound_primary_takes_over_again(pair, fleet):
    server = fleet.start()
    pair.first.ask("ALTER SYSTEM SET wal_log_hints = on")
    pair.second.ask("ALTER SYSTEM SET wal_log_hints = on")
    pair.second.process.stop(signal.SIGINT)
    pair.second.launch()
    pair.first.process.stop(signal.SIGINT)
    pair.first.launch()
    write_until_taken(server, "one")
    pair.wait_for_standby()
    pair.first.process.stop(signal.SIGINT)
    pair.take_over()
    write_until_taken(server, "two")
    pair.rewind()
    pair.set_synchronous("*")
    write_until_taken(server, "three")
    pair.wait_for_standby()
    pair.leader.kill()
    pair.take_over()
    write_until_taken(server, "four")
    for key in ("one", "two", "three", "four"):
        assert get(server, key).status_code == 200
    assert not events(server, "error database_went_back")


@pytest.mark.skipif(not shutil.which("haproxy", path="/usr/sbin"), reason="haproxy is not installed")
def test_a_proxy_that_leads_back_to_the_old_primary(pair, session_scratch):
    fleet = Fleet(session_scratch, pair.start_proxy(" on-marked-down shutdown-sessions"))
    try:
        server = fleet.start()
        write_until_taken(server, "before")
        pair.first.kill()
        pair.fail_over()
        write_until_taken(server, "after")
        pair.first.launch()
        pair.leader = pair.first
        until(lambda: is_refused(server), "the old primary is refused")
        pair.leader = pair.second
        write_until_taken(server, "again")
        assert get(server, "after").status_code == 200
    finally:
        fleet.stop()


class Load:
    """Writers and registers on several servers; nothing is repeated, what was acknowledged is kept."""

    def __init__(self, each, name):
        self.each = each
        self.acknowledged = set()
        self.stale = []
        self.reads = 0
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.write, args=(f"{name}/w{number}",), daemon=True) for number in range(3)]
        self.threads += [threading.Thread(target=self.count_up, args=(f"{name}/r{number}",), daemon=True) for number in range(2)]
        for thread in self.threads:
            thread.start()

    def write(self, key):
        count = 0
        while not self.stopping.is_set():
            name = f"{key}/{count}"
            try:
                if put(self.each[count % len(self.each)], name).status_code == 201:
                    self.acknowledged.add(name)
                else:
                    time.sleep(0.02)
            except requests.RequestException:
                time.sleep(0.02)
            count += 1

    def count_up(self, key):
        floor, count = -1, 0
        while not self.stopping.is_set():
            try:
                if put(self.each[count % len(self.each)], key, str(count).encode()).status_code == 201:
                    floor = count
                answer = get(self.each[(count + 1) % len(self.each)], key)
                if floor >= 0 and (answer.status_code == 404 or (answer.status_code == 200 and int(answer.content) < floor)):
                    self.stale.append((key, floor, answer.status_code))
                self.reads += answer.status_code == 200
            except requests.RequestException:
                pass
            count += 1

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


def judge(load, fleet, total):
    """Ends the load after a failover, adds it to `total`, and returns whether a loss was said and what was lost."""
    said = any([is_refused(server) for server in load.each])
    load.stop()
    if said:
        fleet.accept_loss()
    for server in load.each:
        write_until_taken(server, "again")
    lost = [key for key in load.acknowledged if get(load.each[0], key).status_code != 200]
    total["failovers"] += 1
    total["acknowledged"] += len(load.acknowledged)
    total["reads"] += load.reads
    total["said"] += said
    if not said:
        total["lost"] += len(lost)
        total["stale"] += len(load.stale)
    assert said or not (lost or load.stale), f"without a word: {lost[:3]}, {load.stale[:3]}"
    return said, lost


def test_failovers_of_every_shape(pair, fleet):
    """Kills, pauses, old primaries that return alone, restarts, and standbys that lack the last writes."""
    each = [fleet.start(), fleet.start()]
    chance = random.Random(7)
    total = {"acknowledged": 0, "lost": 0, "stale": 0, "reads": 0, "said": 0, "failovers": 0}
    shapes = ["kill", "pause", "return", "lag"]
    for round_ in range(ROUNDS):
        shape = shapes[round_ % len(shapes)]
        pair.set_synchronous("" if shape == "lag" else "*")
        pair.wait_for_standby()
        load = Load(each, f"{round_}")
        time.sleep(0.3 + chance.random())
        old = pair.leader
        if shape == "lag":
            pair.other().hang()
            time.sleep(0.05 * chance.random())
        (old.hang if shape == "pause" else old.kill)()
        if shape == "lag":
            pair.other().go_on()
        pair.take_over()
        time.sleep(0.5 + chance.random())
        if shape == "pause":
            old.go_on()
            time.sleep(1)
            old.kill()
        if shape == "return":
            old.launch()
            pair.leader.restart_immediately()
            time.sleep(1)
            old.kill()
        time.sleep(0.5)
        said, _ = judge(load, fleet, total)
        assert not said or shape == "lag", f"round {round_}: {shape} lost nothing"
        pair.copy_again()
    print(json.dumps(total))
