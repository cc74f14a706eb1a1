#!/usr/bin/env python3
"""Checks that docs/access.md explains every action of the policy language once."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE, PAGE = "core/auth/action.cc", "docs/access.md"


def main():
    known = set(re.findall(r'^ +"([a-z]+:\w+)",$', (ROOT / SOURCE).read_text(), re.MULTILINE))
    table = (ROOT / PAGE).read_text().split("\n## Actions\n", 1)[1]
    explained = [action for row in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE) for action in re.findall(r"`([^`]+)`", row)]
    broken = [f"{PAGE}: does not explain {action}" for action in sorted(known - set(explained))]
    broken += [f"{PAGE}: {action} is no action" for action in sorted(set(explained) - known)]
    broken += [f"{PAGE}: explains {action} twice" for action in sorted(set(explained)) if explained.count(action) > 1]
    print("\n".join(broken) if broken else f"actions: {len(known)}, each explained in {PAGE}")
    return 1 if broken or not known else 0


if __name__ == "__main__":
    sys.exit(main())
