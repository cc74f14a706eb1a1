"""Starts a tarnd and writes steps of many runs at once, each in a batch a second; then reads a long curve.

live_runs.py [RUNS [STEPS_A_SECOND [SECONDS]]]: by default 50 runs, 1,000 steps a second in all, 60 s. Prints JSON lines.
"""

import json
import shutil
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers
from runs import Rest

METRICS = 3
LONG_STEPS = 1_000_000
BATCH_STEPS = 10_000
READS = 20


def values_at(step, metrics=METRICS):
    return {"step": step, "metrics": {f"m{k}": (step * 7919 + k) % 1000 / 1000 for k in range(metrics)}}


def start(rest):
    return rest("POST", "/own/experiments/e/start", {"branch": "main"})["id"]


def write(rest, steps_each, seconds, delays, late):
    """Batches of one run, one a second; the time of each answer, and how late the batch after it began."""
    run = start(rest)
    began = time.monotonic()
    for second in range(seconds):
        wait = began + second - time.monotonic()
        late.append(max(0.0, -wait))
        time.sleep(max(0.0, wait))
        steps = [values_at(step) for step in range(second * steps_each, (second + 1) * steps_each)]
        asked = time.monotonic()
        rest("POST", f"/own/runs/{run}/steps", {"steps": steps})
        delays.append(time.monotonic() - asked)


def write_at_once(rest, runs, steps_a_second, seconds):
    delays, late = [], []
    steps_each = max(1, steps_a_second // runs)
    writers = [threading.Thread(target=write, args=(rest, steps_each, seconds, delays, late)) for _ in range(runs)]
    began = time.monotonic()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    delays.sort()
    return {
        "runs": runs,
        "steps_a_second": round(len(delays) * steps_each / (time.monotonic() - began)),
        "wanted": steps_each * runs,
        "metrics": METRICS,
        "batches": len(delays),
        "failed": runs * seconds - len(delays),
        "median_ms": round(delays[len(delays) // 2] * 1e3, 1),
        "p99_ms": round(delays[len(delays) * 99 // 100] * 1e3, 1),
        "late_s": round(max(late), 2),
    }


def read_long(rest):
    run = start(rest)
    began = time.monotonic()
    for first in range(0, LONG_STEPS, BATCH_STEPS):
        rest("POST", f"/own/runs/{run}/steps", {"steps": [values_at(step, 1) for step in range(first, first + BATCH_STEPS)]})
    wrote = time.monotonic() - began
    times = []
    for _ in range(READS):
        asked = time.monotonic()
        [curve] = rest("GET", "/own/series", query={"metric": "m0", "run": run, "amount": 1000})["results"]
        times.append(time.monotonic() - asked)
    times.sort()
    return {
        "long_curve_steps": LONG_STEPS,
        "write_s": round(wrote, 1),
        "shown": len(curve["points"]),
        "read_median_ms": round(times[len(times) // 2] * 1e3, 1),
    }


def main():
    given = [int(word) for word in sys.argv[1:]]
    defaults = [50, 1000, 60]
    runs, steps_a_second, seconds = given + defaults[len(given) :]
    directory = servers.scratch_directory("bench-live-runs")
    server = servers.Tarnd(directory)
    try:
        server.start()
        rest = Rest(server)
        rest("POST", "", {"name": "own", "storage_namespace": "local://own"})
        print(json.dumps(write_at_once(rest, runs, steps_a_second, seconds)), flush=True)
        print(json.dumps(read_long(rest)), flush=True)
        server.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
