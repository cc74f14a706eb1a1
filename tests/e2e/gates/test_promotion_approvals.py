"""Approvals of a promotion: users who may give them, commits that they are for."""

import json
import signal
import subprocess
import time

import clients
import command
import pytest
import servers
from hook_receiver import action
from test_promotion import POLICY, apply, candidate, moved, state
from users import allow


def webhook(receiver, path):
    return {"id": "hook", "type": "webhook", "properties": {"url": receiver.url(path)}}


def test_an_approval_is_of_somebody_else(cli, repo, rest, tmp_path, tarn, auth, make_user):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "approvals: {count: 1}\n")
    before = state(rest, repo)
    waits = cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "3s", status=12)
    [(id, how)] = state(rest, repo)["promotions"]
    assert how == "awaiting_approval" and id in waits.talk
    assert moved(before, state(rest, repo)) == []
    # The author's own does not count.
    cli.approve(id, "-m", "mine")
    cli.run("promote", "wait", id, "--timeout", "3s", status=12)
    reviewer = make_user(allow(["fs:*"], "*"))
    theirs = command.Cli(reviewer, tmp_path / "reviewer", repo.id)
    stranger = command.Cli(make_user(allow(["fs:Read*", "fs:List*"], "*")), tmp_path / "stranger", repo.id)
    stranger.approve(id, status=3)
    assert "--review" in theirs.run("promote", "approve", id, status=2).talk, "there is nobody to ask"
    assert theirs.run("promote", "approve", id, "--review", "0" * 64, "-o", "json", status=6)
    theirs.approve(id, "-m", "looks good")
    done = cli.json("promote", "wait", id, "--timeout", "60s")
    assert done["state"] == "promoted"
    assert [(a["user"], a["reason"]) for a in done["approvals"] if a["user"] == reviewer.name] == [(reviewer.name, "looks good")]
    theirs.approve(id, status=6)


@pytest.fixture
def waiting(cli, repo, rest, tmp_path, make_user):
    """(id of a promotion that waits for approvals, commands of users who may give them)"""

    def make(count=1, hook=None):
        if hook:
            repo.branch("main").object("_lakefs_actions/hook.yaml").upload(data=action("slow", ["pre-merge"], hook).encode())
            repo.branch("main").commit("a hook")
        candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
        apply(cli, tmp_path, POLICY + f"approvals: {{count: {count}}}\n")
        cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "3s", status=12)
        [(id, how)] = state(rest, repo)["promotions"]
        assert how == "awaiting_approval"
        users = [make_user(allow(["fs:*"], "*")) for _ in range(count)]
        return id, [command.Cli(user, tmp_path / user.name, repo.id) for user in users]

    return make


def test_after_the_last_approval_the_command_ends_with_the_promotion(waiting):
    id, (first, last) = waiting(count=2)
    shown = json.loads(first.approve(id, "-o", "json").text)
    assert shown["state"] == "awaiting_approval" and "1 of 2" in shown["message"], "it says at once what is still missing"
    assert json.loads(last.approve(id, "-m", "good", "-o", "json").text)["state"] == "promoted"


def test_a_promotion_that_fails_after_the_last_approval_fails_the_command(waiting, receiver):
    receiver.answers["/no"] = 500
    id, (last,) = waiting(hook=webhook(receiver, "/no"))
    ended = last.approve(id, status=13)
    assert "failed" in ended.text and id in ended.talk and "hook" in ended.talk
    last.run("promote", "wait", id, status=13)


SLOW_SECONDS = 4


def test_the_wait_after_the_last_approval_has_a_limit(waiting, receiver):
    receiver.delays["/slow"] = SLOW_SECONDS
    id, (last,) = waiting(hook=webhook(receiver, "/slow"))
    ended = last.approve(id, "--timeout", "1s", status=8)
    assert (
        "the approval was given" in ended.talk and f"tarn promote wait tarn://{last.environment['TARN_REPO']}/{id}" in ended.talk
    )
    assert last.json("promote", "wait", id, "--timeout", "60s")["state"] == "promoted"


def test_an_interrupt_of_the_wait_after_the_last_approval_ends_the_wait_alone(waiting, receiver):
    receiver.delays["/slow"] = SLOW_SECONDS
    id, (last,) = waiting(hook=webhook(receiver, "/slow"))
    child = subprocess.Popen(
        [servers.program("tarn"), "promote", "approve", id, "--review", last.json("promote", "show", id)["review_digest"]],
        env=last.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    receiver.wait_for("pre-merge")
    child.send_signal(signal.SIGINT)
    out, talk = child.communicate(timeout=60)
    assert child.returncode == 130 and out == "" and "the approval was given; the waiting was interrupted" in talk, talk
    assert f"tarn promote wait tarn://{last.environment['TARN_REPO']}/{id}" in talk
    assert last.json("promote", "wait", id, "--timeout", "60s")["state"] == "promoted"


def test_an_approval_is_of_nobody_who_made_a_commit_that_comes(cli, repo, rest, tmp_path, make_user):
    """Neither below the head nor under the name of somebody else."""
    policy = allow(["fs:*"], "*")
    pusher, reviewer = make_user(policy), make_user(policy)
    apply(cli, tmp_path, POLICY + "approvals: {count: 1}\n")
    theirs, here = clients.Rest(pusher), f"/repositories/{repo.id}"
    repo.branch("training").create("main")
    assert theirs("POST", f"{here}/branches/training/objects?path=pushed", data=b"x").status_code == 201
    assert theirs("POST", f"{here}/branches/training/commits", json={"message": "pushed"}).status_code == 201
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1}, source="training")
    cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "3s", status=12)
    [(id, _)] = state(rest, repo)["promotions"]
    command.Cli(pusher, tmp_path / "pusher", repo.id).approve(id)
    cli.run("promote", "wait", id, "--timeout", "3s", status=12)
    command.Cli(reviewer, tmp_path / "reviewer", repo.id).approve(id)
    assert cli.json("promote", "wait", id, "--timeout", "60s")["state"] == "promoted"
    [judged] = json.loads(cli.run("promote", "evidence", id).text)["candidates"]
    assert judged["authors"] == sorted(["admin", pusher.name])
    # The permission to commit is not the permission to record commits, which show any committer.
    developer = clients.Rest(make_user(allow(["fs:CreateCommit", "fs:Read*", "fs:List*"], "*")))
    record = {
        "commit_id": "a" * 64,
        "version": 1,
        "committer": "admin",
        "message": "m",
        "metarange_id": "",
        "creation_date": 0,
        "parents": [],
        "generation": 1,
    }
    assert developer("POST", f"{here}/commits", json=record).status_code == 401


def test_who_may_approve_may_say_no_and_who_began_may_cancel(cli, repo, rest, tmp_path, make_user, auth):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "approvals: {count: 1}\n")
    one, other = (cli.json("promote", "exp-1", "--to", "main")["id"] for _ in range(2))
    approver, promoter = (
        command.Cli(make_user(allow(["fs:ReadPromotion", action], "*")), tmp_path / action[3:], repo.id)
        for action in ("fs:ApprovePromotion", "fs:Promote")
    )
    promoter.run("promote", "reject", one, "-m", "not mine to say", status=3)
    promoter.run("promote", "cancel", other, status=3)
    assert approver.json("promote", "reject", one, "-m", "no")["state"] == "rejected"
    assert cli.json("promote", "cancel", other)["state"] == "cancelled"


def test_a_candidate_that_moved_on_wants_a_new_approval(cli, repo, rest, tmp_path, make_user, auth):
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "approvals: {count: 2}\n")
    users = [make_user(allow(["fs:*"], "*")) for _ in range(2)]
    both = [command.Cli(user, tmp_path / user.name, repo.id) for user in users]
    cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "3s", status=12)
    [(id, _)] = state(rest, repo)["promotions"]
    both[0].approve(id)
    repo.branch("exp-1").object("artifacts/model.pkl").upload(data=b"a newer one")
    repo.branch("exp-1").commit("newer", metadata={"metric.accuracy": "0.95", "metric.loss": "0.1"})
    # The promotion notices by itself, long before it would look anyway, and the approval of the older commit is void.
    newest, deadline = repo.branch("exp-1").head.id, time.monotonic() + 60
    while (shown := cli.json("promote", "show", id))["winner"]["commit"] != newest:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert not any(approval["counts"] for approval in shown["approvals"])
    cli.run("promote", "wait", id, "--timeout", "1s", status=12)
    for reviewer in both:
        reviewer.approve(id)
    assert cli.json("promote", "wait", id, "--timeout", "60s")["state"] == "promoted"
