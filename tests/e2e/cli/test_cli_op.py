"""tarn op, and what --async of other commands hands to it; merges that say who is right by path."""

import command
import lakefs_sdk
import pytest
from users import allow, sdk


def test_a_commit_that_is_not_waited_for(cli, repo):
    repo.branch("main").object("a").upload(data=b"1", mode="wb")
    made = cli.json("commit", "main", "-m", "later", "--async")
    if made["kind"] == "Operation":
        ended = cli.json("op", "wait", made["id"], "--timeout", "60s")
        assert ended["state"] == "done" and ended["result"]["message"] == "later"
        assert cli.json("op", "show", made["id"])["status"] == 201
        assert made["id"] in [item["id"] for item in cli.json("op", "list")["items"]]
        assert cli.reason("op", "cancel", made["id"], status=6) == "operation_ended"
    assert next(commit.message for commit in repo.branch("main").log()) == "later"


def test_jobs_are_listed_without_names_that_may_not_be_read(cli, repo, tarn, make_user, tmp_path):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    user = make_user(allow(["fs:VerifyRepository", "fs:ReadRepository"], where, f"{where}/*"))
    theirs = command.Cli(user, tmp_path / "theirs", repo.id)
    theirs.run("verify", repo.id)
    job = theirs.json("jobs", "list")["items"][0]
    assert (job["kind"], job["repository"], job["user"], job["state"]) == ("verify", repo.id, user.name, "done")
    assert repo.id in theirs.run("jobs", "list").text
    theirs.run("jobs", "list", "--everyone", status=3)
    assert job["id"] in [item["id"] for item in cli.json("jobs", "list", "--everyone")["items"]]
    assert job["id"] not in [item["id"] for item in cli.json("jobs", "list")["items"]]
    # Its name is nobody's business who may not read it any more.
    lakefs_sdk.AuthApi(sdk(tarn)).detach_policy_from_user(user.name, user.name)
    hidden = theirs.json("jobs", "list")["items"][0]
    assert hidden["id"] == job["id"] and hidden["hidden"] and repo.id not in str(hidden)
    assert "(not readable)" in theirs.run("jobs", "list").text


def test_an_unknown_operation_is_not_found(cli):
    for verb in ("show", "wait", "cancel"):
        assert cli.reason("op", verb, "0" * 20, status=4) == "operation_not_found"


@pytest.mark.parametrize("side, expected", [("--take-source", b"theirs"), ("--take-dest", b"ours")])
def test_a_merge_says_who_is_right_by_path(cli, repo, side, expected):
    main = repo.branch("main")
    main.object("conf/a").upload(data=b"base", mode="wb")
    main.commit("base")
    dev = repo.branch("dev").create("main")
    for branch, data in ((main, b"ours"), (dev, b"theirs")):
        branch.object("conf/a").upload(data=data, mode="wb")
        branch.commit("change")
    assert "conf/a" in cli.run("merge", "dev", "main", status=6).text
    cli.run("merge", "dev", "main", side, "conf/**")
    assert main.object("conf/a").reader(mode="rb").read() == expected


def test_a_merge_of_some_paths(cli, repo):
    dev = repo.branch("dev").create("main")
    for key in ("models/m", "notes"):
        dev.object(key).upload(data=b"x", mode="wb")
    dev.commit("both")
    cli.run("merge", "dev", "main", "--path", "models/**")
    assert [item.path for item in repo.branch("main").objects()] == ["models/m"]
