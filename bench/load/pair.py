"""Runs load_bench against two builds of tarnd in turn, so that a slow minute of the machine meets both.

pair.py BEFORE AFTER [rounds, 5] [seconds of each result, 5]
BEFORE and AFTER are programs tarnd; load_bench is that of build/. Prints for each row the median rates over the rounds, and
the median of the ratios AFTER / BEFORE with the smallest and the largest.
"""

import collections
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import servers  # noqa: E402


def measured(server, seconds):
    """{row: requests per second}"""
    done = subprocess.run([servers.ROOT / "build" / "bin" / "load_bench", "--url", server.url, "--key", server.access_key,
                           "--secret", server.secret_key, "--seconds", seconds],
                          check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [line for line in lines if line.get("errors")]
    if failed:
        sys.exit(f"{server.directory}: {failed}")
    return {line["op"]: line["per_s"] for line in lines if "per_s" in line}


def main(before, after, rounds="5", seconds="5"):
    directory = servers.scratch_directory("pair")
    pair = [servers.Tarnd(directory / name, program=path) for name, path in (("before", before), ("after", after))]
    rates = collections.defaultdict(list)
    try:
        for server in pair:
            server.start()
        for number in range(int(rounds)):
            turns = [0, 1] if number % 2 == 0 else [1, 0]
            found = {turn: measured(pair[turn], seconds) for turn in turns}
            for row in found[0]:
                rates[row].append((found[0][row], found[1][row]))
        for row, couples in rates.items():
            ratios = [new / old for old, new in couples]
            print(json.dumps({"op": row, "before_per_s": round(statistics.median(old for old, _ in couples)),
                              "after_per_s": round(statistics.median(new for _, new in couples)),
                              "ratio": round(statistics.median(ratios), 3),
                              "least": round(min(ratios), 3), "most": round(max(ratios), 3)}), flush=True)
    finally:
        for server in pair:
            if server.process and server.alive():
                server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
