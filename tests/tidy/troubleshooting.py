#!/usr/bin/env python3
"""Every message that docs/troubleshooting.md quotes is in the source."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (.+?) \|$", re.MULTILINE)
PLACES = ("core", "server", "s3gateway", "cli")
# Parts of a literal on several lines.
SEAM = re.compile(r'"\s*"')


def source(root):
    files = [path for place in PLACES for path in (root / place).rglob("*") if path.suffix in (".cc", ".h")]
    texts = [path.read_text() for path in files if not path.name.endswith(("_test.cc", "_pgtest.cc"))]
    return [SEAM.sub("", text) for text in texts]


def missing(page, texts):
    """The quoted messages of which some part is in no source file."""
    out = []
    for message, _, _ in ROW.findall(page):
        for part in message.split("…"):
            if part.strip() and not any(part.strip() in text for text in texts):
                out.append(f"{message}: {part.strip()!r} is in no source file")
    return out


def main():
    page = (ROOT / "docs/troubleshooting.md").read_text()
    rows = ROW.findall(page)
    problems = missing(page, source(ROOT))
    if len(rows) < 30:
        problems.append(f"only {len(rows)} messages were found in the page")
    for problem in problems:
        print(problem)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
