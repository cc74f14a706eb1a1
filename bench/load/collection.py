#!/usr/bin/env python3
"""Garbage collection of a tarnd: the rate of removals from a local store, and PUT and GET beside a running collection.

collection.py [OBJECTS=100000] [SECONDS=10]
collection.py s3 [OBJECTS=20000] [ROUNDS=5]: removals from an S3 server, and those of a client that does nothing else, in turn.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/support"))

import clients
import servers

DIGITS = "0123456789abcdefghijklmnopqrstuv"
SETTINGS = {"TARN_GC_INTERVAL_HOURS": "0", "TARN_GC_GRACE_HOURS": "0", "TARN_GC_UNREACHABLE_DAYS": "0"}
FINISHED = 0o440
CLIENTS = 4


def base32hex(data):
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join(DIGITS[int(bits[at : at + 5], 2)] for at in range(0, len(bits), 5))


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


def remove_bare(gateway, paths, connections):
    """Objects per second of DeleteObjects of 1,000, on so many connections."""
    batches = [{"Objects": [{"Key": path} for path in paths[at : at + 1000]], "Quiet": True} for at in range(0, len(paths), 1000)]
    apiece = [clients.boto3_client(gateway) for _ in range(connections)]
    for s3 in apiece:
        s3.list_objects_v2(Bucket="bench", MaxKeys=1)  # connects

    def run(number):
        for batch in batches[number::connections]:
            assert "Errors" not in apiece[number].delete_objects(Bucket="bench", Delete=batch)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(connections)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(paths) / (time.monotonic() - begun)


def measure_s3(count, rounds):
    directory = servers.scratch_directory("bench")
    gateway = servers.Versitygw(directory / "gateway").start()
    clients.boto3_client(gateway).create_bucket(Bucket="bench")
    server = servers.Tarnd(
        directory / "tarnd", environment={**SETTINGS, **gateway.tarnd_environment(), "TARN_GC_BUSY_PERCENT": 100}
    ).start()
    try:
        rest = clients.Rest(server)
        rest("POST", "/repositories", json={"name": "lake", "storage_namespace": "s3://bench/lake"})
        rates = {"collection": [], "bare": [], "bare, 4 connections": []}
        for _ in range(rounds):
            for name, connections in (("bare", 1), ("bare, 4 connections", 4)):
                make_garbage(gateway.buckets / "bench" / "bare" / "data", count)
                paths = sorted(path for path in gateway.stored("bench") if path.startswith("bare/"))
                rates[name].append(remove_bare(gateway, paths, connections))
            make_garbage(gateway.buckets / "bench" / "lake" / "data", count)
            found, _, _ = collect(rest, "lake")
            assert found["found_objects"] == count, found
            found, _, steps = collect(rest, "lake")
            ended = time.monotonic()  # what comes after the removal takes milliseconds
            assert found["removed_objects"] == count, found
            rates["collection"].append(count / (ended - steps["remove"]))
        middle = {name: statistics.median(each) for name, each in rates.items()}
        for name, each in rates.items():
            show(
                measured=f"removals from S3, {name}",
                objects=count,
                rounds=rounds,
                per_second=round(middle[name]),
                least=round(min(each)),
                most=round(max(each)),
            )
        show(
            measured="removals of a collection to those of a bare client",
            ratio=round(middle["collection"] / middle["bare"], 2),
            to_four_connections=round(middle["collection"] / middle["bare, 4 connections"], 2),
            load=round(os.getloadavg()[0], 1),
        )
    finally:
        server.stop()
        gateway.stop()
        shutil.rmtree(directory, ignore_errors=True)


def main():
    if sys.argv[1:2] == ["s3"]:
        return measure_s3(*(int(word) for word in [*sys.argv[2:], *("20000", "5")[len(sys.argv) - 2 :]]))
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
            show(
                measured="list and note garbage",
                busy_percent=busy,
                objects=count,
                seconds=round(listed, 2),
                per_second=round(count / listed),
            )
            alone = load(server, seconds)
            # A collection of what stays, again and again, beside the same load.
            stop = threading.Event()
            rounds = []

            def again(server=server, stop=stop, rounds=rounds):
                mine = clients.Rest(server)
                while not stop.is_set():
                    rounds.append(collect(mine, "load")[1])

            thread = threading.Thread(target=again)
            thread.start()
            beside = load(server, seconds)
            stop.set()
            thread.join()
            show(
                measured="PUT and GET beside collections",
                busy_percent=busy,
                alone=round(alone),
                beside=round(beside),
                ratio=round(beside / alone, 2),
                collections=len(rounds),
            )
            found, removed, _ = collect(rest, "garbage")
            assert found["removed_objects"] == count, found
            show(
                measured="remove garbage",
                busy_percent=busy,
                objects=count,
                seconds=round(removed, 2),
                per_second=round(count / removed),
            )
        finally:
            server.stop()
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    os.umask(0o022)
    main()
