"""The `tarn` command on a terminal: what fits, colours, the pager, the editor, and what programs get instead."""

import csv
import io
import json
import re

import pytest
import yaml
from terminal import run_on_terminal

LONG = "a message that is much longer than any terminal of eighty or one hundred and twenty columns could ever show"


def put(repo, path, data=b"x"):
    repo.branch("main").object(path).upload(data=data, mode="wb")


def commit(repo, message=LONG):
    put(repo, f"data/{message[:40].strip()}")
    return repo.branch("main").commit(message=message).id


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_terminal(cli, repo, columns):
    made = commit(repo)
    shown = run_on_terminal(cli, "log", "main", columns=columns, NO_COLOR="1")
    lines = shown.text.splitlines()
    assert lines[0].split() == ["COMMIT", "DATE", "COMMITTER", "MESSAGE"]
    assert max(map(len, lines)) == columns and lines[1].endswith("…")
    assert re.match(made[:12] + r"  (now|\d+ seconds? ago) ", lines[1])
    assert shown.raw == shown.text, "NO_COLOR"


def test_a_program_gets_everything(cli, repo):
    made = commit(repo)
    [line] = [line for line in cli.run("log", "main").text.splitlines() if LONG in line]
    assert re.match(made[:12] + r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d  ", line)
    assert made in cli.run("branch", "list").text
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    item = cli.json("log", "main")["items"][0]
    assert item["id"] == made and re.fullmatch(time, item["creation_date"])
    document = yaml.safe_load(cli.run("log", "main", "-o", "yaml").text)
    assert document["kind"] == "CommitList" and document["items"][0]["message"] == LONG
    row = next(csv.DictReader(io.StringIO(cli.run("log", "main", "-o", "csv").text)))
    assert row["commit"] == made and re.fullmatch(time, row["date"])
    assert yaml.safe_load(cli.run("show", "main", "-o", "yaml").text)["id"] == made


def test_colours(cli, repo):
    put(repo, "a")
    assert "\x1b[32madded\x1b[0m" in run_on_terminal(cli, "diff", "main").raw
    assert "\x1b" not in run_on_terminal(cli, "diff", "main", "--color", "never").raw
    assert "\x1b" not in cli.run("diff", "main").text
    assert "\x1b[32madded\x1b[0m" in cli.run("diff", "main", "--color", "always").text
    assert "\x1b[31mtarn:\x1b[0m" in run_on_terminal(cli, "show", "nope", status=4).raw
    assert "--color" in cli.run("log", "main", "--color", "purple", status=2).talk


def test_ids_are_short_for_people(cli, repo):
    made = commit(repo)
    for words in (["log", "main"], ["branch", "list"], ["annotate", f"tarn://{repo.id}/main/"]):
        text = run_on_terminal(cli, *words).text
        assert made[:12] in text and made[:13] not in text, words
    assert made in run_on_terminal(cli, "show", "main").text


def test_the_pager_shows_what_is_longer_than_the_screen(cli, repo, tmp_path):
    for number in range(30):
        put(repo, f"n{number:02}")
    paged = tmp_path / "paged"
    pager = f"tee {paged} | cat"
    run_on_terminal(cli, "diff", "main", rows=40, TARN_PAGER=pager)
    assert not paged.exists(), "it fits"
    run_on_terminal(cli, "diff", "main", rows=20, TARN_PAGER=pager)
    assert len(paged.read_text().splitlines()) == 31
    paged.unlink()
    run_on_terminal(cli, "diff", "main", "--no-pager", rows=20, TARN_PAGER=pager)
    cli.run("diff", "main", TARN_PAGER=pager)
    assert not paged.exists()
    shown = run_on_terminal(cli, "diff", "main", rows=20, PAGER="less", answers=[("n10", "q")])
    assert "n29" not in shown.text


def test_an_empty_list_says_what_to_do(cli, repo):
    out = cli.run("tag", "list")
    assert out.text == "" and out.talk == "no tags: tarn tag create NAME REF creates one\n"
    assert cli.run("tag", "list", "--quiet").talk == ""
    assert json.loads(cli.run("tag", "list", "-o", "json").text)["items"] == []


def editor(tmp_path, script):
    program = tmp_path / "editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_commit_opens_an_editor(cli, repo, tmp_path):
    put(repo, "raw/a.png")
    seen = tmp_path / "seen"
    writes = editor(tmp_path, f'cp "$1" {seen}; echo "from the editor" > "$1"; cat {seen} >> "$1"')
    run_on_terminal(cli, "commit", "main", EDITOR="false", VISUAL="false", TARN_EDITOR=writes)
    assert "# " in seen.read_text() and "#   added  raw/a.png" in seen.read_text()
    assert cli.json("log", "main")["items"][0]["message"] == "from the editor"
    assert "nothing to commit" in run_on_terminal(cli, "commit", "main", TARN_EDITOR="false").text


def test_an_empty_message_and_a_failed_editor_change_nothing(cli, repo, tmp_path):
    put(repo, "a")
    shown = run_on_terminal(cli, "commit", "main", status=130, EDITOR="true")
    assert "the message is empty; nothing was changed" in shown.text
    shown = run_on_terminal(cli, "commit", "main", status=1, EDITOR="false")
    assert "nothing was changed" in shown.text and "TARN_EDITOR" in shown.text
    assert len(cli.json("diff", "main")["items"]) == 1
    refused = cli.run("commit", "main", status=2, EDITOR=editor(tmp_path, "echo m > $1"))
    assert "-m MESSAGE is needed" in refused.talk


def test_merge_and_pull_request_open_an_editor(cli, repo, tmp_path):
    cli.run("branch", "create", "dev", "--source", "main")
    repo.branch("dev").object("a").upload(data=b"a", mode="wb")
    repo.branch("dev").commit(message="a")
    text = run_on_terminal(
        cli, "pr", "create", "dev", "main", EDITOR=editor(tmp_path, 'printf "title\\n\\nthe rest\\n" > "$1"')
    ).text
    assert "title" in text
    pull = cli.json("pr", "show", re.search(r"\b[0-9a-v]{20}\b", text).group())
    assert (pull["title"], pull["description"]) == ("title", "the rest")
    run_on_terminal(cli, "merge", "dev", "main", EDITOR=editor(tmp_path, "echo >> $1"))
    assert cli.json("log", "main")["items"][0]["message"] == "Merge 'dev' into 'main'"


def test_a_directory_of_this_machine_is_uploaded_after_asking(cli, repo, tmp_path):
    data = tmp_path / "data"
    (data / "sub").mkdir(parents=True)
    (data / "a").write_bytes(b"a")
    (data / "sub" / "b").write_bytes(b"b")
    target = f"tarn://{repo.id}/main/new"
    assert "--yes" in cli.run("import", data, target, status=2).talk
    shown = run_on_terminal(cli, "import", data, target, status=130, answers=[("[y/N]", "n\n")])
    assert "not confirmed" in shown.text and cli.json("fs", "ls", target, "-r")["items"] == []
    run_on_terminal(cli, "import", data, target, answers=[("[y/N]", "y\n")])
    assert [item["path"] for item in cli.json("fs", "ls", target, "-r")["items"]] == ["new/a", "new/sub/b"]
    (data / "c").write_bytes(b"c")
    done = cli.run("import", data, target, "--yes", "-m", "the rest", "-o", "jsonl").text.splitlines()
    assert json.loads(done[0])["done"] == 1 and json.loads(done[0])["skipped"] == 2
    assert json.loads(done[1])["message"] == "the rest"
    assert "no such file or directory" in cli.run("import", "./none", target, status=4).talk


def test_messages_say_what_and_what_next(cli, repo, tmp_path):
    def said(*words, status, **environment):
        return cli.run(*words, status=status, **environment).talk

    assert said("branch", "show", "nope", status=4) == (
        f"tarn: branch tarn://{repo.id}/nope: branch not found; tarn branch list shows the branches\n"
    )
    assert "tarn repo list" in said("branch", "list", "tarn://not-there", status=4)
    assert said("repo", "create", repo.id, status=5) == (
        "tarn: a repository of this name exists already; --if-not-exists takes it as it is\n"
    )
    assert "does not know the access key AKIANOTTHERE (from TARN_ACCESS_KEY)" in said(
        "repo", "list", status=3, TARN_ACCESS_KEY="AKIANOTTHERE"
    )
    assert "the secret key (from TARN_SECRET_KEY) is not that of" in said("repo", "list", status=3, TARN_SECRET_KEY="wrong")
    assert "there is no access key; tarn auth login" in said("repo", "list", status=3, TARN_ACCESS_KEY="", TARN_SECRET_KEY="")
    assert "the token (from TARN_TOKEN)" in said("repo", "list", status=3, TARN_TOKEN="x.y.z")
    outside = said("import", "local:///etc", f"tarn://{repo.id}/main/x", status=1)
    assert "s3://BUCKET/PREFIX" in outside and "store.local.import_roots" in outside
    for status, words in (
        (1, ["branch", "create", "a..b", "--source", "main"]),
        (5, ["branch", "create", "main", "--source", "main"]),
        (5, ["tag", "create", "v1", "main"]),
    ):
        if words[0] == "tag":
            cli.run(*words)
        talk = said(*words, status=status)
        assert not re.search("validation error|not unique|request body|invalid value", talk), talk
