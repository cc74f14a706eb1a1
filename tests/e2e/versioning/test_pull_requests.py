"""Pull requests through the SDK by two users, the approvals that a branch rule wants, and kills while merging."""

import json
import os
import random
import threading
import time

import clients
import lakefs_sdk
import pytest
import servers
from lakefs_sdk import models
from users import allow, sdk

KILLS = 5
KILLS_LONG = 60
PULLS_PER_KILL = 8


@pytest.fixture
def reviewer(make_user, repo):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    return make_user(allow(["pr:*", "fs:Read*", "fs:List*"], where, f"{where}/*"))


def commit(repo, branch, path, data="x"):
    repo.branch(branch).object(path).upload(data=data)
    return repo.branch(branch).commit(f"add {path}").id


def failure(call, *arguments, **named):
    """Status, reason and message of a call that must fail."""
    with pytest.raises(lakefs_sdk.ApiException) as caught:
        call(*arguments, **named)
    body = json.loads(caught.value.body)
    return caught.value.status, body["code"], body["message"]


def test_the_sdk_makes_lists_changes_and_merges(tarn, repo):
    pulls = lakefs_sdk.PullsApi(sdk(tarn))
    repo.branch("dev").create("main")
    commit(repo, "dev", "a")

    def create(source="dev", destination="main", title="A title"):
        return pulls.create_pull_request(
            repo.id,
            models.PullRequestCreation(title=title, description="Why", source_branch=source, destination_branch=destination),
        ).id

    made = create()
    assert len(made) == 20
    seen = pulls.get_pull_request(repo.id, made)
    assert (seen.id, seen.status, seen.author, seen.title, seen.description) == (made, "open", "admin", "A title", "Why")
    assert (seen.source_branch, seen.destination_branch, seen.merged_commit_id, seen.closed_date) == ("dev", "main", None, None)
    assert failure(create, "dev", "dev")[:2] == (400, "invalid_argument")
    assert failure(create, "dev", "absent")[:2] == (404, "branch_not_found")
    assert failure(create, "dev", "a b")[0] == 400
    for field, call in (("title", lambda: create(title="")), ("pullRequestID", lambda: pulls.get_pull_request(repo.id, "zz"))):
        status, code, message = failure(call)
        assert (status, code) == (400, "invalid_argument") and field in message
    assert failure(pulls.get_pull_request, repo.id, "0" * 20)[:2] == (404, "pull_request_not_found")

    time.sleep(0.002)
    second = create()

    def listed(**options):
        page = pulls.list_pull_requests(repo.id, **options)
        return [pull.id for pull in page.results], page.pagination.has_more

    assert listed() == ([second, made], False)
    assert listed(amount=1) == ([second], True)
    assert listed(after=second, prefix=made[:3]) == ([made], False)
    changed = pulls.update_pull_request_with_http_info(repo.id, second, models.PullRequestBasic(status="closed", title="Never"))
    assert changed.status_code == 204
    assert failure(pulls.merge_pull_request, repo.id, second)[:2] == (400, "pull_request_not_open")
    assert failure(pulls.update_pull_request, repo.id, second, models.PullRequestBasic(status="merged"))[0] == 400
    assert listed(status="open") == ([made], False) and listed(status="closed") == ([second], False)

    reference = pulls.merge_pull_request(repo.id, made).reference
    head = repo.branch("main").get_commit()
    assert head.id == reference and head.message.startswith("Merge pull request 'A title'")
    assert head.metadata == {".lakefs.merge.strategy": "default", ".tarn.pull_request": made}
    seen = pulls.get_pull_request(repo.id, made)
    assert (seen.status, seen.merged_commit_id) == ("merged", reference) and seen.closed_date
    assert failure(pulls.merge_pull_request, repo.id, made)[0] == 400
    assert failure(pulls.merge_pull_request, repo.id, create())[::2] == (400, "update branch main: no changes")


def test_a_conflict_is_an_error_body_and_leaves_it_open(tarn, repo):
    pulls = lakefs_sdk.PullsApi(sdk(tarn))
    repo.branch("dev").create("main")
    commit(repo, "dev", "a", "1")
    commit(repo, "main", "a", "2")
    made = pulls.create_pull_request(
        repo.id, models.PullRequestCreation(title="t", source_branch="dev", destination_branch="main")
    ).id
    status, reason, message = failure(pulls.merge_pull_request, repo.id, made)
    assert (status, reason) == (409, "merge_conflict") and message.endswith("both changed 1 paths: a")
    assert pulls.get_pull_request(repo.id, made).status == "open"


def test_two_users_and_a_rule_that_wants_an_approval(tarn, repo, rest, reviewer, make_user):
    pulls, theirs = lakefs_sdk.PullsApi(sdk(tarn)), clients.Rest(reviewer)
    rules = f"/repositories/{repo.id}/settings/branch_protection"
    assert rest("PUT", rules, json=[{"pattern": "main", "approvals": 1}]).status_code == 204
    repo.branch("dev").create("main")
    first = commit(repo, "dev", "a")
    made = pulls.create_pull_request(
        repo.id, models.PullRequestCreation(title="t", source_branch="dev", destination_branch="main")
    ).id
    here = f"/repositories/{repo.id}/pulls/{made}"

    refs = lakefs_sdk.RefsApi(sdk(tarn))
    for merge, arguments in ((pulls.merge_pull_request, (repo.id, made)), (refs.merge_into_branch, (repo.id, "dev", "main"))):
        status, reason, message = failure(merge, *arguments)
        assert (status, reason) == (403, "approval_required") and "1 of 1" in message
    own = rest("POST", f"{here}/approvals", json={"commit_id": first})
    assert own.status_code == 403 and own.json()["code"] == "own_pull_request"
    # Nor does who added to the branch.
    repo.branch("side").create("dev")
    pusher = clients.Rest(make_user(allow(["pr:*", "fs:*"], "*")))
    assert pusher("POST", f"/repositories/{repo.id}/branches/side/objects?path=b", data=b"x").status_code == 201
    assert pusher("POST", f"/repositories/{repo.id}/branches/side/commits", json={"message": "b"}).status_code == 201
    side = pulls.create_pull_request(
        repo.id, models.PullRequestCreation(title="t", source_branch="side", destination_branch="main")
    ).id
    added = pusher("POST", f"/repositories/{repo.id}/pulls/{side}/approvals", json={"commit_id": repo.branch("side").head.id})
    assert added.status_code == 403 and added.json()["code"] == "own_commits"

    given = theirs("POST", f"{here}/approvals", json={"commit_id": first})
    assert given.status_code == 201
    approval = given.json()
    assert (approval["user"], approval["commit_id"], approval["valid"]) == (reviewer.name, first, True)
    assert rest("GET", f"{here}/approvals").json()["results"] == [approval]
    assert theirs("DELETE", f"{here}/approvals").status_code == 204
    assert theirs("DELETE", f"{here}/approvals").status_code == 404
    assert theirs("POST", f"{here}/approvals").status_code == 400, "of what?"
    assert theirs("POST", f"{here}/approvals", json={"commit_id": first}).status_code == 201

    second = commit(repo, "dev", "b")
    assert failure(pulls.merge_pull_request, repo.id, made)[1] == "approval_required"
    assert not rest("GET", f"{here}/approvals").json()["results"][0]["valid"]
    moved = theirs("POST", f"{here}/approvals", json={"commit_id": first})
    assert moved.status_code == 409 and second in moved.json()["message"]
    assert theirs("POST", f"{here}/approvals", json={"commit_id": "abc"}).status_code == 400
    assert theirs("POST", f"{here}/approvals", json={"commit_id": second}).status_code == 201
    # Approving is not merging.
    refused = theirs("PUT", f"{here}/merge")
    assert refused.status_code == 401 and refused.json()["code"] == "insufficient_permissions"
    merged = pulls.merge_pull_request(repo.id, made).reference
    assert repo.branch("main").get_commit().id == merged
    assert [item.path for item in repo.branch("main").objects()] == ["a", "b"]


def test_a_deleted_user_s_approval_counts_no_more(tarn, repo, rest, reviewer, auth):
    assert rest("PUT", f"/repositories/{repo.id}/settings/branch_protection", json=[{"pattern": "main", "approvals": 1}]).ok
    repo.branch("dev").create("main")
    commit(repo, "dev", "a")
    made = rest(
        "POST", f"/repositories/{repo.id}/pulls", json={"title": "t", "source_branch": "dev", "destination_branch": "main"}
    ).json()["id"]
    here = f"/repositories/{repo.id}/pulls/{made}"
    assert clients.Rest(reviewer)("POST", f"{here}/approvals", json={"commit_id": repo.branch("dev").head.id}).status_code == 201
    auth.delete_user(reviewer.name)
    assert rest("GET", f"{here}/approvals").json()["results"] == []
    assert rest("PUT", f"{here}/merge").status_code == 403
    assert rest("POST", f"/repositories/{repo.id}/refs/dev/merge/main").status_code == 403


def merge_until_gone(server, pulls, begun):
    """`begun` grows with each merge that is asked for."""
    rest = clients.Rest(server)
    for pull in pulls:
        begun.append(pull)
        try:
            rest("PUT", f"/repositories/kill/pulls/{pull}/merge")
        except Exception:  # the server is gone
            return


def make_pulls(rest, destination):
    """Pull requests into a new branch, each of one commit."""
    pulls = []
    assert rest("POST", "/repositories/kill/branches", json={"name": destination, "source": "main"}).ok
    for number in range(PULLS_PER_KILL):
        branch = f"{destination}-{number}"
        assert rest("POST", "/repositories/kill/branches", json={"name": branch, "source": "main"}).ok
        assert rest("POST", f"/repositories/kill/branches/{branch}/objects?path={branch}", data=b"x").ok
        assert rest("POST", f"/repositories/kill/branches/{branch}/commits", json={"message": "m"}).ok
        pulls.append(
            rest(
                "POST",
                "/repositories/kill/pulls",
                json={"title": branch, "source_branch": branch, "destination_branch": destination},
            ).json()["id"]
        )
    return pulls


@pytest.mark.timeout(1800)
def test_a_kill_leaves_each_one_open_or_merged_by_a_commit_of_the_destination(scratch_dir, initialised_data, long_tests):
    """Tried by marking after publishing, in a statement of its own: one was open though merged."""
    seed = int(os.environ.get("TARN_TEST_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    try:
        rest = clients.Rest(server)
        assert rest("POST", "/repositories", json={"name": "kill", "storage_namespace": "local://kill"}).ok
        for number in range(KILLS_LONG if long_tests else KILLS):
            # A killed server's lease keeps its branch for half a minute.
            destination = f"into{number}"
            pulls, begun = make_pulls(rest, destination), []
            merger = threading.Thread(target=merge_until_gone, args=(server, pulls, begun))
            merger.start()
            last = chance.randrange(2, PULLS_PER_KILL)
            while len(begun) < last:
                time.sleep(0.0001)
            time.sleep(chance.uniform(0, 0.005))
            server.kill()
            merger.join()
            server.start()
            rest = clients.Rest(server)
            log = rest("GET", f"/repositories/kill/refs/{destination}/commits?amount=1000").json()["results"]
            commits = {entry["metadata"].get(".tarn.pull_request"): entry["id"] for entry in log}
            for pull in pulls:
                seen = rest("GET", f"/repositories/kill/pulls/{pull}").json()
                assert seen.get("merged_commit_id") == commits.get(pull), seen
                assert seen["status"] == ("merged" if pull in commits else "open")
    finally:
        server.stop()
