#!/usr/bin/env python3
"""Checks that migrations/README.md names every function and trigger of the schema, and the file that defines a function last; and
that a migration of several files defines each once."""

import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "migrations"
DEFINED = re.compile(r"^(?:CREATE|(DROP)) (OR REPLACE )?(FUNCTION|(?:CONSTRAINT )?TRIGGER) (\w+)", re.MULTILINE)
COMMENT = re.compile(r"--.*")


def files():
    """The files in the order in which they are run, each with the name that the README has for it."""
    for migration in sorted(FOLDER.glob("V*")):
        if migration.is_dir():
            yield from ((part, part.stem) for part in sorted(migration.glob("*.sql")))
        else:
            yield migration, migration.name.split("__")[0]


def main():
    newest, triggers, broken = {}, set(), []  # newest: the file of each name
    for file, place in files():
        for dropped, replaced, kind, name in DEFINED.findall(COMMENT.sub("", file.read_text())):
            if file.parent != FOLDER and (dropped or replaced or name in newest):
                broken.append(f"{file.relative_to(FOLDER.parent)}: {name} is to be defined once, in its final form")
            if dropped:
                newest.pop(name, None)
                continue
            newest[name] = place
            if kind.endswith("TRIGGER"):
                triggers.add(name)
    rows = [line for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith("| `")]
    for name, place in newest.items():
        found = [row for row in rows if f"`{name}`" in row]
        if not found:
            broken.append(f"migrations/README.md: does not name {name} of {place}")
        elif name not in triggers and not any(f"| {place} |" in row for row in found):
            broken.append(f"migrations/README.md: the newest definition of {name} is in {place}")
    for name in sorted(set(re.findall(r"^\| `(\w+)`", "\n".join(rows), re.MULTILINE)) - set(newest)):
        broken.append(f"migrations/README.md: there is no {name}")
    print("\n".join(broken) if broken else f"migrations: {len(newest)} functions and triggers, each described")
    return 1 if broken or not newest else 0


if __name__ == "__main__":
    sys.exit(main())
