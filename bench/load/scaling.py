"""Reads and writes per second of one, two and four tarnd over one PostgreSQL and one local store.

scaling.py [SECONDS=2] [ROUNDS=3] [CLIENTS=32]
The numbers of servers take turns. Prints for each kind of request and number of servers the median rate, its ratio to one server
of the same round, and who used the processors: microseconds per request of the servers, of PostgreSQL and of the clients, and
how busy the machine was. `database_limit` is the rate at which PostgreSQL alone would use all of these processors: more servers
on other machines cannot exceed it.
"""

import json
import os
import resource
import shutil
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import clients  # noqa: E402
import servers  # noqa: E402
from store_path import load, processor_seconds  # noqa: E402

COUNTS = (1, 2, 4)
OBJECT_BYTES = 1024
KEYS = 640


class DurablePostgres(servers.Postgres):
    fsync = "on"


def children_of(parent):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


class Usage:
    """Processor seconds of the servers, PostgreSQL and the clients so far."""

    def __init__(self, tarnds):
        self.pids = tarnds.pids()
        self.backends = children_of(tarnds.database.process.pid)

    def now(self):
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "tarnd_us": sum(map(processor_seconds, self.pids)),
            "database_us": sum(map(processor_seconds, self.backends)),
            "client_us": used.ru_utime + used.ru_stime,
        }


def machine_busy_seconds():
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def measure(tarnds, path, op, count, clients_count, seconds):
    url = ",".join(server.url for server in tarnds.each[:count])
    load(tarnds, path, op, OBJECT_BYTES, clients_count, 0.3, KEYS, url=url)  # opens the connections to the database
    usage = Usage(tarnds)
    before, busy, begun = usage.now(), machine_busy_seconds(), time.monotonic()
    done = load(tarnds, path, op, OBJECT_BYTES, clients_count, seconds, KEYS, url=url)
    elapsed = time.monotonic() - begun
    after, requests = usage.now(), done["per_s"] * seconds
    return {
        "per_s": done["per_s"],
        "p99_ms": done["p99_ms"],
        "busy": (machine_busy_seconds() - busy) / elapsed / os.cpu_count(),
        **{name: (after[name] - before[name]) / requests * 1e6 for name in before},
    }


def main(seconds="2", rounds="3", clients_count="32"):
    directory = servers.scratch_directory("scaling", on_disk=True)
    tarnds = servers.Tarnds(directory, max(COUNTS))
    tarnds.database = DurablePostgres(directory / "postgres")
    for server in tarnds.each:
        server.arguments = ["--database", tarnds.database.url()]
    try:
        tarnds.start()
        first = tarnds.each[0]
        rest = clients.Rest(first)
        made = rest("POST", "/repositories", json={"name": "bench", "storage_namespace": "local://bench"})
        if made.status_code != 201:
            sys.exit(made.text)
        load(first, "/bench/main/read", "fill", OBJECT_BYTES, 16, keys=KEYS)
        for op, title, path in (
            ("get", "get 1 KiB, staged", "/bench/main/read"),
            ("get", "get 1 KiB, committed", "/bench/main/read"),
            ("put", "put 1 KiB", "/bench/main/write"),
        ):
            if title.endswith("committed"):
                assert rest("POST", "/repositories/bench/branches/main/commits", json={"message": "m"}).status_code == 201
            rows = {count: [] for count in COUNTS}
            for number in range(int(rounds)):
                for count in COUNTS[:: 1 if number % 2 else -1]:
                    rows[count].append(measure(tarnds, path, op, count, int(clients_count), float(seconds)))
            for count, each in rows.items():
                middle = {name: statistics.median(row[name] for row in each) for name in each[0]}
                ratio = statistics.median(row["per_s"] / one["per_s"] for row, one in zip(each, rows[1], strict=True))
                print(
                    json.dumps(
                        {
                            "op": title,
                            "servers": count,
                            "per_s": round(middle["per_s"]),
                            "to_one": round(ratio, 2),
                            "p99_ms": middle["p99_ms"],
                            "busy": round(middle["busy"], 2),
                            **{name: round(middle[name], 1) for name in ("tarnd_us", "database_us", "client_us")},
                            "database_limit": round(os.cpu_count() * 1e6 / max(middle["database_us"], 1)),
                        }
                    ),
                    flush=True,
                )
        tarnds.stop()
    finally:
        for server in tarnds.each:
            if server.process and server.process.alive():
                server.process.stop()
        for process in (tarnds.turns, tarnds.database.process):
            if process and process.alive():
                process.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
