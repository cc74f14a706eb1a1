"""Promotion as people and jobs use it: the `tarn` command and REST, with the metrics that a notebook's commits carry."""

import json
import re
import signal
import subprocess
import threading
import time

import pytest
import servers
from command import Cli
from test_experiments import train
from users import allow

POLICY = """name: dogs-champion
destination: main
alias: champion
candidates: "exp-*"
metrics:
  - {name: accuracy, goal: max, min: 0.60, max: 1.0, primary: true}
  - {name: loss, goal: min}
"""
ACCURACIES = {"exp-1": 0.75, "exp-2": 0.9, "exp-3": 0.8}
TIMEOUT = ("--wait", "--timeout", "60s")


def apply(cli, tmp_path, text=POLICY):
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    return cli.json("policy", "apply", "-f", file)


def candidate(repo, branch, metrics, source="main", files=None):
    """A branch with a model of its own, measured as the notebook does it: in the metadata of the commit."""
    made = repo.branch(branch).create(source_reference=source)
    for path, text in (files or {"artifacts/model.pkl": f"model of {branch}"}).items():
        made.object(path).upload(data=text.encode())
    made.commit(branch, metadata={f"metric.{name}": str(value) for name, value in metrics.items()})
    return made


def state(rest, repo):
    """Everything that a promotion may change, and what is staged on main."""
    base = f"/repositories/{repo.id}"

    def results(path):
        answer = rest("GET", base + path)
        return answer.json()["results"] if answer.status_code == 200 else answer.status_code

    return {
        "branches": {b["id"]: b["commit_id"] for b in results("/branches")},
        "aliases": results("/aliases"),
        "history": results("/aliases/champion/history"),
        "tags": results("/tags"),
        "promotions": [(p["id"], p["state"]) for p in results("/promotions")],
        "staged": results("/branches/main/diff"),
    }


def told_in(file):
    """The outputs that --github wrote for later steps."""
    lines = file.read_text().splitlines()
    return {lines[at].split("<<")[0]: lines[at + 1] for at in range(0, len(lines), 3)}


def moved(before, after):
    return [name for name in ("branches", "aliases", "history", "tags", "staged") if before[name] != after[name]]


@pytest.fixture
def three(cli, repo, tmp_path):
    """Three candidates behind the policy, exp-2 the best."""
    for branch, accuracy in ACCURACIES.items():
        candidate(repo, branch, {"accuracy": accuracy, "loss": 1 - accuracy})
    apply(cli, tmp_path)
    return {branch: repo.branch(branch).head.id for branch in ACCURACIES}


def test_the_best_of_three_becomes_the_champion(cli, repo, s3, rest, three):
    table = cli.run("exp", "compare", "exp-*", "--policy", "dogs-champion", "-o", "csv").text.splitlines()
    assert [line.split(",")[2] for line in table[1:]] == ["exp-2", "exp-3", "exp-1"]
    done = cli.json("promote", "exp-*", "--to", "main", *TIMEOUT, "-m", "the first")
    assert (done["kind"], done["state"], done["changed"]) == ("Promotion", "promoted", True)
    assert done["winner"] == {"ref": "exp-2", "commit": three["exp-2"]} and done["alias"] == "champion"
    assert done["result"] == repo.branch("main").head.id
    got = s3.get_object(Bucket=repo.id, Key="@champion/artifacts/model.pkl")
    assert (got["Body"].read(), got["VersionId"]) == (b"model of exp-2", done["result"])
    assert s3.get_object(Bucket=repo.id, Key="main/artifacts/model.pkl")["Body"].read() == b"model of exp-2"
    log = cli.json("alias", "log", "champion")["items"]
    assert [(row["to_commit_id"], row["promotion_id"], row["reason"]) for row in log] == [
        (done["result"], done["id"], "the first")
    ]
    # The evidence says on what it was decided, and the record by which steps.
    evidence = json.loads(cli.run("promote", "evidence", done["id"]).text)
    assert [(one["ref"], one["rank"], one["verdict"]) for one in evidence["candidates"]] == [
        ("exp-1", 3, "passed"),
        ("exp-2", 1, "passed"),
        ("exp-3", 2, "passed"),
    ]
    shown = cli.json("promote", "show", done["id"])
    assert shown["steps"][-1]["state"] == "promoted" and len(shown["evidence_digest"]) == 64
    assert [one["id"] for one in cli.json("promote", "ls", "--alias", "champion")["items"]] == [done["id"]]
    assert cli.json("promote", "ls", "--open")["items"] == []
    # The merge is a commit of main, whose parents are main as it was and the winner.
    commit = rest("GET", f"/repositories/{repo.id}/commits/main").json()
    assert commit["parents"][1] == three["exp-2"] and commit["metadata"][".tarn.promotion"] == done["id"]


def test_runs_reported_by_api_decide(cli, repo, tmp_path):
    for branch, accuracy in ACCURACIES.items():
        candidate(repo, branch, {"accuracy": 0.99, "loss": 0.1})
        cli.run("exp", "log", "--ref", repo.branch(branch).head.id, "--metric", f"accuracy={accuracy}")
    apply(cli, tmp_path, POLICY.replace("primary: true", "primary: true, trust: [api]"))
    done = cli.json("promote", "exp-*", "--to", "main", *TIMEOUT)
    assert done["winner"]["ref"] == "exp-2"
    reported = {
        one["ref"]: m["value"]
        for one in done["evidence"]["candidates"]
        for m in one["metrics"]
        if (m["name"], m["origin"]) == ("accuracy", "api")
    }
    assert reported == ACCURACIES


def test_metrics_in_the_notebooks_files_decide(cli, repo, s3, tmp_path):
    train(repo, s3, "exp-1", 0.7, 0.8, "0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01")
    train(repo, s3, "exp-2", 0.5, 0.7, "1f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f02")
    apply(cli, tmp_path)
    assert cli.json("promote", "exp-*", "--to", "main", *TIMEOUT)["winner"]["ref"] == "exp-1"


def test_an_accuracy_above_one_is_refused(cli, repo, s3, rest, tmp_path):
    """The notebook adds 0.5 to what it measured."""
    train(repo, s3, "exp-1", 0.7, 1.5, "0f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f01")
    apply(cli, tmp_path)
    before = state(rest, repo)
    refused = cli.run("promote", "exp-1", "--to", "main", *TIMEOUT, "-o", "json", status=10)
    assert "metrics.accuracy.max" in refused.talk and "1.5" in refused.talk
    assert moved(before, state(rest, repo)) == []


def test_what_is_refused_moves_nothing_and_says_why(cli, repo, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.5, "loss": 0.5})
    candidate(repo, "exp-2", {"loss": 0.5}, files={"other/model.pkl": "x"})
    candidate(repo, "other-1", {"accuracy": 0.9, "loss": 0.5}, files={"another/model.pkl": "x"})
    apply(cli, tmp_path)
    before = state(rest, repo)
    low = cli.run("promote", "exp-1", "--to", "main", *TIMEOUT, status=10)
    assert "rejected" in low.talk and "metrics.accuracy.min" in low.talk
    assert "accuracy" in cli.run("promote", "exp-2", "--to", "main", *TIMEOUT, status=11).talk
    both = cli.run("promote", "exp-*", "--to", "main", *TIMEOUT, status=10)
    assert "exp-1: " in both.talk and "exp-2: " in both.talk
    cli.run("promote", "other-1", "--to", "main", *TIMEOUT, status=10)
    assert "absent" in cli.run("promote", "absent", "--to", "main", *TIMEOUT, status=4).talk
    cli.run("promote", "--to", "main", status=2)
    cli.run("promote", "exp-1", "--to", "exp-2", status=4)
    cli.run("promote", "exp-1", "--to", "main", "--method", "fold", status=1)
    cli.run("promote", "exp-1", "--to", "main", "--alias", "other", status=1)
    after = state(rest, repo)
    assert moved(before, after) == []
    assert {how for _, how in after["promotions"]} <= {"rejected", "failed"}


def test_a_dry_run_changes_nothing(cli, repo, rest, three):
    before = state(rest, repo)
    rows = cli.run("promote", "exp-*", "--to", "main", "--dry-run", "-o", "csv").text.splitlines()
    assert [row.split(",")[:3] for row in rows[1:]] == [
        ["exp-1", "3", "passed"],
        ["exp-2", "1", "passed"],
        ["exp-3", "2", "passed"],
    ]
    assert state(rest, repo) == before


def test_a_dry_run_ends_as_the_gate_would(cli, repo, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.5, "loss": 0.5})
    candidate(repo, "exp-2", {"loss": 0.5})
    apply(cli, tmp_path)
    before = state(rest, repo)
    cli.run("promote", "exp-1", "--to", "main", "--dry-run", status=10)
    cli.run("promote", "exp-2", "--to", "main", "--dry-run", status=11)
    cli.run("promote", "exp-*", "--to", "main", "--dry-run", status=10)
    assert state(rest, repo) == before


def test_a_dry_run_says_that_the_destination_has_uncommitted_changes(cli, repo, rest, tmp_path):
    """As the promotion itself ends: with the same status, code and message."""
    candidate(repo, "exp-1", {"accuracy": 0.8, "loss": 0.1})
    repo.branch("main").object("data/new").upload(data=b"staged before the policy")
    apply(cli, tmp_path)
    promote = ("promote", "exp-1", "--to", "main")
    talk = cli.run(*promote, *TIMEOUT, status=6).talk
    ended = rest("GET", f"/repositories/{repo.id}/promotions").json()["results"][0]
    assert ended["code"] == "destination_dirty" and ended["message"] in talk
    for words in ((*promote, "--dry-run"), ("gate", "check", "exp-1", "--policy", "dogs-champion")):
        assert ended["message"] in cli.run(*words, status=6).talk
    before = rest(
        "POST", f"/repositories/{repo.id}/promotions", json={"candidates": ["exp-1"], "destination": "main", "dry_run": True}
    ).json()
    assert before["refusal"]["code"] == "destination_dirty"
    verdict = cli.json("gate", "check", "exp-1", "--policy", "dogs-champion", status=6)
    assert verdict["refusal"] == before["refusal"]


def test_a_dry_run_says_what_would_be_waited_for(cli, repo, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.5})
    candidate(repo, "exp-2", {"accuracy": 0.5, "loss": 0.5})
    apply(cli, tmp_path, POLICY + "checks: {required: [bench], timeout: 2h}\n")
    before = state(rest, repo)
    outputs, summary = tmp_path / "output", tmp_path / "summary"
    where = {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary)}
    waits = cli.run("promote", "exp-*", "--to", "main", "--dry-run", "--github", "-o", "csv", **where)
    assert "exp-1,1,pending,checks.bench: nobody has reported bench" in waits.text and "exp-1" in waits.talk
    assert "would wait" in summary.read_text() and told_in(outputs) == {"verdict": "pending", "winner": "exp-1"}
    outputs.write_text("")
    refused = cli.run("promote", "exp-2", "--to", "main", "--dry-run", "--github", status=10, **where)
    assert "::error::exp-2: metrics.accuracy.min" in refused.talk
    assert told_in(outputs) == {"verdict": "failed", "winner": ""}
    assert state(rest, repo) == before


def test_one_key_is_one_promotion(cli, repo, rest, three):
    key = ("--idempotency-key", "run-7-promote")
    first = cli.json("promote", "exp-*", "--to", "main", *key, *TIMEOUT)
    again = cli.json("promote", "exp-*", "--to", "main", *key, *TIMEOUT)
    assert (again["id"], again["result"]) == (first["id"], first["result"])
    cli.run("promote", "exp-1", "--to", "main", *key, status=6)
    assert len(state(rest, repo)["promotions"]) == 1 and len(state(rest, repo)["history"]) == 1


def test_expectations_hold(cli, repo, rest, three):
    base = repo.branch("main").head.id
    expect = ("--expect-destination", "main", "--expect-alias", "none")
    cli.json("promote", "exp-1", "--to", "main", *expect, *TIMEOUT)
    before = state(rest, repo)
    refused = cli.run("promote", "exp-2", "--to", "main", "--expect-destination", base, *TIMEOUT, status=7)
    assert base in refused.talk
    cli.run("promote", "exp-2", "--to", "main", "--expect-alias", "none", *TIMEOUT, status=7)
    assert moved(before, state(rest, repo)) == []


def test_a_retry_finds_its_promotion_though_the_alias_has_moved(cli, repo, rest, three):
    cli.json("promote", "exp-1", "--to", "main", *TIMEOUT)
    words = (
        "promote",
        "exp-2",
        "--to",
        "main",
        "--method",
        "replace-paths",
        "--path",
        "artifacts/**",
        "--expect-destination",
        "main",
        "--expect-alias",
        "@champion",
        "--idempotency-key",
        "job-9",
        *TIMEOUT,
    )
    first = cli.json(*words)
    before = state(rest, repo)
    again = cli.json(*words)
    assert (again["id"], again["result"]) == (first["id"], first["result"]) and again["result"] != ""
    assert moved(before, state(rest, repo)) == []
    assert "job-9" in cli.run(*words, "-m", "other", status=6).talk
    cli.run("promote", "exp-3", "--to", "main", "--expect-alias", "@nobody", status=4)


def test_evidence_is_compared_with_the_history_of_the_alias(cli, rest, repo, three):
    done = cli.json("promote", "exp-*", "--to", "main", *TIMEOUT)
    said = cli.run("promote", "evidence", done["id"], "--verify").text
    shown = rest("GET", f"/repositories/{repo.id}/promotions/{done['id']}").json()
    assert shown["logged_digest"] in said and shown["evidence_verified"] is True
    assert shown["evidence"]["result"] == done["result"] and shown["evidence"]["actor"] == shown["actor"]
    refused = cli.run("promote", "exp-9*", "--to", "main", *TIMEOUT, status=4)
    lost = re.search(r"[0-9a-v]{20}", refused.talk)
    assert lost is None or cli.run("promote", "evidence", lost[0], "--verify", status=4)


def test_only_one_candidate_where_only_one_may_be(cli, rest, repo, three):
    before = state(rest, repo)
    refused = cli.run("promote", "exp-*", "--to", "main", "--select", "only", *TIMEOUT, status=1)
    assert "select" in refused.talk
    assert moved(before, state(rest, repo)) == []
    cli.run("promote", "exp-3", "--to", "main", "--select", "only", *TIMEOUT)


def test_conflicts_are_told_and_replacing_paths_settles_them(cli, repo, s3, rest, tmp_path):
    """The second experiment of the notebook changed what the first did: configuration, model and metrics."""
    files = [
        {
            "config/config.json": f'{{"n": {n}}}',
            "artifacts/model.pkl": f"model {n}",
            f"metrics/part-00000-{n}f0c8ee9-2c73-4b4d-b90d-9b7b2d4a4f0{n}-c000.json": f'{{"f1": "0.{n}"}}',
            "metrics/_SUCCESS": "",
        }
        for n in (1, 2)
    ]
    candidate(repo, "exp-1", {"accuracy": 0.7, "loss": 0.1}, files=files[0])
    candidate(repo, "exp-2", {"accuracy": 0.8, "loss": 0.1}, files={**files[1], "notes/only-of-2": "x"})
    apply(cli, tmp_path)
    cli.run("promote", "exp-1", "--to", "main", *TIMEOUT)
    before = state(rest, repo)
    refused = cli.run("promote", "exp-2", "--to", "main", *TIMEOUT, status=6)
    assert "tarn merge main exp-2" in refused.talk
    assert "config/config.json" in refused.talk and "artifacts/model.pkl" in refused.talk
    assert moved(before, state(rest, repo)) == []
    paths = [word for glob in ("artifacts/**", "metrics/**", "config/**") for word in ("--path", glob)]
    words = ("promote", "exp-2", "--to", "main", "--method", "replace-paths", *paths)
    # The policy names no required objects, so that replace-paths must cover all changes of the candidate.
    assert "notes/only-of-2" in cli.run(*words, *TIMEOUT, status=1).talk
    assert moved(before, state(rest, repo)) == []
    apply(cli, tmp_path, POLICY + 'objects: {required: ["artifacts/**", "config/**"]}\n')
    done = cli.json("promote", "exp-2", "--to", "main", "--method", "replace-paths", *paths, *TIMEOUT)
    assert done["state"] == "promoted"
    listed = s3.list_objects_v2(Bucket=repo.id, Prefix="@champion/")["Contents"]
    assert [item["Key"].removeprefix("@champion/") for item in listed] == sorted(files[1])
    assert s3.get_object(Bucket=repo.id, Key="@champion/artifacts/model.pkl")["Body"].read() == b"model 2"
    # Only the winner's job is measured on main.
    facts = rest("GET", f"/repositories/{repo.id}/commits/main/metrics").json()
    assert [(m["name"], m["value"]) for m in facts["metrics"] if m["name"] == "f1"] == [("f1", 0.2)]
    assert facts["warnings"] == []


def test_waiting_ends_in_time_and_goes_on_later(cli, repo, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "checks: {required: [bench], timeout: 2h}\n")
    before = state(rest, repo)
    waits = cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "2s", status=8)
    [(id, how)] = state(rest, repo)["promotions"]
    assert how == "gates_running" and id in waits.talk and "tarn promote wait" in waits.talk
    assert moved(before, state(rest, repo)) == []
    # A check of another commit counts for nothing, nor one that failed and came back as pending.
    cli.run("promote", "check", id, "bench", status=2)
    cli.run("promote", "check", id, "bench", "--commit", "exp-1", status=2)
    cli.run("promote", "check", id, "bench", "--commit", repo.branch("main").head.id)
    cli.run("promote", "wait", id, "--timeout", "2s", status=8)
    cli.run("promote", "check", id, "other", "--commit", repo.branch("exp-1").head.id)
    cli.run("promote", "check", id, "bench", "--commit", repo.branch("exp-1").head.id, "--status", "pending")
    cli.run("promote", "wait", id, "--timeout", "2s", status=8)
    assert moved(before, state(rest, repo)) == []
    cli.run(
        "promote",
        "check",
        id,
        "bench",
        "--commit",
        repo.branch("exp-1").head.id,
        "--url",
        "https://ci.example/9",
        "--metric",
        "p95=80",
    )
    done = cli.json("promote", "wait", id, "--timeout", "60s")
    assert done["state"] == "promoted"
    cli.run("promote", "check", id, "bench", "--commit", repo.branch("exp-1").head.id, status=6)


def test_a_failed_check_refuses_and_a_checks_metric_counts(cli, repo, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1, "p95": 1})
    candidate(repo, "exp-2", {"accuracy": 0.9, "loss": 0.1, "p95": 1}, files={"b/model.pkl": "x"})
    apply(
        cli,
        tmp_path,
        POLICY + "  - {name: p95, goal: min, max: 100, from: check:bench}\nchecks: {required: [bench], timeout: 2h}\n",
    )
    before = state(rest, repo)
    for branch, report in [("exp-1", ("--status", "failure", "--metric", "p95=80")), ("exp-2", ("--metric", "p95=180"))]:
        id = cli.json("promote", branch, "--to", "main")["id"]
        cli.run("promote", "check", id, "bench", "--commit", repo.branch(branch).head.id, *report)
        assert "bench" in cli.run("promote", "wait", id, "--timeout", "60s", status=10).talk
    assert moved(before, state(rest, repo)) == []


def test_cancelling_and_saying_no(cli, repo, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "checks: {required: [bench], timeout: 2h}\n")
    before = state(rest, repo)
    one, other = (cli.json("promote", "exp-1", "--to", "main")["id"] for _ in range(2))
    assert cli.json("promote", "cancel", one, "-m", "a mistake")["state"] == "cancelled"
    assert cli.json("promote", "reject", other, "-m", "too slow")["state"] == "rejected"
    cli.run("promote", "cancel", one, status=6)
    cli.run("promote", "check", one, "bench", "--commit", repo.branch("exp-1").head.id, status=6)
    cli.run("promote", "wait", one, status=1)
    assert "too slow" in cli.run("promote", "wait", other, status=10).talk
    cli.run("promote", "cancel", "0" * 20, status=4)
    cli.run("promote", "rollback", one, status=6)
    assert moved(before, state(rest, repo)) == []


@pytest.mark.parametrize("options,ends", [((), "gates_running"), (("--cancel-on-interrupt",), "cancelled")])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_the_wait(cli, repo, rest, tmp_path, how, options, ends):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "checks: {required: [bench], timeout: 2h}\n")
    words = [servers.program("tarn"), "promote", "exp-1", "--to", "main", "--wait", *options]
    waiting = subprocess.Popen(
        words, env=cli.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while [one for _, one in state(rest, repo)["promotions"]] != ["gates_running"]:
        assert time.monotonic() < deadline and waiting.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)  # it has seen that by now
    waiting.send_signal(how)
    _, talk = waiting.communicate(timeout=60)
    [(id, after)] = state(rest, repo)["promotions"]
    assert waiting.returncode == 130 and after == ends and id in talk
    assert ("tarn promote wait" in talk) == (not options)


def test_what_waiting_means_is_checked_before_anything_begins(cli, repo, rest, three):
    for words in (("--wait", "--timeout", "soon"), ("--timeout", "30m"), ("--cancel-on-interrupt",)):
        cli.run("promote", "exp-1", "--to", "main", *words, status=2)
    assert "--to" in cli.run("promote", "exp-1", "--wait", status=2).talk
    assert state(rest, repo)["promotions"] == []


def test_rolling_back(cli, repo, s3, rest, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.7, "loss": 0.1}, files={"artifacts/model.pkl": "one"})
    apply(cli, tmp_path)
    first = cli.json("promote", "exp-1", "--to", "main", *TIMEOUT)
    candidate(repo, "exp-2", {"accuracy": 0.8, "loss": 0.1}, files={"artifacts/model.pkl": "two", "extra": "x"})
    second = cli.json("promote", "exp-2", "--to", "main", *TIMEOUT)

    def champion():
        return s3.get_object(Bucket=repo.id, Key="@champion/artifacts/model.pkl")["Body"].read()

    assert champion() == b"two"
    assert cli.json("promote", "show", "@champion")["id"] == second["id"]
    assert json.loads(cli.run("promote", "evidence", "@champion").text)["promotion"] == second["id"]
    cli.run("promote", "show", "@nobody", status=4)
    # Changes of an administrator since the promotion before are printed.
    assert "version 1 by admin" in cli.run("promote", "show", first["id"]).text
    assert "changed since" not in cli.run("promote", "show", second["id"]).text
    # An older one is not taken back while a later one stands on it.
    cli.run("promote", "rollback", first["id"], status=6)
    undone = cli.json("promote", "rollback", "@champion", "--to-previous", "-m", "slow in the field")
    assert (undone["state"], undone["undoes"]) == ("promoted", second["id"])
    assert champion() == b"one" and cli.json("alias", "show", "champion")["commit_id"] == first["result"]
    paths = [item["Key"] for item in s3.list_objects_v2(Bucket=repo.id, Prefix="main/")["Contents"]]
    assert paths == ["main/artifacts/model.pkl"]
    assert s3.get_object(Bucket=repo.id, Key="main/artifacts/model.pkl")["Body"].read() == b"one"
    shown = cli.json("promote", "show", second["id"])
    assert (shown["state"], shown["undone_by"]) == ("rolled_back", undone["id"])
    log = cli.json("alias", "log", "champion")["items"]
    assert log[0]["reason"] == "slow in the field" and len(log) == 3
    cli.run("promote", "rollback", second["id"], status=6)
    # By id, the first: nothing is the champion then.
    cli.json("promote", "rollback", first["id"])
    cli.run("alias", "show", "champion", status=4)
    assert s3.list_objects_v2(Bucket=repo.id, Prefix="main/")["KeyCount"] == 0


@pytest.mark.parametrize(
    "method", [("--method", "merge"), ("--method", "squash"), ("--method", "replace-paths", "--path", "artifacts/**")]
)
def test_what_was_taken_back_may_be_promoted_again(cli, repo, s3, three, method):
    """A champion without its model would be the worst of all answers; after a rollback the winner's commit is in the
    history of the destination already."""
    first = cli.json("promote", "exp-2", "--to", "main", *method, *TIMEOUT)
    cli.run("promote", "rollback", first["id"])
    cli.json("promote", "exp-2", "--to", "main", *method, *TIMEOUT)
    got = s3.get_object(Bucket=repo.id, Key="@champion/artifacts/model.pkl")
    assert got["Body"].read() == b"model of exp-2"


def test_a_champion_has_what_the_policy_requires(cli, repo, s3, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "objects: {required: ['artifacts/model.pkl']}\n")
    first = cli.json("promote", "exp-1", "--to", "main", *TIMEOUT)
    cli.run("promote", "rollback", first["id"])
    candidate_branch = repo.branch("exp-1")
    candidate_branch.object("config/config.json").upload(data=b"{}")
    candidate_branch.commit("newer", metadata={"metric.accuracy": "0.95", "metric.loss": "0.1"})
    cli.json("promote", "exp-1", "--to", "main", *TIMEOUT)
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=repo.id, Prefix="@champion/")["Contents"]]
    assert "@champion/artifacts/model.pkl" in keys


def test_losers_expire_and_the_winner_is_tagged(cli, repo, rest, tmp_path):
    for branch, accuracy in ACCURACIES.items():
        candidate(repo, branch, {"accuracy": accuracy, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "after: {tag: 'model-{date}-{short}', losers: {expire: 14d}}\n")
    done = cli.json("promote", "exp-*", "--to", "main", *TIMEOUT)
    assert done["tag"].startswith("model-") and repo.tag(done["tag"]).get_commit().id == done["result"]
    expiring = {branch: "expires" in rest("GET", f"/repositories/{repo.id}/branches/{branch}").json() for branch in ACCURACIES}
    assert expiring == {"exp-1": True, "exp-2": False, "exp-3": True}


def test_githubs_outputs(cli, repo, tmp_path, three):
    outputs, summary = tmp_path / "output", tmp_path / "summary"
    where = {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(summary), "CI": "true"}
    done = cli.json("promote", "exp-*", "--to", "main", *TIMEOUT, "--github", **where)
    assert told_in(outputs) == {
        "promotion-id": done["id"],
        "verdict": "promoted",
        "commit": done["result"],
        "tag": "",
        "branch": "main",
        "s3-uri": f"s3://{repo.id}/{done['result']}/",
        "winner": "exp-2",
    }
    assert "| exp-2 | 1 | passed |" in summary.read_text()
    repo.branch("exp-9").create("main").commit("x", allow_empty=True, metadata={"metric.accuracy": "0.1"})
    refused = cli.run("promote", "exp-9", "--to", "main", *TIMEOUT, "--github", status=10, **where)
    assert "::error::" in refused.talk and "metrics.accuracy.min" in summary.read_text()


def test_of_many_at_once_with_one_expectation_one_wins(cli, repo, rest, tarn, tmp_path, three):
    head = repo.branch("main").head.id
    ended = []

    def promote(number):
        words = [
            servers.program("tarn"),
            "promote",
            f"exp-{number % 3 + 1}",
            "--to",
            "main",
            "--expect-destination",
            head,
            "--expect-alias",
            "none",
            "--wait",
            "--timeout",
            "100s",
        ]
        ended.append(
            subprocess.run(
                words, env=cli.environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=150, check=False
            ).returncode
        )

    threads = [threading.Thread(target=promote, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ended) == [0] + [7] * 7
    after = state(rest, repo)
    assert len(after["history"]) == 1 and after["history"][0]["to_commit_id"] == repo.branch("main").head.id
    assert sorted(how for _, how in after["promotions"]) == ["failed"] * 7 + ["promoted"]


def test_waiting_over_rest(rest, repo, cli, three):
    made = rest("POST", f"/repositories/{repo.id}/promotions", json={"candidates": ["exp-*"], "destination": "main"})
    assert made.status_code == 202
    path = f"/repositories/{repo.id}/promotions/{made.json()['id']}"
    deadline = time.monotonic() + 60
    got = made.json()
    while got["state"] != "promoted":
        assert time.monotonic() < deadline, got
        got = rest("GET", path, params={"wait": "10s", "seen": got["version"]}).json()
    assert got["winner"]["ref"] == "exp-2" and got["rounds"] == 0
    assert rest("GET", path[:-20] + "0" * 20).status_code == 404


def test_a_report_tells_the_whole_decision_and_proves_itself(cli, repo, tmp_path, make_user):
    candidate(repo, "exp-0", {"accuracy": 0.8, "loss": 0.2})
    apply(cli, tmp_path)
    cli.run("promote", "exp-0", "--to", "main", *TIMEOUT)
    apply(cli, tmp_path, POLICY + "approvals: {count: 1}\n")
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1}, files={"artifacts/<b>&.pkl": "x", "a|b": "y"})
    candidate(repo, "exp-2", {"accuracy": 0.5, "loss": 0.5})
    cli.run("promote", "exp-*", "--to", "main", "--wait", "--timeout", "3s", status=12)
    id = cli.json("promote", "ls")["items"][0]["id"]
    reviewer = make_user(allow(["fs:*", "branches:*", "ci:*"], "*"))
    Cli(reviewer, tmp_path / "reviewer", repo.id).approve(id, "-m", "looks <good> | fine")
    cli.run("promote", "wait", id, "--timeout", "60s")
    text = cli.run("promote", "report", id).text
    for told in ["| accuracy | 0.9 | 0.8 | +0.1 | commit-metadata |", "metrics.accuracy.min", reviewer.name, "looks &lt;good> \\| fine",
                 "exp-2", "version 2", "```yaml"]:  # fmt: skip
        assert told in text, (told, text)
    page = tmp_path / "report.html"
    page.write_text(cli.run("promote", "report", "@champion", "--html").text)
    data = tmp_path / "report.json"
    data.write_text(cli.run("promote", "report", id, "-o", "json").text)
    for file in (page, data):
        assert cli.run("promote", "report", "--verify", file).text.count("SHA-256") == 5
    assert "looks &lt;good&gt;" in page.read_text()
    for was, now in [("0.9</td>", "0.95</td>"), ("looks &lt;good", "looks &lt;bad"), ("exp-2</td>", "exp-3</td>"),
                     ('\\"commit-metadata\\"', '\\"api:bench\\"'), ("min: 0.60", "min: 0.10")]:  # fmt: skip
        changed = page.read_text()
        assert was in changed, was
        page.with_suffix(".bad").write_text(changed.replace(was, now, 1))
        cli.run("promote", "report", "--verify", page.with_suffix(".bad"), status=1)
    cli.run("promote", "report", "--verify", tmp_path / "policy.yaml", status=1)


def test_who_reads_by_an_alias_that_a_rollback_removed_is_told(cli, repo, tmp_path):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path)
    cli.run("promote", "exp-1", "--to", "main", *TIMEOUT)
    cli.run("promote", "rollback", cli.json("promote", "ls")["items"][0]["id"], *TIMEOUT)
    for words in [("fs", "cat", f"tarn://{repo.id}/@champion/artifacts/model.pkl"), ("log", "@champion"), ("log", "@champion~1")]:
        told = cli.run(*words, status=4).talk
        assert "tarn alias log" in told and "branch list" not in told, told
    assert len(cli.json("alias", "log", f"tarn://{repo.id}/champion")["items"]) == 2
