"""Measures two builds of tarnd in turn, so that a slow minute of the machine meets both, and judges the ratios.

pair.py BEFORE AFTER: the programs tarnd. If each has a tree_bench beside it, the trees in memory are compared too. The
load generator is the load_bench of build/. Exits with 1 if a row is slower than the bound permits (ratios.py says when).
`./dev bench --compare REF` builds another commit and calls this.
"""

import argparse
import collections
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients
import ratios
import servers


def requests_per_second(server, seconds):
    """{row: requests per second}"""
    done = subprocess.run(
        [
            servers.ROOT / "build" / "bin" / "load_bench",
            "--url",
            server.url,
            "--key",
            server.access_key,
            "--secret",
            server.secret_key,
            "--seconds",
            str(seconds),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [line for line in lines if line.get("errors")]
    if failed:
        sys.exit(f"{server.directory}: {failed}")
    return {line["op"]: line["per_s"] for line in lines if "per_s" in line}


class Commits:
    """Commits of one object each, in a repository with a thousand."""

    def __init__(self, server, number):
        self.rest = clients.Rest(server)
        self.name = f"commits-{number}"
        self.must("/repositories", json={"name": self.name, "storage_namespace": f"local://{self.name}"})
        for key in range(1000):
            self.put(f"folder/{key % 10}/{key}")
        self.commit()

    def must(self, path, **more):
        answer = self.rest("POST", path, **more)
        assert answer.status_code == 201, answer.text

    def put(self, key):
        self.must(
            f"/repositories/{self.name}/branches/main/objects?path={key}",
            data=b"x",
            headers={"Content-Type": "application/octet-stream"},
        )

    def commit(self):
        self.must(f"/repositories/{self.name}/branches/main/commits", json={"message": "one"})


def commits_per_second(pair, seconds, number):
    """(before, after), by the time of the commits alone; the servers take turns commit by commit."""
    both = [Commits(server, number) for server in pair]
    times = ([], [])
    end = time.monotonic() + 4 * seconds
    while time.monotonic() < end:
        done = len(times[0])
        for turn in (0, 1) if done % 2 == 0 else (1, 0):
            both[turn].put(f"folder/{done % 10}/new-{done}")
            begun = time.perf_counter()
            both[turn].commit()
            times[turn].append(time.perf_counter() - begun)
    return tuple(1 / statistics.median(each) for each in times)


def nanoseconds(program):
    """{row: time of one run}"""
    done = subprocess.run(
        [program, "--benchmark_format=json", "--benchmark_min_time=0.1"], check=True, capture_output=True, text=True
    )
    scale = {"ns": 1, "us": 1e3, "ms": 1e6}
    return {f"tree {row['name']}": row["cpu_time"] * scale[row["time_unit"]] for row in json.loads(done.stdout)["benchmarks"]}


def rounds(pair, trees, options):
    """{(row, is a time): [(before, after) of each round]}"""
    found = collections.defaultdict(list)
    for number in range(options.rounds):
        turns = [0, 1] if number % 2 == 0 else [1, 0]
        speeds, times = {}, {}
        for turn in turns:
            speeds[turn] = requests_per_second(pair[turn], options.seconds)
        for turn in turns if trees else ():
            times[turn] = nanoseconds(trees[turn])
        found["commit of one object", False].append(commits_per_second(pair, options.seconds, number))
        for row in speeds[0]:
            found[row, False].append((speeds[0][row], speeds[1][row]))
        # A row that only one of the two has is no comparison.
        for row in times[0].keys() & times[1].keys() if trees else ():
            found[row, True].append((times[0][row], times[1][row]))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    return found


def judged(found, bound):
    for (row, is_time), couples in found.items():
        each = [ratios.speed_ratio(before, after, is_time) for before, after in couples]
        middle, spread, verdict = ratios.judge(each, bound)
        before, after = (statistics.median(side) for side in zip(*couples, strict=True))
        unit = "ns" if is_time else "per_s"
        yield {
            "op": row,
            f"before_{unit}": round(before, 1),
            f"after_{unit}": round(after, 1),
            "ratio": round(middle, 3),
            "spread": round(spread, 3),
            "least": round(min(each), 3),
            "most": round(max(each), 3),
            "verdict": verdict,
        }


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=11, help=f"at least {ratios.ROUNDS_MIN} (11)")
    parser.add_argument("--seconds", type=int, default=1, help="of each row in each round (1)")
    parser.add_argument("--bound", type=float, default=5, help="percent of the speed that may be lost (5)")
    parser.add_argument("--label", default="", help="what was compared, for the results")
    parser.add_argument("--output", type=Path, help="also write the rows, as JSON, to this file")
    parser.add_argument("--check", action="store_true", help="only look at the options")
    options = parser.parse_args()
    if options.rounds < ratios.ROUNDS_MIN or options.seconds < 1 or options.bound < 0:
        parser.error(f"at least {ratios.ROUNDS_MIN} rounds of 1 second, and a bound of 0 percent or more")
    return options


def main():
    options = arguments()
    if options.check:
        return
    directory = servers.scratch_directory("pair")
    pair = [
        servers.Tarnd(directory / name, program=path.resolve())
        for name, path in (("before", options.before), ("after", options.after))
    ]
    trees = [path.resolve().with_name("tree_bench") for path in (options.before, options.after)]
    try:
        for server in pair:
            server.start()
        found = rounds(pair, trees if all(program.exists() for program in trees) else [], options)
    finally:
        for server in pair:
            if server.process and server.alive():
                server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    rows = list(judged(found, options.bound / 100))
    head = {
        "compared": options.label or f"{options.before} and {options.after}",
        "rounds": options.rounds,
        "seconds": options.seconds,
        "bound_percent": options.bound,
    }
    lines = [json.dumps(line) for line in (head, *rows)]
    print("\n".join(lines), flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")
    worse = [row["op"] for row in rows if row["verdict"] == "worse"]
    if worse:
        sys.exit(f"slower by more than {options.bound:g} %: {', '.join(worse)}")


if __name__ == "__main__":
    main()
