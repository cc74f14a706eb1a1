"""Approvals of a promotion: users who may give them, commits that they are for."""

import json
import time

import clients
import command
from test_permissions import allow, auth, make_user  # noqa: F401
from test_promotion import POLICY, apply, candidate, moved, state


def test_an_approval_is_of_somebody_else(cli, repo, rest, tmp_path, tarn, auth, make_user):  # noqa: F811
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "approvals: {count: 1}\n")
    before = state(rest, repo)
    waits = cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "3s", status=12)
    [(id, how)] = state(rest, repo)["promotions"]
    assert how == "awaiting_approval" and id in waits.talk
    assert moved(before, state(rest, repo)) == []
    # The author's own does not count.
    cli.run("promote", "approve", id, "-m", "mine")
    cli.run("promote", "wait", id, "--timeout", "3s", status=12)
    reviewer = make_user(allow(["fs:*"], "*"))
    theirs = command.Cli(reviewer, tmp_path / "reviewer", repo.id)
    stranger = command.Cli(make_user(allow(["fs:Read*", "fs:List*"], "*")), tmp_path / "stranger", repo.id)
    stranger.run("promote", "approve", id, status=3)
    theirs.run("promote", "approve", id, "--commit", "main", status=6)
    theirs.run("promote", "approve", id, "-m", "looks good", "--commit", "exp-1")
    done = cli.json("promote", "wait", id, "--timeout", "60s")
    assert done["state"] == "promoted"
    assert [(a["user"], a["reason"]) for a in done["approvals"] if a["user"] == reviewer.name] == [
        (reviewer.name, "looks good")]
    theirs.run("promote", "approve", id, status=6)


def test_an_approval_is_of_nobody_who_made_a_commit_that_comes(cli, repo, rest, tmp_path, make_user):  # noqa: F811
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
    command.Cli(pusher, tmp_path / "pusher", repo.id).run("promote", "approve", id)
    cli.run("promote", "wait", id, "--timeout", "3s", status=12)
    command.Cli(reviewer, tmp_path / "reviewer", repo.id).run("promote", "approve", id)
    assert cli.json("promote", "wait", id, "--timeout", "60s")["state"] == "promoted"
    [judged] = json.loads(cli.run("promote", "evidence", id).text)["candidates"]
    assert judged["authors"] == sorted(["admin", pusher.name])
    # The permission to commit is not the permission to record commits, which show any committer.
    developer = clients.Rest(make_user(allow(["fs:CreateCommit", "fs:Read*", "fs:List*"], "*")))
    record = {"commit_id": "a" * 64, "version": 1, "committer": "admin", "message": "m", "metarange_id": "",
              "creation_date": 0, "parents": [], "generation": 1}
    assert developer("POST", f"{here}/commits", json=record).status_code == 401


def test_who_may_approve_may_say_no_and_who_may_promote_may_cancel(cli, repo, rest, tmp_path, make_user, auth):  # noqa: F811
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "approvals: {count: 1}\n")
    one, other = (cli.json("promote", "exp-1", "--to", "main")["id"] for _ in range(2))
    approver, promoter = (command.Cli(make_user(allow(["fs:ReadPromotion", action], "*")), tmp_path / action[3:], repo.id)
                          for action in ("fs:ApprovePromotion", "fs:Promote"))
    promoter.run("promote", "reject", one, "-m", "not mine to say", status=3)
    approver.run("promote", "cancel", one, status=3)
    assert approver.json("promote", "reject", one, "-m", "no")["state"] == "rejected"
    assert promoter.json("promote", "cancel", other)["state"] == "cancelled"


def test_a_candidate_that_moved_on_wants_a_new_approval(cli, repo, rest, tmp_path, make_user, auth):  # noqa: F811
    candidate(repo, "exp-1", {"accuracy": 0.9, "loss": 0.1})
    apply(cli, tmp_path, POLICY + "approvals: {count: 2}\n")
    users = [make_user(allow(["fs:*"], "*")) for _ in range(2)]
    both = [command.Cli(user, tmp_path / user.name, repo.id) for user in users]
    cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "3s", status=12)
    [(id, _)] = state(rest, repo)["promotions"]
    both[0].run("promote", "approve", id)
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
        reviewer.run("promote", "approve", id, "--commit", "exp-1")
    assert cli.json("promote", "wait", id, "--timeout", "60s")["state"] == "promoted"
