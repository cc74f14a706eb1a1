"""Promotion by metrics instead of a policy, over the command and REST: what is recorded, and what it may not pass by."""

import json

import clients
import pytest


def candidate(cli, repo, name, accuracy, **metadata):
    cli.run("branch", "create", name, "--source", "main")
    repo.branch(name).object("artifacts/model.pkl").upload(data=f"{name} {accuracy}".encode(), mode="wb")
    facts = {"metric.accuracy": accuracy, **metadata}
    repo.branch(name).commit(message="Train", metadata=facts)
    return repo.branch(name).head.id


@pytest.fixture
def rest(tarn):
    return clients.Rest(tarn)


def test_the_better_candidate_reaches_main_and_the_rule_is_recorded(cli, repo):
    candidate(cli, repo, "exp-1", "0.8", epochs="50")
    done = cli.json("promote", "exp-1", "--to", "main", "--metric", "accuracy:max", "--wait")
    assert (done["state"], done["policy"], done["policy_version"]) == ("promoted", "(one-off)", 0)
    assert done["metrics"] == [{"name": "accuracy", "goal": "max", "min_delta": 0}]
    assert repo.branch("main").head.id == done["result"]
    shown = cli.run("promote", "show", done["id"]).text
    assert "none; accuracy (max) compared with the destination" in shown
    evidence = json.loads(cli.run("promote", "evidence", done["id"]).text)
    assert evidence["policy"]["one_off"] is True and "baseline" not in evidence
    assert evidence["candidates"][0]["params"] == {"epochs": "50"}
    commit = cli.json("show", "main")
    assert commit["metadata"][".tarn.policy"] == "(one-off)" and commit["metadata"][".tarn.promotion"] == done["id"]

    candidate(cli, repo, "exp-2", "0.7")
    refused = cli.run("promote", "exp-2", "--to", "main", "--metric", "accuracy:max", "--wait", status=10)
    assert "accuracy" in refused.talk and repo.branch("main").head.id == done["result"]
    [last] = [item for item in cli.json("promote", "ls")["items"] if item["state"] == "rejected"]
    evidence = json.loads(cli.run("promote", "evidence", last["id"]).text)
    assert evidence["baseline"]["commit"] == done["result"]
    candidate(cli, repo, "exp-3", "0.81")
    words = ["promote", "exp-*", "--to", "main", "--wait", "--metric"]
    cli.run(*words, "accuracy:max:0.05", status=10)
    assert cli.json(*words, "accuracy:max:0.005")["winner"]["ref"] == "exp-3"


def test_a_dry_run_moves_nothing(cli, repo):
    candidate(cli, repo, "exp-1", "0.8")
    before = repo.branch("main").head.id
    cli.run("promote", "exp-1", "--to", "main", "--metric", "accuracy:max", "--dry-run")
    assert repo.branch("main").head.id == before and cli.json("promote", "ls")["items"] == []


def test_metrics_of_the_command_are_checked(cli, repo):
    for word in ("accuracy", "accuracy:best", "accuracy:max:", "accuracy:max:x"):
        assert "NAME:max" in cli.run("promote", "main", "--to", "main", "--metric", word, status=2).talk
    candidate(cli, repo, "exp-1", "0.8")
    talk = cli.run("promote", "exp-1", "--to", "main", status=4).talk
    assert "--metric NAME:max" in talk and "tarn policy apply" in talk


@pytest.mark.parametrize("margin", ["nan", "inf", "-inf", "NaN", "infinity", "1e999", "null", "", "0.1x"])
def test_a_margin_that_is_no_finite_number_is_refused(cli, repo, margin):
    candidate(cli, repo, "exp-1", "0.8")
    head = repo.branch("main").head.id
    cli.run("promote", "exp-1", "--to", "main", "--metric", f"accuracy:max:{margin}", status=2)
    assert repo.branch("main").head.id == head


@pytest.mark.parametrize("margin", ["null", "NaN", "Infinity", "-Infinity", "1e999", '"0.1"', '"nan"'])
def test_a_margin_that_is_no_json_number_is_refused(cli, rest, repo, margin):
    candidate(cli, repo, "exp-1", "0.8")
    body = f'{{"candidates":["exp-1"],"destination":"main","metrics":[{{"name":"accuracy","goal":"max","min_delta":{margin}}}]}}'
    answer = rest("POST", f"/repositories/{repo.id}/promotions", data=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_argument")
    assert rest("GET", f"/repositories/{repo.id}/promotions").json()["results"] == []


# Security: each way around what protects a branch is refused, and the branch stays.
def test_a_branch_with_a_policy_refuses_metrics(cli, repo, rest, tmp_path):
    candidate(cli, repo, "exp-1", "0.1")
    (tmp_path / "gate.yaml").write_text(
        "name: gate\ndestination: main\nmetrics:\n  - {name: accuracy, goal: max, min: 0.9, primary: true}\n"
    )
    cli.run("policy", "apply", "-f", tmp_path / "gate.yaml")
    before = repo.branch("main").head.id
    words = ("promote", "exp-1", "--to", "main", "--metric", "accuracy:max", "--wait")
    assert cli.reason(*words, status=6) == "destination_has_policy"
    body = {"candidates": ["exp-1"], "destination": "main", "metrics": [{"name": "accuracy", "goal": "max"}]}
    path = f"/repositories/{repo.id}/promotions"
    for more, status in (
        ({}, 409),
        ({"dry_run": True}, 409),
        ({"policy": "gate"}, 400),
        ({"method": "replace-paths", "paths": ["**"]}, 400),
    ):
        answer = rest("POST", path, json={**body, **more})
        assert answer.status_code == status, (more, answer.text)
    assert rest("POST", path, json=body).headers["X-Tarn-Error"] == "destination_has_policy"
    assert repo.branch("main").head.id == before


def test_protection_rules_apply(cli, repo):
    candidate(cli, repo, "exp-1", "0.8")
    before = repo.branch("main").head.id
    words = ["promote", "exp-1", "--to", "main", "--metric", "accuracy:max", "--wait"]
    cli.run("branch-protect", "add", "main", "--block", "merge")
    assert cli.reason(*words, status=3) == "protected_branch"
    cli.run("branch-protect", "delete", "main")
    cli.run("branch-protect", "add", "main", "--approvals", "1")
    assert cli.reason(*words, status=12) == "approval_required"
    assert repo.branch("main").head.id == before


def test_it_needs_the_permission_to_merge(tarn, cli, repo, name, tmp_path):
    candidate(cli, repo, "exp-1", "0.8")
    (tmp_path / "policy.json").write_text(
        json.dumps({"statement": [{"effect": "allow", "action": ["fs:Read*", "fs:List*", "fs:Promote"], "resource": "*"}]})
    )
    cli.run("auth", "users", "create", name)
    cli.run("auth", "policies", "create", f"{name}-p", tmp_path / "policy.json")
    cli.run("auth", "policies", "attach", f"{name}-p", "--user", name)
    keys = cli.json("auth", "credentials", "create", name)
    own = {"TARN_ACCESS_KEY": keys["access_key_id"], "TARN_SECRET_KEY": keys["secret_access_key"]}
    before = repo.branch("main").head.id
    refused = cli.run("promote", "exp-1", "--to", "main", "--metric", "accuracy:max", status=3, **own)
    assert "fs:CreateCommit" in refused.talk and repo.branch("main").head.id == before


def test_unknown_members_of_a_metric_are_refused(repo, rest):
    for metric in ({"name": "a"}, {"name": "a", "goal": "best"}, {"name": "a", "goal": "max", "min": 3}, {"goal": "max"}, "a"):
        answer = rest(
            "POST",
            f"/repositories/{repo.id}/promotions",
            json={"candidates": ["main"], "destination": "main", "metrics": [metric]},
        )
        assert answer.status_code == 400, metric
