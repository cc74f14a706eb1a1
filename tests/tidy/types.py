#!/usr/bin/env python3
"""Checks that a name stands for one type in each namespace of the program: two definitions in different files are undefined
behaviour that no compiler reports. Prints each pair and exits 1."""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("core", "server", "s3gateway", "cli")
TEST_FILE = re.compile(r"(_test|_pgtest)\.cc$|/testing/")
# Namespaces and their types begin in the first column: .clang-format indents neither.
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{$")
END = re.compile(r"^\}  // namespace")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (?:TARN_\w+(?:\([^)]*\))? )?([\w:]+)(?: final)?(?: :[^:].*)?(?: \{.*)?$")


def types(text):
    """(namespace, name, number of the line) of each type; those of unnamed namespaces belong to one file and are left out."""
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        if found := NAMESPACE.match(line):
            spaces.append(found[1])
        elif END.match(line):
            spaces.pop()
        elif (found := TYPE.match(line)) and "" not in spaces:
            yield "::".join(spaces), found[1], number


def main():
    places = defaultdict(list)
    for top in SOURCES:
        for file in sorted((ROOT / top).rglob("*")):
            path = str(file.relative_to(ROOT))
            if file.suffix in (".h", ".cc") and not TEST_FILE.search(path):
                for space, name, number in types(file.read_text()):
                    places[space, name].append(f"{path}:{number}")
    twice = {key: where for key, where in places.items() if len(where) > 1}
    for (space, name), where in twice.items():
        print(f"{space}::{name} is defined in {', '.join(where)}")
    print(f"types: {len(places)}, each defined once" if not twice else f"types: {len(twice)} names stand for several")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
