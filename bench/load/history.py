"""The log of a path over long histories.

history.py TARND [COMMITS, 10000] [LABEL]
Makes a history on a server of its own: up to 10,000 real commits of one object each, of 500 in 50 folders; longer
histories go on with the trees of those, forwards and backwards, as rows that are written to the database directly.
Among the oldest commits is one of the object `rare`, and among the newest another one. Then the server starts again, and
the log is asked for by REST, on one connection: first with cold caches, then several times. Prints one line of JSON per
result. Servers of versions before the change index and after it can be compared so.
"""

import hashlib
import json
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients
import servers

REAL_MAX = 10_000
OBJECTS = 500
FOLDERS = 50
REPEATED = 7
FILL_SECONDS_MAX = 1200
QUESTIONS = {
    "log of an object that two commits changed": "objects=rare",
    "log of an object that no commit changed": "objects=folder/7/none",
    "log of a folder that one commit changed": "prefixes=old/",
    "newest commit of an object (limit)": "objects=rare&amount=1&limit=true",
    "log of an object that one commit in 500 changed": "objects=folder/7/57",
    "log without paths, the last page": "last",
}


class History:
    def __init__(self, directory, program):
        self.database = servers.Postgres(directory / "postgres").start()
        self.server = servers.Tarnd(
            directory / "tarnd",
            program=program,
            arguments=["--database", self.database.url() + "?sslmode=disable"],
            environment={"TARN_STORE_LOCAL_ROOT": directory / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32},
        )
        self.directory = directory

    def rest(self, method, path, want, **options):
        answer = self.client(method, path, **options)
        assert answer.status_code == want, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer

    def start(self):
        self.server.start()
        self.client = clients.Rest(self.server)

    def commit(self, key, content):
        self.rest(
            "POST",
            f"/repositories/long/branches/main/objects?path={key}",
            201,
            data=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        return self.rest("POST", "/repositories/long/branches/main/commits", 201, json={"message": key}).json()["id"]

    def make(self, commits):
        self.rest("POST", "/repositories", 201, json={"name": "long", "storage_namespace": "local://long"})
        self.commit("rare", b"first")
        self.commit("old/file", b"old")
        for number in range(min(commits, REAL_MAX)):
            key = number % OBJECTS
            self.commit(f"folder/{key % FOLDERS}/{key}", str(number).encode())
        if commits > REAL_MAX:
            extend(self.database.ask, self.directory, commits - REAL_MAX)
        self.last = self.commit("rare", b"second")
        self.database.ask("VACUUM ANALYZE")

    def unfilled(self):
        return int(self.database.ask("SELECT count(*) FROM commits WHERE changed_paths IS NULL")[0])

    def measure(self, question, commits):
        path = "/repositories/long/refs/main/commits?" + question
        if question == "last":  # what follows the first of all real commits
            first = self.database.ask(f"SELECT encode(commit_id, 'hex') FROM commits WHERE generation = {min(commits, 50)}")[0]
            path = f"/repositories/long/refs/main/commits?after={first}"
        times, found = [], None
        for _ in range(1 + REPEATED):
            begun = time.perf_counter()
            answer = self.rest("GET", path, 200).json()
            times.append(1000 * (time.perf_counter() - begun))
            found = len(answer["results"])
            if sum(times) > 60_000:
                break
        warm = times[1:] or times
        return {"first_ms": round(times[0], 1), "then_ms": round(statistics.median(warm), 1), "found": found}


def extend(ask, directory, count, indexed=False):
    """Commits of main with the trees of its newest REAL_MAX - OBJECTS ones, each a neighbour of the one before, as rows; `ask`
    runs SQL. Whether they have their part of the change index, or a job of the server fills it."""
    rows = ask(
        f"SELECT encode(commit_id, 'hex'), coalesce(root_nid, 0), encode(root_hash, 'hex'), repo_id, generation, created_ms, "
        f"to_jsonb(commits) ->> 'changed_paths' FROM commits ORDER BY generation DESC LIMIT {REAL_MAX - OBJECTS}"
    )
    trees = [row.split(",") for row in rows]
    has_index = ask(
        "SELECT count(*) FROM information_schema.columns WHERE table_name = 'commits' AND column_name = 'changed_paths'"
    ) == ["1"]
    head, repository = bytes.fromhex(trees[0][0]), int(trees[0][3])
    generation, created = int(trees[0][4]), int(trees[0][5])
    file = directory / "commits.csv"
    at, step = 0, 1
    with file.open("w", encoding="ascii") as out:
        for _ in range(count):
            if not 0 <= at + step < len(trees):
                step = -step
            newer = trees[min(at, at + step)]  # its change leads from the one tree to the other, or back
            at += step
            _, nid, root, *_ = trees[at]
            generation, created = generation + 1, created + 1
            parent, head = head, commit_id(bytes.fromhex(root), head, created)
            changed = f",{newer[6] if indexed else ''}" if has_index else ""
            out.write(
                f'{repository},\\x{head.hex()},{generation},"{{""\\\\x{parent.hex()}""}}",{nid},\\x{root},bench,m,{{}},'
                f"{created}{changed}\n"
            )
    columns = "repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata, created_ms"
    file.chmod(0o644)
    ask(f"COPY commits ({columns}{', changed_paths' if has_index else ''}) FROM '{file}' (FORMAT csv)")
    ask(
        f"UPDATE branches SET head = c.commit_id, root_nid = c.root_nid, root_hash = c.root_hash "
        f"FROM commits c WHERE c.commit_id = '\\x{head.hex()}' AND branches.name = 'main'"
    )
    file.unlink()


def commit_id(root, parent, created):
    """As docs/format/commit.md says."""

    def field(value):
        assert len(value) < 128
        return bytes([len(value)]) + value

    return hashlib.sha256(
        field(b"tarn commit 1")
        + field(root)
        + b"\x01"
        + field(parent)
        + field(b"bench")
        + field(b"m")
        + b"\x00"
        + field(created.to_bytes(8, "big"))
    ).digest()


def report(**line):
    print(json.dumps(line), flush=True)


def main(program, commits="10000", label=""):
    commits = int(commits)
    directory = servers.scratch_directory("history")
    directory.chmod(0o755)
    history = History(directory, Path(program).resolve())
    try:
        history.start()
        begun = time.monotonic()
        history.make(commits)
        report(measured="history made", label=label, commits=commits, seconds=round(time.monotonic() - begun, 1))
        has_index = history.database.ask("SELECT count(*) FROM information_schema.tables WHERE table_name = 'change_index'") == [
            "1"
        ]
        if has_index:
            begun, before = time.monotonic(), history.unfilled()
            while history.unfilled() > 0 and time.monotonic() - begun < FILL_SECONDS_MAX:
                time.sleep(1)
            report(
                measured="change index filled",
                label=label,
                commits=before - history.unfilled(),
                seconds=round(time.monotonic() - begun, 1),
            )
        for name, question in QUESTIONS.items():
            history.server.stop()
            history.start()
            report(measured=name, label=label, commits=commits, **history.measure(question, commits))
    finally:
        if history.server.process and history.server.alive():
            history.server.stop()
        history.database.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
