"""Rules of a repository by the command: about branches, about tags, about how long things are kept."""


def test_branches_are_protected(cli, repo):
    assert cli.json("branch-protect", "list")["items"] == []
    made = cli.json("branch-protect", "add", "main", "--block", "stage", "--block", "delete", "--approvals", 1)
    assert (made["kind"], made["pattern"], made["changed"]) == ("BranchRule", "main", True)
    assert cli.json("branch-protect", "add", "main", "--approvals", 1)["changed"] is False
    assert cli.json("branch-protect", "add", "release-*", f"tarn://{repo.id}", "--merge-by", "squash")["changed"]
    listed = {item["pattern"]: item for item in cli.json("branch-protect", "list", repo.id)["items"]}
    assert sorted(listed["main"]["blocked_actions"]) == ["delete", "stage"] and listed["main"]["approvals"] == 1
    assert listed["release-*"]["merge_methods"] == ["squash"]
    assert "stage commit reset" in cli.run("branch-protect", "list").text
    cli.run("fs", "upload", "-", f"tarn://{repo.id}/main/x", stdin=b"x", status=3)
    cli.run("branch-protect", "add", "main", "--block", "everything", status=1)
    assert cli.json("branch-protect", "add", "main", "--approvals", 0)["blocked_actions"] is not None
    cli.run("branch-protect", "delete", "main")
    cli.run("branch-protect", "delete", "main", status=4)
    cli.run("fs", "upload", "-", f"tarn://{repo.id}/main/x", stdin=b"x")
    assert cli.run("branch-protect", "list", "-o", "name").text == "release-*\n"
    cli.run("branch-protect", "list", "no-such-repository", status=4)


def test_tags_are_protected(cli, repo):
    cli.run("tag-protect", "add", "v*", status=2)
    made = cli.json("tag-protect", "add", "v*", "--no-delete")
    assert (made["pattern"], made["create"], made["delete"], made["changed"]) == ("v*", True, False, True)
    cli.run("tag", "create", "v1", "main")
    cli.run("tag", "delete", "v1", "-y", status=3)
    assert cli.run("tag-protect", "list", "-o", "csv").text == "pattern,create,delete\nv*,yes,no\n"
    cli.run("tag-protect", "delete", "v*")
    cli.run("tag", "delete", "v1", "-y")


def test_a_branch_that_ends_by_itself(cli, repo, rest):
    cli.run("branch", "create", "try", "--expires", "3h")
    assert "expires" in cli.json("branch", "list", "--prefix", "try")["items"][0]
    cli.run("branch", "create", "never", "--expires", "soon", status=1)
    first = cli.json("branch", "show", "try")["expires"]
    assert first in cli.run("branch", "show", "try").text
    again = cli.json("branch", "create", "try", "--reset-if-exists", "--expires", "3d")
    assert again["outcome"] == "reset" and again["expires"] > first
    assert cli.json("branch", "show", "try")["expires"] == again["expires"]
    kept = cli.json("branch", "create", "try", "--reset-if-exists")
    assert kept["expires"] == again["expires"], "nothing was said about it"
    cli.run("branch", "create", "main", "--reset-if-exists", "--expires", "3d", status=1)
    assert "expires" not in cli.json("branch", "show", "main") and "expires" not in cli.run("branch", "show", "main").text
    path = f"/repositories/{repo.id}/branches/try/expiry"
    assert "expires" not in rest("PUT", path, json={"expires": "never"}).json()
    assert rest("PUT", path, json={"expires": "soon"}).status_code == 400
    assert rest("PUT", path, json={}).status_code == 400


def test_collection_is_configured(cli, repo):
    cli.run("gc", "get-config", status=4)
    made = cli.json("gc", "set-config", "--days", 7, "--branch-days", "main=30")
    assert (made["default_retention_days"], made["branches"]) == (7, [{"branch_id": "main", "retention_days": 30}])
    assert cli.json("gc", "get-config", f"tarn://{repo.id}")["default_retention_days"] == 7
    assert "main" in cli.run("gc", "get-config").text
    cli.run("gc", "set-config", status=2)
    for word in ("main", "main=", "=3", "main=-1", "main=3x"):
        cli.run("gc", "set-config", "--days", 7, "--branch-days", word, status=2)
    cli.run("gc", "delete-config")
    cli.run("gc", "get-config", status=4)
