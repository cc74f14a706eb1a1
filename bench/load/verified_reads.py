"""The cost of store.verify_reads: GETs of whole objects from two servers, one of which compares what it sends, in turn.

verified_reads.py [rounds, 7] [tarnd of the first] [tarnd of the second]
The first has it off, the second has it on for local stores. Prints for each size the median of the ratios second / first, with
the least and the most: of the time until the last byte has come, and of tarnd's own processor time, which depends less on what
else the machine does.
"""

import http.client
import json
import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients
import servers

SIZES = {"1 KiB": (1 << 10, 1000), "1 MiB": (1 << 20, 200), "64 MiB": (64 << 20, 12)}
BUFFER_BYTES = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")


class Reader:
    """A server with one object of each size, and a connection that reads them."""

    def __init__(self, directory, program, checks):
        self.server = servers.Tarnd(directory, program=program, environment={"TARN_STORE_VERIFY_READS": checks}).start()
        s3 = clients.boto3_client(self.server)
        made = clients.Rest(self.server)("POST", "/repositories", json={"name": "reads", "storage_namespace": "local://reads"})
        if made.status_code != 201:
            sys.exit(made.text)
        self.urls = {}
        for name, (size, _) in SIZES.items():
            s3.put_object(Bucket="reads", Key=f"main/{name}", Body=os.urandom(size))
            url = urlsplit(s3.generate_presigned_url("get_object", {"Bucket": "reads", "Key": f"main/{name}"}))
            self.urls[name] = f"{url.path}?{url.query}"
        self.connection = http.client.HTTPConnection(url.netloc)
        self.buffer = bytearray(BUFFER_BYTES)

    def processor_seconds(self):
        fields = Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def read(self, name):
        """(wall seconds, processor seconds) of all reads of one size."""
        size, times = SIZES[name]
        began, used = time.monotonic(), self.processor_seconds()
        for _ in range(times):
            self.connection.request("GET", self.urls[name])
            answer = self.connection.getresponse()
            left = size
            while count := answer.readinto(self.buffer):
                left -= count
            if answer.status != 200 or left != 0:
                sys.exit(f"{name}: status {answer.status}, {left} bytes are missing")
        return time.monotonic() - began, self.processor_seconds() - used


def main(rounds="7", first=None, second=None):
    directory = servers.scratch_directory("verified-reads")
    readers = []
    try:
        for program, checks in ((first, "off"), (second or first, "local")):
            readers.append(Reader(directory / checks, program, checks))
        for name in SIZES:
            ratios = []
            for reader in readers:
                reader.read(name)
            for number in range(int(rounds)):
                turns = [0, 1] if number % 2 == 0 else [1, 0]
                found = {turn: readers[turn].read(name) for turn in turns}
                ratios.append((found[1][0] / found[0][0], found[1][1] / max(found[0][1], 1 / TICKS), found))
            line = {"op": f"get {name}"}
            for index, what in enumerate(("wall", "processor")):
                column = [ratio[index] for ratio in ratios]
                each = [statistics.median(ratio[2][turn][index] for ratio in ratios) / SIZES[name][1] for turn in (0, 1)]
                line[what] = {
                    "ratio": round(statistics.median(column), 3),
                    "least": round(min(column), 3),
                    "most": round(max(column), 3),
                    "off_ms": round(each[0] * 1000, 3),
                    "local_ms": round(each[1] * 1000, 3),
                }
            print(json.dumps(line), flush=True)
    finally:
        for reader in readers:
            if reader.server.alive():
                reader.server.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
