#!/usr/bin/env python3
"""Garbage collection of a tarnd: the rate of removals from a local store, and PUT and GET beside a running collection.

collection.py [OBJECTS=100000] [SECONDS=10]
"""

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

import clients  # noqa: E402
import servers  # noqa: E402

DIGITS = "0123456789abcdefghijklmnopqrstuv"
SETTINGS = {"TARN_GC_INTERVAL_HOURS": "0", "TARN_GC_GRACE_HOURS": "0", "TARN_GC_UNREACHABLE_DAYS": "0"}
FINISHED = 0o440
CLIENTS = 4


def base32hex(data):
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join(DIGITS[int(bits[at:at + 5], 2)] for at in range(0, len(bits), 5))


def make_garbage(directory, count):
    """Files with the names of objects, as if uploads had ended without a reference."""
    moment = int((time.time() - 3600) * 1000)
    for number in range(count):
        shard = directory / base32hex(bytes([number % 256]) + bytes(11))
        shard.mkdir(parents=True, exist_ok=True)
        path = shard / base32hex((moment + number).to_bytes(6, "big") + random.randbytes(6))
        path.write_bytes(b"garbage")
        path.chmod(FINISHED)


def collect(rest, name):
    before = (rest("GET", f"/repositories/{name}/gc/runs?amount=1").json()["results"] or [{"run": 0}])[0]["run"]
    begun = time.monotonic()
    assert rest("POST", f"/repositories/{name}/gc/runs", json={"yes_delete": 100}).status_code == 202
    steps = {}
    while True:
        found = (rest("GET", f"/repositories/{name}/gc/runs?amount=1").json()["results"] or [{"run": 0}])[0]
        if "progress" in found and found["run"] > before:
            steps.setdefault(found["progress"]["step"], time.monotonic())
        if found["run"] > before and found["state"] != "running":
            return found, time.monotonic() - begun, steps
        time.sleep(0.02)


def show(**what):
    print(json.dumps(what), flush=True)


def load(server, seconds):
    """Requests per second of PUT and GET over S3, four clients."""
    counts, lock, ready = {"put": 0, "get": 0}, threading.Lock(), threading.Barrier(CLIENTS)

    def run(number):
        s3, body = clients.boto3_client(server), random.randbytes(4096)
        s3.put_object(Bucket="load", Key=f"main/{number}/first", Body=body)
        ready.wait()
        at, ended = 0, time.monotonic() + seconds
        while time.monotonic() < ended:
            s3.put_object(Bucket="load", Key=f"main/{number}/{at % 100}", Body=body)
            s3.get_object(Bucket="load", Key=f"main/{number}/{at % 100}")["Body"].read()
            at += 1
        with lock:
            counts["put"] += at
            counts["get"] += at

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts.values()) / seconds


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    for busy in (100, 50):
        directory = servers.scratch_directory("bench")
        server = servers.Tarnd(directory, environment={**SETTINGS, "TARN_GC_BUSY_PERCENT": busy}).start()
        try:
            rest = clients.Rest(server)
            for name in ("garbage", "load"):
                rest("POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})
            make_garbage(server.objects_dir / "garbage" / "data", count)
            subprocess.run(["chown", "-R", f"--reference={server.objects_dir}", str(server.objects_dir)], check=True)
            found, listed, _ = collect(rest, "garbage")
            assert found["found_objects"] == count, found
            show(measured="list and note garbage", busy_percent=busy, objects=count, seconds=round(listed, 2),
                 per_second=round(count / listed))
            alone = load(server, seconds)
            # A collection of what stays, again and again, beside the same load.
            stop = threading.Event()
            rounds = []

            def again():
                mine = clients.Rest(server)
                while not stop.is_set():
                    rounds.append(collect(mine, "load")[1])

            thread = threading.Thread(target=again)
            thread.start()
            beside = load(server, seconds)
            stop.set()
            thread.join()
            show(measured="PUT and GET beside collections", busy_percent=busy, alone=round(alone), beside=round(beside),
                 ratio=round(beside / alone, 2), collections=len(rounds))
            found, removed, steps = collect(rest, "garbage")
            assert found["removed_objects"] == count, found
            show(measured="remove garbage", busy_percent=busy, objects=count, seconds=round(removed, 2),
                 per_second=round(count / removed))
        finally:
            server.stop()
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    os.umask(0o022)
    main()
