"""Rounds of random clients whose answers are recorded and then explained, or refused.

Each round, clients contend for a few keys of two branches and for a few names, over S3 and REST, while things happen to the
servers (see chaos.py, installations.py). Then the history of each key is checked: see branch_model.py, name_model.py and
branch_log.py.
"""

import contextlib
import multiprocessing
import os
import random
import threading
import time

import arena as arenas
import name_client
import servers
from arena import Arena, ObjectClient
from branch_log import BranchLog
from chaos import SETTLE_SECONDS
from history import Cell, Recorder
from linearizability import Undecided, fails, first_contradiction, linearizable, smallest_failing
from name_client import NameClient, Names
from name_model import NameState
from verb_client import VerbClient
from wire import NotSent, Unknown, Wire, Wires

REPOSITORY = "histories"
OBJECT_CLIENTS = 8
VERB_CLIENTS = 2  # of each arena
NAME_CLIENTS = 2
SHOWN_OPERATIONS_MAX = 40
COMMITS_READ_MAX = 60
UNDECIDED_SHARE_MAX = 0.2
UNDECIDED_FEW = 6  # of the first rounds: too few for a share
ASKED = []  # histories for verdict_of


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
        self.kept = []  # commits, with their trees
        self.others = []  # clients of other repositories: see version_client.py, gate_client.py, life_client.py
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
        for other in self.others:
            other.begin()
        self.names.begin({name: Cell(name, (name,), NameState()) for name in name_client.NAMES}, sorted(set(self.heads.values())))
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
            while not stopping.wait(self.chaos.pause):
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

        def others(client, other):
            while not stopping.is_set():
                client.one(other)

        for number in range(OBJECT_CLIENTS):
            chance = random.Random(self.chance.random())
            yield lambda c=chance, n=number: objects(ObjectClient(f"c{n}", self.wires, c), c)
        for arena in self.arenas:
            for number in range(VERB_CLIENTS):
                chance = random.Random(self.chance.random())
                yield lambda c=chance, n=number, a=arena: verbs(
                    VerbClient(f"v{n}", self.patient, c, self.chaos.imports), c, a, n == 0
                )
        for number in range(NAME_CLIENTS):
            chance = random.Random(self.chance.random())
            yield lambda c=chance, n=number: names(NameClient(f"n{n}", self.patient, c), c)
        for number, other in enumerate(self.others):
            for own in range(other.clients):
                chance = random.Random(self.chance.random())
                yield lambda c=chance, n=f"o{number}-{own}", o=other: others(o.client(n, c), o)

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
                assert time.monotonic() < deadline, (
                    f"{arena.branch} cannot be committed: {value or answer.reason}, {self.report()}"
                )
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

        for other in self.others:
            other.settle(random.Random(0))

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
            self.read_commits(log)
            publications = {cell.label: log.publications(cell) for cell in arena.cells}
            checks += [(cell, publications[cell.label]) for cell in arena.cells]
            after[arena.branch] = self.shown(arena)
        checks += [(cell, []) for cell in self.names.cells.values()]
        for other in self.others:
            other.check()
            checks += [(cell, []) for cell in other.cells()]
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

    def read_commits(self, log):
        """The bytes of commits, of this round and of earlier ones, are those that their trees show."""
        self.kept += [(commit["id"], log.trees[commit["id"]]) for commit in log.commits]
        self.kept = self.chance.sample(self.kept, min(len(self.kept), COMMITS_READ_MAX))
        for commit, tree in self.kept:
            for path, value in tree.items():
                body = self.must("GET", f"/repositories/{REPOSITORY}/refs/{commit}/objects?path={path}", raw=True)
                if arenas.number_in(body) != value[0]:
                    self.recorder.problem(f"{commit} {path}: {body[:60]}, not {value[0]}")

    def shown(self, arena):
        """The current value of each key, by the last client's reads."""
        out = {}
        for path in arena.places:
            value = None
            listed = self.must("GET", f"/repositories/{REPOSITORY}/refs/{arena.branch}/objects/ls?amount=1000")["results"]
            item = next((item for item in listed if item["path"] == path), None)
            if item is not None:
                body, metadata = arena.etags.get(item["checksum"], 0), int(item.get("metadata", {}).get("w", arenas.NONE))
                value = (body, metadata, self.tags(arena.branch, path))
            out[path] = value
        return out

    def tags(self, ref, path):
        for _ in range(2):
            with contextlib.suppress(NotSent):  # it was signed by another clock
                return arenas.tags_shown(self.patient[0], REPOSITORY, ref, path)
        raise AssertionError(f"tags of {ref} {path} cannot be read")

    def search(self, cells, operations):
        """Keys are checked at once, one process for each processor."""
        begun = time.monotonic()
        asked = [(operations[cell.label], cell.initial) for cell in cells]
        with processes_that_know(asked) as pool:
            verdicts = pool.map(verdict_of, range(len(asked)), chunksize=1)
        for cell, verdict in zip(cells, verdicts, strict=True):
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
