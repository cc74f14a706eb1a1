#!/usr/bin/env python3
"""Checks that errors take their reasons from core/base/reasons.h, and that docs/errors.md has a row for each."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER, PAGE = "core/base/reasons.h", "docs/errors.md"
# Few need it, and nearly every source includes the other.
SIGN_IN_HEADER = "core/base/sign_in_reasons.h"
CONSTANT = re.compile(r'std::string_view\s+(k\w+)\s*=\s*"(\w+)";')
ROW = re.compile(r"^\| `(\w+)` \| [\d, ]+ \| \S", re.MULTILINE)
LITERAL = re.compile(r'\bErrorCode::k\w+,\s*"([a-z]\w*)"\s*,')
TEST_FILE = re.compile(r"(_test|_pgtest)\.cc$|/testing/|_fixture\.(h|cc)$")


def main():
    constants = dict(CONSTANT.findall((ROOT / HEADER).read_text() + (ROOT / SIGN_IN_HEADER).read_text()))
    rows = ROW.findall((ROOT / PAGE).read_text())
    broken = [f"{PAGE}: no row for {reason}" for reason in sorted(set(constants.values()) - set(rows))]
    broken += [f"{PAGE}: {reason} is no constant of {HEADER}" for reason in sorted(set(rows) - set(constants.values()))]
    broken += [f"{PAGE}: two rows for {reason}" for reason in sorted(set(rows)) if rows.count(reason) > 1]
    names = subprocess.run(
        ["git", "ls-files", "core/*.cc", "core/*.h", "server/*.cc", "server/*.h", "s3gateway/*.cc", "s3gateway/*.h"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    used = set()
    for name in names:
        if TEST_FILE.search(name) or name in (HEADER, SIGN_IN_HEADER) or not (ROOT / name).is_file():
            continue
        text = (ROOT / name).read_text()
        broken += [f'{name}: the reason "{reason}" belongs in {HEADER}' for reason in LITERAL.findall(text)]
        used |= set(re.findall(r"\breason::(k\w+)", text))
    broken += [f"{HEADER}: {name} is not used" for name in sorted(set(constants) - used)]
    print("\n".join(broken) if broken else f"reasons: {len(constants)}, each with a row of {PAGE}")
    return 1 if broken or not constants else 0


if __name__ == "__main__":
    sys.exit(main())
