#!/usr/bin/env python3
"""Checks that no two queries have one name: a connection prepares each name once, with the text that it saw first."""

import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUERY = re.compile(r'\bQuery\s+k\w+\s*\{\s*"(\w+)"')


def main():
    names = subprocess.run(
        ["git", "ls-files", "*.cc", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    places = collections.defaultdict(list)
    for name in names:
        if name.endswith("test.cc") or not (ROOT / name).is_file():
            continue
        for query in QUERY.findall((ROOT / name).read_text()):
            places[query].append(name)
    broken = [f"{query}: in {' and '.join(files)}" for query, files in places.items() if len(files) > 1]
    print("\n".join(broken) if broken else f"queries: {len(places)} names, each used once")
    return 1 if broken or not places else 0


if __name__ == "__main__":
    sys.exit(main())
