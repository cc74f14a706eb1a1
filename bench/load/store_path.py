"""PUT and GET through a tarnd over an S3 server, through nginx that only forwards to it, and against that server alone, in turn.

store_path.py [ROUNDS=5] [SECONDS=2] [TARND]
Prints for each kind of request the medians, the fractions of the server alone (median of the rounds, least and most) that tarnd
and nginx reach, and the processor time of the two programs per request. nginx checks, stores and looks up nothing: it shows
what is left of the server's rate with any program in between. The server is versitygw; MINIO=PROGRAM takes MinIO instead.
APART=1 gives the server and the client one processor, and tarnd with its database (or nginx) another, in place of a store on
another machine: all of them on the same two processors measures what tarnd takes from its store.
"""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import ceiling  # noqa: E402
import clients  # noqa: E402
import servers  # noqa: E402

LOAD = servers.program("s3_load_bench")
MIB = 1 << 20
# (request, bytes, connections, keys that are read)
ROWS = [("put", 1024, 16, 0), ("get", 1024, 16, 64), ("put", 64 * MIB, 2, 0), ("get", 64 * MIB, 2, 2)]
TICKS = os.sysconf("SC_CLK_TCK")
APART = os.environ.get("APART") == "1"


@contextlib.contextmanager
def processor(number):
    """Programs that are started meanwhile run there alone."""
    if not APART:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[number]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def load(server, path, op, size, connections, seconds=1.0, keys=64, url=None):
    command = [
        LOAD,
        "--url",
        url or server.url,
        "--key",
        server.access_key,
        "--secret",
        server.secret_key,
        "--path",
        path,
        "--op",
        op,
        "--bytes",
        str(size),
        "--connections",
        str(connections),
        "--seconds",
        str(seconds),
        "--keys",
        str(keys),
    ]
    with processor(0):
        done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if done["errors"]:
        sys.exit(f"{done['errors']} requests failed: {' '.join(command)}")
    return done


def remove_new(directory, kept):
    """Removes the files of PUTs, so that rounds do not fill the disk."""
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            if path not in kept:
                os.unlink(path)


def files_of(directory):
    return {os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names}


def s3_server(directory):
    if "MINIO" in os.environ:
        return servers.Minio(directory, os.environ["MINIO"]).start(), directory / "drive"
    gateway = servers.Versitygw(directory).start()
    return gateway, gateway.buckets


def main(rounds="5", seconds="2", program=None):
    directory = servers.scratch_directory("storepath", on_disk=True)
    with processor(0):
        store, files = s3_server(directory / "store")
    clients.boto3_client(store).create_bucket(Bucket="bench")
    tarnd = servers.Tarnd(directory / "tarnd", environment=store.tarnd_environment(), program=program)
    nginx = ceiling.Forwarder(directory / "nginx", store)
    try:
        with processor(1):
            nginx.start()
            tarnd.start()
        made = clients.Rest(tarnd)("POST", "/repositories", json={"name": "bench", "storage_namespace": "s3://bench/lake"})
        if made.status_code != 201:
            sys.exit(made.text)
        sides = {"alone": (store, "/bench/alone"), "tarnd": (tarnd, "/bench/main"), "nginx": (nginx, "/bench/alone")}
        for op, size, connections, keys in ROWS:
            rates, used = {name: [] for name in sides}, {"alone": [], "store": [], "tarnd": [], "nginx": []}
            for name, (server, path) in sides.items():
                if keys and name != "nginx":
                    load(server, f"{path}/{size}", "fill", size, connections, keys=keys)
            kept = files_of(files)
            for number in range(int(rounds)):
                for name in list(sides)[:: 1 if number % 2 else -1]:
                    server, path = sides[name]
                    before = processor_seconds(store.process.pid), processor_seconds(tarnd.process.pid)
                    done = load(server, f"{path}/{size}", op, size, connections, float(seconds), keys or 64)
                    after = processor_seconds(store.process.pid), processor_seconds(tarnd.process.pid)
                    count = max(1, done["per_s"] * float(seconds))
                    rates[name].append(done["per_s"])
                    if name != "tarnd":
                        used[name].append((after[0] - before[0]) / count * 1e6)
                    else:
                        used["store"].append((after[0] - before[0]) / count * 1e6)
                        used["tarnd"].append((after[1] - before[1]) / count * 1e6)
                    if op == "put":
                        remove_new(files, kept)
            fractions, ceilings = (
                [one / alone for one, alone in zip(rates[name], rates["alone"], strict=True)] for name in ("tarnd", "nginx")
            )
            unit = 1 if size < MIB else size / MIB
            print(
                json.dumps(
                    {
                        "op": f"{op} {size // 1024} KiB" if size < MIB else f"{op} {size // MIB} MiB",
                        "connections": connections,
                        "apart": APART,
                        "unit": "per s" if size < MIB else "MiB per s",
                        "alone": round(statistics.median(rates["alone"]) * unit),
                        "tarnd": round(statistics.median(rates["tarnd"]) * unit),
                        "fraction": round(statistics.median(fractions), 3),
                        "least": round(min(fractions), 3),
                        "most": round(max(fractions), 3),
                        "nginx": round(statistics.median(ceilings), 3),
                        "processor_us": {name: round(statistics.median(each)) for name, each in used.items()},
                    }
                ),
                flush=True,
            )
        tarnd.stop()
    finally:
        if tarnd.process and tarnd.process.alive():
            tarnd.process.stop()
        if nginx.process:
            nginx.stop()
        store.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
