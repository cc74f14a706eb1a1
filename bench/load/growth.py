"""Time, memory and space against the number of objects: import, then the requests of daily work.

growth.py [OBJECTS ...]     default: 10000 100000 1000000; 100000000 needs some 20 GB of disk
The source lists made-up keys (listing.py); the database is a PostgreSQL of its own on disk. Prints a line of JSON a size.
"""

import json
import os
import random
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients  # noqa: E402
import listing  # noqa: E402
import servers  # noqa: E402

SPREAD = 1000
REPEATED = 5
POLL_SECONDS = 0.05


class Growth:
    def __init__(self, directory):
        self.store = listing.ListingStore()
        self.database = servers.Postgres(directory / "postgres").start()
        environment = {**servers.s3_store_of(self.store), "TARN_STORE_LOCAL_ROOT": directory / "objects",
                       "TARN_AUTH_MASTER_KEY": "a5" * 32}
        self.server = servers.Tarnd(directory / "tarnd", environment=environment,
                                    arguments=["--database", self.database.url() + "?sslmode=disable"]).start()
        self.rest = clients.Rest(self.server)

    def stop(self):
        self.server.stop()
        self.database.stop()
        self.store.stop()

    def ask(self, want, method, path, **options):
        """The answer and its milliseconds."""
        begun = time.perf_counter()
        answer = self.rest(method, f"/repositories/{self.name}{path}", **options)
        taken = 1000 * (time.perf_counter() - begun)
        if answer.status_code != want:
            sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer, taken

    def database_bytes(self):
        return int(self.database.ask("SELECT pg_database_size(current_database())")[0])

    def wal_bytes(self):
        return int(float(self.database.ask("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0]))

    def peak_bytes(self):
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def import_all(self):
        source = {"path": f"s3://made-up/{self.count}/", "destination": "", "type": "common_prefix"}
        body = {"paths": [source], "commit": {"message": "import"}}
        begun = time.perf_counter()
        job = self.ask(202, "POST", "/branches/main/import", json=body)[0].json()["id"]
        while True:
            status = self.ask(200, "GET", f"/branches/main/import?id={job}")[0].json()
            if status.get("error"):
                sys.exit(str(status["error"]))
            if status["completed"]:
                return time.perf_counter() - begun
            time.sleep(POLL_SECONDS)

    def key(self, number):
        return listing.key_of(self.count, number).partition("/")[2]

    def some(self, amount):
        return self.random.sample(range(self.count), amount)

    def median_of(self, amount, question):
        return round(statistics.median(question() for _ in range(amount)), 2)

    def delete(self, branch, numbers):
        self.ask(200, "POST", f"/branches/{branch}/objects/delete", json={"paths": [self.key(number) for number in numbers]})

    def commit(self, branch):
        answer, taken = self.ask(201, "POST", f"/branches/{branch}/commits", json={"message": "work"})
        return answer.json()["id"], taken

    def commit_one(self):
        self.delete("main", self.some(1))
        return self.commit("main")[1]

    def measure(self, count):
        self.count, self.name, self.random = count, f"objects-{count}", random.Random(count)
        made = self.rest("POST", "/repositories", json={"name": self.name, "storage_namespace": f"local://{self.name}"})
        if made.status_code != 201:
            sys.exit(made.text)
        Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5")  # the peak starts anew
        space, wal = self.database_bytes(), self.wal_bytes()
        seconds = self.import_all()
        line = {"objects": count, "import_s": round(seconds, 2), "import_per_s": round(count / seconds),
                "import_peak_MiB": self.peak_bytes() >> 20, "database_bytes_per_object": round((self.database_bytes() - space) / count, 1),
                "wal_bytes_per_object": round((self.wal_bytes() - wal) / count, 1)}
        line["stat_ms"] = self.median_of(200, lambda: self.ask(
            200, "GET", "/refs/main/objects/stat", params={"path": self.key(self.some(1)[0])})[1])
        line["page_of_1000_ms"] = self.median_of(20, lambda: self.ask(
            200, "GET", "/refs/main/objects/ls", params={"after": self.key(self.some(1)[0]), "amount": 1000})[1])
        line["branch_ms"] = self.median_of(REPEATED, lambda: self.ask(
            201, "POST", "/branches", json={"name": f"b{time.monotonic_ns()}", "source": "main"})[1])
        line["commit_of_1_ms"] = self.median_of(REPEATED, self.commit_one)
        spread = []
        for number in range(3):
            side = f"side{number}"
            self.ask(201, "POST", "/branches", json={"name": side, "source": "main"})
            chosen = self.some(2 * SPREAD)
            before = self.ask(200, "GET", "/branches/main")[0].json()["commit_id"]
            self.delete(side, chosen[:SPREAD])
            self.commit(side)
            self.delete("main", chosen[SPREAD:])
            after, commit_ms = self.commit("main")
            diff_ms = self.ask(200, "GET", f"/refs/{before}/diff/{after}", params={"amount": 1000})[1]
            merge_ms = self.ask(200, "POST", f"/refs/{side}/merge/main", json={})[1]
            spread.append((commit_ms, diff_ms, merge_ms))
        for name, taken in zip(("commit_of_1000_ms", "diff_of_1000_ms", "merge_1000_1000_ms"), zip(*spread, strict=True), strict=True):
            line[name] = round(statistics.median(taken), 1)
        line["peak_MiB"] = self.peak_bytes() >> 20
        print(json.dumps(line), flush=True)


def main(*sizes):
    directory = servers.scratch_directory("growth", on_disk=True)
    directory.chmod(0o755)
    growth = Growth(directory)
    try:
        print(json.dumps({"program": "load/growth.py", "processors": os.cpu_count(), "cache": "256 MiB of nodes"}), flush=True)
        for size in sizes or ("10000", "100000", "1000000"):
            growth.measure(int(size))
    finally:
        growth.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    main(*sys.argv[1:])
