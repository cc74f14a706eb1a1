#!/usr/bin/env python3
"""Checks that tests which tables of the documents name exist, that each key of a policy has a row of what decides, and that the table
of tools names their versions and tests."""

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import client_matrix

ROOT = Path(__file__).resolve().parents[2]
DECIDES = "docs/design/048-what-decides.md"
KEYS = "core/promotion/policy_keys.cc"
TOOLS = "docs/ecosystem.md"
DEFINED = re.compile(r"^(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
NAMED = re.compile(r"`([A-Z]\w+)\.(\*|[A-Z]\w+)`")
TOP_KEY = re.compile(r'^\s+\{"(\w+)",', re.MULTILINE)
A_TEST = re.compile(r"`[A-Z]\w+\.(?:\*|[A-Z]\w+)`|`tests/[\w/.]+`")


def tracked(*patterns):
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *patterns], check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def defined_tests():
    """{suite: names}"""
    out = {}
    for name in tracked("*_test.cc", "*_pgtest.cc"):
        for suite, test in DEFINED.findall((ROOT / name).read_text()):
            out.setdefault(suite, set()).add(test)
    return out


def rows_below(heading, text):
    """The cells of the rows of the table below a line that begins with `heading`."""
    lines = text.split(heading, 1)[1].splitlines()[2:]
    out = []
    for line in lines:
        if not line.startswith("|"):
            break
        out.append([cell.strip() for cell in line.strip("|").split("|")])
    return out


def missing_tests(tests):
    for name in tracked("docs/*.md", "docs/design/*.md"):
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if not line.startswith("|"):
                continue
            for suite, test in NAMED.findall(line):
                if suite not in tests or test not in {"*"} | tests[suite]:
                    yield f"{name}:{number}: there is no test {suite}.{test}"


def undecided():
    text = (ROOT / DECIDES).read_text()
    rows = rows_below("| what decides |", text)
    for row in rows:
        if not A_TEST.search(row[-1]):
            yield f'{DECIDES}: no test changes "{row[0]}"'
    values = {row[0] for row in rows}
    known = dict(row[:2] for row in rows_below("| key of a policy |", text))
    for key in TOP_KEY.findall((ROOT / KEYS).read_text()):
        row = known.pop(f"`{key}`", None)
        if row is None:
            yield f"{DECIDES}: says nothing of the key {key}"
        elif row != "-" and row not in values:
            yield f'{DECIDES}: the key {key} names the row "{row}", which does not exist'
    for key in known:
        yield f"{DECIDES}: {key} is no key of a policy"


def tools():
    """Each row of the table has a test, in which each version is pinned; each tool that has a test has a row."""
    rows = rows_below("| tool | way |", (ROOT / TOOLS).read_text())
    known = {str(client.file.relative_to(ROOT)): client for client in client_matrix.clients()}
    pinned = set((ROOT / "tests/requirements.txt").read_text().splitlines())
    for row in rows:
        test = row[-1].strip("`")
        if not (ROOT / test).is_file():
            yield f"{TOOLS}: {row[0]}: there is no test {test}"
        elif test in known:
            if row[0] != known[test].name:
                yield f"{TOOLS}: {row[0]}: {test} runs {known[test].name}"
        else:
            for name in row[0].split(", "):
                if name.replace(" ", "==") not in pinned:
                    yield f"{TOOLS}: {name}: tests/requirements.txt has another version"
    named = {row[-1].strip("`") for row in rows}
    for test, client in known.items():
        if client.kind == "tools" and test not in named:
            yield f"{TOOLS}: says nothing of {client.name}"


def main():
    tests = defined_tests()
    broken = [*missing_tests(tests), *undecided(), *tools()]
    for line in broken:
        print(line)
    if not broken:
        print(f"promises: {sum(map(len, tests.values()))} tests, each that a table names is among them")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
