"""Collections follow each other without a grace while two servers serve every verb, and are killed with their database.

Over a local store, and with --long over an S3 server too.

Each of the workers has a branch of its own and a model of it (../../support/collection_worker.py); others promote and roll back,
dump and restore, and read what any ref shows. Whatever a branch, a tag, an alias or the history of a branch shows must read
back byte for byte; in the end everything that nothing shows is gone from the store and the database.

TARN_COLLECTION_SQL is run in the database first: statements that take a fence away, to see the test fail.
TARN_TEST_SEED=N chooses the same clients and faults again; TARN_COLLECTION_SECONDS=N, how long it lasts;
TARN_COLLECTION_FAULTS=0 kills nothing.
"""

import collections
import contextlib
import functools
import os
import random
import stat
import threading
import time

import clients
import pytest
import servers
from collection_worker import Bodies, Worker
from long_tests import LONG
from wire import NotSent, Unknown, Wires

WORKERS = 16
SECONDS = 15
SECONDS_LONG = 3600
SECONDS_S3 = 60
PATIENCE_SECONDS = 120  # more, while a busy machine has let too little happen
REMOVED_MIN = 51  # a race with fewer would say little
COLLECTIONS_MIN = 11
COLLECT_SECONDS = 1
FAULT_SECONDS = (3, 6)
SETTLE_SECONDS = 60
ABANDONED_SECONDS = 30 * 24 * 3600  # longer than collections keep what an upload left unfinished
COLLECT_SECONDS_LONG = 600  # a collection of what an hour has left behind
RUNS_TO_THE_END = 5
COMMITS_LOOKED_AT = 6  # of each branch, in the short test
POLICY = b"""name: gate
destination: main
alias: champion
metrics: [{name: accuracy, goal: max, min: 0.5, primary: true}]
"""
WORKER_VERBS = (
    "put",
    "copy",
    "copy_between",
    "upload",
    "commit",
    "delete",
    "link",
    "presign",
    "merge",
    "revert",
    "pick",
    "reset",
    "move_back",
    "bring",
    "side_branch",
    "tag",
    "alias",
)
SETTINGS = {
    "TARN_GC_INTERVAL_HOURS": "0",
    "TARN_GC_GRACE_HOURS": "0",
    "TARN_GC_UNREACHABLE_DAYS": "0",
    "TARN_GC_DELETED_DAYS": "0",
    "TARN_GC_BUSY_PERCENT": "100",
    "TARN_AUTH_MASTER_KEY": "a5" * 32,
    **servers.SHORT_LEASE,
}


class Place:
    """Two servers over one database and one store: a local one, or the bucket of `gateway`."""

    def __init__(self, directory, gateway=None):
        self.database = servers.Postgres(directory / "postgres")
        self.objects, self.imports, self.gateway = directory / "objects", directory / "imports", gateway
        self.imports.mkdir()
        environment = {**SETTINGS, "TARN_STORE_LOCAL_ROOT": self.objects, "TARN_STORE_LOCAL_IMPORT_ROOTS": self.imports}
        if gateway is not None:
            self.bucket = "races"
            clients.boto3_client(gateway).create_bucket(Bucket=self.bucket)
            environment.update(gateway.tarnd_environment())
        self.servers = [
            servers.Tarnd(directory / f"tarnd-{number}", arguments=["--database", self.database.url()], environment=environment)
            for number in range(2)
        ]

    def start(self):
        self.database.start()
        self.registered = {}  # by server: its rows in writers
        for server in self.servers:
            before = self.writers() if self.registered else set()
            server.start()
            self.registered[server] = self.writers() - before

    def end(self):
        for server in self.servers:
            if server.process is not None and server.alive():
                server.kill()
        if self.database.process is not None:
            self.database.crash()

    def fault(self, chance):
        kind = chance.choice(("server", "server", "database"))
        if kind == "database":
            self.database.crash()
            self.database.launch()
            return
        server = chance.choice(self.servers)
        server.kill()
        before = self.writers()
        server.start()
        self.registered[server] = self.writers() - before
        # As if its minute, and that of the lease of a collection, had gone by: a collection would wait that long for the floor
        # of the server that was killed. The other one notices if it loses a row that it registered later.
        living = ",".join(set().union(*self.registered.values()))
        self.ask(
            f"DELETE FROM writers WHERE writer_id <> ALL ('{{{living}}}'); UPDATE gc_control SET lease_until = clock_timestamp()"
        )

    def writers(self):
        return set(self.ask("SELECT writer_id FROM writers"))

    def ask(self, statement):
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                return self.database.ask(statement)
            except Exception:  # it still recovers
                assert time.monotonic() < deadline
                time.sleep(0.2)

    def age_unfinished(self):
        """Files that killed servers were writing count as abandoned, as they would in time."""
        for path in servers.files_below(self.objects):
            file, long_ago = self.objects / path, time.time() - ABANDONED_SECONDS
            with contextlib.suppress(FileNotFoundError):  # a collection may still be removing objects
                if not file.stat().st_mode & stat.S_IRUSR:
                    os.utime(file, (long_ago, long_ago))

    def state(self):
        """Of the database, for the report of a collection that does not begin or end."""
        return {
            table: self.ask(f"SELECT to_json(t)::text, clock_timestamp() FROM {table} t")
            for table in ("writers", "gc_control", "gc_repositories")
        }

    def namespace(self, repository):
        return f"local://{repository}" if self.gateway is None else f"s3://{self.bucket}/{repository}"

    def stored(self, repository):
        if self.gateway is not None:
            return {path for path in self.gateway.stored(self.bucket) if path.startswith(f"{repository}/data/")}
        return {path for path in servers.files_below(self.objects) if path.startswith(f"{repository}/data/")}


class Shared:
    """State that the threads of a race share."""

    repository, other, gated, workers = "race", "other", "gated", WORKERS

    def __init__(self, place, thorough):
        self.place, self.thorough = place, thorough
        self.wires = Wires(place.servers, timeout=servers.LEASE_SECONDS + 20)
        self.bodies = Bodies()
        self.imports = place.imports
        self.commits, self.tags, self.aliased = {}, {}, {}
        self.violations = []
        self.stopping = threading.Event()
        self.read = 0
        self.rolled_back = 0  # promotions

    def wire(self, chance):
        return self.wires[chance.randrange(len(self.wires))]

    def violation(self, text):
        self.violations.append(text)
        self.stopping.set()

    def must(self, method, path, document=None, body=None):
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                answer = self.wires[0].rest(method, path, document=document, body=body)
                if answer.status not in (409, 423):
                    assert answer.status < 300, f"{method} {path}: {answer.status} {answer.reason}"
                    return answer.json() if answer.body.startswith((b"{", b"[")) else None
            except (Unknown, NotSent) as why:
                assert time.monotonic() < deadline, f"{method} {path}: {why}"
            time.sleep(0.2)

    def expect(self, answer, etag, what):
        """The answer to a GET has the bytes of the ETag; True if it is so."""
        self.read += 1
        known = self.bodies.by_etag.get(etag)
        if answer.status == 200 and (answer.body == known if known is not None else answer.body in self.bodies.all):
            return True
        if answer.status == 200:
            self.violation(f"{what} ({etag}): {len(answer.body)} other bytes")
        return False

    def read_ref(self, repository, ref, chance, expected=None):
        """Every object of a ref has its bytes; an immutable one is as `expected`. False: the ref is not there, or nobody answers."""
        wire = self.wire(chance)
        try:
            answer = wire.rest("GET", f"/repositories/{repository}/refs/{ref}/objects/ls?amount=1000")
            if answer.status != 200:
                return False
            listed = {item["path"]: item for item in answer.json()["results"]}
            if expected is not None and {path: item["checksum"] for path, item in listed.items()} != expected:
                self.violation(f"{repository}/{ref} shows {listed}, not {expected}")
            for path, item in listed.items():
                self.read_object(wire, repository, ref, path, item)
        except (Unknown, NotSent):
            return False
        return True

    def read_surely(self, repository, ref, chance, expected=None):
        """The ref is there, and some server answers in time."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while not self.read_ref(repository, ref, chance, expected):
            assert time.monotonic() < deadline, f"{repository}/{ref} is not shown"
            time.sleep(0.2)

    def read_object(self, wire, repository, ref, path, item):
        """An object that was replaced since it was listed may be gone; one that is still there may not."""
        base = f"/repositories/{repository}/refs/{ref}/objects"
        why = ""
        try:
            answer = wire.rest("GET", f"{base}?path={path}")
            # The key may have been written since: then the answer has another ETag.
            if self.expect(answer, (answer.headers["ETag"] or "").strip('"'), f"{repository}/{ref}/{path}"):
                return
            why = f"{answer.status} {answer.reason}"
        except Unknown as unknown:
            why = str(unknown)
        for _ in range(3):  # 503 also says that the database was away
            again = wire.rest("GET", f"{base}/stat?path={path}")
            if again.status == 404 or again.json()["physical_address"] != item["physical_address"]:
                return
            try:
                if wire.rest("GET", f"{base}?path={path}").status == 200:
                    return
            except Unknown as unknown:
                why = str(unknown)
            time.sleep(1)
        self.violation(f"{repository}/{ref}/{path} cannot be read: {why}")


def guarded(shared, body):
    try:
        body()
    except Exception as error:
        trace, lines = error.__traceback__, []
        while trace is not None:
            lines.append(str(trace.tb_lineno))
            trace = trace.tb_next
        shared.violation(f"a client failed: {type(error).__name__} {error} at {'/'.join(lines)}")


def work(worker):
    while not worker.shared.stopping.is_set():
        worker.step()
    worker.doubt_until = 0


def collect(shared, chance):
    while not shared.stopping.wait(COLLECT_SECONDS):
        for repository in (shared.repository, shared.other, shared.gated):
            with contextlib.suppress(Unknown, NotSent):
                shared.wire(chance).rest("POST", f"/repositories/{repository}/gc/runs", document={"yes_delete": 100})


def read(shared, chance):
    while not shared.stopping.is_set():
        kind = chance.random()
        if kind < 0.5:
            shared.read_ref(shared.repository, f"w{chance.randrange(WORKERS)}", chance)
        elif kind < 0.6:
            shared.read_ref(*chance.choice(((shared.other, "main"), (shared.gated, "main"), (shared.gated, "@champion"))), chance)
        elif kind < 0.8 and shared.tags:
            name, expected = chance.choice(list(shared.tags.items()))
            shared.read_ref(shared.repository, name, chance, expected)
        elif shared.aliased:
            commit, expected = chance.choice(list(shared.aliased.items()))
            shared.read_ref(shared.repository, commit, chance, expected)


def promote(shared, chance):
    """Candidates go through a gate, and each second promotion is taken back."""
    base, number = f"/repositories/{shared.gated}", 0
    while not shared.stopping.wait(0.2):
        number += 1
        branch = f"exp-{number}"
        try:
            wire = shared.wire(chance)
            if wire.rest("POST", f"{base}/branches", document={"name": branch, "source": "main"}).status != 201:
                continue
            body = shared.bodies.new(branch)
            shared.bodies.keep(body)
            wire.rest("POST", f"{base}/branches/{branch}/objects?path=model", body=body)
            wire.rest(
                "POST",
                f"{base}/branches/{branch}/commits",
                document={"message": branch, "metadata": {"metric.accuracy": str(0.5 + number / 1000)}},
            )
            begun = wire.rest("POST", f"{base}/promotions", document={"candidates": [branch], "destination": "main"})
            if begun.status not in (200, 202):
                continue
            found = {}
            while found.get("state") not in ("promoted", "rejected", "failed", "cancelled") and not shared.stopping.wait(0.2):
                found = wire.rest("GET", f"{base}/promotions/{begun.json()['id']}").json()
            if found.get("state") == "promoted" and number % 2:
                back = wire.rest("POST", f"{base}/promotions/{found['id']}:rollback", document={"reason": "race"})
                shared.rolled_back += back.status == 200
            wire.rest("DELETE", f"{base}/branches/{branch}")
        except (Unknown, NotSent):
            continue


def dump_and_restore(shared, chance):
    """All refs of the repository in another one, which is read and deleted."""
    number = 0
    while not shared.stopping.wait(3):
        number += 1
        copy = f"copy-{number}"
        try:
            wire = shared.wire(chance)
            dump = wire.rest("PUT", f"/repositories/{shared.repository}/refs/dump")
            made = wire.rest(
                "POST", "/repositories?bare=true", document={"name": copy, "storage_namespace": shared.place.namespace(copy)}
            )
            if dump.status not in (200, 201) or made.status != 201:
                continue
            if wire.rest("PUT", f"/repositories/{copy}/refs/restore", document=dump.json()).status == 200:
                for _ in range(4):
                    shared.read_ref(copy, f"w{chance.randrange(WORKERS)}", chance)
            wire.rest("DELETE", f"/repositories/{copy}?force=true&grace=0s")
        except (Unknown, NotSent):
            continue


def collect_to_the_end(shared, *repositories):
    for repository in repositories:
        for _ in range(RUNS_TO_THE_END):
            before = (shared.must("GET", f"/repositories/{repository}/gc/runs?amount=1")["results"] or [{"run": 0}])[0]["run"]
            shared.must("POST", f"/repositories/{repository}/gc/runs", {"yes_delete": 100})
            deadline = time.monotonic() + (COLLECT_SECONDS_LONG if shared.thorough else SETTLE_SECONDS)
            while True:
                runs = shared.must("GET", f"/repositories/{repository}/gc/runs?amount=1")
                newest = (runs["results"] or [{"run": 0}])[0]
                if newest["run"] > before and newest["state"] != "running" and not runs["requested"]:
                    break
                assert time.monotonic() < deadline, f"{newest} {shared.place.state()}"
                time.sleep(0.1)
            assert newest["state"] == "done", newest


def check_all(shared, chance, workers):
    """Nothing is under way any more: every branch is as its worker knows, every tag and old commit as it was."""
    for worker in workers:
        worker.adopt() if time.monotonic() < worker.doubt_until else worker.check()
        shared.read_surely(shared.repository, worker.branch, chance)
        log = shared.must("GET", f"/repositories/{shared.repository}/refs/{worker.branch}/commits?amount=1000")["results"]
        for commit in log if shared.thorough else chance.sample(log, min(COMMITS_LOOKED_AT, len(log))):
            expected = shared.commits.get(commit["id"])
            shared.read_surely(shared.repository, commit["id"], chance, expected)
    for commit, expected in shared.aliased.items():
        shared.read_surely(shared.repository, commit, chance, expected)
    for tag in shared.must("GET", f"/repositories/{shared.repository}/tags?amount=1000")["results"]:
        shared.read_surely(shared.repository, tag["id"], chance, shared.tags.get(tag["id"]))
    for repository, ref in ((shared.other, "main"), (shared.gated, "main")):
        shared.read_surely(repository, ref, chance)


def check_garbage(shared):
    """Every stored object is shown, or is a part of one that is; nothing else is left."""
    shared.place.age_unfinished()
    collect_to_the_end(shared, shared.other, shared.gated, shared.repository)
    for repository in (shared.repository, shared.other, shared.gated):
        plan = shared.must("GET", f"/repositories/{repository}/gc/plan")
        assert (plan["due_objects"], plan["waiting_objects"], plan["commits"], plan["strangers"]) == (0, 0, 0, 0), plan
        assert plan["stored_objects"] == len(shared.place.stored(repository))


def empty_all(shared):
    """Without refs and uploads nothing is left of a repository but its first commit."""
    place = shared.place
    repo = f"(SELECT repo_id FROM repositories WHERE name = '{shared.repository}' AND deleted_ms IS NULL)"
    for upload in place.ask(f"SELECT count(*) FROM uploads WHERE repo_id = {repo} AND kind = 'multipart'"):
        print(f"{upload} uploads were left open")
    place.ask(f"DELETE FROM uploads WHERE repo_id = {repo}")  # as they would expire
    base = f"/repositories/{shared.repository}"
    for kind in ("branches", "tags"):
        for item in shared.must("GET", f"{base}/{kind}?amount=1000")["results"]:
            if item["id"] != "main":
                shared.must("DELETE", f"{base}/{kind}/{item['id']}")
    # Nobody may forget where an alias was.
    place.ask(
        f"ALTER TABLE alias_history DISABLE TRIGGER ALL; DELETE FROM alias_history WHERE repo_id = {repo}; "
        f"ALTER TABLE alias_history ENABLE TRIGGER ALL; DELETE FROM aliases WHERE repo_id = {repo}"
    )
    shared.must("DELETE", f"/repositories/{shared.other}?force=true&grace=0s")
    for name in place.ask("SELECT name FROM repositories WHERE deleted_ms IS NULL AND name LIKE 'copy-%'"):
        shared.must("DELETE", f"/repositories/{name}?force=true&grace=0s")
    collect_to_the_end(shared, shared.repository)
    assert place.stored(shared.repository) == set()
    left = place.ask(
        f"SELECT (SELECT count(*) FROM commits WHERE repo_id = {repo}), (SELECT count(*) FROM nodes WHERE repo_id = {repo}), "
        f"(SELECT count(*) FROM part_lists WHERE repo_id = {repo}), "
        f"(SELECT count(*) FROM gc_candidates WHERE repo_id = {repo} AND NOT removed), "
        f"(SELECT count(*) FROM range_summaries WHERE repo_id = {repo}), (SELECT count(*) FROM sstables WHERE repo_id = {repo})"
    )
    assert left == ["1,0,0,0,0,0"]


@pytest.fixture(params=["local", "s3"] if LONG else ["local"])
def place(request, scratch_dir):
    made = Place(scratch_dir, request.getfixturevalue("versitygw") if request.param == "s3" else None)
    try:
        made.start()
        yield made
    finally:
        made.end()


def too_little(place, workers, all_verbs):
    """Goals without which the race would say little, as far as they are missed."""
    [counts] = place.ask(
        "SELECT count(*), coalesce(sum(counts[9]), 0), (SELECT count(*) FROM promotions WHERE state = 'rolled_back') FROM gc_runs"
    )
    runs, removed, rolled_back = (int(number) for number in counts.split(","))
    missing = [] if runs >= COLLECTIONS_MIN else [f"{runs} collections"]
    if removed < REMOVED_MIN:
        missing.append(f"{removed} objects removed")
    if all_verbs:
        done = sum((worker.verbs for worker in workers), collections.Counter())
        missing += [f"no {verb}" for verb in WORKER_VERBS if not done[verb]]
        if not rolled_back:
            missing.append("no promotion rolled back")
    return missing


@pytest.mark.timeout(24 * 3600)
def test_collections_race_every_verb_and_every_fault(place, long_tests):
    seed = int(os.environ.get("TARN_TEST_SEED", random.randrange(10**6)))
    usual = SECONDS_S3 if place.gateway is not None else SECONDS_LONG if long_tests else SECONDS
    seconds = int(os.environ.get("TARN_COLLECTION_SECONDS", usual))
    faults = os.environ.get("TARN_COLLECTION_FAULTS") != "0"
    print(f"seed {seed}")
    chance = random.Random(seed)
    shared = Shared(place, long_tests)
    for name in (shared.repository, shared.other, shared.gated):
        shared.must("POST", "/repositories", {"name": name, "storage_namespace": place.namespace(name)})
    answer = clients.Rest(place.servers[0])(
        "PUT", f"/repositories/{shared.gated}/policies/gate", data=POLICY, headers={"Content-Type": "application/yaml"}
    )
    assert answer.status_code < 300, answer.text
    if statement := os.environ.get("TARN_COLLECTION_SQL"):
        place.ask(statement)
    workers = [Worker(number, shared, random.Random(chance.random())) for number in range(WORKERS)]
    for worker in workers:
        shared.must("POST", f"/repositories/{shared.repository}/branches", {"name": worker.branch, "source": "main"})
    bodies = [functools.partial(work, worker) for worker in workers]
    bodies += [
        functools.partial(client, shared, random.Random(chance.random()))
        for client in (collect, read, read, promote, dump_and_restore)
    ]
    threads = [threading.Thread(target=guarded, args=(shared, body)) for body in bodies]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    last = end + PATIENCE_SECONDS
    while not shared.stopping.is_set():
        if time.monotonic() >= end:
            if end >= last or not (missing := too_little(place, workers, seconds >= SECONDS)):
                break
            print(f"goes on: {missing}")
            end = min(last, end + FAULT_SECONDS[1])
        shared.stopping.wait(min(chance.uniform(*FAULT_SECONDS), max(0, end - time.monotonic())))
        if faults and time.monotonic() < end and not shared.stopping.is_set():
            place.fault(chance)
    shared.stopping.set()
    for thread in threads:
        thread.join()
    report = f"seed {seed}: {shared.violations[:10]}"
    assert not shared.violations, report
    check_garbage(shared)
    check_all(shared, chance, workers)
    assert not shared.violations, f"seed {seed}: {shared.violations[:10]}"
    [counts] = place.ask(
        "SELECT count(*), coalesce(sum(counts[9]), 0), coalesce(sum(counts[11]), 0), "
        "count(*) FILTER (WHERE state = 'interrupted') FROM gc_runs"
    )
    runs, removed, rescued, interrupted = (int(number) for number in counts.split(","))
    print(
        f"{sum(w.done for w in workers)} requests done, {sum(w.refused for w in workers)} refused, "
        f"{sum(w.unknown for w in workers)} unknown, {shared.read} reads; {runs} collections ({interrupted} interrupted) "
        f"removed {removed} objects, rescued {rescued}"
    )
    verbs = sum((worker.verbs for worker in workers), collections.Counter())
    print({**verbs, "rollback": shared.rolled_back})
    missing = too_little(place, workers, seconds >= SECONDS)
    assert not missing
    empty_all(shared)
