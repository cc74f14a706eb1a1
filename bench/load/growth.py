"""Time, memory and space against the number of objects: import, then the requests of daily work.

growth.py [OBJECTS ...]     default: 10000 100000 1000000; 100000000 needs some 20 GB of disk
The source lists made-up keys (listing.py); the database is the embedded PostgreSQL, on disk. Prints a line of JSON a size.
"""

import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import listing
import measured_server
import servers

SPREAD = 1000
REPEATED = 5
POLL_SECONDS = 0.05


class Growth:
    def __init__(self, server):
        self.server = server

    def ask(self, want, method, path, **options):
        """The answer and its milliseconds."""
        begun = time.perf_counter()
        answer = self.server.ask(want, method, f"/repositories/{self.name}{path}", **options)
        return answer, 1000 * (time.perf_counter() - begun)

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
        server = self.server
        server.make_repository(self.name)
        server.forget_peak()
        space, wal = server.database_bytes(), server.wal_bytes()
        seconds = self.import_all()
        line = {
            "objects": count,
            "import_s": round(seconds, 2),
            "import_per_s": round(count / seconds),
            "import_peak_MiB": server.peak_bytes() >> 20,
            "database_bytes_per_object": round((server.database_bytes() - space) / count, 1),
            "wal_bytes_per_object": round((server.wal_bytes() - wal) / count, 1),
        }
        line["stat_ms"] = self.median_of(
            200, lambda: self.ask(200, "GET", "/refs/main/objects/stat", params={"path": self.key(self.some(1)[0])})[1]
        )
        line["page_of_1000_ms"] = self.median_of(
            20,
            lambda: self.ask(200, "GET", "/refs/main/objects/ls", params={"after": self.key(self.some(1)[0]), "amount": 1000})[1],
        )
        line["branch_ms"] = self.median_of(
            REPEATED, lambda: self.ask(201, "POST", "/branches", json={"name": f"b{time.monotonic_ns()}", "source": "main"})[1]
        )
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
        for name, taken in zip(
            ("commit_of_1000_ms", "diff_of_1000_ms", "merge_1000_1000_ms"), zip(*spread, strict=True), strict=True
        ):
            line[name] = round(statistics.median(taken), 1)
        line["peak_MiB"] = server.peak_bytes() >> 20
        print(json.dumps(line), flush=True)


def main(*sizes):
    store = listing.ListingStore()
    try:
        with measured_server.MeasuredServer("growth", **servers.s3_store_of(store)) as server:
            print(
                json.dumps({"program": "load/growth.py", "processors": os.cpu_count(), "cache": "256 MiB of nodes"}), flush=True
            )
            for size in sizes or ("10000", "100000", "1000000"):
                Growth(server).measure(int(size))
    finally:
        store.stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--help"]:
        sys.exit(__doc__)
    main(*sys.argv[1:])
