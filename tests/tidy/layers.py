#!/usr/bin/env python3
"""Checks every #include of the tree against layers.txt; prints what breaks it and exits 1."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#include\s+([<"])([^>"]+)[>"]')
SOURCES = ("core", "server", "s3gateway", "cli", "tests", "bench")
# Tests stand beside the code and may use the test support and what stands above it.
TEST_FILE = re.compile(r"(_test|_pgtest)\.cc$|/testing/|_fixture\.(h|cc)$")


def read_rules():
    folders, libraries = {}, {}
    for line in (ROOT / "tests/tidy/layers.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, allowed = line.partition(":")
        target = libraries if name.endswith((".h", "/")) else folders
        target[name] = allowed.split()
    return folders, libraries


def folder_of(path, folders):
    """The longest folder of the rules that the file lies in; a file with a row of its own is one."""
    inside = [f for f in folders if path == f or path.startswith(f + "/")]
    return max(inside, key=len) if inside else None


def check(path, folders, libraries):
    folder = folder_of(path, folders)
    for number, line in enumerate((ROOT / path).read_text(errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, name = found.group(1) == '"', found.group(2)
        if quoted and not (ROOT / name).exists() and not (ROOT / path).parent.joinpath(name).exists():
            continue  # generated
        if quoted:
            target = folder_of(name, folders)
            allowed = list(folders.get(folder, []))
            if TEST_FILE.search(path):
                allowed += ["tests", "core"]
            if target not in (None, folder) and not any(name.startswith(a + "/") for a in allowed):
                yield f"{path}:{number}: {folder} may not include {target} ({name})"
        for library, users in libraries.items():
            matches = name.startswith(library) if library.endswith("/") else name == library
            if matches and not TEST_FILE.search(path) and not any(path.startswith(u + "/") for u in users):
                yield f"{path}:{number}: <{name}> may be included in {', '.join(users)} only"


def main():
    folders, libraries = read_rules()
    broken = []
    for top in SOURCES:
        for file in sorted((ROOT / top).rglob("*")):
            if file.suffix in (".h", ".cc"):
                broken += check(str(file.relative_to(ROOT)), folders, libraries)
    print("\n".join(broken) if broken else "layers: every include is allowed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
