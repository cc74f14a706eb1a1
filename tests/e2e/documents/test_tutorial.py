"""docs/tutorial.md and its second part: every block as it stands, in order, in an empty directory."""

import os
import re
import subprocess
import sys

import command
import pytest
import servers
from sandbox import needs_sandbox

BLOCK = re.compile(r"```(\w+)(?: (\S+))?\n(.*?)```", re.DOTALL)
# Of the reader's own machine: tests have a server and the packages.
STARTS_SERVER = "tarnd --listen"
STARTS_RUNNER = "tarn runner"
INSTALLS = re.compile(r"^pip install .*$", re.MULTILINE)


def run(words, environment, directory, text=None):
    ended = subprocess.run(
        words, input=text, env=environment, cwd=directory, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, (text, ended.stdout, ended.stderr)
    return ended.stdout


class Reader:
    """Somebody who types what the pages say; `printed` has the output of each block."""

    def __init__(self, tarn, tmp_path):
        self.directory = tmp_path / "reader"
        self.directory.mkdir()
        programs = tmp_path / "bin"
        programs.mkdir()
        # Not a link: an interpreter finds the packages of its environment by its own path.
        (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (programs / "python3").chmod(0o755)
        environment = command.Cli(tarn, tmp_path / "home").environment
        tools = os.path.dirname(os.path.abspath(servers.program("tarn")))
        self.environment = {**environment, "HOME": str(environment["HOME"]), "PATH": f"{programs}:{tools}:{os.environ['PATH']}"}
        self.printed, self.started = {}, []

    def read(self, page):
        for language, file, text in BLOCK.findall((servers.ROOT / "docs" / page).read_text()):
            if STARTS_SERVER in text:
                continue
            if text.strip() == STARTS_RUNNER:
                self.started.append(
                    subprocess.Popen(["tarn", "runner"], env=self.environment, cwd=self.directory, stdout=subprocess.DEVNULL)
                )
            elif file:
                (self.directory / file).write_text(text)
            elif language == "python":
                self.printed[text] = run([sys.executable, "-"], self.environment, self.directory, text)
            else:
                self.printed[text] = run(["bash", "-eu"], self.environment, self.directory, INSTALLS.sub("", text))

    def of(self, words):
        return next(out for text, out in self.printed.items() if words in text)


@pytest.fixture(scope="module")
def newcomer(tarn, tmp_path_factory):
    """Has read the first part."""
    person = Reader(tarn, tmp_path_factory.mktemp("tutorial"))
    person.read("tutorial.md")
    yield person
    for process in person.started:
        process.terminate()
        process.wait(timeout=60)


def test_every_block_runs(newcomer, tarn, tmp_path):
    said = "\n".join(newcomer.printed.values())
    assert re.search(r"exp-2 +verdict +passed", said) and re.search(r"exp-1 +verdict +failed", said), said
    assert "1 (1 added, 0 changed, 0 removed)" in said
    promoted = newcomer.of("tarn promote 'exp-*'")
    assert "exp-2" in promoted and "promoted" in promoted
    reader = command.Cli(tarn, tmp_path / "home")
    assert reader.json("alias", "log", "tarn://digits/@champion")["items"], "the alias has a history"
    messages = [item["message"] for item in reader.json("log", "tarn://digits/main")["items"]]
    assert len(messages) >= 4 and messages[-2] == "Digits of scikit-learn", messages
    assert reader.run("fs", "ls", "tarn://digits/main/models/", "-o", "name").text == "", "the rollback removed the model"


@needs_sandbox
def test_the_second_part_runs(newcomer, tarn, tmp_path):
    newcomer.read("tutorial-decisions.md")
    canary = newcomer.of("# exp-3 is @canary")
    assert re.search(r"stage +@canary since", canary), canary
    assert "stages[champion].approvals: 0 of 1 approvals" in canary, canary
    assert re.search(r"state +promoted", newcomer.of("the canary looks good"))
    lucky = newcomer.of("train_seeds.py exp-5")
    assert re.search(r"state +promoted", lucky) and "exit status 10" in lucky, lucky
    reader = command.Cli(tarn, tmp_path / "home")
    [last, first] = [one for one in reader.json("promote", "ls", "tarn://digits")["items"] if one["state"] == "promoted"][:2]
    assert (first["winner"]["ref"], last["winner"]["ref"]) == ("exp-3", "exp-4")
    [rejected] = [one for one in reader.json("promote", "ls", "tarn://digits")["items"] if one["state"] == "rejected"]
    rules = reader.json("promote", "show", f"tarn://digits/{rejected['id']}")["evidence"]["candidates"][0]["rules"]
    assert {rule["code"] for rule in rules if rule["outcome"] == "fail"} == {"not_distinguishable"}, rules
    assert (newcomer.directory / "report.html").stat().st_size > 5000
