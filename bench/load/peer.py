"""Runs peerbench, the load generator for servers with lakeFS's wire format, against a tarnd and the ceiling in turn.

usage: peer.py PEERBENCH [seconds of each result, 5] [rounds, 3]
Prints for each row the median rate over the rounds, and its fraction of the ceiling of the same round.
"""

import collections
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers
from ceiling import Ceiling

# (row, its ceiling, the fraction aimed at); without a ceiling the rate itself.
ROWS = [
    ("s3 get 1KiB staged", "ceiling get 1KiB", 0.6),
    ("s3 get 1KiB committed", "ceiling get 1KiB", 0.6),
    ("s3 head staged", "ceiling head", 0.6),
    ("s3 head committed", "ceiling head", 0.6),
    ("rest stat staged", "ceiling head", 0.55),
    ("rest stat committed", "ceiling head", 0.55),
    ("s3 put 1KiB", None, 4200),
    ("s3 list 1000 staged", None, 1000),
    ("s3 list 1000 committed", None, 1000),
    ("s3 put 64MiB", None, 600),
    ("s3 get 64MiB", "ceiling get 64MiB", 0.95),
]


def measured(program, server, url, operations, seconds):
    """{row: its line}"""
    done = subprocess.run(
        [
            program,
            "-api",
            f"{url}/api/v1",
            "-s3",
            url,
            "-ak",
            server.access_key,
            "-sk",
            server.secret_key,
            "-t",
            seconds,
            "-ops",
            operations,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["op"]: line for line in lines}


def rate(line):
    return line.get("per_s", line.get("MiB_s"))


def main(program, seconds="5", rounds="3"):
    directory = servers.scratch_directory("peer")
    server, ceiling = servers.Tarnd(directory / "tarnd"), Ceiling(directory / "nginx")
    rates, tails, ratios = (collections.defaultdict(list) for _ in range(3))
    try:
        server.start()
        ceiling.start()
        for _ in range(int(rounds)):
            ours = measured(program, server, server.url, "small,large", seconds)
            limit = measured(program, server, ceiling.url, "ceiling", seconds)
            for row, top, _ in ROWS:
                rates[row].append(rate(ours[row]))
                tails[row].append(ours[row].get("p99_ms"))
                if top:
                    ratios[row].append(rate(ours[row]) / rate(limit[top]))
        for row, top, target in ROWS:
            line = {"op": row, "rate": round(statistics.median(rates[row])), "target": target}
            if tails[row][0] is not None:
                line["p99_ms"] = statistics.median(tails[row])
            if top:
                line["of_ceiling"] = round(statistics.median(ratios[row]), 3)
            print(json.dumps(line), flush=True)
        server.stop()
    finally:
        for left in (server, ceiling):
            if left.process and left.process.alive():
                left.process.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
