"""docs/tutorial.md: every block as it stands, in order, in an empty directory."""

import os
import re
import subprocess
import sys

import command
import servers

PAGE = (servers.ROOT / "docs/tutorial.md").read_text()
BLOCK = re.compile(r"```(\w+)(?: (\S+))?\n(.*?)```", re.DOTALL)
# Of the reader's own machine: tests have a server and the packages.
STARTS_SERVER = "tarnd --listen"
INSTALLS = re.compile(r"^pip install .*$", re.MULTILINE)


def run(words, environment, directory, text=None):
    ended = subprocess.run(
        words, input=text, env=environment, cwd=directory, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, (text, ended.stdout, ended.stderr)
    return ended.stdout


def test_every_block_runs(tarn, tmp_path):
    here = tmp_path / "reader"
    here.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    # Not a link: an interpreter finds the packages of its environment by its own path.
    (programs / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (programs / "python3").chmod(0o755)
    environment = command.Cli(tarn, tmp_path / "home").environment
    tools = os.path.dirname(os.path.abspath(servers.program("tarn")))
    environment = {**environment, "HOME": str(environment["HOME"]), "PATH": f"{programs}:{tools}:{os.environ['PATH']}"}
    printed = {}
    for language, file, text in BLOCK.findall(PAGE):
        if STARTS_SERVER in text:
            continue
        if file:
            (here / file).write_text(text)
        elif language == "python":
            run([sys.executable, "-"], environment, here, text)
        else:
            printed[text] = run(["bash", "-eu"], environment, here, INSTALLS.sub("", text))
    said = "\n".join(printed.values())
    assert re.search(r"exp-2 +verdict +passed", said) and re.search(r"exp-1 +verdict +failed", said), said
    assert "1 (1 added, 0 changed, 0 removed)" in said
    promoted = next(out for text, out in printed.items() if "tarn promote 'exp-*'" in text)
    assert "exp-2" in promoted and "promoted" in promoted
    reader = command.Cli(tarn, tmp_path / "home")
    assert reader.json("alias", "log", "tarn://digits/@champion")["items"], "the alias has a history"
    messages = [item["message"] for item in reader.json("log", "tarn://digits/main")["items"]]
    assert len(messages) >= 4 and messages[-2] == "Digits of scikit-learn", messages
    assert reader.run("fs", "ls", "tarn://digits/main/models/", "-o", "name").text == "", "the rollback removed the model"
