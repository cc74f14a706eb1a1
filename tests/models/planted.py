#!/usr/bin/env python3
"""Plants the faults of planted.md, one at a time, into a copy of the tree, and runs the histories that must find them.

    planted.py [--check] [NUMBER...]

--check only shows that each fault can still be planted. Otherwise the copy is below TARN_PLANTED (a directory that stays, with its
build; /var/tmp/tarn-planted if unset), and a line of JSON is printed for each fault. Ends with 1 if a fault was not found.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("planted.md")
TESTS = {  # and what makes them a round or two
    "histories": ("tests/e2e/durability/test_histories.py", {}),
    "installations": (
        "tests/e2e/durability/test_histories_of_installations.py",
        {"TARN_TEST_LONG": "1", "TARN_HISTORY_SECONDS": "90"},
    ),
}
TRIES_MAX = 3  # chance decides what meets what
TRY_SECONDS = 600


class Fault:
    def __init__(self, number, title, text):
        self.number, self.title = int(number), title
        self.found_by = re.search(r"^Found by: (\w+)$", text, re.MULTILINE)[1]
        self.patches = []  # (file, old, new)
        for file, body in re.findall(r"^```diff (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            old, new = ([line[1:] for line in body.splitlines() if line.startswith(sign)] for sign in "-+")
            self.patches.append((file, "\n".join(old) + ("" if new else "\n"), "\n".join(new)))

    def planted(self, root):
        """The changed files; raises for one that does not have the text once."""
        texts = {}
        for file, old, new in self.patches:
            text = texts.get(file) or (root / file).read_text()
            if text.count(old) != 1:
                raise ValueError(f"{self.number}. {self.title}: {file} has the text {text.count(old)} times")
            texts[file] = text.replace(old, new)
        return texts


def faults():
    pieces = re.split(r"^## (\d+)\. (.+)$", LIST.read_text(), flags=re.MULTILINE)[1:]
    return [Fault(*pieces[at : at + 3]) for at in range(0, len(pieces), 3)]


def check():
    wrong = 0
    for fault in faults():
        try:
            fault.planted(ROOT)
        except ValueError as error:
            print(f"tests/models/planted.md: {error}")
            wrong += 1
    print(f"{len(faults())} faults can be planted" if not wrong else f"{wrong} faults cannot be planted")
    return 1 if wrong else 0


class Copy:
    """A copy of the tracked files, and a build of it that stays."""

    def __init__(self, directory):
        self.root = directory / "tree"
        self.root.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for file in filter(None, listed.split("\0")):
            self.bring(file)
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(self.root)}
        if not (self.root / "build/build.ninja").exists():
            self.run(["cmake", "--preset", "dev", "-B", "build"])

    def bring(self, file):
        """The file as it is in the tree; one that is the same keeps its time, so nothing is built again."""
        source, own = ROOT / file, self.root / file
        if not own.exists() or own.read_bytes() != source.read_bytes():
            own.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, own)

    def run(self, command):
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")

    def plant(self, fault):
        for file, text in fault.planted(ROOT).items():
            (self.root / file).write_text(text)
        self.run(["ninja", "-C", "build", "-j2", "tarnd", "tarn"])

    def uproot(self, fault):
        for file, _, _ in fault.patches:
            self.bring(file)

    def finds(self, test, settings):
        """The contradiction that the histories show, or None."""
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test],
                cwd=self.root,
                env=self.environment | settings,
                capture_output=True,
                text=True,
                timeout=TRY_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end within {TRY_SECONDS} s"
        if done.returncode == 0:
            if "1 passed" not in done.stdout:
                raise RuntimeError(f"{test} was not run:\n{done.stdout[-1000:]}")
            return None
        said = [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("E  ")]
        return " ".join(said)[:400] or done.stdout[-400:]


def main(arguments):
    if arguments == ["--check"]:
        return check()
    copy = Copy(Path(os.environ.get("TARN_PLANTED", "/var/tmp/tarn-planted")))
    missed = 0
    for fault in faults():
        if arguments and str(fault.number) not in arguments:
            continue
        begun, said, tries = time.monotonic(), None, 0
        try:
            copy.plant(fault)
            while said is None and tries < TRIES_MAX:
                tries += 1
                said = copy.finds(*TESTS[fault.found_by])
        except RuntimeError as error:  # it was not built, or the histories were not run
            print(f"{fault.number}. {fault.title}: {error}", file=sys.stderr)
        copy.uproot(fault)
        missed += said is None
        print(
            json.dumps(
                {
                    "fault": fault.number,
                    "title": fault.title,
                    "histories": fault.found_by,
                    "found": said is not None,
                    "tries": tries,
                    "seconds": round(time.monotonic() - begun),
                    "said": said,
                }
            ),
            flush=True,
        )
    print(f"{missed} faults were not found" if missed else "every fault was found", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
