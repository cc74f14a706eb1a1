"""`tarn pr` as two users work with it."""

import pytest
from command import Cli
from users import allow


@pytest.fixture
def cli(tarn, repo, tmp_path):
    return Cli(tarn, tmp_path / "home", repo.id)


@pytest.fixture
def reviewer(make_user, repo, tmp_path):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    user = make_user(allow(["pr:*", "fs:Read*"], where, f"{where}/*"))
    cli = Cli(user, tmp_path / "other-home", repo.id)
    cli.user = user.name
    return cli


def test_a_pull_request_from_proposal_to_merge(cli, reviewer, repo, rest):
    assert rest("PUT", f"/repositories/{repo.id}/settings/branch_protection", json=[{"pattern": "main", "approvals": 1}]).ok
    cli.run("branch", "create", "dev")
    repo.branch("dev").object("a").upload(data=b"1")
    cli.run("commit", "dev", "-m", "a")
    cli.run("pr", "create", "dev", "main", status=2)
    cli.run("pr", "create", "dev", "dev", "-t", "x", status=1)
    cli.run("pr", "create", "absent", "main", "-t", "x", status=4)
    made = cli.json("pr", "create", "dev", "main", "--title", "Bring a", "--description", "Why")
    assert (made["kind"], made["status"], made["title"], made["description"], made["author"], made["approvals"]) == (
        "PullRequest",
        "open",
        "Bring a",
        "Why",
        "admin",
        [],
    )
    pull = made["id"]
    assert cli.run("pr", "list", "-o", "csv").text == (
        f"id,number,status,source,destination,author,title\n{pull},1,open,dev,main,admin,Bring a\n"
    )
    assert cli.json("pr", "update", "#1", "--title", "Bring all")["title"] == "Bring all"
    assert cli.json("pr", "show", f"tarn://{repo.id}/1")["id"] == pull
    assert "#1\n" in cli.run("pr", "show", "1").text
    cli.run("pr", "show", "2", status=4)
    cli.run("pr", "update", pull, status=2)
    assert cli.json("pr", "close", pull)["status"] == "closed"
    cli.run("pr", "merge", pull, status=1)
    assert cli.json("pr", "list")["items"] == []
    assert [item["id"] for item in cli.json("pr", "list", "--status", "closed")["items"]] == [pull]
    assert cli.json("pr", "reopen", pull)["status"] == "open"

    head = repo.branch("dev").head.id
    cli.run("pr", "approve", pull, "--commit", head, status=3)
    assert cli.reason("pr", "merge", pull, status=12) == "approval_required"
    cli.run("merge", "dev", "main", status=12)
    given = reviewer.json("pr", "approve", pull, "--commit", head)
    assert (given["user"], given["commit_id"]) == (reviewer.user, repo.branch("dev").head.id)
    assert f"{reviewer.user}\n" in cli.run("pr", "show", f"tarn://{repo.id}/{pull}").text
    reviewer.run("pr", "unapprove", pull)
    reviewer.run("pr", "unapprove", pull, status=4)
    cli.run("pr", "merge", pull, status=12)
    reviewer.run("pr", "approve", pull, status=2)
    reviewer.run("pr", "approve", pull, "--commit", head)
    reviewer.run("pr", "approve", pull, "--commit", repo.ref("dev~1").get_commit().id, status=6)
    reviewer.run("pr", "approve", pull, "--commit", "dev", status=2)
    merged = cli.json("pr", "merge", pull, "--meta", "ticket=7")
    assert merged["reference"] == repo.branch("main").head.id
    assert repo.branch("main").get_commit().metadata["ticket"] == "7"
    shown = cli.json("pr", "show", pull)
    assert (shown["status"], shown["merged_commit_id"]) == ("merged", merged["reference"])
    cli.run("pr", "show", "0" * 20, status=4)
    cli.run("pr", "show", "zz", status=1)


def test_a_conflict_says_which_paths(cli, repo):
    cli.run("branch", "create", "dev")
    for branch in ("dev", "main"):
        repo.branch(branch).object("a").upload(data=branch.encode())
        cli.run("commit", branch, "-m", branch)
    pull = cli.json("pr", "create", "dev", "main", "-t", "t")["id"]
    assert "both changed 1 paths: a" in cli.run("pr", "merge", pull, status=6).talk
    cli.run("pr", "merge", pull, "--strategy", "source-wins", "--squash", "-m", "mine")
    commit = repo.branch("main").get_commit()
    assert commit.message == "mine" and len(commit.parents) == 1


def test_a_request_is_reviewed_and_discussed(cli, reviewer, repo, rest):
    assert rest("PUT", f"/repositories/{repo.id}/settings/branch_protection", json=[{"pattern": "main", "approvals": 1}]).ok
    cli.run("branch", "create", "dev")
    repo.branch("dev").object("labels.csv").upload(data=b"a\n1\n")
    cli.run("commit", "dev", "-m", "labels")
    cli.run("pr", "create", "dev", "main", "-t", "Labels")
    head = repo.branch("dev").head.id
    assert [user["user"] for user in cli.json("pr", "reviewers", "1", reviewer.user)["reviewers"]] == [reviewer.user]
    cli.run("pr", "reviewers", "1", "nobody", status=4)
    cli.run("pr", "reviewers", "1", "admin", status=1)

    reviewer.run("pr", "request-changes", "1", "-m", "x", status=2)
    reviewer.run("pr", "request-changes", "1", "--commit", head, status=2)
    given = reviewer.json("pr", "request-changes", "1", "--commit", head, "-m", "one row is missing")
    assert (given["kind"], given["verdict"]) == ("Review", "changes_requested")
    assert reviewer.user in cli.run("pr", "show", "1").text.split("changes requested by")[1].splitlines()[0]
    assert cli.reason("pr", "merge", "1", status=12) == "changes_requested"

    made = reviewer.json("pr", "comment", "add", "1", "--path", "labels.csv", "--row", "1", "--commit", head, "-m", "\x1b[2Jwhy?")
    assert (made["kind"], made["id"], made["row"], made["commit_id"]) == ("Comment", 2, 1, head)
    reviewer.run("pr", "comment", "add", "1", "--path", "labels.csv", "-m", "which commit?", status=1)
    reviewer.run("pr", "comment", "add", "1", status=2)
    cli.run("pr", "comment", "add", "1", "--reply-to", "2", "-m", "because")
    table = cli.run("pr", "comment", "list", "1").text
    assert "labels.csv row 1" in table and "because" in table and "\x1b" not in table
    cli.run("pr", "comment", "edit", "1", "2", "-m", "mine now", status=3)
    cli.run("pr", "comment", "delete", "1", "2", status=3)
    cli.run("pr", "comment", "edit", "1", "3", "-m", "since then")
    cli.run("pr", "comment", "resolve", "1", "2")
    cli.run("pr", "comment", "resolve", "1", "3", status=4)
    items = cli.json("pr", "comment", "list", "1")["items"]
    assert [item["body"] for item in items] == ["one row is missing", "\x1b[2Jwhy?", "since then"]
    assert items[1]["resolved_by"] == "admin"
    cli.run("pr", "comment", "unresolve", "1", "2")
    reviewer.run("pr", "comment", "delete", "1", "2")
    assert [item["deleted"] for item in cli.json("pr", "comment", "list", "1")["items"]] == [False, True, False]

    reviewer.run("pr", "unapprove", "1")
    cli.run("pr", "merge", "1", status=12)
    reviewer.run("pr", "approve", "1", "--commit", head)
    merged = cli.json("pr", "merge", "1", "--squash", "--delete-source")
    assert merged["source_branch_deleted"] is True
    cli.run("branch", "show", "dev", status=4)
    assert len(repo.branch("main").get_commit().parents) == 1
