#!/usr/bin/env python3
"""Compiles with clang what the build compiles with g++, for checks that g++ does not have.

clang.py threads          the thread-safety annotations of core/base/mutex.h, in every source that uses them
clang.py tidy [FILE ...]  clang-tidy with .clang-tidy, over these sources or all of them

`threads` needs build/compile_commands.json, `tidy` that of build-tidy, which has no precompiled headers: clang cannot read
those of g++. `threads` keeps its objects in ccache, so that a second run takes seconds; `tidy` notes below TARN_CACHE
which sources had no finding, and checks them again when they, their headers or .clang-tidy change.
"""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from checked import Checked

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ROOT / "build" / "compile_commands.json"
TIDY = ROOT / "build-tidy"
ANNOTATIONS = ("MutexLock", "TARN_GUARDED_BY", "TARN_REQUIRES")


def members(path):
    """The source itself, those of a group that the build compiles as one, or none for other generated sources."""
    if not path.is_relative_to(COMMANDS.parent):
        return [path]
    grouped = re.findall(r'#include "([^"]+)"', path.read_text()) if path.parent.name == "Unity" else []
    return [Path(one) for one in grouped if not Path(one).is_relative_to(COMMANDS.parent)]


def sources():
    """{path below ROOT: (its options for include paths, macros and the language, its directory)}"""
    found = {}
    for entry in json.loads(COMMANDS.read_text()):
        words, path, kept = shlex.split(entry["command"]), Path(entry["file"]), []
        for at, word in enumerate(words):
            if word == "-isystem":
                kept += [word, words[at + 1]]
            elif word.startswith(("-I", "-D", "-std")):
                kept.append(word)
        for member in members(path):
            found[str(member.relative_to(ROOT))] = (kept, entry["directory"])
    return found


def annotated(name):
    """Whether the source, or the header beside it, has an annotation or takes a lock."""
    path = ROOT / name
    texts = [one.read_text() for one in (path, path.with_suffix(".h")) if one.is_file()]
    return any(word in text for text in texts for word in ANNOTATIONS)


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def check_threads(names, known):
    with tempfile.TemporaryDirectory() as scratch:

        def one(numbered):
            number, name = numbered
            arguments, directory = known[name]
            return name, *run(
                [
                    "ccache",
                    "clang++-14",
                    *arguments,
                    "-Wno-everything",
                    "-Wthread-safety",
                    "-Werror=thread-safety",
                    "-O0",
                    "-c",
                    str(ROOT / name),
                    "-o",
                    f"{scratch}/{number}.o",
                ],
                directory,
            )

        return each(one, list(enumerate(sorted(names))))


def all_that_is_read(name, arguments, directory):
    """By the check of this source, as bytes; None for one that cannot be preprocessed."""
    status, text = run(["clang++-14", *arguments, "-w", "-E", "-C", str(ROOT / name)], directory)
    rules = (ROOT / ".clang-tidy").read_text()
    return None if status else (rules + text.replace(str(ROOT), "")).encode(errors="surrogateescape")


def check_tidy(names, known):
    clean = Checked("clang-tidy")

    def one(name):
        content = all_that_is_read(name, *known[name])
        if content and content in clean:
            return name, 0, ""
        status, text = run(["clang-tidy-14", "--quiet", "-p", str(TIDY), str(ROOT / name)], ROOT)
        if content and status == 0:
            clean.add(content)
        return name, status, text

    return each(one, sorted(names))


def each(one, items):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, text in pool.map(one, items):
            if status:
                failed += 1
                print(f"{name}:\n{text}")
    print(f"{len(items)} sources, {failed} with findings")
    return 1 if failed else 0


def main(arguments):
    if not arguments or arguments[0] not in ("threads", "tidy"):
        sys.exit(__doc__)
    if not COMMANDS.is_file():
        sys.exit("clang.py: build/compile_commands.json is missing: run ./dev build first")
    if not shutil.which("clang++-14"):
        sys.exit("clang.py: clang++-14 is not installed (Debian: clang-14, clang-tidy-14)")
    known = sources()
    if arguments[0] == "threads":
        return check_threads([name for name in known if annotated(name)], known)
    return check_tidy([name for name in arguments[1:] or known if name in known], known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
