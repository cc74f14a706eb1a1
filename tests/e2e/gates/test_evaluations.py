"""Evaluations from end to end: a server, a holdout that authors cannot read, a runner in its sandbox, and promotions that wait for it."""

import json
import pickle

import lakefs
import pytest
from command import Cli
from sandbox import needs_sandbox
from users import allow

pytestmark = needs_sandbox

PREDICT = """
import json, os, pickle
model = pickle.load(open(os.environ["TARN_CANDIDATE"] + "/artifacts/model.pkl", "rb"))
inputs = os.environ["TARN_INPUTS"]
with open(os.environ["TARN_OUTPUT"], "w") as out:
    for line in open(inputs + "/numbers.txt"):
        name, number = line.split()
        out.write(json.dumps({"id": name, "label": int(float(number) > model["threshold"])}) + "\\n")
"""
SCORE = """
import json, os
said = {}
for line in open(os.environ["TARN_PREDICTIONS"]):
    one = json.loads(line)
    said[one["id"]] = one["label"]
with open(os.environ["TARN_OUTPUT"], "w") as out:
    for line in open(os.environ["TARN_DATA"] + "/labels.txt"):
        name, label = line.split()
        row = {"id": name, "values": {"accuracy": int(said[name] == int(label))}, "slices": ["odd" if int(name) % 2 else "even"]}
        out.write(json.dumps(row) + "\\n")
"""
POLICY = """name: digits
destination: main
alias: champion
evaluations:
  - {{name: digits, data: "tarn://{holdout}/v1/digits/", predict: predict.py, score: score.py,
     reads: ["artifacts/model.pkl"], budget: {{per_author: 20, period: 7d}}}}
metrics:
  - {{name: accuracy, goal: max, primary: true, from: "evaluation:digits", min: 0.6,
     vs_champion: {{lower_bound: 0, test: paired_bootstrap}}}}
  - {{name: slice.odd.accuracy, goal: max, min: 0.5, from: "evaluation:digits"}}
tie_break: [created_at]
"""
EXAMPLES = 400


@pytest.fixture
def holdout(client, name):
    """Numbers below 1 with their labels: above one half or not."""
    data = lakefs.repository(f"{name}-holdout", client=client).create(storage_namespace=f"local://{name}-holdout")
    numbers = [(i, (i * 7919 % EXAMPLES) / EXAMPLES) for i in range(EXAMPLES)]
    files = {
        "predict.py": PREDICT,
        "score.py": SCORE,
        "inputs/numbers.txt": "".join(f"{i} {number}\n" for i, number in numbers),
        "labels.txt": "".join(f"{i} {int(number > 0.5)}\n" for i, number in numbers),
    }
    for path, text in files.items():
        data.branch("main").object(f"digits/{path}").upload(data=text.encode())
    data.branch("main").commit("holdout")
    data.tag("v1").create("main")
    return data


@pytest.fixture
def gated(cli, holdout, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY.format(holdout=holdout.id))
    cli.json("policy", "apply", "-f", file)
    return cli


@pytest.fixture
def runner(make_user, repo, tmp_path):
    """A process that measures one job, with a key that may do nothing else."""
    user = make_user(allow(["fs:RunEvaluation"], f"arn:lakefs:fs:::repository/{repo.id}"))
    cli = Cli(user, tmp_path / "runner", repo.id)
    cli.measure = lambda jobs=1: [cli.run("runner", "--once") for _ in range(jobs)]
    return cli


def candidate(repo, branch, model, source="main"):
    made = repo.branch(branch).create(source_reference=source)
    made.object("artifacts/model.pkl").upload(data=model if isinstance(model, bytes) else pickle.dumps({"threshold": model}))
    made.commit(branch)


def begin(cli, *candidates):
    return cli.json("promote", *candidates, "--to", "main", "--policy", "digits")["id"]


def ended(cli, id, status=0):
    cli.run("promote", "wait", id, "--timeout", "60s", status=status)
    return cli.json("promote", "show", id)


def values(promotion):
    winner = promotion["evidence"]["candidates"][0]
    return {metric["name"]: metric["value"] for metric in winner["metrics"] if metric["origin"] == "evaluation:digits"}


def test_a_candidate_is_measured_and_promoted(gated, repo, runner):
    candidate(repo, "exp-1", 0.4)
    id = begin(gated, "exp-1")
    gated.run("promote", "wait", id, "--timeout", "2s", status=8)
    assert gated.json("promote", "show", id)["state"] == "gates_running"
    runner.measure()
    promotion = ended(gated, id)
    assert promotion["state"] == "promoted"
    assert values(promotion) == {"accuracy": 0.9, "slice.odd.accuracy": 0.9, "slice.even.accuracy": 0.9}
    measured = promotion["evidence"]["candidates"][0]["metrics"][0]
    assert measured["evaluation"]["examples"] in (EXAMPLES, EXAMPLES // 2)
    # A better one, of the same examples; and one that differs by chance.
    for branch, threshold, status in [("exp-2", 0.45, 0), ("exp-3", 0.4525, 10)]:
        candidate(repo, branch, threshold)
        id = begin(gated, branch)
        runner.measure()
        promotion = ended(gated, id, status)
        assert promotion["state"] == ("rejected" if status else "promoted"), promotion["message"]
    codes = [rule.get("code") for rule in promotion["evidence"]["candidates"][0]["rules"] if rule["outcome"] == "fail"]
    assert codes == ["not_distinguishable"]
    report = gated.run("promote", "report", id).text
    assert "paired_bootstrap" in report and measured["evaluation"]["key"] not in report
    assert [one["state"] for one in gated.json("evaluation", "ls")["items"]] == ["measured"] * 3


def test_who_may_not_read_the_holdout_learns_rounded_values_alone(gated, repo, runner, make_user, holdout, tmp_path):
    lake = f"arn:lakefs:fs:::repository/{repo.id}"
    author = Cli(make_user(allow(["fs:*", "branches:Get*"], lake, f"{lake}/*")), tmp_path / "author", repo.id)
    candidate(repo, "exp-1", 0.4)
    id = begin(author, "exp-1")
    runner.measure()
    assert ended(author, id)["state"] == "promoted"
    key = author.json("evaluation", "ls")["items"][0]["key"]
    assert author.json("evaluation", "show", key)["state"] == "measured"
    author.run("evaluation", "examples", key, "accuracy", status=3)
    author.run("fs", "cat", f"tarn://{holdout.id}/main/digits/labels.txt", status=3)
    author.run("evaluation", "retry", key, status=3)
    rows = gated.json("evaluation", "examples", key, "accuracy")["items"]
    assert len(rows) == EXAMPLES and {row["value"] for row in rows} == {0, 1}
    runner.run("evaluation", "show", key, status=3)


def test_a_model_that_attacks_is_the_candidates_failure(gated, repo, runner):
    """Loading it runs code that looks for the labels; the sandbox has none, and the error stays with the keepers of the data."""

    class Attack:
        def __reduce__(self):
            return exec, ("open('/evaluation/data/labels.txt').read()",)

    candidate(repo, "bad", pickle.dumps(Attack()))
    candidate(repo, "good", 0.4)
    id = begin(gated, "bad", "good")
    runner.measure(2)
    promotion = ended(gated, id)
    assert promotion["winner"]["ref"] == "good"
    bad = next(one for one in promotion["evidence"]["candidates"] if one["ref"] == "bad")
    assert {rule.get("code") for rule in bad["rules"] if rule["outcome"] == "fail"} == {"evaluation_failed"}
    assert "labels.txt" not in json.dumps(promotion)
    failed = next(one for one in gated.json("evaluation", "ls")["items"] if one["state"] == "failed")
    assert "labels.txt" in gated.json("evaluation", "show", failed["key"])["detail"]


DRIFT = """name: drift
destination: main
evaluations:
  - {{name: fresh, data: "tarn://{holdout}/main/digits/", predict: predict.py, score: score.py, reads: ["artifacts/model.pkl"]}}
metrics:
  - {{name: accuracy, min: 0.8, from: "evaluation:fresh"}}
"""


def test_a_champion_that_drifts_on_fresh_data_is_noticed(gated, repo, runner, holdout, tmp_path):
    candidate(repo, "exp-1", 0.5)
    id = begin(gated, "exp-1")
    gated.run("promote", "wait", id, "--timeout", "2s", status=8)
    runner.measure()
    assert ended(gated, id)["state"] == "promoted"
    file = tmp_path / "drift.yaml"
    file.write_text(DRIFT.format(holdout=holdout.id))
    check = ["gate", "check", "@champion", "-f", file]
    gated.run(*check)
    # The world has changed: above a quarter is above now.
    numbers = holdout.branch("main").object("digits/inputs/numbers.txt").reader().read().decode()
    labels = "".join(f"{line.split()[0]} {int(float(line.split()[1]) > 0.25)}\n" for line in numbers.splitlines())
    holdout.branch("main").object("digits/labels.txt").upload(data=labels.encode())
    holdout.branch("main").commit("this week")
    gated.run(*check, status=12)  # not measured yet, and nobody is asked
    runner.run("runner", "--once")
    gated.run(*check, "--measure", "--timeout", "1s", status=12)
    runner.measure()
    refused = gated.run(*check, "--measure", "--timeout", "60s", status=10)
    assert "accuracy is 0.75" in refused.text, refused.text
