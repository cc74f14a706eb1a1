#!/usr/bin/env python3
"""Checks that every use of a clock that can be set is in clocks.txt, with its reason: ages are measured by the uptime."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = "tests/tidy/clocks.txt"
ROW = re.compile(r"^(\S+) (\d+) (stored|judged|shown|sent|clock): \S.{9,}$")
USE = re.compile(
    r"\b(?:\w*[cC]lock_?|wall_|call|authenticator_?)(?:\(\))?(?:\.|->)now\(\)|\bsystem_clock::now\b|\bCLOCK_REALTIME\b"
    r"|\bgettimeofday\b|\btime\((?:nullptr|NULL|0)\)"
)
TEST_FILE = re.compile(r"(_test|_pgtest)\.cc$|_fixture\.(h|cc)$")


def main():
    listed, broken = {}, []
    for line in (ROOT / LIST).read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        row = ROW.match(line)
        if not row:
            broken.append(f"{LIST}: {line!r} is not of the form PATH COUNT KIND: REASON")
            continue
        listed.setdefault(row[1], 0)
        listed[row[1]] += int(row[2])
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "core", "server", "s3gateway"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    used = Counter()
    for name in names:
        if name.endswith((".cc", ".h")) and not TEST_FILE.search(name) and (ROOT / name).is_file():
            used[name] = len(USE.findall((ROOT / name).read_text()))
    for name in sorted(set(used) | set(listed)):
        if used[name] != listed.get(name, 0):
            broken.append(
                f"{name}: reads a clock that can be set {used[name]} times, {LIST} has reasons for "
                f"{listed.get(name, 0)}: measure ages by the uptime or a steady clock, else give the reason there"
            )
    print("\n".join(broken) if broken else f"clocks: {used.total()} uses, each with its reason")
    return 1 if broken or not used else 0


if __name__ == "__main__":
    sys.exit(main())
