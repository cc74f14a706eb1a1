"""Two at the same instant: whichever comes first, the worse does not follow the better, and no failure is lost."""

import threading
from functools import partial

import pytest
from attack import ACCURACY, POLICY, gate
from stage import ENDED, Stage
from steps import CHAMPION, check, newcomer, promote, train, wait_until_settled

ROUNDS = 5
CHECKED = gate(metrics=[ACCURACY], checks={"required": ["bench"], "timeout": "1h"})
TWO_CHECKS = gate(metrics=[ACCURACY], checks={"required": ["bench", "lint"], "timeout": "1h"})


def pytest_generate_tests(metafunc):
    metafunc.parametrize("way,count", [("rest", 1), ("tarn", 1), ("rest", 2)], indirect=["count"])


@pytest.fixture
def scene(teams, count, way, tmp_path):
    """scene(policy, steps): a new stage behind the policy, each step done by its own user."""

    def make(policy, steps):
        stage = Stage(teams(count), way, tmp_path)
        stage.must("admin", "PUT", "/policies/gate", json=stage.fill(policy))
        for step in steps:
            step.do(stage, "dev")
        stage.answers.clear()
        return stage

    return make


def at_once(stage, *acts):
    """Each act in a thread of its own, released together; returns what each returned."""
    gate_opens = threading.Barrier(len(acts))
    answers = [None] * len(acts)

    def run(number):
        gate_opens.wait()
        answers[number] = acts[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in answers, "an act has failed"
    return answers


def begin(stage, who, candidate):
    """Paths are replaced: a merge of the second would conflict, whatever the gate says."""
    if stage.way == "tarn":
        return stage.tarn(
            who, "promote", candidate, "--to", "main", "--method", "replace-paths", "--path", "artifacts/**", "-o", "json"
        )
    return stage.ask(
        who,
        "POST",
        "/promotions",
        json={"candidates": [candidate], "destination": "main", "method": "replace-paths", "paths": ["artifacts/**"]},
    )


def report(stage, who, status, **members):
    id = stage.promotions[-1]
    if stage.way == "tarn":
        return stage.tarn(who, "promote", "check", id, "bench", "--commit", "<exp-bad>", "--status", status, "-o", "json")
    return stage.ask(who, "POST", f"/promotions/{id}/checks/bench", json={"commit": "<exp-bad>", "status": status, **members})


def test_of_two_promotions_the_worse_never_follows_the_better(scene):
    for _ in range(ROUNDS):
        stage = scene(POLICY, CHAMPION + (train("exp-better", 0.95, by="dev"), train("exp-worse", 0.92, by="dev2")))
        first = stage.seen()
        answers = at_once(stage, partial(begin, stage, "dev", "exp-better"), partial(begin, stage, "dev2", "exp-worse"))
        ended = {}
        for answer in answers:
            id = answer.json()["id"]
            stage.promotions.append(id)
            wait_until_settled().do(stage, "dev")
            done = stage.check_evidence(id)
            assert done["state"] in ENDED, done
            ended[done["candidates"][0]] = done
        # The better one wins, before or after the worse one.
        assert ended["exp-better"]["state"] == "promoted", ended["exp-better"]
        after = stage.seen()
        assert after["aliases"] == {"champion": ended["exp-better"]["result"]} and after["head"] == ended["exp-better"]["result"]
        assert stage.read("main", "artifacts/model.pkl") == b"model of exp-better"
        moved = [change["to_commit_id"] for change in after["log"]["champion"]]
        worse = ended["exp-worse"]
        if worse["state"] == "promoted":
            assert moved[:2] == [ended["exp-better"]["result"], worse["result"]]
        else:
            codes = {rule.get("code") for one in worse["evidence"]["candidates"] for rule in one["rules"]}
            assert "worse_than_champion" in codes, worse
            assert moved[1:] == [change["to_commit_id"] for change in first["log"]["champion"]]


def test_a_failure_and_a_success_of_a_check_by_one_user(scene):
    check_failure_and_success(scene, "ci", "ci")


def test_a_failure_and_a_success_of_a_check_by_two_users(scene):
    check_failure_and_success(scene, "ci", "ci2")


def check_failure_and_success(scene, fails, succeeds):
    """The record has each acknowledged report, and the champion has no failure that stands."""
    for _ in range(ROUNDS):
        stage = scene(CHECKED, (newcomer("ci2", "ci"), train("exp-bad", 0.95, by="dev"), promote("exp-bad", by="dev")))
        before = stage.seen()
        failure, success = at_once(stage, partial(report, stage, fails, "failure"), partial(report, stage, succeeds, "success"))
        wait_until_settled().do(stage, "dev")
        done = stage.check_evidence(stage.promotions[-1])
        said = [one["status"] for one in done["checks"]]
        taken = [
            name for name, answer in (("failure", failure), ("success", success)) if answer.status == 200 or answer.exit == 0
        ]
        assert sorted(said) == sorted(taken) and taken, (failure, success, done["checks"])
        for answer in (failure, success):
            answer.check((200, 409), "")
        if "failure" in taken:
            assert done["state"] == "rejected", done
            assert stage.seen() == before
            [one] = done["evidence"]["candidates"]
            assert "check_failed" in [rule.get("code") for rule in one["rules"]], one
            reporter = stage.member(fails).name
            assert [(c["status"], c["reporter"]) for c in one["checks"] if c["status"] == "failure"] == [("failure", reporter)]
        else:
            assert done["state"] == "promoted", done


def test_a_failure_at_the_instant_of_the_last_success(scene):
    """The other check's success lets the promotion merge while the failure is on its way."""
    for _ in range(ROUNDS):
        stage = scene(
            TWO_CHECKS, (train("exp-bad", 0.95, by="dev"), promote("exp-bad", by="dev"), check("bench", "exp-bad", by="ci"))
        )
        id = stage.promotions[-1]
        failure, _ = at_once(
            stage,
            partial(report, stage, "ci", "failure"),
            partial(stage.ask, "ci", "POST", f"/promotions/{id}/checks/lint", json={"commit": "<exp-bad>", "status": "success"}),
        )
        wait_until_settled().do(stage, "dev")
        done = stage.check_evidence(id)
        taken = failure.status == 200 or failure.exit == 0
        assert done["state"] == ("rejected" if taken else "promoted"), (failure, done)
        assert ("failure" in [one["status"] for one in done["checks"]]) == taken, done["checks"]
