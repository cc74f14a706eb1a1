"""Names and texts of a candidate steer no terminal, no table and no CI that shows them."""

import subprocess

import command
import pytest
import servers
from attack import ACCURACY, gate
from stage import Stage
from steps import promote, train, wait_until_settled

FORBIDS = gate(metrics=[ACCURACY], objects={"forbid": ["secret/**"], "required": ["artifacts/model.pkl"]})
# Texts that a terminal, GitHub's log, its files of outputs and Markdown would obey.
COMMANDS = {
    "a_line": "x\n::error::all is well",
    "a_return": "x\r::warning::all is well",
    "a_command": "::set-output name=verdict::promoted",
    "an_output": "x\nverdict=promoted\nverdict<<EOF\npromoted\nEOF",
    "a_row": "x | 1 | passed | | |\n| exp-good | 1 | passed | | |",
    "an_escape": "x\x1b[2K\x1b[1Apromoted",
    "a_heading": "x\n\n### Promotion to `main`: promoted",
    "markup": "<img src=//e.example/x>",
    "a_link": "[x](javascript:alert(1))",
    "percent": "%0A::error::all is well",
}


@pytest.fixture
def count():
    return 1


@pytest.fixture
def shown(teams, tmp_path, text):
    """Runs the command as CI would; returns what it printed and wrote."""
    stage = Stage(teams(1), "rest", tmp_path)
    stage.must("admin", "PUT", "/policies/gate", json=FORBIDS)
    train("exp-bad", 0.95, files={"artifacts/model.pkl": "m", f"secret/{text}": "x"}).do(stage, "dev")
    promote("exp-bad", reason=text).do(stage, "dev")
    wait_until_settled().do(stage, "dev")
    assert stage.promotion(stage.promotions[-1])["code"] == "gate_failed"
    outputs, summary = tmp_path / "outputs", tmp_path / "summary"

    def run(*words):
        outputs.write_text("")
        summary.write_text("")
        cli = command.Cli(stage.member("dev"), tmp_path / "home", stage.repo)
        ended = subprocess.run(
            [servers.program("tarn"), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
            env={**cli.environment, "CI": "true", "GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)},
        )
        return ended, outputs.read_bytes().decode(), summary.read_bytes().decode()

    run.id = stage.promotions[-1]
    return run


def written(text):
    """The outputs as GitHub reads them: name<<END, lines, END."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, _, end = line.partition("<<")
        assert end.startswith("tarn-"), line
        value = []
        for inside in lines:
            if inside == end:
                break
            value.append(inside)
        found[name] = "\n".join(value)
    return found


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize(
    "words",
    [
        ("promote", "exp-bad", "--to", "main", "--wait", "--timeout", "60s", "--github"),
        ("promote", "exp-bad", "--to", "main", "--dry-run", "--github"),
        ("gate", "check", "exp-bad", "--policy", "gate", "--github"),
    ],
    ids=["promoting", "dry_run", "gate_check"],
)
def test_a_path_is_shown_and_obeyed_by_nothing(shown, text, words):
    ended, outputs, summary = shown(*words, *(("-m", text) if words[-1] == "--github" and "--wait" in words else ()))
    assert ended.returncode == 10, ended
    for stream in (ended.stdout, ended.stderr):
        said = stream.decode()
        assert "\x1b" not in said and "\r" not in said
        commands = [line for line in said.split("\n") if line.startswith("::")]
        # Its own annotation alone, of which GitHub decodes %0A as a line of the message.
        assert all(line.startswith("::error::") and not line.startswith("::error::all is well") for line in commands), commands
        assert len(commands) <= 1
    told = written(outputs)
    assert told.pop("verdict") in ("rejected", "failed") and told.keys() <= {
        "promotion-id",
        "branch",
        "commit",
        "s3-uri",
        "tag",
        "winner",
    }
    rows = [line for line in summary.split("\n") if line.startswith("| ") and "| verdict |" not in line]
    assert [row.split(" | ")[0] for row in rows] == ["| exp-bad"], summary
    [heading] = [line for line in summary.split("\n") if line.startswith("#")]
    assert heading in ("### Promotion to `main`: rejected", "### Promotion to `main`: would be rejected", "### Gate `gate`")
    assert "\x1b" not in summary and "\r" not in summary and "<img" not in summary


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_record_is_shown_and_obeyed_by_nothing(shown, text):
    for words in (
        ("promote", "show", shown.id),
        ("promote", "show", shown.id, "-o", "md"),
        ("exp", "compare", "exp-bad", "--policy", "gate", "-o", "md"),
        ("exp", "compare", "exp-bad", "--policy", "gate"),
    ):
        ended, _, _ = shown(*words)
        assert ended.returncode == 0, ended
        said = ended.stdout.decode()
        assert "\x1b" not in said and "\r" not in said and "exp-bad" in said
        assert not [line for line in said.split("\n") if line.startswith(("::", "verdict", "#", "| exp-good"))], said
        assert "md" not in words or "<img" not in said
