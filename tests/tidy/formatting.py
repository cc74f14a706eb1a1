#!/usr/bin/env python3
"""Checks the C++ sources against .clang-format; prints the files that differ and exits 1. With --fix (`./dev fmt`) it
formats them instead.

It notes below TARN_CACHE which contents are formatted, and looks at them again when .clang-format or the tool changes."""

import shutil
import subprocess
import sys
from pathlib import Path

from checked import Checked

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("core", "server", "s3gateway", "cli", "tests", "bench")
FILES_AT_ONCE = 50


def contents_of(files, tool):
    """{file: all that its formatting depends on}"""
    version = subprocess.run([tool, "--version"], capture_output=True, check=True).stdout
    rules = version + (ROOT / ".clang-format").read_bytes()
    # The name decides which include comes first.
    return {file: rules + Path(file).name.encode() + Path(file).read_bytes() for file in files}


def main():
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if tool is None:
        print("formatting: clang-format is not installed (./dev setup installs it)")
        return 1
    files = sorted(str(f) for top in FOLDERS for f in (ROOT / top).rglob("*") if f.suffix in (".h", ".cc"))
    if "--fix" in sys.argv[1:]:
        return subprocess.run([tool, "-i", *files], check=False).returncode
    formatted = Checked("clang-format")
    contents = contents_of(files, tool)
    files = [file for file in files if contents[file] not in formatted]
    differing = set()
    for start in range(0, len(files), FILES_AT_ONCE):
        done = subprocess.run(
            [tool, "--dry-run", *files[start : start + FILES_AT_ONCE]], capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(done.stderr)
            return 1
        differing |= {line.split(":")[0] for line in done.stderr.splitlines() if "-Wclang-format-violations" in line}
    for file in files:
        if file not in differing:
            formatted.add(contents[file])
    for file in sorted(differing):
        print(f"{Path(file).relative_to(ROOT)}: not formatted")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
