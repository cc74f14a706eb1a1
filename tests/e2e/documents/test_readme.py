"""The first hour of the README, as it stands, at a terminal."""

import shlex

import pytest
import servers
from command import Cli
from terminal import run_on_terminal

README = servers.ROOT / "README.md"


def commands():
    """The lines of the first block below the heading, without comments; `a && b` are two."""
    block = README.read_text().split("## The first hour", 1)[1].split("```", 2)[1]
    for line in block.strip().splitlines():
        yield from (shlex.split(part) for part in line.split("#", 1)[0].split("&&"))


@pytest.fixture
def own_server(scratch_dir):
    """Its repository is that of a reader who has nothing yet."""
    server = servers.Tarnd(scratch_dir / "tarnd").start()
    yield server
    server.stop()


def test_the_first_hour(own_server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scans").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "scans" / name).write_text(name)
    (tmp_path / "model.pkl").write_text("model")
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "two scans" > "$1"\n')
    editor.chmod(0o755)
    cli = Cli(own_server, tmp_path)

    (program, *_), *lines = commands()
    assert program == "tarnd"  # it runs already
    shown = {}
    for program, *words in lines:
        assert program == "tarn"
        answers = [("[y/N]", "y\n")] if words[0] == "import" else []
        shown[words[0]] = run_on_terminal(cli, *words, answers=answers, EDITOR=editor, COLUMNS="200").text
    assert "promoted" in shown["promote"]
    assert "Promote 'exp-1' to 'main'" in shown["log"] and "two scans" in shown["log"]
    assert cli.run("fs", "cat", "tarn://scans/main/model.pkl").text == "model"
    assert cli.run("fs", "cat", "tarn://scans/main/scans/b.txt").text == "b.txt"
