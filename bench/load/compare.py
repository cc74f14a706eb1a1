"""Starts a tarnd, makes branches that each measure twenty metrics, compares all of them and promotes the best.

compare.py [CANDIDATES]
"""

import json
import shutil
import sys
import time
import urllib.request
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers

METRICS = 20
THREADS = 8
ROUNDS = 5


class Rest:
    def __init__(self, server):
        self.url = server.url + "/api/v1"
        keys = f"{server.access_key}:{server.secret_key}".encode()
        self.headers = {"Authorization": "Basic " + b64encode(keys).decode(), "Content-Type": "application/json"}

    def post(self, path, body):
        return self.send("POST", path, body)

    def send(self, method, path, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, self.headers, method=method)
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.loads(answer.read() or b"null")


def make(rest, number):
    name = f"exp-{number:05}"
    rest_body = {"name": name, "source": "main"}
    request = urllib.request.Request(
        rest.url + "/repositories/bench/branches", json.dumps(rest_body).encode(), rest.headers, method="POST"
    )
    urllib.request.urlopen(request, timeout=600).read()
    metadata = {f"metric.m{k:02}": str((number * 7919 + k * 104729) % 1000 / 1000) for k in range(METRICS)}
    metadata["param.lr"] = str(number)
    rest.post(f"/repositories/bench/branches/{name}/commits", {"message": name, "metadata": metadata, "allow_empty": True})


def best_of(call):
    times = []
    for _ in range(ROUNDS):
        begun = time.monotonic()
        answer = call()
        times.append(time.monotonic() - begun)
    return min(times), answer


def promote(rest, candidates):
    """A dry run, and a promotion until it has ended, with a rule for each metric."""
    rules = "".join(f"  - {{name: m{k:02}, goal: max, min: 0{', primary: true' if k == 0 else ''}}}\n" for k in range(METRICS))
    rest.send(
        "PUT",
        "/repositories/bench/policies/best",
        f"name: best\ndestination: main\nalias: champion\ncandidates: 'exp-*'\nmetrics:\n{rules}".encode(),
    )
    asked = {"candidates": ["exp-*"], "destination": "main"}
    seconds, _ = best_of(lambda: rest.post("/repositories/bench/promotions", asked | {"dry_run": True}))
    print(json.dumps({"promote": "dry run", "candidates": candidates, "metrics": METRICS, "seconds": round(seconds, 3)}))
    begun = time.monotonic()
    made = rest.post("/repositories/bench/promotions", asked)
    while made["state"] not in ("promoted", "rejected", "failed", "cancelled"):
        made = rest.send("GET", f"/repositories/bench/promotions/{made['id']}?wait=10s", None)
    seconds = time.monotonic() - begun
    assert made["state"] == "promoted", made
    at_server = datetime.fromisoformat(made["updated_at"]) - datetime.fromisoformat(made["created_at"])
    print(
        json.dumps(
            {
                "promote": "until promoted, with 6 KB of evidence a candidate read twice",
                "candidates": candidates,
                "metrics": METRICS,
                "seconds": round(seconds, 3),
                "at the server": at_server.total_seconds(),
            }
        )
    )


def main():
    candidates = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    directory = servers.scratch_directory("bench")
    server = servers.Tarnd(directory, environment={"TARN_BRANCHES_PER_USER_MAX": candidates})
    try:
        server.start()
        rest = Rest(server)
        rest.post("/repositories", {"name": "bench", "storage_namespace": "local://bench"})
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda number: make(rest, number), range(candidates)))
        question = {
            "candidates": ["exp-*"],
            "baseline": "main",
            "metrics": [{"name": f"m{k:02}", "goal": "max"} for k in range(METRICS)],
        }
        begun = time.monotonic()
        rest.post("/repositories/bench/compare", question)
        print(
            json.dumps(
                {
                    "compare": "first, reads what was not read yet",
                    "candidates": candidates,
                    "seconds": round(time.monotonic() - begun, 3),
                }
            )
        )
        for name, more in {
            "a page of 100": {},
            "a page of 1000": {"amount": 1000},
            "a page of 1000 without objects": {"amount": 1000, "objects": False},
        }.items():
            seconds, answer = best_of(lambda more=more: rest.post("/repositories/bench/compare", question | more))
            print(
                json.dumps(
                    {"compare": name, "candidates": answer["candidates"], "metrics": METRICS, "seconds": round(seconds, 3)}
                )
            )
        promote(rest, candidates)
        server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
