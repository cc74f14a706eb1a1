#!/usr/bin/env python3
"""Checks that the process ends itself only where the table says: a check that a request can reach throws, and ends the request."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDS = re.compile(r"\b(TARN_CHECK_OR_ABORT|std::abort|abort|std::terminate|std::quick_exit|_exit|std::exit|std::raise|assert)\(")
TEST_FILE = re.compile(r"(_test|_pgtest)\.cc$|/testing/|_fixture\.(h|cc)$")
# File: how many, and why none of them may throw.
KNOWN = {
    "core/actions/lua/server_libraries.cc": (
        1,
        "an exception must not cross the frames of Lua; scripts have a process of their own",
    ),
    "core/base/abort.h": (2, "defines the check"),
    "core/base/fault_point.cc": (1, "tests kill the process here"),
    "core/db/embedded_process.cc": (7, "a child process after fork, before it executes PostgreSQL"),
    "core/http/parking_lot.cc": (
        2,
        "a write to an own event, and a change of a connection that epoll knows, fail only if the descriptor is not ours",
    ),
    "core/meta/writer.cc": (1, "a destructor; without it a collection could judge what the operation still writes"),
}


def code_of(text):
    """Without comments."""
    return re.sub(r"//[^\n]*", "", text)


def main():
    names = subprocess.run(
        ["git", "ls-files", *(f"{folder}/*{end}" for folder in ("core", "server", "s3gateway") for end in (".cc", ".h"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    found = {}
    for name in names:
        if not TEST_FILE.search(name) and (ROOT / name).is_file():
            count = len(ENDS.findall(code_of((ROOT / name).read_text())))
            if count:
                found[name] = count
    broken = [
        f"{name}: {found.get(name, 0)} places end the process, tests/tidy/aborts.py knows {KNOWN.get(name, (0,))[0]}: "
        "throw, or give the reason there"
        for name in sorted(found.keys() | KNOWN.keys())
        if found.get(name, 0) != KNOWN.get(name, (0,))[0]
    ]
    print("\n".join(broken) if broken else f"aborts: {sum(found.values())}, each with a reason")
    return 1 if broken or not found else 0


if __name__ == "__main__":
    sys.exit(main())
