"""A promotion happens whole or not at all, whoever is killed and when.

tarnd is killed, or stopped, at named moments (TARN_FAULT_POINT). Then the database is asked itself: branch, alias, its
history and the promotion's state all moved, or none did. A server without the fault finishes what was begun.
"""

import random
import signal
import threading
import time
from pathlib import Path

import clients
import pytest
import requests
import servers
from long_tests import LONG

POINTS = [
    "promotion.comparing",
    "promotion.compared",
    "promotion.merging",
    "promotion.alias_moved",
    "promotion.before_record",
    "promotion.before_commit",
    "promotion.promoted",
]
AFTER_THE_COMMIT = {"promotion.promoted"}
END_SECONDS_MAX = 60
# After its database was killed a server also waits for what it had sent there.
END_AFTER_POSTGRES_SECONDS_MAX = 120
DIE_SECONDS_MAX = 60
AWAY_SECONDS_MAX = 30
RACERS = 64
TAKEOVERS_MAX = 40
POLICY = """name: gate
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.5, primary: true}]
"""
# Whether the four things that a promotion changes have changed.
VIEW = """SELECT (SELECT head <> decode('{head}', 'hex') FROM branches WHERE repo_id = r.repo_id AND name = 'main'),
       (SELECT count(commit_id) FROM aliases WHERE repo_id = r.repo_id),
       (SELECT count(*) FROM alias_history WHERE repo_id = r.repo_id),
       (SELECT count(*) FROM promotions WHERE repo_id = r.repo_id AND state = 'promoted')
  FROM repositories r WHERE r.name = '{repo}'"""
NOTHING, ALL = ["f", "0", "0", "0"], ["t", "1", "1", "1"]


class Repo:
    """A repository with one candidate behind a gate."""

    def __init__(self, server, name, candidates=1):
        self.name = name
        self.base = f"/repositories/{name}"
        self.must(server, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})
        for number in range(candidates):
            branch = f"exp-{number}"
            self.must(server, "POST", f"{self.base}/branches", json={"name": branch, "source": "main"})
            self.must(server, "POST", f"{self.base}/branches/{branch}/objects?path=model", data=branch)
            self.must(
                server,
                "POST",
                f"{self.base}/branches/{branch}/commits",
                json={"message": branch, "metadata": {"metric.accuracy": "0.9"}},
            )
        self.must(server, "PUT", f"{self.base}/policies/gate", data=POLICY, headers={"Content-Type": "application/yaml"})
        self.head = self.get(server, "/branches/main")["commit_id"]

    def must(self, server, method, path, **options):
        answer = clients.Rest(server)(method, path, **options)
        deadline = time.monotonic() + AWAY_SECONDS_MAX
        # Its database was killed a moment ago, or a server whose lease of the branch has not expired.
        while answer.status_code in (423, 503) and time.monotonic() < deadline:
            time.sleep(0.2)
            answer = clients.Rest(server)(method, path, **options)
        assert answer.status_code < 300, (path, answer.status_code, answer.text)
        return answer.json() if "json" in answer.headers.get("Content-Type", "") else None

    def get(self, server, path):
        return self.must(server, "GET", self.base + path)

    def begin(self, server, **more):
        """The server may die before it answers; the promotion is then begun all the same, or not at all."""
        try:
            return clients.Rest(server)(
                "POST", f"{self.base}/promotions", json={"candidates": ["exp-0"], "destination": "main", **more}
            )
        except requests.RequestException:
            return None

    def view(self, database):
        [row] = database.ask(VIEW.format(head=self.head, repo=self.name))
        return row.split(",")

    def wait_until_promoted(self, server, seconds=END_SECONDS_MAX):
        """The one promotion, once it has ended; whatever else answers meanwhile says that it will be there again."""
        deadline = time.monotonic() + seconds
        while True:
            answer = clients.Rest(server)("GET", f"{self.base}/promotions")
            assert answer.status_code in (200, 503), answer.text
            states = [p["state"] for p in answer.json()["results"]] if answer.status_code == 200 else []
            if states == ["promoted"]:
                return
            assert not {"rejected", "failed", "cancelled"} & set(states), answer.text
            assert time.monotonic() < deadline, f"{states} after {seconds} s"
            time.sleep(0.2)

    def wait_until_answered(self, server):
        """tarnd brings its PostgreSQL back by itself."""
        deadline = time.monotonic() + END_SECONDS_MAX
        while clients.Rest(server)("GET", self.base).status_code != 200:
            assert time.monotonic() < deadline, "PostgreSQL did not come back"
            time.sleep(0.1)

    def check_moved_once(self, server):
        [promotion] = self.get(server, "/promotions")["results"]
        [change] = self.get(server, "/aliases/champion/history")["results"]
        assert (change["to_commit_id"], change["promotion_id"]) == (promotion["result"], promotion["id"])
        assert self.get(server, "/branches/main")["commit_id"] == promotion["result"]
        log = self.get(server, "/refs/main/commits?first_parent=true")["results"]
        assert [commit["id"] for commit in log][:2] == [promotion["result"], self.head]
        body = clients.Rest(server)("GET", f"{self.base}/refs/%40champion/objects?path=model")
        assert body.content == b"exp-0"
        got = self.get(server, f"/promotions/{promotion['id']}")
        assert [step["state"] for step in got["steps"]].count("promoted") == 1


def wait_for_the_end(server):
    assert server.process.child.wait(DIE_SECONDS_MAX) == -9


def is_stopped(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def wait_for_the_stop(server):
    deadline = time.monotonic() + DIE_SECONDS_MAX
    while not is_stopped(server.process.pid):
        assert time.monotonic() < deadline, "the fault point was not reached"
        time.sleep(0.05)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS)
def test_tarnd_is_killed_and_another_takes_over(start_tarnd, database, name, point):
    first = start_tarnd(f"{point}=kill")
    repo = Repo(first, name)
    repo.begin(first)
    wait_for_the_end(first)
    assert repo.view(database) == (ALL if point in AFTER_THE_COMMIT else NOTHING)
    second = start_tarnd()
    repo.wait_until_promoted(second)
    repo.check_moved_once(second)
    assert repo.view(database) == ALL


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", POINTS if LONG else POINTS[1::2])
def test_postgresql_is_killed_while_tarnd_stands_there(scratch_dir, initialised_data, name, point):
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_FAULT_POINT": f"{point}=stop", **servers.SHORT_LEASE})
    server.copy_data_of(initialised_data).start()
    try:
        repo = Repo(server, name)
        # The answer may be on its way when everything stops.
        beginning = threading.Thread(target=repo.begin, args=(server,))
        beginning.start()
        wait_for_the_stop(server)
        server.kill_postgres()
        server.process.child.send_signal(signal.SIGCONT)
        beginning.join()
        repo.wait_until_promoted(server, END_AFTER_POSTGRES_SECONDS_MAX)
        repo.wait_until_answered(server)
        repo.check_moved_once(server)
    finally:
        if server.alive():
            server.stop()


@pytest.mark.timeout(300)
def test_a_restarted_tarnd_goes_on(scratch_dir, initialised_data, name):
    """With its own PostgreSQL, which it finds again."""
    server = servers.Tarnd(
        scratch_dir / "tarnd", environment={"TARN_FAULT_POINT": "promotion.before_commit=kill", **servers.SHORT_LEASE}
    )
    server.copy_data_of(initialised_data).start()
    repo = Repo(server, name)
    repo.begin(server)
    wait_for_the_end(server)
    del server.environment["TARN_FAULT_POINT"]
    server.start()
    try:
        repo.wait_until_promoted(server)
        repo.check_moved_once(server)
    finally:
        server.stop()


@pytest.mark.timeout(300)
def test_a_living_server_takes_over(start_tarnd, name):
    """Both look for work, so promotions are begun until the first has taken one."""
    second, first = start_tarnd(), start_tarnd("promotion.before_record=kill")
    repos = []
    while first.alive():
        assert len(repos) < TAKEOVERS_MAX, "the first server took none"
        repos.append(Repo(second, f"{name[:50]}-{len(repos)}"))
        assert repos[-1].begin(second).status_code == 202
        # Not a multiple of the interval at which servers look, in which the same one would come first each time.
        time.sleep(random.uniform(0.1, 0.3))
    wait_for_the_end(first)
    for repo in repos:
        repo.wait_until_promoted(second)
        repo.check_moved_once(second)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["kill", "postgres"])
def test_a_rollback_is_whole_or_nothing(start_tarnd, scratch_dir, initialised_data, database, name, how):
    point = "rollback.before_alias"
    if how == "kill":
        server = start_tarnd(f"{point}=kill")
    else:
        server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_FAULT_POINT": f"{point}=stop", **servers.SHORT_LEASE})
        server.copy_data_of(initialised_data).start()
    try:
        repo = Repo(server, name)
        repo.begin(server)
        repo.wait_until_promoted(server)
        [promotion] = repo.get(server, "/promotions")["results"]
        undo = f"{repo.base}/promotions/{promotion['id']}:rollback"
        answers = []

        def roll_back():
            try:
                answers.append(clients.Rest(server)("POST", undo, json={}).status_code)
            except requests.RequestException:
                answers.append(None)

        rolling = threading.Thread(target=roll_back)
        rolling.start()
        if how == "kill":
            wait_for_the_end(server)
            rolling.join()
            assert answers == [None] and repo.view(database) == ALL
            server = start_tarnd()
        else:
            wait_for_the_stop(server)
            server.kill_postgres()
            server.process.child.send_signal(signal.SIGCONT)
            rolling.join()
            repo.wait_until_answered(server)
        # Without an answer it is either taken back or not, and then wholly so.
        if repo.get(server, f"/promotions/{promotion['id']}")["state"] != "rolled_back":
            assert repo.get(server, f"/promotions/{promotion['id']}")["state"] == "promoted" and answers != [200]
            assert len(repo.get(server, "/aliases/champion/history")["results"]) == 1
            repo.must(server, "POST", undo, json={})
        assert repo.get(server, f"/promotions/{promotion['id']}")["state"] == "rolled_back"
        history = repo.get(server, "/aliases/champion/history")["results"]
        assert [change["version"] for change in history] == [2, 1] and "to_commit_id" not in history[0]
        assert clients.Rest(server)("GET", f"{repo.base}/refs/main/objects?path=model").status_code == 404
    finally:
        if how == "postgres" and server.alive():
            server.stop()


@pytest.mark.timeout(600)
def test_of_many_over_two_servers_one_wins(start_tarnd, name):
    pair = [start_tarnd(), start_tarnd()]
    repo = Repo(pair[0], name, candidates=4)
    ids = []

    def promote(number):
        answer = repo.begin(
            pair[number % 2], candidates=[f"exp-{number % 4}"], expect={"destination": repo.head, "alias": "none"}
        )
        assert answer.status_code == 202, answer.text
        ids.append(answer.json()["id"])

    threads = [threading.Thread(target=promote, args=(number,)) for number in range(RACERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == RACERS
    ended = {}
    deadline = time.monotonic() + 10 * END_SECONDS_MAX
    for id in ids:
        while True:
            got = repo.get(pair[0], f"/promotions/{id}?wait=5s")
            if got["state"] in ("promoted", "failed", "rejected"):
                break
            assert time.monotonic() < deadline, got["state"]
        ended[id] = (got["state"], got.get("code"))
    won = [id for id, (how, _) in ended.items() if how == "promoted"]
    assert len(won) == 1
    assert [how for id, how in ended.items() if id not in won] == [("failed", "destination_moved")] * (RACERS - 1)
    history = repo.get(pair[1], "/aliases/champion/history")["results"]
    assert [change["promotion_id"] for change in history] == won
    log = repo.get(pair[1], "/refs/main/commits?first_parent=true")["results"]
    assert log[0]["id"] == history[0]["to_commit_id"] and log[1]["id"] == repo.head
