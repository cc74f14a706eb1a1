"""PUTs of 4 KiB over an S3 store that is far away, and the bounds of what packing them together could gain.

packs.py [SECONDS=3] [ROUND_TRIP_MS=20]
For 32 and 128 clients, over an S3 server behind a proxy that adds the round trip: PUTs through a tarnd; the server alone; the
server alone with objects that hold 32 of them; and the tarnd over a local store, which has no round trip at all.
"""

import json
import os
import shutil
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import clients  # noqa: E402
import servers  # noqa: E402
from store_path import load  # noqa: E402

OBJECT_BYTES = 4096
PACKED = 32
ROUNDS = 3


class Delayed:
    """The server behind the proxy."""

    def __init__(self, server, directory, round_trip_ms):
        port = servers.free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.access_key, self.secret_key, self.region = server.access_key, server.secret_key, server.region
        command = [
            sys.executable,
            str(Path(__file__).parent / "delay.py"),
            str(port),
            str(round_trip_ms / 2),
            server.url.removeprefix("http://"),
        ]
        self.process = servers.Process(command, directory / "delay.log", dict(os.environ))
        self.process.wait_until(lambda: servers.accepts(f"127.0.0.1:{port}"), "delay.py")


def main(seconds="3", round_trip_ms="20"):
    directory = servers.scratch_directory("packs", on_disk=True)
    gateway = servers.Versitygw(directory / "gateway").start()
    clients.boto3_client(gateway).create_bucket(Bucket="bench")
    far = Delayed(gateway, directory, float(round_trip_ms))
    over_far = servers.Tarnd(directory / "far", environment=servers.s3_store_of(far))
    local = servers.Tarnd(directory / "local")
    try:
        for server, namespace in ((over_far, "s3://bench/lake"), (local, "local://bench")):
            made = clients.Rest(server.start())("POST", "/repositories", json={"name": "bench", "storage_namespace": namespace})
            if made.status_code != 201:
                sys.exit(made.text)
        rows = {
            "tarnd, far store": (over_far, "/bench/main", OBJECT_BYTES, 1),
            "far store alone": (far, "/bench/alone", OBJECT_BYTES, 1),
            f"far store alone, packs of {PACKED}": (far, "/bench/packs", OBJECT_BYTES * PACKED, PACKED),
            "tarnd, local store": (local, "/bench/main", OBJECT_BYTES, 1),
        }
        for connections in (32, 128):
            rates, waits = {name: [] for name in rows}, {name: [] for name in rows}
            for _ in range(ROUNDS):
                for name, (server, path, size, packed) in rows.items():
                    done = load(
                        server, path, "put", size, connections if packed == 1 else connections // packed or 1, float(seconds)
                    )
                    rates[name].append(done["per_s"] * packed)
                    waits[name].append(done["p50_ms"])
            for name, each in rates.items():
                print(
                    json.dumps(
                        {
                            "op": f"put 4 KiB, {name}",
                            "clients": connections,
                            "objects_per_s": round(statistics.median(each)),
                            "least": round(min(each)),
                            "most": round(max(each)),
                            "p50_ms": statistics.median(waits[name]),
                        }
                    ),
                    flush=True,
                )
        over_far.stop()
        local.stop()
    finally:
        for left in (over_far, local):
            if left.process and left.process.alive():
                left.process.stop()
        far.process.stop()
        gateway.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
