"""Ranged reads beside the ceiling, one large stream in and out, and pages of listings, against a tarnd of its own.

usage: s3_reads.py [--seconds 5] [--rounds 3] [--stream-mib 5120] [--keys 100000] [ranges] [stream] [pages]
"""

import argparse
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients
import servers
from ceiling import Ceiling

MIB = 1 << 20
OBJECT_BYTES = 256 * MIB
RANGE_BYTES = 8 * MIB
RANGED_CONNECTIONS = 64
LISTING_THREADS = 4
DIRECTORY_KEYS = 20
BUCKET = "reads"
PAGES = "pages"  # an import wants nothing uncommitted


def report(**fields):
    print(json.dumps(fields), flush=True)


def rss_bytes(pid):
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read_ranges(url, seconds):
    """MiB a second that 64 connections get of one object in ranges of 8 MiB."""
    parts = urllib.parse.urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    end = time.monotonic() + seconds
    got = [0] * RANGED_CONNECTIONS

    def work(number):
        chooser, buffer = random.Random(number), bytearray(MIB)
        connection = socket.create_connection((parts.hostname, parts.port))
        while time.monotonic() < end:
            first = chooser.randrange(OBJECT_BYTES - RANGE_BYTES)
            connection.sendall(
                f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
                f"Range: bytes={first}-{first + RANGE_BYTES - 1}\r\n\r\n".encode()
            )
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            assert head.startswith(b"HTTP/1.1 206"), head[:200]
            left = RANGE_BYTES - len(head.partition(b"\r\n\r\n")[2])
            while left:
                count = connection.recv_into(buffer, min(left, MIB))
                assert count, "the answer was cut"
                left -= count
            got[number] += RANGE_BYTES
        connection.close()

    start = time.monotonic()
    in_threads(RANGED_CONNECTIONS, work)
    return sum(got) / MIB / (time.monotonic() - start)


def ranges(server, ceiling, options):
    s3 = clients.boto3_client(server, signature_version="s3v4")
    block = os.urandom(OBJECT_BYTES)
    s3.put_object(Bucket=BUCKET, Key="main/object", Body=block)
    (ceiling.files / "object").write_bytes(block)
    url = s3.generate_presigned_url("get_object", {"Bucket": BUCKET, "Key": "main/object"}, ExpiresIn=86400)
    ratios = []
    for _ in range(options.rounds):
        ours, limit = read_ranges(url, options.seconds), read_ranges(f"{ceiling.url}/object", options.seconds)
        ratios.append(ours / limit)
        report(op="64 x ranged get 8MiB", MiB_s=round(ours), ceiling_MiB_s=round(limit), ratio=round(ours / limit, 3))
    report(op="64 x ranged get 8MiB", ratio=round(statistics.median(ratios), 3), target=0.9)


class Stream:
    """A body of so many bytes; the server's memory is looked at while it goes."""

    def __init__(self, size, look):
        self.left, self.look, self.block = size, look, memoryview(random.Random(2).randbytes(MIB))

    def read(self, _=-1):
        self.look()
        count = min(self.left, MIB)
        self.left -= count
        return self.block[:count]


def stream(server, _, options):
    s3 = clients.boto3_client(server, signature_version="s3v4")
    size = options.stream_mib * MIB
    parts = urllib.parse.urlsplit(server.url)
    for method, operation in (("PUT", "put_object"), ("GET", "get_object")):
        url = urllib.parse.urlsplit(s3.generate_presigned_url(operation, {"Bucket": BUCKET, "Key": "main/stream"}))
        before = peak = rss_bytes(server.process.pid)

        def look():
            nonlocal peak
            peak = max(peak, rss_bytes(server.process.pid))

        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
        start = time.monotonic()
        if method == "PUT":
            connection.request(method, f"{url.path}?{url.query}", body=Stream(size, look), headers={"Content-Length": str(size)})
        else:
            connection.request(method, f"{url.path}?{url.query}")
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        buffer, got = bytearray(4 * MIB), 0
        while count := answer.readinto(buffer):
            got += count
            look()
        assert method == "PUT" or got == size
        seconds = time.monotonic() - start
        report(
            op=f"{method} of {options.stream_mib} MiB",
            MiB_s=round(options.stream_mib / seconds),
            grew_MiB=round((peak - before) / MIB, 1),
            limit_MiB=64,
        )


def wait_for_import(rest, repository, started):
    while True:
        status = rest("GET", f"/repositories/{repository}/branches/main/import", params={"id": started}).json()
        if status["completed"]:
            return
        assert not status.get("error"), status
        time.sleep(0.2)


def pages(server, _, options):
    """1,000 keys of a flat branch, and 1,000 common prefixes of small directories."""
    rest = clients.Rest(server)
    for number in range(options.keys):
        flat, deep = server.import_root / "flat", server.import_root / "deep" / f"d{number // DIRECTORY_KEYS:06}"
        for directory, name in ((flat, f"k{number:07}"), (deep, f"k{number % DIRECTORY_KEYS:02}")):
            directory.mkdir(parents=True, exist_ok=True)
            (directory / name).touch()
    started = rest(
        "POST",
        f"/repositories/{PAGES}/branches/main/import",
        json={
            "paths": [
                {"type": "common_prefix", "path": f"local://{server.import_root}/{name}/", "destination": f"{name}/"}
                for name in ("flat", "deep")
            ],
            "commit": {"message": "keys"},
        },
    )
    assert started.status_code == 202, started.text
    wait_for_import(rest, PAGES, started.json()["id"])
    deletions = [f"flat/k{number:07}" for number in range(0, options.keys, 10)]
    for state in ("committed", "every tenth key deleted and not committed"):
        if state != "committed":
            for at in range(0, len(deletions), 1000):
                answer = rest(
                    "POST", f"/repositories/{PAGES}/branches/main/objects/delete", json={"paths": deletions[at : at + 1000]}
                )
                assert answer.status_code == 200, answer.text
        listed(server, options, f"1,000 keys, {state}", "flat/", lambda at: f"main/flat/k{at:07}", "")
    listed(server, options, "1,000 prefixes", "deep/", lambda at: f"main/deep/d{at // DIRECTORY_KEYS:06}/", "/")


def listed(server, options, what, below, after, delimiter):
    end = time.monotonic() + options.seconds
    taken = []

    def work(number):
        s3, chooser = clients.boto3_client(server, signature_version="s3v4"), random.Random(number)
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        while time.monotonic() < end:
            at = chooser.randrange(max(1, options.keys - 2000 * (DIRECTORY_KEYS if delimiter else 1)))
            url = urllib.parse.urlsplit(
                s3.generate_presigned_url(
                    "list_objects_v2",
                    {"Bucket": PAGES, "Prefix": f"main/{below}", "StartAfter": after(at), "Delimiter": delimiter},
                )
            )
            start = time.monotonic()
            connection.request("GET", f"{url.path}?{url.query}")
            answer = connection.getresponse()
            body = answer.read()
            taken.append(time.monotonic() - start)
            assert answer.status == 200 and b"<KeyCount>1000</KeyCount>" in body, body[:300]

    in_threads(LISTING_THREADS, work)
    taken.sort()
    report(
        op="page of " + what,
        p50_ms=round(taken[len(taken) // 2] * 1000, 2),
        p99_ms=round(taken[len(taken) * 99 // 100] * 1000, 2),
        per_s=round(len(taken) / options.seconds),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stream-mib", type=int, default=5 * 1024)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("what", nargs="*", default=["ranges", "stream", "pages"])
    options = parser.parse_args()
    directory = servers.scratch_directory("reads")
    server, ceiling = servers.Tarnd(directory / "tarnd"), Ceiling(directory / "nginx")
    try:
        server.start()
        ceiling.start()
        for repository in (BUCKET, PAGES):
            clients.Rest(server)("POST", "/repositories", json={"name": repository, "storage_namespace": f"local://{repository}"})
        for what in options.what:
            {"ranges": ranges, "stream": stream, "pages": pages}[what](server, ceiling, options)
        server.stop()
    finally:
        for left in (server, ceiling):
            if left.process and left.process.alive():
                left.process.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
