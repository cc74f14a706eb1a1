#!/usr/bin/env python3
"""Checks that docs/limits.md names constants of the code, with their values."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/limits.md"
ROW = re.compile(r"^\| [^|]+ \| ([^|]+) \| (.+) \|$", re.MULTILINE)
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


def main():
    broken, seen = [], 0
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
