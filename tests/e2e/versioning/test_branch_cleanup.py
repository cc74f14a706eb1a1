"""Rules for branches that are no longer used: the command, the listing and the background run."""

import time

import clients
import pytest
from users import allow


def idle(cli, repo, *options):
    return {item["id"]: item for item in cli.json("branch", "stale", repo, *options)["items"]}


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.3)
    raise AssertionError("it did not happen in time")


def test_a_rule_announces_and_a_commit_takes_it_back(cli, repo, rest):
    repo = repo.id
    branches = f"/repositories/{repo}/branches"
    for name in ("exp-1", "exp-2", "keep"):
        assert rest("POST", branches, json={"name": name, "source": "main"}).status_code == 201
    staged = rest("POST", f"{branches}/exp-2/objects", params={"path": "k"}, data=b"x")
    assert staged.status_code == 201
    assert set(idle(cli, repo, "--days", "0")) == {"exp-1", "exp-2", "keep"}
    assert idle(cli, repo) == {}

    cli.run("branch", "cleanup", "set", "exp-*", repo, "--expire-days", "1", "--notice-days", "1", "--stale-days", "30")
    assert "exp-*" in cli.run("branch", "cleanup", "show", repo).text
    listed = idle(cli, repo)
    assert set(listed) == {"exp-1", "exp-2"}
    assert listed["exp-1"]["deletes_at"] and listed["exp-1"]["rule"] == "exp-*"
    assert listed["exp-2"]["kept_because"] == "it has uncommitted changes"

    def expires(name):
        return rest("GET", f"{branches}/{name}").json().get("expires")

    wait_for(lambda: expires("exp-1"))
    assert idle(cli, repo)["exp-1"]["announced"] is True
    assert expires("exp-2") is None and expires("keep") is None
    rest("POST", f"{branches}/exp-1/objects", params={"path": "k"}, data=b"x")
    assert rest("POST", f"{branches}/exp-1/commits", json={"message": "goes on"}).status_code == 201
    assert expires("exp-1") is None

    cli.run("branch", "cleanup", "remove", "exp-*", repo)
    assert rest("GET", f"/repositories/{repo}/settings/branch_cleanup").json()["rules"] == []
    assert idle(cli, repo) == {}


def test_pages_and_refusals(repo, rest):
    repo = repo.id
    for i in range(5):
        rest("POST", f"/repositories/{repo}/branches", json={"name": f"b{i}", "source": "main"})
    seen, after = [], ""
    while True:
        page = rest("GET", f"/repositories/{repo}/stale_branches", params={"days": 0, "amount": 2, "after": after}).json()
        seen += [item["id"] for item in page["results"]]
        if not page["pagination"]["has_more"]:
            break
        after = page["pagination"]["next_offset"]
    assert seen == [f"b{i}" for i in range(5)]
    assert rest("GET", f"/repositories/{repo}/stale_branches", params={"days": "x"}).status_code == 400
    rules = f"/repositories/{repo}/settings/branch_cleanup"
    for rule in ({"pattern": "a"}, {"pattern": "a", "expire_days": 3}, {"pattern": "", "expire_days": 30}):
        assert rest("PUT", rules, json={"rules": [rule]}).status_code == 400, rule


@pytest.mark.parametrize("may_delete", [False, True])
def test_a_rule_that_deletes_needs_the_permission_to_delete(repo, make_user, may_delete):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    statements = [allow(["retention:SetGarbageCollectionRules"], where)]
    if may_delete:
        statements.append(allow(["fs:DeleteBranch"], f"{where}/branch/*"))
    theirs = clients.Rest(make_user(*statements))
    path = f"/repositories/{repo.id}/settings/branch_cleanup"
    assert theirs("PUT", path, json={"rules": [{"pattern": "exp-*", "stale_days": 14}]}).status_code == 200
    answer = theirs("PUT", path, json={"rules": [{"pattern": "exp-*", "expire_days": 60}]})
    assert answer.status_code == (200 if may_delete else 401), answer.text


def test_rules_are_replaced_only_as_they_were_read(repo, rest):
    path = f"/repositories/{repo.id}/settings/branch_cleanup"
    first = rest("GET", path).headers["ETag"]
    mine, theirs = ({"rules": [{"pattern": pattern, "stale_days": 14}]} for pattern in ("mine", "theirs"))
    set_by_them = rest("PUT", path, json=theirs, headers={"If-Match": first})
    assert set_by_them.status_code == 200
    assert rest("PUT", path, json=mine, headers={"If-Match": first}).status_code == 412
    assert rest("GET", path).json()["rules"] == theirs["rules"]
    assert set_by_them.headers["ETag"] == rest("GET", path).headers["ETag"] != first
    assert rest("PUT", path, json=mine, headers={"If-Match": set_by_them.headers["ETag"]}).status_code == 200
    assert rest("PUT", path, json=theirs).status_code == 200


def test_what_uses_a_stale_branch_is_said_without_a_rule_too(repo, rest):
    for name in ("idle", "used"):
        rest("POST", f"/repositories/{repo.id}/branches", json={"name": name, "source": "main"})
    assert rest("POST", f"/repositories/{repo.id}/branches/used/objects", params={"path": "k"}, data=b"x").status_code == 201
    listed = rest("GET", f"/repositories/{repo.id}/stale_branches", params={"days": 0}).json()["results"]
    assert {item["id"]: item.get("kept_because") for item in listed} == {"idle": None, "used": "it has uncommitted changes"}


def test_the_command_deletes_a_branch_only_as_it_is_expected(cli, repo, rest):
    branches = f"/repositories/{repo.id}/branches"
    assert rest("POST", branches, json={"name": "exp-1", "source": "main"}).status_code == 201
    seen = rest("GET", f"{branches}/exp-1").json()["commit_id"]
    assert rest("POST", f"{branches}/exp-1/objects", params={"path": "k"}, data=b"x").status_code == 201
    delete = ("branch", "delete", f"tarn://{repo.id}/exp-1", "--yes")
    assert cli.reason(*delete, "--unused", "--expect", seen, status=1) == "branch_in_use"
    assert rest("POST", f"{branches}/exp-1/commits", json={"message": "goes on"}).status_code == 201
    assert cli.reason(*delete, "--unused", "--expect", seen, status=7) == "branch_moved"
    assert "--expect" in cli.run(*delete, "--expect", "", status=2).talk
    assert rest("GET", f"{branches}/exp-1").status_code == 200
    cli.run(*delete, "--unused", "--expect", "exp-1")
    assert rest("GET", f"{branches}/exp-1").status_code == 404
