#!/usr/bin/env python3
"""Checks that docs/limits.md names constants of the code, with their values."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/limits.md"
ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
# The table of everything that is kept: tables, who pays, limit, test.
KEPT_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
TABLE = re.compile(r"^(CREATE|DROP) (?:UNLOGGED )?TABLE (?:IF (?:NOT )?EXISTS )?(\w+)", re.MULTILINE)
TEST = re.compile(r"`(?:(\w+)\.)?(\w+)`")
SOURCE = re.compile(r"`(k\w+)` of ([\w./]+)$")
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def stated(limit):
    """The number of "1,024 bytes of UTF-8", "5 GiB" or "60 s"."""
    number, unit = re.match(r"([\d,]+)(?: (\w+))?", limit).groups()
    return int(number.replace(",", "")) * UNITS.get(unit, 1)


def defined(name, text):
    """The value of a constant; None if there is none."""
    found = re.search(rf"constexpr [\w:]+ {name}\s*(?:=\s*([^;]+)|{{([^}}]+)}});", text)
    if not found:
        return None
    expression = found.group(1) or found.group(2)
    expression = re.sub(r"\b\w+_t\{(\w+)\}", r"\1", expression).replace("'", "")
    expression = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", expression)
    return eval(expression, {"__builtins__": {}}) if re.fullmatch(r"[\d\s*+<()-]+", expression) else None


def tables():
    """The tables of the schema."""
    out = set()
    for file in sorted((ROOT / "migrations").rglob("*.sql")):
        for verb, name in TABLE.findall(re.sub(r"--.*", "", file.read_text())):
            (out.add if verb == "CREATE" else out.discard)(name)
    return out


def exists(suite, name, sources):
    """Whether a test of that name is there: of GoogleTest with its suite, else of Python."""
    return any((f", {name})" in text and f"({suite}," in text) if suite else f"def {name}(" in text for text in sources)


def check_kept(page):
    """The errors of the rows about everything that users can make the server keep."""
    broken, named = [], []
    sources = [
        file.read_text()
        for folder in ("core", "server", "s3gateway", "tests")
        for file in (ROOT / folder).rglob("*test*")
        if file.suffix in (".cc", ".py")
    ]
    for resource, _, _, test in KEPT_ROW.findall(page):
        if resource in ("what", "---"):
            continue
        named += re.findall(r"`(\w+)`", resource)
        for suite, name in TEST.findall(test):
            if not exists(suite, name, sources):
                broken.append(f"{PAGE}: there is no test {suite}.{name}" if suite else f"{PAGE}: there is no test {name}")
        if not TEST.search(test) and test != "-":
            broken.append(f"{PAGE}: {test!r} names no test")
    known = tables()
    for name in sorted(known - set(named)):
        broken.append(f"{PAGE}: says of no limit of table {name}, or that only the server writes to it")
    for name in sorted(set(named) - known):
        broken.append(f"{PAGE}: there is no table {name}")
    for name in sorted({name for name in named if named.count(name) > 1}):
        broken.append(f"{PAGE}: has two rows about table {name}")
    return broken


def main():
    broken, seen = check_kept((ROOT / PAGE).read_text()), 0
    for limit, source in ROW.findall((ROOT / PAGE).read_text()):
        if limit in ("limit", "---"):
            continue
        match = SOURCE.match(source)
        if not match:
            broken.append(f"{PAGE}: {source!r} is not of the form `kName` of file")
            continue
        name, path = match.groups()
        value = defined(name, (ROOT / path).read_text()) if (ROOT / path).is_file() else None
        seen += 1
        if value != stated(limit):
            broken.append(f"{PAGE}: {name} of {path} is {value}, not {limit}")
    print("\n".join(broken) if broken else f"limits: {seen} are those of the code")
    return 1 if broken or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
