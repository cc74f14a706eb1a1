#!/usr/bin/env python3
"""Checks that migrations/README.md names every function and trigger of the schema, and the file that defines a function last."""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "migrations"
DEFINED = re.compile(r"^(?:CREATE|(DROP)) (?:OR REPLACE )?(FUNCTION|(?:CONSTRAINT )?TRIGGER) (\w+)", re.MULTILINE)
COMMENT = re.compile(r"--.*")


def main():
    newest, triggers = {}, set()  # name: number of its file
    for file in sorted(FOLDER.glob("V*.sql")):
        for dropped, kind, name in DEFINED.findall(COMMENT.sub("", file.read_text())):
            if dropped:
                newest.pop(name, None)
                continue
            newest[name] = file.name.split("__")[0]
            if kind.endswith("TRIGGER"):
                triggers.add(name)
    rows = [line for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith("| `")]
    broken = []
    for name, version in newest.items():
        found = [row for row in rows if f"`{name}`" in row]
        if not found:
            broken.append(f"migrations/README.md: does not name {name} of {version}")
        elif name not in triggers and not any(f"| {version} |" in row for row in found):
            broken.append(f"migrations/README.md: the newest definition of {name} is in {version}")
    for name in sorted(set(re.findall(r"^\| `(\w+)`", "\n".join(rows), re.MULTILINE)) - set(newest)):
        broken.append(f"migrations/README.md: there is no {name}")
    print("\n".join(broken) if broken else f"migrations: {len(newest)} functions and triggers, each described")
    return 1 if broken or not newest else 0


if __name__ == "__main__":
    sys.exit(main())
