"""Time, memory and space against everything but the number of objects.

scale.py [DIMENSION[=SIZE,SIZE...] ...]
Dimensions: branches, commits, repositories, connections, staged (objects that are not committed), uploads (at once, of 64 parts
of 5 MiB). Each has a server of its own, grows to one size after the other and asks the same questions at each. Prints a line
of JSON a size: milliseconds are medians, bytes are those of the database and of its write-ahead log since the size before, divided
by what was added.
"""

import concurrent.futures
import http.client
import json
import os
import resource
import socket
import statistics
import sys
import time
from typing import ClassVar

import history
import measured_server
from measured_server import clients
from store_path import load

REPEATED = 15
THREADS = 4
PARTS = 64
PART_BYTES = 5 << 20
CONNECTIONS_MAX = 20_000


def milliseconds(question):
    begun = time.perf_counter()
    question()
    return 1000 * (time.perf_counter() - begun)


class Dimension:
    environment: ClassVar = {}

    def __init__(self, server):
        self.server, self.size, self.serial = server, 0, 0

    def rest(self, want, method, path, **options):
        return self.server.ask(want, method, f"/repositories/lake{path}", **options)

    def prepare(self):
        self.server.make_repository("lake")

    def new_name(self):
        self.serial += 1
        return f"name-{self.serial:07}"

    def many(self, count, body_of, path, want=201):
        """POSTs the JSON of body_of(0), body_of(1) ... over a few connections."""
        host = self.server.tarnd.url.removeprefix("http://")
        headers = {"Authorization": self.server.rest.session.headers["Authorization"], "Content-Type": "application/json"}

        def work(first):
            connection = http.client.HTTPConnection(host, timeout=60)
            for number in range(first, count, THREADS):
                connection.request("POST", f"/api/v1{path}", json.dumps(body_of(number)), headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != want:
                    sys.exit(f"POST {path}: {answer.status} {text}")
            connection.close()

        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))

    def commit_one(self, branch="main", path="one"):
        self.rest(
            201,
            "POST",
            f"/branches/{branch}/objects",
            params={"path": path},
            data=self.new_name().encode(),
            headers={"Content-Type": "application/octet-stream"},
        )
        return milliseconds(lambda: self.rest(201, "POST", f"/branches/{branch}/commits", json={"message": "one"}))

    def measure(self, size):
        server, added = self.server, size - self.size
        server.forget_peak()
        space, wal = server.database_bytes(), server.wal_bytes()
        begun = time.perf_counter()
        self.grow(size)
        line = {
            "dimension": type(self).__name__.lower(),
            "size": size,
            "grown_s": round(time.perf_counter() - begun, 2),
            "database_bytes_each": round((server.database_bytes() - space) / added),
            "wal_bytes_each": round((server.wal_bytes() - wal) / added),
        }
        self.size = size
        for name, question in self.questions().items():
            line[name + "_ms"] = round(statistics.median(question() for _ in range(REPEATED)), 2)
        for name, taken in self.last().items():
            line[name + "_ms"] = round(taken, 2)
        line["peak_MiB"] = server.peak_bytes() >> 20
        print(json.dumps(line), flush=True)

    def last(self):
        """Milliseconds of what can be done once at a size."""
        return {}


class Branches(Dimension):
    sizes = (100, 1_000, 10_000, 100_000)
    environment: ClassVar = {"TARN_BRANCHES_PER_USER_MAX": "1000000"}

    def prepare(self):
        super().prepare()
        self.commit_one()

    def grow(self, size):
        self.many(
            size - self.size,
            lambda number: {"name": f"b{self.size + number:07}", "source": "main"},
            "/repositories/lake/branches",
        )

    def questions(self):
        middle = f"b{self.size // 2:07}"
        return {
            "new_branch": lambda: milliseconds(
                lambda: self.rest(201, "POST", "/branches", json={"name": self.new_name(), "source": "main"})
            ),
            "page_of_1000_branches": lambda: milliseconds(
                lambda: self.rest(200, "GET", "/branches", params={"amount": 1000, "after": middle})
            ),
            "commit_on_a_branch": lambda: self.commit_one(middle),
        }


class Commits(Dimension):
    """Commits of one object, of 500 in 50 folders; beyond 10,000 as rows with the trees of those (history.py)."""

    sizes = (1_000, 10_000, 100_000, 1_000_000)

    def grow(self, size):
        for number in range(self.size, min(size, history.REAL_MAX)):
            self.commit_one(path=f"folder/{number % history.FOLDERS}/{number % history.OBJECTS}")
        if size > history.REAL_MAX:
            history.extend(self.server.sql, self.server.directory, size - max(self.size, history.REAL_MAX), indexed=True)
            self.server.sql("VACUUM ANALYZE commits")

    def questions(self):
        return {
            "commit": self.commit_one,
            "page_of_100_commits": lambda: milliseconds(
                lambda: self.rest(200, "GET", "/refs/main/commits", params={"amount": 100})
            ),
            "log_of_an_object_in_500_commits": lambda: milliseconds(
                lambda: self.rest(200, "GET", "/refs/main/commits", params={"objects": "folder/7/57"})
            ),
        }


class Repositories(Dimension):
    sizes = (10, 100, 1_000)

    def grow(self, size):
        self.many(
            size - self.size,
            lambda number: {"name": f"r{self.size + number:07}", "storage_namespace": f"local://r{self.size + number:07}"},
            "/repositories",
        )

    def questions(self):
        return {
            "new_repository": lambda: milliseconds(lambda: self.server.make_repository(self.new_name())),
            "page_of_100_repositories": lambda: milliseconds(
                lambda: self.server.ask(200, "GET", "/repositories", params={"amount": 100})
            ),
            "commit": self.commit_one,
        }


class Connections(Dimension):
    """Open connections that wait for their next request, while another one asks."""

    sizes = (10, 100, 1_000, 10_000)
    environment: ClassVar = {"TARN_HTTP_CONNECTIONS_MAX": str(CONNECTIONS_MAX), "TARN_HTTP_IDLE_TIMEOUT": "600s"}

    def prepare(self):
        super().prepare()
        resource.setrlimit(resource.RLIMIT_NOFILE, (CONNECTIONS_MAX, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        self.commit_one()
        self.open = []

    def grow(self, size):
        host, port = self.server.tarnd.listen.split(":")
        for _ in range(size - self.size):
            connection = socket.create_connection((host, int(port)), timeout=60)
            connection.sendall(b"GET /_health HTTP/1.1\r\nHost: tarn\r\n\r\n")
            if not connection.recv(4096).startswith(b"HTTP/1.1 200"):
                sys.exit("no answer on a new connection")
            self.open.append(connection)

    def questions(self):
        return {
            "stat": lambda: milliseconds(lambda: self.rest(200, "GET", "/refs/main/objects/stat", params={"path": "one"})),
            "new_connection": self.ask_on_a_new_connection,
            "commit": self.commit_one,
        }

    def ask_on_a_new_connection(self):
        rest = clients.Rest(self.server.tarnd)
        taken = milliseconds(lambda: rest("GET", "/repositories/lake").raise_for_status())
        rest.session.close()
        return taken


class Staged(Dimension):
    """Objects that are put and not committed; at each size they are committed at last, and put again for the next."""

    sizes = (1_000, 10_000, 100_000, 1_000_000)

    def grow(self, size):
        load(self.server.tarnd, f"/lake/main/{size}", "fill", 1024, 16, keys=size)
        self.first = self.rest(200, "GET", "/refs/main/objects/ls", params={"amount": 1}).json()["results"][0]["path"]

    def questions(self):
        return {
            "stat": lambda: milliseconds(lambda: self.rest(200, "GET", "/refs/main/objects/stat", params={"path": self.first})),
            "page_of_1000_objects": lambda: milliseconds(
                lambda: self.rest(200, "GET", "/refs/main/objects/ls", params={"amount": 1000})
            ),
            "page_of_1000_changes": lambda: milliseconds(
                lambda: self.rest(200, "GET", "/branches/main/diff", params={"amount": 1000})
            ),
        }

    def measure(self, size):
        self.size = 0
        super().measure(size)

    def last(self):
        return {"commit_of_all": milliseconds(lambda: self.rest(201, "POST", "/branches/main/commits", json={"message": "all"}))}


class Uploads(Dimension):
    """Multipart uploads at once, each of 64 parts."""

    sizes = (1, 4, 16, 64)

    def prepare(self):
        super().prepare()
        self.s3 = clients.boto3_client(self.server.tarnd, request_checksum_calculation="when_required", max_pool_connections=64)
        self.part = os.urandom(PART_BYTES)

    def put(self, place):
        key, upload, number = place
        answer = self.s3.upload_part(Bucket="lake", Key=key, UploadId=upload, PartNumber=number, Body=self.part)
        return {"PartNumber": number, "ETag": answer["ETag"]}

    def grow(self, size):
        keys = [f"main/{size}/{number}" for number in range(size)]
        self.uploads = [(key, self.s3.create_multipart_upload(Bucket="lake", Key=key)["UploadId"]) for key in keys]
        places = [(key, upload, number) for number in range(1, PARTS + 1) for key, upload in self.uploads]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.parts = list(pool.map(self.put, places))

    def questions(self):
        return {
            "page_of_64_parts": lambda: milliseconds(
                lambda: self.s3.list_parts(Bucket="lake", Key=self.uploads[0][0], UploadId=self.uploads[0][1])
            )
        }

    def measure(self, size):
        self.size = 0
        super().measure(size)
        for key, _ in self.uploads:
            self.s3.delete_object(Bucket="lake", Key=key)

    def complete(self, number):
        key, upload = self.uploads[number]
        return milliseconds(
            lambda: self.s3.complete_multipart_upload(
                Bucket="lake", Key=key, UploadId=upload, MultipartUpload={"Parts": self.parts[number :: len(self.uploads)]}
            )
        )

    def last(self):
        return {"complete_upload": statistics.median(map(self.complete, range(len(self.uploads))))}


DIMENSIONS = {each.__name__.lower(): each for each in (Branches, Commits, Repositories, Connections, Staged, Uploads)}


def main(*words):
    print(json.dumps({"program": "load/scale.py", "processors": os.cpu_count()}), flush=True)
    for word in words or DIMENSIONS:
        name, _, sizes = word.partition("=")
        kind = DIMENSIONS.get(name) or sys.exit(__doc__)
        with measured_server.MeasuredServer("scale", **kind.environment) as server:
            dimension = kind(server)
            dimension.prepare()
            for size in [int(each) for each in sizes.split(",")] if sizes else kind.sizes:
                dimension.measure(size)


if __name__ == "__main__":
    main(*sys.argv[1:])
