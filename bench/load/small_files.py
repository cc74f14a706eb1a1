"""Put, get, cat and ls of many small files: tarn:// paths of the Python package, and s3fs through the S3 gateway, in turn.

usage: small_files.py [--files 2000] [--bytes 1000] [--rounds 5]

A ratio is the time of s3fs over that of tarn://: above 1, tarn:// is faster. Each round writes to a directory of its own, and
neither client keeps listings."""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))

import s3fs
from measured_server import MeasuredServer
from tarn_data.filesystem import TarnFileSystem

REPOSITORY = "small-files"


def report(**fields):
    print(json.dumps(fields), flush=True)


def systems(server):
    return {
        "tarn": TarnFileSystem(endpoint=server.url, access_key=server.access_key, secret_key=server.secret_key),
        "s3fs": s3fs.S3FileSystem(
            key=server.access_key,
            secret=server.secret_key,
            use_listings_cache=False,
            client_kwargs={"endpoint_url": server.url, "region_name": "us-east-1"},
        ),
    }


def steps(fs, source, remote, local):
    """{operation: function}, in their order."""
    paths = [f"{remote}/{name}" for name in os.listdir(source)]
    return {
        "put": lambda: fs.put(f"{source}/", f"{remote}/", recursive=True),
        "get": lambda: fs.get(f"{remote}/", f"{local}/", recursive=True),
        "cat": lambda: fs.cat(paths),
        "ls": lambda: fs.ls(remote),
    }


def measure(server, directory, options):
    source = directory / "source"
    source.mkdir()
    for number in range(options.files):
        (source / f"f{number:05}").write_bytes(os.urandom(options.bytes))
    seconds = {}
    for number in range(-1, options.rounds):
        order = list(systems(server).items())
        for name, fs in order if number % 2 else reversed(order):
            local = directory / f"{name}-{number}"
            for operation, step in steps(fs, source, f"{REPOSITORY}/main/{name}-{number}", local).items():
                start = time.perf_counter()
                result = step()
                taken = time.perf_counter() - start
                if number >= 0:  # The first round warms up.
                    seconds.setdefault(operation, {}).setdefault(name, []).append(taken)
                if operation in ("cat", "ls"):
                    assert len(result) == options.files, (name, operation, len(result))
            assert len(os.listdir(local)) == options.files
    for operation, of in seconds.items():
        ratios = [theirs / ours for ours, theirs in zip(of["tarn"], of["s3fs"], strict=True)]
        report(
            op=f"{operation} of {options.files} files of {options.bytes} bytes",
            tarn_s=round(statistics.median(of["tarn"]), 3),
            s3fs_s=round(statistics.median(of["s3fs"]), 3),
            ratio=round(statistics.median(ratios), 2),
            least_ratio=round(min(ratios), 2),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with MeasuredServer("small-files") as server:
        server.make_repository(REPOSITORY)
        directory = server.directory / "files"
        directory.mkdir()
        measure(server.tarnd, directory, options)
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
