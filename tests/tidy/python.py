#!/usr/bin/env python3
"""Checks the Python sources with ruff, by the rules of ruff.toml; prints what differs and exits 1. With --fix (`./dev fmt`) it
formats them and sorts their imports instead."""

import os
import re
import subprocess
import sys
from pathlib import Path

from checked import CACHE

ROOT = Path(__file__).resolve().parents[2]


def pinned():
    return re.search(r"^ruff==(\S+)$", (ROOT / "tests/requirements.txt").read_text(), re.MULTILINE)[1]


def ruff():
    """The program in the version that tests/requirements.txt names, beside PYTHON or in any environment of tests; else None."""
    places = [Path(os.environ.get("PYTHON", sys.executable)).with_name("ruff"), *sorted(CACHE.glob("python-*/bin/ruff"))]
    for place in places:
        if place.exists():
            done = subprocess.run([place, "--version"], capture_output=True, text=True, check=False)
            if done.stdout.split() == ["ruff", pinned()]:
                return place
    return None


def run(program, *arguments):
    """Whether it found nothing. Output goes to this program's."""
    command = [program, *arguments, "--quiet", "--cache-dir", CACHE / "ruff", "."]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main():
    program = ruff()
    if program is None:
        print(f"python: ruff {pinned()} is not installed (./dev setup installs it)")
        return 1
    if "--fix" in sys.argv[1:]:
        commands = [("check", "--select", "I", "--fix"), ("format",)]
    else:
        commands = [("check", "--output-format", "concise"), ("format", "--check")]
    passed = all([run(program, *command) for command in commands])
    if passed and "--fix" not in sys.argv[1:]:
        print("python: every source is formatted, and ruff finds no fault")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
