"""`tarn policy`, `tarn gate` and `tarn exp compare` as a CI job uses them."""

import json

import pytest
from command import Cli
from test_promotion import candidate, told_in
from users import allow

POLICY = """name: dogs-champion
destination: main
candidates: "experiment-*"
metrics:
  - {name: accuracy, goal: max, min: 0.60, max: 1.0, primary: true}
  - {name: loss, goal: min}
objects: {required: ["artifacts/model.pkl"]}
"""


@pytest.fixture
def cli(tarn, repo, tmp_path):
    return Cli(tarn, tmp_path / "home", repo.id)


def measured(cli, repo, branch, values, model=b"model"):
    cli.run("branch", "create", branch)
    repo.branch(branch).object("metrics/scores.json").upload(data=json.dumps(values).encode())
    if model:
        repo.branch(branch).object("artifacts/model.pkl").upload(data=model)
    cli.run("commit", branch, "-m", branch)


def test_a_policy_from_its_file_to_its_removal(cli, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    made = cli.json("policy", "apply", "-f", str(file))
    assert (made["kind"], made["name"], made["version"], made["changed"]) == ("GatePolicy", "dogs-champion", 1, True)
    assert cli.json("policy", "apply", "-f", str(file))["changed"] is False
    assert cli.run("policy", "show", "dogs-champion").text == POLICY
    file.write_text(POLICY + "approvals: {count: 1}\n")
    cli.run("policy", "apply", "-f", str(file), "--expect", "0", status=1)
    assert cli.json("policy", "apply", "-f", str(file), "--expect", "1")["version"] == 2
    assert cli.run("policy", "show", "dogs-champion", "--version", "1").text == POLICY
    assert [item["name"] for item in cli.json("policy", "ls")["items"]] == ["dogs-champion"]
    assert [item["version"] for item in cli.json("policy", "log", "dogs-champion")["items"]] == [2, 1]
    file.write_text("destination: main\nmetrics: [{name: a, gaol: max}]\n")
    refused = cli.run("policy", "apply", "other", "-f", str(file), status=1)
    assert '2:21: metrics[0]: unknown key "gaol"' in refused.talk
    assert str(file) in cli.run("policy", "apply", "-f", str(file), status=2).talk
    cli.run("policy", "apply", status=2)
    cli.run("policy", "apply", "-f", str(tmp_path / "absent"), status=4)
    cli.run("policy", "rm", "dogs-champion", status=2)
    cli.run("policy", "rm", "dogs-champion", "--yes")
    cli.run("policy", "show", "dogs-champion", status=4)
    assert cli.json("policy", "log", "dogs-champion")["items"][0]["removed"] is True


def test_the_exit_status_of_a_gate_says_what_is_wrong(cli, repo, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    cli.run("policy", "apply", "-f", str(file))
    measured(cli, repo, "experiment-1", {"accuracy": 0.8, "loss": 0.4})
    measured(cli, repo, "experiment-2", {"accuracy": 1.3, "loss": 0.3})
    measured(cli, repo, "experiment-3", {"loss": 0.3})
    measured(cli, repo, "experiment-4", {"accuracy": 0.9, "loss": 0.5}, model=None)
    gate = ("gate", "check", "--policy", "dogs-champion")
    assert "passed" in cli.run(*gate, "experiment-1").text
    failed = cli.run(*gate, "experiment-2", status=10)
    assert "metrics.accuracy.max" in failed.text and "accuracy is 1.3" in failed.text
    cli.run(*gate, "experiment-3", status=11)
    cli.run(*gate, "experiment-4", status=10)
    cli.run(*gate, "experiment-*", status=10)
    cli.run(*gate, "experiment-9", status=4)
    alone = cli.run("gate", "check", "experiment-1")
    assert "policy dogs-champion of main" in alone.talk and "passed" in alone.text
    whole = [f"tarn://{repo.id}/experiment-{number}" for number in (1, 2)]
    assert "experiment-2" in cli.run(*gate, *whole, TARN_REPO="", status=10).text
    cli.run(*gate, whole[0], "tarn://another/experiment-1", TARN_REPO="", status=2)
    answer = json.loads(cli.run(*gate, "experiment-*", "-o", "json", status=10).text)
    assert [(one["ref"], one["verdict"]) for one in answer["results"]] == [
        ("experiment-1", "passed"),
        ("experiment-2", "failed"),
        ("experiment-3", "failed"),
        ("experiment-4", "failed"),
    ]
    file.write_text(POLICY + "approvals: {count: 1}\n")
    cli.run("policy", "apply", "-f", str(file))
    cli.run(*gate, "experiment-1", status=12)
    cli.run("branch", "create", "next")
    file.write_text(POLICY.replace("name: dogs-champion", "name: next").replace("destination: main", "destination: next"))
    cli.run("policy", "apply", "-f", str(file))
    several = cli.run("gate", "check", "experiment-1", status=2).talk
    assert "--policy" in several and "dogs-champion of main" in several and "next of next" in several
    for name in ("dogs-champion", "next"):
        cli.run("policy", "rm", name, "--yes")
    assert "tarn policy apply" in cli.run("gate", "check", "experiment-1", status=4).talk


def test_applying_and_checking_a_policy_warn_of_rules_that_decide_nothing(cli, repo, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("name: loose\ndestination: main\nmetrics: [{name: accuracy, from: 'api:nobody-known'}]\n")
    measured(cli, repo, "experiment-1", {"accuracy": 0.8})
    for said in (
        cli.run("policy", "apply", "-f", str(file)),
        cli.run("gate", "check", "experiment-1", status=11),
    ):
        assert "accuracy" in said.talk and "nobody-known" in said.talk
    assert len(cli.json("policy", "apply", "-f", str(file))["warnings"]) == 2


def test_what_a_gate_tells_github(cli, repo, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    cli.run("policy", "apply", "-f", str(file))
    measured(cli, repo, "experiment-1", {"accuracy": 0.8, "loss": 0.4})
    measured(cli, repo, "experiment-2", {"accuracy": 1.3, "loss": 0.3})
    outputs, summary = tmp_path / "output", tmp_path / "summary"
    where = {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
    for candidates, status, verdict, winner in [
        (["experiment-1"], 0, "passed", "experiment-1"),
        (["experiment-*"], 10, "failed", "experiment-1"),
        (["experiment-2"], 10, "failed", ""),
    ]:
        outputs.write_text("")
        told = cli.run("gate", "check", *candidates, "--policy", "dogs-champion", "--github", status=status, **where)
        assert told_in(outputs) == {"verdict": verdict, "winner": winner}
        assert ("::error::experiment-2: metrics.accuracy.max" in told.talk) == (status == 10)
    assert "### Gate `dogs-champion`" in summary.read_text() and "| experiment-1 | 1 | passed |" in summary.read_text()


def test_candidates_side_by_side(cli, repo):
    measured(cli, repo, "experiment-1", {"accuracy": 0.75, "loss": 0.5})
    measured(cli, repo, "experiment-2", {"accuracy": 0.5, "loss": 0.25})
    measured(cli, repo, "experiment-3", {"accuracy": 0.25, "loss": 0.75})
    compare = ("exp", "compare", "experiment-*", "--baseline", "experiment-2", "--metrics", "accuracy:max,loss:min")
    rows = [line.split(",") for line in cli.run(*compare, "-o", "csv").text.splitlines()]
    assert rows[0][:6] == ["rank", "pareto", "candidate", "commit", "accuracy", "loss"]
    assert [row[:3] for row in rows[1:]] == [
        ["baseline", "", "experiment-2"],
        ["1", "yes", "experiment-1"],
        ["2", "yes", "experiment-2"],
        ["3", "no", "experiment-3"],
    ]
    assert rows[2][4:6] == ["0.75 (+0.25)", "0.5 (+0.25)"]
    table = json.loads(cli.run(*compare, "-o", "json").text)
    assert table["results"][0]["metrics"]["accuracy"] == {"value": 0.75, "delta": 0.25, "origin": "file:metrics/scores.json"}
    assert table["results"][0]["objects"]["added"]["objects"] == 2
    assert cli.run(*compare, "--md").text.startswith("| rank |")
    cli.run("exp", "compare", "nothing-*", status=4)


def test_who_may_write_branches_may_not_set_their_gate(cli, make_user, repo, tmp_path):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    writer = Cli(make_user(allow(["fs:*"], where, f"{where}/*")), tmp_path / "other", repo.id)
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY)
    writer.run("policy", "apply", "-f", str(file), status=3)
    cli.run("policy", "apply", "-f", str(file))
    writer.run("policy", "show", "dogs-champion", status=3)
    writer.run("policy", "rm", "dogs-champion", "--yes", status=3)
    cli.run("policy", "show", "dogs-champion")


def test_a_second_user_confirms_a_change(cli, repo, tmp_path, make_user):
    strict, weak = tmp_path / "strict.yaml", tmp_path / "weak.yaml"
    strict.write_text("name: dogs\ndestination: main\nconfirm_changes: true\n")
    weak.write_text("name: dogs\ndestination: main\n")
    other = Cli(make_user(allow(["fs:*", "branches:*"], "*")), tmp_path / "other", repo.id)
    cli.run("policy", "apply", "-f", strict)
    assert "--proposed" in cli.run("policy", "apply", "-f", weak, status=12).talk
    cli.run("policy", "apply", "-f", weak, status=12)
    shown = other.run("policy", "show", "dogs", "--proposed")
    assert shown.text == weak.read_text()
    (tmp_path / "read.yaml").write_text(shown.text)
    assert other.json("policy", "apply", "-f", tmp_path / "read.yaml")["version"] == 2
    cli.run("policy", "show", "dogs", "--proposed", status=4)
    cli.run("policy", "apply", "-f", strict)
    other.run("policy", "rm", "dogs", "-y", status=12)
    cli.run("policy", "rm", "dogs", "-y")
    cli.run("policy", "show", "dogs", status=4)


def test_a_comparison_says_what_the_gate_would(cli, repo, tmp_path):
    for name, accuracy in {"experiment-1": 0.7, "experiment-2": 0.9, "experiment-3": 0.5}.items():
        candidate(repo, name, {"accuracy": accuracy, "loss": 0.1})
    (tmp_path / "policy.yaml").write_text(POLICY)
    cli.run("policy", "apply", "-f", tmp_path / "policy.yaml")
    shown = cli.run("exp", "compare", "experiment-*", "-o", "csv")
    assert "compared by policy dogs-champion" in shown.talk
    columns, *rows = [line.split(",") for line in shown.text.splitlines()]
    gate, ref, rank = (columns.index(name) for name in ("gate", "candidate", "rank"))
    assert [(row[ref], row[rank]) for row in rows] == [("experiment-2", "1"), ("experiment-1", "2"), ("experiment-3", "3")]
    assert [row[gate].split(" ")[0] for row in rows] == ["passed", "passed", "failed"]
    assert "metrics.accuracy.min" in rows[2][gate]
