"""A week of a busy repository with a retention of one day: store and database end as small as what is kept.

The clocks of server and database are set forward by a day, seven times. Each day has the same work: commits to main, branches that
are made, committed to and deleted, and an import of the same files. Afterwards the database is compared with a dump of it that is
restored: only what is there, without the space of rows that are gone.

TARN_WEEK_COMMITS=N is the number of commits in the week, TARN_WEEK_BRANCHES=N that of its branches, TARN_WEEK_FILES=N that of the
imported files.
"""

import base64
import http.client
import itertools
import json
import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import servers
from jumping_clock import JumpingClock

DAYS = 7
DAY = 24 * 3600
COMMITS = int(os.environ.get("TARN_WEEK_COMMITS", "1000"))
BRANCHES = int(os.environ.get("TARN_WEEK_BRANCHES", str(max(DAYS, COMMITS // 100))))
FILES = int(os.environ.get("TARN_WEEK_FILES", "3000"))
KEYS = 200
CLIENTS = 6  # of branches; another one commits to main
SHARE_OF_BRANCHES = 4  # one commit in so many
WAIT_SECONDS = 90
COLLECT_SECONDS = 1800
VACUUM_SECONDS = 300  # autovacuum looks once a minute
SPARE = 1.15
SETTINGS = {
    "TARN_GC_INTERVAL_HOURS": "0",
    "TARN_GC_GRACE_HOURS": "0",
    "TARN_GC_UNREACHABLE_DAYS": "1",
    "TARN_GC_BUSY_PERCENT": "100",
    "TARN_AUTH_MASTER_KEY": "a5" * 32,
    **servers.SHORT_LEASE,
}
BASE = "/repositories/lake"
BINARIES = "/usr/lib/postgresql/15/bin"


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
    server = servers.Tarnd(
        scratch_dir / "tarnd",
        arguments=["--database", database.url()],
        environment={**SETTINGS, "TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", **clocks["server"].environment()},
    )
    server.objects = scratch_dir / "objects"
    server.start()
    yield server, database, list(clocks.values())
    server.stop()
    database.stop()


class Caller:
    """REST over one connection, with little work for each request. For one thread."""

    def __init__(self, server):
        self.host = server.url.removeprefix("http://")
        pair = f"{server.access_key}:{server.secret_key}".encode()
        self.headers = {"Authorization": "Basic " + base64.b64encode(pair).decode()}
        self.connection = None

    def once(self, method, path, body):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, timeout=60)
        headers = self.headers
        if isinstance(body, dict):
            body, headers = json.dumps(body), {**headers, "Content-Type": "application/json"}
        try:
            self.connection.request(method, "/api/v1" + path, body=body, headers=headers)
            answer = self.connection.getresponse()
            return answer.status, answer.read()
        except (http.client.HTTPException, OSError) as error:
            self.connection.close()
            self.connection = None
            return 503, str(error).encode()

    def must(self, method, path, body=None):
        """A server whose registration ran out by the jump refuses for a moment."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            status, text = self.once(method, path, body)
            if status not in (409, 423, 500, 503):
                assert status < 300, (method, path, status, text)
                return json.loads(text) if text.startswith((b"{", b"[")) else None
            assert time.monotonic() < deadline, (method, path, text)
            time.sleep(0.1)


class Week:
    def __init__(self, server):
        self.server, self.mine = server, threading.local()
        self.numbers = itertools.count(1)

    def must(self, method, path, body=None):
        if not hasattr(self.mine, "caller"):
            self.mine.caller = Caller(self.server)
        return self.mine.caller.must(method, path, body)

    def commit(self, branch):
        """One object that replaces another."""
        number = next(self.numbers)
        body = f"{branch} {number} ".encode() * 50
        self.must("POST", f"{BASE}/branches/{branch}/objects?path=k/{number % KEYS:04}", body)
        self.must("POST", f"{BASE}/branches/{branch}/commits", {"message": f"{number}"})

    def bring(self, folder):
        begun = self.must(
            "POST",
            f"{BASE}/branches/main/import",
            {
                "paths": [{"type": "common_prefix", "path": f"local://{folder}/", "destination": "im/"}],
                "commit": {"message": "import"},
            },
        )
        while not self.must("GET", f"{BASE}/branches/main/import?id={begun['id']}")["completed"]:
            time.sleep(0.05)

    def live_on(self, branch, commits):
        self.must("POST", f"{BASE}/branches", {"name": branch, "source": "main"})
        for _ in range(commits):
            self.commit(branch)
        self.must("DELETE", f"{BASE}/branches/{branch}")

    def day(self, folder):
        commits, branches = COMMITS // DAYS, max(1, BRANCHES // DAYS)
        of_main = commits - commits // SHARE_OF_BRANCHES
        with ThreadPoolExecutor(CLIENTS + 1) as pool:
            begun = [pool.submit(lambda: [self.commit("main") for _ in range(of_main)])]
            for number in range(branches):
                share = (commits - of_main) * (number + 1) // branches - (commits - of_main) * number // branches
                begun.append(pool.submit(self.live_on, f"exp-{number}", share))
            for one in begun:
                one.result()
        self.bring(folder)

    def collect(self):
        before = (self.must("GET", f"{BASE}/gc/runs?amount=1")["results"] or [{"run": 0}])[0]["run"]
        self.must("POST", f"{BASE}/gc/runs", {"yes_delete": 100})
        deadline = time.monotonic() + COLLECT_SECONDS
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


def sizes_of(database, name="tarn"):
    """{table: bytes}, with indexes."""
    rows = subprocess.run(
        [
            f"{BINARIES}/psql",
            "-X",
            "-A",
            "-t",
            "-q",
            "-F",
            ",",
            "-d",
            database.url(name),
            "-c",
            (
                "SELECT relname, pg_total_relation_size(oid) FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return {table: int(size) for table, size in (row.split(",") for row in rows)}


def sizes_of_a_copy(database):
    """Of the same rows in a database of their own, with the maps of free space that VACUUM makes of each table in use."""
    database.ask("DROP DATABASE IF EXISTS fresh")
    database.ask("CREATE DATABASE fresh")
    dump = subprocess.Popen([f"{BINARIES}/pg_dump", "-Fc", "-Z0", "-d", database.url()], stdout=subprocess.PIPE)
    subprocess.run([f"{BINARIES}/pg_restore", "--no-owner", "-d", database.url("fresh")], stdin=dump.stdout, check=True)
    assert dump.wait() == 0
    subprocess.run([f"{BINARIES}/psql", "-X", "-q", "-d", database.url("fresh"), "-c", "VACUUM (ANALYZE)"], check=True)
    return sizes_of(database, "fresh")


def spare_space(database):
    """(bytes, bytes of a copy, a line for each table that has a share in the difference)"""
    now, needed = sizes_of(database), sizes_of_a_copy(database)
    extra = sorted(((now[table] - needed[table], table) for table in now), reverse=True)
    lines = [f"{table}: {now[table]} bytes, a copy {needed[table]}" for more, table in extra[:8] if more > 0]
    return sum(now.values()), sum(needed.values()), lines


@pytest.mark.timeout(24 * 3600)
def test_a_week_leaves_what_its_last_day_needs(place):
    server, database, clocks = place
    folder = server.import_root / "files"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}").write_bytes(b"imported")
    week, nodes = Week(server), []
    week.must("POST", "/repositories", {"name": "lake", "storage_namespace": "local://lake"})
    week.must("PUT", f"{BASE}/settings/gc_rules", {"default_retention_days": 1, "branches": []})
    for day in range(1, DAYS + 1):
        begun = time.monotonic()
        week.day(folder)
        worked = time.monotonic()
        for clock in clocks:
            clock.jump_to(day * DAY + day * 60)
        time.sleep(0.1)
        for _ in range(3):
            week.collect()
        nodes.append(int(database.ask("SELECT count(*) FROM nodes")[0]))
        print(
            f"day {day}: {worked - begun:.0f} s of work, {time.monotonic() - worked:.0f} s of collections, {nodes[-1]} nodes, "
            f"{sum(sizes_of(database).values())} bytes",
            flush=True,
        )
    needed = week.needed()
    stored = {path: size for path, size in servers.files_below(server.objects).items() if path.startswith("lake/data/")}
    print(f"{next(week.numbers) - 1} commits; stored {len(stored)} objects, needed {len(needed)}; nodes after each day {nodes}")
    assert {address.removeprefix("local://") for address in needed} <= set(stored), "nothing is missing"
    assert sum(stored.values()) <= SPARE * sum(needed.values())
    assert nodes[-1] <= SPARE * nodes[DAYS // 2], "the same work, the same space"
    plan = week.must("GET", f"{BASE}/gc/plan")
    assert plan["due_objects"] == 0, plan
    deadline = time.monotonic() + VACUUM_SECONDS
    while True:
        now, fresh, lines = spare_space(database)
        if now <= SPARE * fresh or time.monotonic() > deadline:
            break
        time.sleep(10)
        week.collect()  # as the next day's: of rows that the sweep has removed since
    print(f"database {now} bytes, a copy {fresh}: {now / fresh:.3f}", *lines, sep="\n")
    assert now <= SPARE * fresh, lines
