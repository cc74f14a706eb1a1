#!/usr/bin/env python3
"""Checks that tracked text speaks of the project alone: no paths of one machine, no work left without a reason, no package
of other people under the name of this project (PyPI and npm have a `tarn`; Python imports `tarn_data`); and that no comment
opens with "What" or "Whoever" where a noun phrase belongs, and none of the schema, or of C++ outside tests, with a word that needs
a line before it."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLS = r"(pip3? install|pipx (run|install)|uvx|uv (add|pip install|tool (run|install))|npm (i|install|add)|npx)"
FORBIDDEN = {
    r"(^|[\s\"'(`])\.\./shared\b": "names a folder outside the project",
    r"(^|[\s\"'(`=])/(work|root|home)/[a-z]": "names a path of one machine",
    rf"\b{INSTALLS}(\s+[\"']?[-\w.\[\],=<>~!]+[\"']?)*?\s+[\"']?tarn(?![\w/-]|\.\w)": "installs the tarn of other people",
    r"((^\W*|`)import tarn(?![\w-])|\bfrom tarn(\.\w+)* import\b)": "imports the tarn of other people: import tarn_data as tarn",
    r"\b(TODO|FIXME|XXX)\b(?!.*:)": "leaves work without saying why",
}
SKIPPED = {"tests/tidy/wording.py", "LICENSE"}
COMMENT = re.compile(r"\s*(//|#|--)")
RIDDLE = re.compile(r'\s*(///?<?!?|#|--|r?""")\s*(What|Whoever|Whatever)\b(?!.*\?)')
HEADLESS = re.compile(r"(?:[^\"]*[;,{}] )?\s*///?<?!?\s*(Of|As|With|Those|That|Its)\b")
TEST = re.compile(r"_(pg)?test\.cc$")
HEADLESS_SQL = re.compile(r"(?:.*[;,(] )?\s*--\s*(Of|As|With|Those|That|Its)\b")
CODE = {".cc", ".h", ".py", ".sh", ".cmake", ".sql"}


def main():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    broken = []
    for name in names:
        file = ROOT / name
        if name in SKIPPED or not file.is_file() or b"\0" in file.read_bytes()[:4096]:
            continue
        before = ""
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if file.suffix in CODE and RIDDLE.match(line) and not COMMENT.match(before):
                broken.append(f"{name}:{number}: a comment opens with a question instead of a noun phrase")
            if file.suffix in {".h", ".cc"} and not TEST.search(name) and HEADLESS.match(line) and not COMMENT.match(before):
                broken.append(f"{name}:{number}: a comment opens without its subject")
            if file.suffix == ".sql" and HEADLESS_SQL.match(line) and not COMMENT.match(before):
                broken.append(f"{name}:{number}: a comment opens without its subject")
            before = line
            broken += [f"{name}:{number}: {why}" for pattern, why in FORBIDDEN.items() if re.search(pattern, line)]
    print("\n".join(broken) if broken else "wording: nothing to mend")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
