#!/usr/bin/env python3
"""Every image of docs/images is shown by a document, and every image that a document shows is there."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def main():
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    shown = {
        (page.parent / target).resolve()
        for page in documents
        for target in SHOWN.findall(page.read_text())
        if not target.startswith("http")
    }
    kept = set((ROOT / "docs/images").iterdir())
    problems = [f"{path.relative_to(ROOT)}: no document shows it" for path in sorted(kept - shown)]
    problems += [f"{path}: a document shows it, and it is not there" for path in sorted(shown - kept) if not path.exists()]
    print("\n".join(problems) or f"images: {len(kept)}, each shown by a document")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
