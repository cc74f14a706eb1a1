"""A week of a busy repository with a retention of one day: store and database end as small as what is kept.

The clocks of server and database are set forward by a day, seven times. Each day has the same work: commits to main, branches that
are made, committed to and deleted, and an import of the same files. TARN_WEEK_COMMITS=N is the number of commits in the week.
"""

import os
import time

import clients
import pytest
import servers
from jumping_clock import JumpingClock

DAYS = 7
DAY = 24 * 3600
COMMITS = int(os.environ.get("TARN_WEEK_COMMITS", "1000"))
KEYS = 200
FILES = 3000
COMMITS_OF_A_BRANCH = 4
WAIT_SECONDS = 90
SPARE = 1.15
SETTINGS = {"TARN_GC_INTERVAL_HOURS": "0", "TARN_GC_GRACE_HOURS": "0", "TARN_GC_UNREACHABLE_DAYS": "1",
            "TARN_GC_BUSY_PERCENT": "100", "TARN_AUTH_MASTER_KEY": "a5" * 32, **servers.SHORT_LEASE}
BASE = "/repositories/lake"


@pytest.fixture
def place(scratch_dir, long_tests):
    """(server, database, clocks)"""
    if not long_tests:
        pytest.skip("takes minutes; run with --long")
    clocks = {name: JumpingClock(scratch_dir, name) for name in ("server", "database")}
    database = servers.Postgres(scratch_dir / "postgres")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in clocks["database"].environment().items():
            patch.setenv(name, value)
        database.start()
    server = servers.Tarnd(scratch_dir / "tarnd", arguments=["--database", database.url()],
                           environment={**SETTINGS, "TARN_STORE_LOCAL_ROOT": scratch_dir / "objects",
                                        **clocks["server"].environment()})
    server.objects = scratch_dir / "objects"
    server.start()
    yield server, database, list(clocks.values())
    server.stop()
    database.stop()


class Week:
    def __init__(self, server):
        self.server, self.rest = server, clients.Rest(server)
        self.number = 0

    def must(self, method, path, **options):
        """A server whose registration ran out by the jump refuses for a moment."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            answer = self.rest(method, path, **options)
            if answer.status_code not in (409, 423, 500, 503):
                assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
                return answer.json() if answer.text.startswith(("{", "[")) else None
            assert time.monotonic() < deadline, (method, path, answer.text)
            time.sleep(0.1)

    def commit(self, branch):
        """One object that replaces another."""
        self.number += 1
        body = f"{branch} {self.number} ".encode() * 50
        self.must("POST", f"{BASE}/branches/{branch}/objects?path=k/{self.number % KEYS:04}", data=body)
        self.must("POST", f"{BASE}/branches/{branch}/commits", json={"message": f"{self.number}"})

    def bring(self, folder):
        begun = self.must("POST", f"{BASE}/branches/main/import", json={
            "paths": [{"type": "common_prefix", "path": f"local://{folder}/", "destination": "im/"}],
            "commit": {"message": "import"}})
        while not self.must("GET", f"{BASE}/branches/main/import?id={begun['id']}")["completed"]:
            time.sleep(0.05)

    def day(self, folder):
        commits = COMMITS // DAYS
        branches = max(1, commits // (4 * COMMITS_OF_A_BRANCH))
        for number in range(branches):
            self.must("POST", f"{BASE}/branches", json={"name": f"exp-{number}", "source": "main"})
            for _ in range(COMMITS_OF_A_BRANCH):
                self.commit(f"exp-{number}")
            self.must("DELETE", f"{BASE}/branches/exp-{number}")
        for _ in range(commits - branches * COMMITS_OF_A_BRANCH):
            self.commit("main")
        self.bring(folder)

    def collect(self):
        before = (self.must("GET", f"{BASE}/gc/runs?amount=1")["results"] or [{"run": 0}])[0]["run"]
        self.must("POST", f"{BASE}/gc/runs", json={"yes_delete": 100})
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            runs = self.must("GET", f"{BASE}/gc/runs?amount=1")
            newest = (runs["results"] or [{"run": 0}])[0]
            if newest["run"] > before and newest["state"] != "running" and not runs["requested"]:
                assert newest["state"] == "done", newest
                return
            assert time.monotonic() < deadline, newest
            time.sleep(0.05)

    def needed(self):
        """{address: bytes} of what main and its commits show that have not expired; all of them can be read."""
        found, after = {}, ""
        refs = ["main"]
        while True:
            page = self.must("GET", f"{BASE}/refs/main/commits?amount=1000&after={after}")
            refs += [commit["id"] for commit in page["results"] if not commit.get("expired")]
            if not page["pagination"]["has_more"]:
                break
            after = page["pagination"]["next_offset"]
        for ref in refs:
            for item in self.must("GET", f"{BASE}/refs/{ref}/objects/ls?amount=1000&prefix=k/")["results"]:
                found[item["physical_address"]] = item["size_bytes"]
        return found


@pytest.mark.timeout(24 * 3600)
def test_a_week_leaves_what_its_last_day_needs(place):
    server, database, clocks = place
    folder = server.import_root / "files"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}").write_bytes(b"imported")
    week, nodes = Week(server), []
    week.must("POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    week.must("PUT", f"{BASE}/settings/gc_rules", json={"default_retention_days": 1, "branches": []})
    for day in range(1, DAYS + 1):
        week.day(folder)
        for clock in clocks:
            clock.jump_to(day * DAY + day * 60)
        time.sleep(0.1)
        for _ in range(3):
            week.collect()
        nodes.append(int(database.ask("SELECT count(*) FROM nodes")[0]))
    needed = week.needed()
    stored = {path: size for path, size in servers.files_below(server.objects).items() if path.startswith("lake/data/")}
    print(f"{week.number} commits; stored {len(stored)} objects, needed {len(needed)}; nodes after each day {nodes}")
    assert {address.removeprefix("local://") for address in needed} <= set(stored), "nothing is missing"
    assert sum(stored.values()) <= SPARE * sum(needed.values())
    assert nodes[-1] <= SPARE * nodes[DAYS // 2], "the same work, the same space"
    plan = week.must("GET", f"{BASE}/gc/plan")
    assert plan["due_objects"] == 0, plan
