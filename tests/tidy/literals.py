#!/usr/bin/env python3
"""Checks that tests do not repeat the sentences of messages: they compare codes, reasons, kinds and fields.

A literal of a test counts if it shares LENGTH characters, with BLANKS blanks among them, with a literal of the programs that
is neither a statement of SQL nor a document of several lines. literals.txt lists files with such literals. A file or folder whose
subject is the text itself stands there with the reason, and may have any number; another file with the number that is left, which may
only fall. literals.py FILE ... shows those of these files."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = "tests/tidy/literals.txt"
LENGTH = 20
BLANKS = 2
# Comments are taken too, so that their quotes open no literal; so are the explanations behind `<<` of an expectation.
CPP = re.compile(r'//[^\n]*|R"(\w*)\(.*?\)\1"|\'(?:[^\'\\\n]|\\.)\'|<<\s*"(?:[^"\\\n]|\\.)*"|"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
JOINED = re.compile(r'"\s*\n\s*"')
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|FROM|WHERE|LOCK|SET|CREATE|ALTER)\b")
# XML, JSON, YAML in one line, times; an escaped character.
DATA = re.compile(r"[<>{}\[\]\\]|\d\d\d\d")
# The page has texts of its own.
NOT_READ = ("tests/tidy/", "tests/web/")
PROGRAMS = ("core/", "server/", "s3gateway/", "cli/")
TEST = re.compile(r"^tests/|_(pg)?test\.cc$|_fixture\.(h|cc)$|/testing/|/tests/")


def literals_of_cpp(text):
    return [found.group(2) for found in CPP.finditer(JOINED.sub("", text)) if found.group(2) is not None]


def literals_of_python(text):
    tree = ast.parse(text)
    said = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    said += [each for node in ast.walk(tree) if isinstance(node, ast.Assert) and node.msg for each in ast.walk(node.msg)]
    not_compared = {id(node) for node in said}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in not_compared
    ]


def pieces(literal):
    """Its runs of LENGTH characters that read like a sentence."""
    runs = (literal[at : at + LENGTH] for at in range(len(literal) - LENGTH + 1))
    return {run for run in runs if run.count(" ") >= BLANKS and not DATA.search(run)}


def tracked():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [name for name in names if (ROOT / name).is_file()]


def repeated(names):
    """{file of tests: its literals that repeat one of the programs}"""
    known = set()
    for name in names:
        if name.startswith(PROGRAMS) and name.endswith((".cc", ".h")) and not TEST.search(name):
            for literal in literals_of_cpp((ROOT / name).read_text()):
                if not SQL.match(literal) and "\\n" not in literal:
                    known |= pieces(literal)
    out = {}
    for name in names:
        if not TEST.search(name) or name.startswith(NOT_READ) or not name.endswith((".cc", ".h", ".py")):
            continue
        text = (ROOT / name).read_text()
        literals = literals_of_python(text) if name.endswith(".py") else literals_of_cpp(text)
        found = [literal for literal in literals if not SQL.match(literal) and not known.isdisjoint(pieces(literal))]
        if found:
            out[name] = found
    return out


def listed():
    """{file, or folder with a slash at its end: the number that is left, or None for any}"""
    out = {}
    for line in (ROOT / LIST).read_text().splitlines():
        if line and not line.startswith("#"):
            name, rest = line.split(" ", 1)
            out[name] = int(rest) if rest.isdigit() else None
    return out


def main(shown):
    found, allowed = repeated(tracked()), listed()
    for name in shown:
        print("\n".join(f"{name}: {literal}" for literal in found.get(name, [])))
    if shown:
        return 0
    broken, left, used = [], 0, set()
    for name, literals in sorted(found.items()):
        entry = next((each for each in allowed if name == each or (each.endswith("/") and name.startswith(each))), None)
        used.add(entry)
        most = allowed.get(entry, 0)
        if most is None:
            continue
        left += len(literals)
        if len(literals) > most:
            broken.append(f"{name}: repeats {len(literals)} sentences of the programs, not {most}: compare codes or reasons")
            broken += [f"  {literal}" for literal in literals]
        elif len(literals) < most:
            broken.append(f"{LIST}: {name} repeats {len(literals)} sentences, no longer {most}: write this number")
    broken += [f"{LIST}: {name} has none: remove its line" for name in sorted(allowed.keys() - used)]
    print("\n".join(broken) if broken else f"literals: {left} are left")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
