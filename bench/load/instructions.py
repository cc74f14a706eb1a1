"""Counts the instructions that two builds of tarnd spend on one request, under callgrind (Debian: valgrind).

instructions.py BEFORE AFTER [requests of each row, 300]
BEFORE and AFTER are programs tarnd. Unlike rates, the counts hardly depend on what else the machine does: between two runs
they differ by about 2 %. Counted is the work between reading a request and sending its answer, inside of the process: no
system calls, and nothing of PostgreSQL's. Prints one line of JSON for each row.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))

import clients
import servers

KEYS = 200  # listed by one request
WARM_UP = 20
SERVE = re.compile(r"^\s*([\d,]+) .*RequestLoop::serve\(")


class Counted:
    """A tarnd under callgrind, whose counters run only where they are asked to."""

    def __init__(self, directory, program):
        self.directory = directory
        directory.mkdir()
        wrapper = directory / "tarnd-counted"
        wrapper.write_text(
            f"#!/bin/sh\nexec valgrind --tool=callgrind --instr-atstart=no "
            f'--callgrind-out-file={directory}/out {Path(program).resolve()} "$@"\n'
        )
        wrapper.chmod(0o755)
        # PostgreSQL runs outside: callgrind would follow tarnd into it.
        self.database = servers.Postgres(directory / "postgres").start()
        self.server = servers.Tarnd(
            directory / "tarnd",
            program=wrapper,
            arguments=["--database", self.database.url() + "?sslmode=disable"],
            environment={"TARN_STORE_LOCAL_ROOT": directory / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32},
        )
        self.dumps = 0

    def control(self, *arguments):
        subprocess.run(["callgrind_control", *arguments, str(self.server.process.pid)], check=True, capture_output=True)

    def count(self, request, times):
        """Instructions of one request."""
        for _ in range(WARM_UP):
            request()
        self.control("-z")
        self.control("-i", "on")
        for _ in range(times):
            request()
        self.control("-i", "off")
        self.control("-d", "row")
        self.dumps += 1
        dump = self.directory / f"out.{self.dumps}"
        deadline = time.monotonic() + 60
        while not (dump.exists() and dump.read_text(errors="replace").rstrip().rpartition("\n")[2].startswith("totals:")):
            assert time.monotonic() < deadline, f"{dump} was not written"
            time.sleep(0.1)
        table = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=99.9", dump],
            check=True,
            capture_output=True,
            text=True,
            errors="replace",
        ).stdout
        found = [match[1] for match in map(SERVE.match, table.splitlines()) if match]
        return int(found[0].replace(",", "")) / times

    def rows(self, times):
        """{row: instructions of one request}"""
        self.server.start()
        rest = clients.Rest(self.server)
        made = rest("POST", "/repositories", json={"name": "counted", "storage_namespace": "local://counted"})
        assert made.status_code == 201, made.text
        s3 = clients.boto3_client(self.server, read_timeout=60)
        for number in range(KEYS):
            s3.put_object(Bucket="counted", Key=f"main/keys/{number:04}", Body=b"x" * 1024)
        one = {"Bucket": "counted", "Key": "main/keys/0007"}
        out = {}
        for state in ("staged", "committed"):
            out[f"get 1KiB {state}"] = self.count(lambda: s3.get_object(**one)["Body"].read(), times)
            out[f"head {state}"] = self.count(lambda: s3.head_object(**one), times)
            out[f"list {KEYS} {state}"] = self.count(
                lambda: s3.list_objects_v2(Bucket="counted", Prefix="main/keys/"), max(times // 10, 1)
            )
            rest("POST", "/repositories/counted/branches/main/commits", json={"message": "all"})
        numbers = iter(range(10 * (times + WARM_UP)))
        out["put 1KiB"] = self.count(
            lambda: s3.put_object(Bucket="counted", Key=f"main/new/{next(numbers):06}", Body=b"x" * 1024), times
        )
        commit = lambda: rest("POST", "/repositories/counted/branches/main/commits", json={"message": "one"})  # noqa: E731
        commit()

        def put_and_commit():
            s3.put_object(Bucket="counted", Key=f"main/keys/folder/{next(numbers):06}", Body=b"x" * 1024)
            assert commit().status_code == 201

        out["put 1KiB and commit"] = self.count(put_and_commit, times)
        return out

    def stop(self):
        if self.server.process and self.server.alive():
            self.server.stop()
        self.database.stop()


def main(before, after, times="300"):
    directory = servers.scratch_directory("instructions")
    found = []
    try:
        for name, program in (("before", before), ("after", after)):
            counted = Counted(directory / name, program)
            try:
                found.append(counted.rows(int(times)))
            finally:
                counted.stop()
        for row, old in found[0].items():
            print(
                json.dumps(
                    {
                        "op": row,
                        "before_instructions": round(old),
                        "after_instructions": round(found[1][row]),
                        "ratio": round(found[1][row] / old, 3),
                    }
                )
            )
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
