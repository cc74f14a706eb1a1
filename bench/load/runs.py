"""Starts a tarnd, records runs whose metrics are their own or in files of their commits, and asks for lists of them.

runs.py [RUNS]
"""

import json
import shutil
import sys
import time
import urllib.parse
import urllib.request
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers

METRICS = 5
THREADS = 8
ROUNDS = 5
QUESTIONS = {
    "the newest 100": {"amount": 100},
    "where, 100": {"where": "metrics.m0>0.5", "amount": 100},
    "ordered, 100": {"order": "-metrics.m0", "amount": 100},
    "where and ordered, 1000": {"where": "metrics.m0>0.5", "order": "-metrics.m1", "amount": 1000},
}


class Rest:
    def __init__(self, server):
        self.url = server.url + "/api/v1/repositories"
        keys = f"{server.access_key}:{server.secret_key}".encode()
        self.headers = {"Authorization": "Basic " + b64encode(keys).decode()}

    def __call__(self, method, path, body=None, query=()):
        content = {"Content-Type": "application/json" if isinstance(body, dict) else "application/octet-stream"}
        request = urllib.request.Request(
            f"{self.url}{path}?{urllib.parse.urlencode(query)}",
            None if body is None else json.dumps(body).encode() if isinstance(body, dict) else body,
            self.headers | content,
            method=method,
        )
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer) if answer.headers.get_content_type() == "application/json" else None


def metrics_of(number):
    return {f"m{k}": (number * 7919 + k * 104729) % 1000 / 1000 for k in range(METRICS)}


def head(rest, repository):
    return rest("GET", f"/{repository}/branches/main")["commit_id"]


def record_own(rest, commit, number):
    """A run with its metrics."""
    rest("POST", "/own/experiments/e/runs", {"commit": commit, "branch": "main", "metrics": metrics_of(number)})


def record_in_files(rest, thread, numbers):
    """Commits on a branch of this thread, each with another metrics file, and a run of each that says nothing itself."""
    branch = f"/files/branches/b{thread}"
    rest("POST", "/files/branches", {"name": f"b{thread}", "source": "main"})
    for number in numbers:
        rest("POST", f"{branch}/objects", json.dumps(metrics_of(number)).encode(), {"path": "metrics/eval.json"})
        made = rest("POST", f"{branch}/commits", {"message": "m"})
        rest("POST", "/files/experiments/e/runs", {"commit": made["id"]})


def ask(rest, shape, runs):
    def once(query):
        begun = time.monotonic()
        answer = rest("GET", f"/{shape}/runs", None, query)
        return time.monotonic() - begun, answer

    seconds, answer = once(QUESTIONS["where, 100"])
    print(
        json.dumps({"shape": shape, "runs": runs, "list": "first", "seconds": round(seconds, 3), "warnings": answer["warnings"]}),
        flush=True,
    )
    while once(QUESTIONS["where, 100"])[1]["warnings"]:
        pass
    for name, query in QUESTIONS.items():
        seconds, answer = min((once(query) for _ in range(ROUNDS)), key=lambda one: one[0])
        assert answer["results"] and not answer["warnings"], answer["warnings"]
        print(json.dumps({"shape": shape, "runs": runs, "list": name, "seconds": round(seconds, 3)}), flush=True)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    directory = servers.scratch_directory("bench-runs")
    server = servers.Tarnd(directory)
    try:
        server.start()
        rest = Rest(server)
        for shape in ("own", "files", "one"):
            rest("POST", "", {"name": shape, "storage_namespace": f"local://{shape}"})
        with ThreadPoolExecutor(THREADS) as pool:
            own = head(rest, "own")
            list(pool.map(lambda number: record_own(rest, own, number), range(runs)))
            ask(rest, "own", runs)
            list(pool.map(lambda thread: record_in_files(rest, thread, range(thread, runs, THREADS)), range(THREADS)))
            ask(rest, "files", runs)
            rest("POST", "/one/branches/main/objects", json.dumps({"m0": 0.75}).encode(), {"path": "metrics/eval.json"})
            one = rest("POST", "/one/branches/main/commits", {"message": "m"})["id"]
            list(
                pool.map(
                    lambda number: rest(
                        "POST", "/one/experiments/e/runs", {"commit": one, "metrics": {"m1": metrics_of(number)["m1"]}}
                    ),
                    range(runs),
                )
            )
            ask(rest, "one", runs)
        server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
