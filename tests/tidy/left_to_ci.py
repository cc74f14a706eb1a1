#!/usr/bin/env python3
"""Checks that tests/left_to_ci.txt names files, tests and parameters that exist, each once."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from left_to_ci import TESTS, entries


def problems():
    """A line for each entry that leaves nothing to CI, or says what another one says."""
    seen = set()
    for file, test, parameter in entries():
        path, entry = TESTS / file, " ".join(filter(None, (file, test, parameter)))
        text = path.read_text() if path.is_file() else None
        if text is None:
            yield f"{entry}: there is no such file"
        elif test and not re.search(rf"^def {test}\(", text, re.MULTILINE):
            yield f"{entry}: there is no such test"
        elif parameter and not re.search(rf'parametrize\("{parameter}"|\bparams=[^\n]*\ndef {parameter}\(', text):
            yield f"{entry}: there is no such parameter, nor a fixture with parameters of this name"
        elif (file, test, parameter) in seen or (file, None, None) in seen:
            yield f"{entry}: an entry above says so already"
        seen.add((file, test, parameter))


if __name__ == "__main__":
    found = list(problems())
    for line in found:
        print(f"tests/left_to_ci.txt: {line}")
    sys.exit(bool(found))
