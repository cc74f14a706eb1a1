"""Random clients on two servers over one database, while servers and database fail; every answer is explained or refused.

Each round, clients contend for a few keys of two branches and for a few names, over S3 and REST, while connections to the
database break after a COMMIT, statements are late, servers and PostgreSQL are killed or stopped, and the servers' clocks are
minutes apart. Then the history of each key is checked: see branch_model.py, name_model.py and branch_log.py.

TARN_TEST_SEED=N chooses the same clients and faults again; TARN_HISTORY_SECONDS=N, how long rounds go on with
TARN_TEST_LONG=1. TARN_HISTORY_FAULTS names the faults (comma-separated; see Chaos), "none" for none; TARN_HISTORY_WITHOUT,
operations of clients that are left out.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import arena as arenas
import name_client
import pytest
import requests
import servers
from arena import Arena, ObjectClient
from branch_log import BranchLog
from history import Cell, Recorder
from left_to_ci import left_to_ci
from linearizability import Undecided, fails, first_contradiction, linearizable, smallest_failing
from name_client import NameClient, Names
from name_model import NameState
from shifted_clock import ShiftedClock
from verb_client import VerbClient
from wire import NotSent, Unknown, Wire, Wires

pytestmark = left_to_ci

REPOSITORY = "histories"
OBJECT_CLIENTS = 8
VERB_CLIENTS = 2  # of each arena
NAME_CLIENTS = 2
ROUND_SECONDS = 11
ROUND_SECONDS_LONG = 48
SETTLE_SECONDS = servers.LEASE_SECONDS + 15
BRANCH_WAIT_SECONDS = 60
CLOCK_SHIFTS = (0, 240)
PATIENCE_SECONDS = 120  # more, while a busy machine has let too little happen
ANSWERS_MIN = 1001  # histories with fewer would say little
LEASED_MIN = 11
STOP_SECONDS = 2  # longer than a read lease
STOP_SECONDS_LONG = servers.LEASE_SECONDS + 3
SHOWN_OPERATIONS_MAX = 40
UNDECIDED_SHARE_MAX = 0.2
UNDECIDED_FEW = 6  # of the first rounds: too few for a share
ASKED = []  # histories for verdict_of


def measured(server, *names):
    text = requests.get(f"{server.url}/metrics", timeout=20).text
    found = [float(line.split()[1]) for line in text.splitlines() if line.startswith(tuple(f"{name} " for name in names))]
    assert len(found) == len(names), text[:300]
    return found


class Chaos:
    """Two servers, each behind a proxy of its own to one PostgreSQL, and what happens to them."""

    def __init__(self, directory, chance, long_tests):
        self.directory, self.chance, self.long_tests = directory, chance, long_tests
        self.database = servers.Postgres(directory / "postgres")
        self.imports = directory / "import"
        self.proxies, self.servers = [], []
        kinds = [self.kill_server, self.restart_database, self.kill_backend, self.stop_server]
        wanted = os.environ.get("TARN_HISTORY_FAULTS")
        self.kinds = [kind for kind in kinds if wanted is None or kind.__name__ in wanted.split(",")]
        self.connections = wanted is None or "connections" in wanted.split(",")

    def start(self):
        directory = self.directory
        self.database.start()
        clock = ShiftedClock(directory)
        shared = {"TARN_STORE_LOCAL_ROOT": directory / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32,
                  "TARN_STORE_LOCAL_IMPORT_ROOTS": self.imports, **servers.SHORT_LEASE,
                  # Branches are leased for reads whenever nobody writes, however briefly.
                  "TARN_CACHE_READ_LEASE_READS_MIN": "1", "TARN_CACHE_READ_LEASE_PAUSE": "0s"}
        self.imports.mkdir()
        for number, shift in enumerate(CLOCK_SHIFTS):
            ready = directory / f"proxy-{number}"
            proxy = servers.Process([sys.executable, str(servers.ROOT / "tests/support/database_proxy.py"), str(ready),
                                     str(self.database.port), str(self.chance.randrange(10**6))],
                                    directory / f"proxy-{number}.log", dict(os.environ))
            proxy.wait_until(lambda ready=ready: ready.exists() and ready.read_text(), "database_proxy.py")
            url = f"postgresql://postgres@127.0.0.1:{ready.read_text()}/tarn?sslmode=disable"
            self.proxies.append(proxy)
            self.servers.append(servers.Tarnd(directory / f"tarnd-{number}", arguments=["--database", url],
                                              environment={**shared, **clock.environment(shift)}))
        for server in self.servers:
            server.start()

    def run(self, seconds):
        """Each kind of fault once, spread over the time; the first is the kill, whose lease then runs out soonest."""
        order = list(self.kinds)
        if self.long_tests:
            self.chance.shuffle(order)
        begun = time.monotonic()
        self.signal_proxies(signal.SIGUSR1 if self.connections else signal.SIGUSR2)
        for number, kind in enumerate(order):
            time.sleep(max(0, begun + seconds * (number + 0.5) / (len(order) + 1) - time.monotonic()))
            kind()
        time.sleep(max(0, begun + seconds - time.monotonic()))
        self.signal_proxies(signal.SIGUSR2)

    def signal_proxies(self, how):
        for proxy in self.proxies:
            os.kill(proxy.pid, how)

    def kill_server(self):
        number = self.chance.randrange(len(self.servers))
        self.servers[number].kill()
        os.kill(self.proxies[number].pid, signal.SIGUSR2)
        self.servers[number].start()
        if self.connections:
            os.kill(self.proxies[number].pid, signal.SIGUSR1)

    def restart_database(self):
        self.database.crash()
        self.database.launch()

    def kill_backend(self):
        """PostgreSQL then ends all others and recovers."""
        try:
            found = self.database.ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'tarnd'")
        except subprocess.CalledProcessError:
            return  # it still recovers
        if found:
            with contextlib.suppress(ProcessLookupError):  # its server has closed the connection since
                os.kill(int(self.chance.choice(found)), signal.SIGKILL)

    def stop_server(self):
        pid = self.chance.choice(self.servers).process.pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOP_SECONDS_LONG if self.long_tests and self.chance.random() < 0.2 else STOP_SECONDS)
        os.kill(pid, signal.SIGCONT)

    def quiesce(self):
        """Waits until nothing that was begun is still under way: imports of dead servers, and requests that wait in a server
        for a branch although their clients have gone."""
        deadline = time.monotonic() + SETTLE_SECONDS + BRANCH_WAIT_SECONDS
        question = ("SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tarnd' AND state <> 'idle'), "
                    "(SELECT count(*) FROM jobs WHERE state IN ('queued', 'running'))")
        quiet = 0
        while quiet < 3:
            try:
                found = self.database.ask(question)
            except subprocess.CalledProcessError as error:  # it still recovers
                found = [error.stderr]
            serving = sum(self.requests_of(server) for server in self.servers)
            quiet = quiet + 1 if found == ["0,0"] and not serving else 0
            assert time.monotonic() < deadline, f"still under way: {found}, {serving} requests"
            time.sleep(0.05)

    @staticmethod
    def requests_of(server):
        """How many are served or wait to be, without the one that asks."""
        return sum(measured(server, "tarn_http_running_requests", "tarn_http_queued_requests")) - 1

    def end(self):
        for server in self.servers:
            if server.process is not None and server.alive():
                server.kill()
        for proxy in self.proxies:
            proxy.stop()
        if self.database.process is not None:
            self.database.crash()


class Histories:
    def __init__(self, chaos, seed):
        self.seed = seed
        self.chance = random.Random(seed)
        self.recorder = Recorder()
        self.chaos = chaos
        self.arenas = [Arena(self.recorder, REPOSITORY, "hot", 0.6), Arena(self.recorder, REPOSITORY, "calm", 0.25)]
        self.names = Names(self.recorder, REPOSITORY)
        self.wires = Wires(self.chaos.servers, timeout=20)
        self.patient = Wires(self.chaos.servers, timeout=servers.LEASE_SECONDS + 20)
        self.must("POST", "/repositories", {"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"})
        for arena in self.arenas:
            self.must("POST", f"/repositories/{REPOSITORY}/branches", {"name": arena.branch, "source": "main"})
            self.must("POST", f"/repositories/{REPOSITORY}/branches", {"name": f"{arena.branch}-side", "source": "main"})
        self.heads = {}
        self.merged = {f"{arena.branch}-side": self.head(f"{arena.branch}-side") for arena in self.arenas}
        self.operations = self.searched = self.cells = self.undecided = 0
        self.round_before = {}  # operations by label, for who reads a contradiction

    def must(self, method, path, document=None, raw=False):
        """Of a server that is well: after its faults it may need a moment."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            try:
                wire = Wire(self.chaos.servers[0], servers.LEASE_SECONDS + 20)
                answer = wire.rest(method, path, document=document)
                wire.close()
                assert answer.status < 300, f"{method} {path}: {answer.status} {answer.reason}"
                return answer.body if raw or method != "GET" else answer.json()
            except (Unknown, NotSent) as why:
                assert time.monotonic() < deadline, f"{method} {path}: {why}"
                time.sleep(0.1)

    def head(self, branch):
        return self.must("GET", f"/repositories/{REPOSITORY}/branches/{branch}")["commit_id"]

    def round(self, seconds):
        for arena in self.arenas:
            for branch in (arena.branch, f"{arena.branch}-side"):
                self.heads[branch] = self.head(branch)
        self.names.begin({name: Cell(name, (name,), NameState()) for name in name_client.NAMES},
                         sorted(set(self.heads.values())))
        stopping = threading.Event()
        threads = [threading.Thread(target=self.guarded, args=(body, stopping)) for body in self.clients(stopping)]
        for thread in threads:
            thread.start()
        try:
            self.chaos.run(seconds)
        finally:
            stopping.set()
            for thread in threads:
                thread.join()
        self.phase("clients ended")
        self.chaos.quiesce()
        self.phase("quiet")
        self.settle()
        self.phase("settled")
        self.check()

    def phase(self, name):
        """Printed with -s, or when the test fails."""
        print(f"  {self.recorder.now():.1f} s {name}: {self.recorder.count} answers", flush=True)

    def clients(self, stopping):
        def objects(client, chance):
            while not stopping.is_set():
                # Most go for the same key for a while, so that they meet.
                hot = random.Random(f"{self.seed} {int(self.recorder.now() * 2)}")
                arena, cell = hot.choice((self.arenas[0], self.arenas[0], self.arenas[1])), hot.randrange(len(arenas.CELLS))
                if chance.random() < 0.4:
                    arena, cell = chance.choice(self.arenas), chance.randrange(len(arenas.CELLS))
                client.one(arena, chance.choice(arena.cells[cell].keys))

        def verbs(client, chance, arena, merges):
            while not stopping.wait(chance.uniform(0.02, 0.15)):
                client.one(arena, merges)

        def names(client, chance):
            while not stopping.wait(0.01):
                client.one(self.names, chance.choice(name_client.NAMES))

        for number in range(OBJECT_CLIENTS):
            chance = random.Random(self.chance.random())
            yield lambda c=chance, n=number: objects(ObjectClient(f"c{n}", self.wires, c), c)
        for arena in self.arenas:
            for number in range(VERB_CLIENTS):
                chance = random.Random(self.chance.random())
                yield lambda c=chance, n=number, a=arena: verbs(
                    VerbClient(f"v{n}", self.patient, c, self.chaos.imports), c, a, n == 0)
        for number in range(NAME_CLIENTS):
            chance = random.Random(self.chance.random())
            yield lambda c=chance, n=number: names(NameClient(f"n{n}", self.patient, c), c)

    def guarded(self, body, stopping):
        try:
            body()
        except Exception as error:  # a client's mistake must not pass for silence
            self.recorder.problem(f"a client failed: {type(error).__name__} {error} {error.__traceback__.tb_next.tb_lineno}")
            stopping.set()
            raise

    def settle(self):
        """Every branch can be written and committed within the lease; all that is shown is read over both servers."""
        deadline = time.monotonic() + SETTLE_SECONDS
        client = VerbClient("last", self.patient, random.Random(0), self.chaos.imports)
        for arena in self.arenas:
            value = None
            while True:
                client.put(arena, "r/0")
                answer = client.commit(arena)
                if answer is not None and answer.status == 201:
                    break
                assert time.monotonic() < deadline, f"{arena.branch} cannot be committed: {value or answer.reason}"
            for number in range(len(self.chaos.servers)):
                client.wire = lambda number=number: self.patient[number]
                for path in arena.places:
                    client.get(arena, path)
                    client.get_tags(arena, path)
                client.list(arena, "")
            client.wire = lambda: self.patient[0]
        last = NameClient("last", self.patient, random.Random(0))
        for name in name_client.NAMES:
            for delete in (last.delete_branch, last.delete_tag):
                while True:
                    last.get_branch(self.names, name)
                    last.get_tag(self.names, name)
                    answer = delete(self.names, name)
                    if answer is not None and answer.status in (204, 404):
                        break
                    assert time.monotonic() < deadline, f"{name} cannot be deleted"

    def check(self):
        def rest(method, path, raw=False):
            return self.must(method, path, raw=raw)

        after, checks = {}, []
        for arena in self.arenas:
            side = f"{arena.branch}-side"
            log = BranchLog(rest, self.tags, arena, self.heads[arena.branch], {})
            side_commits = [self.merged[side], *(one["id"] for one in log.first_parents(side, self.merged[side]))]
            for commit in side_commits:
                log.trees.setdefault(commit, log.tree(commit))
            self.merged[side] = log.check(side_commits, self.heads[arena.branch])
            publications = {cell.label: log.publications(cell) for cell in arena.cells}
            checks += [(cell, publications[cell.label]) for cell in arena.cells]
            after[arena.branch] = self.shown(arena)
        checks += [(cell, []) for cell in self.names.cells.values()]
        self.phase("logs read")
        operations = {cell.label: self.recorder.operations(cell) + publications for cell, publications in checks}
        self.search([cell for cell, _ in checks], operations)
        assert not self.recorder.problems, self.report()
        most = max(UNDECIDED_FEW, self.cells * UNDECIDED_SHARE_MAX)
        assert self.undecided <= most, f"{self.undecided} of {self.cells} keys are undecided"
        for arena in self.arenas:
            arena.begin(after[arena.branch])
        self.round_before = {label: sorted(found, key=lambda one: one.start) for label, found in operations.items()}
        self.recorder.seen.clear()

    def shown(self, arena):
        """The current value of each key, by the last client's reads."""
        out = {}
        for path, (cell, key) in arena.places.items():
            value = None
            listed = self.must("GET", f"/repositories/{REPOSITORY}/refs/{arena.branch}/objects/ls?amount=1000")["results"]
            item = next((item for item in listed if item["path"] == path), None)
            if item is not None:
                body, metadata = arena.etags.get(item["checksum"], 0), int(item.get("metadata", {}).get("w", arenas.NONE))
                value = (body, metadata, self.tags(arena.branch, path))
            out[path] = value
        return out

    def tags(self, ref, path):
        return arenas.tags_shown(Wire(self.chaos.servers[0], 10), REPOSITORY, ref, path)

    def search(self, cells, operations):
        """Keys are checked at once, one process for each processor."""
        begun = time.monotonic()
        asked = [(operations[cell.label], cell.initial) for cell in cells]
        with processes_that_know(asked) as pool:
            verdicts = pool.map(verdict_of, range(len(asked)), chunksize=1)
        for cell, verdict in zip(cells, verdicts):
            self.operations += len(operations[cell.label])
            self.cells += 1
            if verdict is not None:
                self.note(cell, operations[cell.label], *verdict)
        self.searched += time.monotonic() - begun

    def note(self, cell, operations, kind, text):
        if kind == "undecided":
            self.undecided += 1
            print(f"  {cell.label}: undecided: {text}", flush=True)
            return
        self.recorder.problem(f"{cell.label}: no order explains these answers, from {cell.initial}:\n  {text}")
        with open(self.chaos.directory / "contradictions.txt", "a", encoding="utf-8") as out:
            print("The round before:", *self.round_before.get(cell.label, []), sep="\n", file=out)
            print(cell.label, cell.initial, *sorted(operations, key=lambda one: one.start), sep="\n", file=out)

    def report(self):
        return f"seed {self.seed}:\n" + "\n".join(self.recorder.problems)


def processes_that_know(asked):
    """A pool whose processes are copies of this one, so that histories need not be sent to them."""
    global ASKED
    ASKED = asked
    return multiprocessing.get_context("fork").Pool(os.cpu_count())


def verdict_of(number):
    """None: some order explains the answers of this history. Else ("undecided", why) or ("fails", operations that contradict)."""
    operations, initial = ASKED[number]
    try:
        if linearizable(operations, initial):
            return None
    except Undecided as why:
        # Too many writes were in doubt at once; a contradiction among the first answers can still be shown.
        if not fails(first_contradiction(operations, initial), initial):
            return "undecided", str(why)
    least = smallest_failing(operations, initial)
    return "fails", "\n  ".join(str(one) for one in least[-SHOWN_OPERATIONS_MAX:])


@pytest.mark.timeout(24 * 3600)
def test_every_answer_is_explained_under_chaos(scratch_dir, long_tests):
    seed = int(os.environ.get("TARN_TEST_SEED", random.randrange(10**6)))
    seconds = int(os.environ.get("TARN_HISTORY_SECONDS", 3600 if long_tests else 0))
    print(f"seed {seed}")
    begun, leased = time.monotonic(), 0
    chaos = Chaos(Path(scratch_dir), random.Random(seed + 1), long_tests)
    try:
        chaos.start()
        histories = Histories(chaos, seed)
        while True:
            histories.round(ROUND_SECONDS_LONG if long_tests else ROUND_SECONDS)
            lasted = time.monotonic() - begun
            done = histories.recorder.count
            leased += sum(measured(server, "tarn_leased_reads_total")[0] for server in chaos.servers)
            print(f"{lasted:.0f} s: {done} answers, {done / lasted:.0f}/s, {histories.recorder.unknown} in doubt, "
                  f"{histories.operations} operations checked in {histories.searched:.1f} s, "
                  f"{histories.undecided} of {histories.cells} keys "
                  f"undecided, {leased:.0f} reads under leases, no violation", flush=True)
            enough = done >= ANSWERS_MIN and leased >= LEASED_MIN
            if (lasted >= seconds and enough) or lasted >= seconds + PATIENCE_SECONDS or done >= 10**6:
                break
        assert done >= ANSWERS_MIN, f"seed {seed}: only {done} answers"
        assert leased >= LEASED_MIN, f"seed {seed}: only {leased} reads under leases"
    finally:
        chaos.end()
