"""Every operation of BranchesApi, TagsApi, CommitsApi and RefsApi: its effect, and its usual refusal."""

import datetime

import pytest
from lakefs_sdk import models
from sdk import refused

NOBODY = "0" * 64


@pytest.fixture
def put(sdk, repo, upload):
    """Uploads `data`, and commits it unless told not to; returns the commit's id."""

    def put(path, data="data", branch="main", commit=True):
        upload(path, data, branch)
        if commit:
            return sdk.commits.commit(repo.id, branch, models.CommitCreation(message=f"put {path}")).id
        return None

    return put


@pytest.fixture
def dev(sdk, repo):
    sdk.branches.create_branch(repo.id, models.BranchCreation(name="dev", source="main"))
    return "dev"


def paths(sdk, repo, ref):
    return [item.path for item in sdk.objects.list_objects(repo.id, ref).results]


def head(sdk, repo, branch):
    return sdk.branches.get_branch(repo.id, branch).commit_id


# BranchesApi


def test_create_branch(sdk, repo):
    made = sdk.branches.create_branch(repo.id, models.BranchCreation(name="dev", source="main"))
    assert made == head(sdk, repo, "main") == head(sdk, repo, "dev")
    refused(
        409,
        sdk.branches.create_branch,
        repo.id,
        models.BranchCreation(name="dev", source="main"),
        code="already_exists",
    )
    refused(404, sdk.branches.create_branch, repo.id, models.BranchCreation(name="new", source="nope"), says="nope")
    refused(400, sdk.branches.create_branch, repo.id, models.BranchCreation(name="a.b", source="main"))


def test_delete_branch(sdk, repo, dev):
    assert sdk.branches.delete_branch(repo.id, dev) is None
    refused(404, sdk.branches.get_branch, repo.id, dev, code="branch_not_found")
    refused(404, sdk.branches.delete_branch, repo.id, dev, code="branch_not_found")
    refused(403, sdk.branches.delete_branch, repo.id, "main", code="default_branch")


def test_get_branch(sdk, repo, dev, put):
    commit = put("a", branch=dev)
    assert sdk.branches.get_branch(repo.id, dev) == models.Ref(id=dev, commit_id=commit)
    refused(404, sdk.branches.get_branch, repo.id, "nope", code="branch_not_found")
    refused(400, sdk.branches.get_branch, repo.id, "main~1")


def test_list_branches(sdk, repo):
    for name, hidden in (("b1", False), ("b2", False), ("b3", True)):
        sdk.branches.create_branch(repo.id, models.BranchCreation(name=name, source="main", hidden=hidden))
    page = sdk.branches.list_branches(repo.id, amount=2)
    assert [b.id for b in page.results] == ["b1", "b2"]
    assert (page.pagination.has_more, page.pagination.next_offset) == (True, "b2")
    assert [b.id for b in sdk.branches.list_branches(repo.id, after="b2").results] == ["main"]
    assert [b.id for b in sdk.branches.list_branches(repo.id, prefix="b", show_hidden=True).results] == ["b1", "b2", "b3"]
    refused(404, sdk.branches.list_branches, "no-such-repository", code="repository_not_found")


def test_diff_branch(sdk, repo, put):
    put("changed")
    put("removed")
    put("changed", data="more data", commit=False)
    put("dir/added", commit=False)
    sdk.objects.delete_object(repo.id, "main", "removed")
    found = sdk.branches.diff_branch(repo.id, "main").results
    assert [(d.path, d.type, d.path_type, d.size_bytes) for d in found] == [
        ("changed", "changed", "object", 9),
        ("dir/added", "added", "object", 4),
        ("removed", "removed", "object", 0),
    ]
    folded = sdk.branches.diff_branch(repo.id, "main", delimiter="/", prefix="d").results
    assert [(d.path, d.type, d.path_type) for d in folded] == [("dir/", "prefix_changed", "common_prefix")]
    refused(404, sdk.branches.diff_branch, repo.id, "nope", code="ref_not_found")


def test_reset_branch(sdk, repo, put):
    put("kept")
    for path in ("a", "dir/b", "dir/c"):
        put(path, commit=False)
    sdk.branches.reset_branch(repo.id, "main", models.ResetCreation(type="object", path="a"))
    assert paths(sdk, repo, "main") == ["dir/b", "dir/c", "kept"]
    sdk.branches.reset_branch(repo.id, "main", models.ResetCreation(type="common_prefix", path="dir/b"))
    assert paths(sdk, repo, "main") == ["dir/c", "kept"]
    sdk.branches.reset_branch(repo.id, "main", models.ResetCreation(type="reset"))
    assert paths(sdk, repo, "main") == ["kept"]
    refused(404, sdk.branches.reset_branch, repo.id, "nope", models.ResetCreation(type="reset"), code="branch_not_found")
    refused(400, sdk.branches.reset_branch, repo.id, "main", models.ResetCreation(type="object"), says="path")


def test_revert_branch(sdk, repo, put):
    put("a", "first")
    second = put("a", "second")
    assert sdk.branches.revert_branch(repo.id, "main", models.RevertCreation(ref=second, parent_number=0)) is None
    assert sdk.objects.get_object(repo.id, "main", "a") == b"first"
    log = sdk.refs.log_commits(repo.id, "main").results
    assert log[0].message.startswith("Revert") and log[0].parents == [second]
    refused(404, sdk.branches.revert_branch, repo.id, "main", models.RevertCreation(ref="nope", parent_number=0))
    refused(400, sdk.branches.revert_branch, repo.id, "main", models.RevertCreation(ref=second, parent_number=9))
    put("a", "third")
    refused(
        409,
        sdk.branches.revert_branch,
        repo.id,
        "main",
        models.RevertCreation(ref=second, parent_number=0),
        code="merge_conflict",
    )
    put("b", commit=False)
    refused(
        400,
        sdk.branches.revert_branch,
        repo.id,
        "main",
        models.RevertCreation(ref="main", parent_number=0),
        code="dirty_branch",
    )


def test_cherry_pick(sdk, repo, dev, put):
    put("a", branch=dev, commit=False)
    picked = sdk.commits.commit(repo.id, dev, models.CommitCreation(message="m", metadata={"k": "v"}))
    before = head(sdk, repo, "main")
    made = sdk.branches.cherry_pick(repo.id, "main", models.CherryPickCreation(ref=dev))
    assert (made.message, made.parents) == ("m", [before])
    assert made.metadata == {"k": "v", "cherry-pick-origin": picked.id, "cherry-pick-committer": picked.committer}
    assert sdk.commits.get_commit(repo.id, "main") == made and paths(sdk, repo, "main") == ["a"]
    refused(404, sdk.branches.cherry_pick, repo.id, "main", models.CherryPickCreation(ref="nope"))
    put("b", "one", branch=dev)
    put("b", "two")
    refused(409, sdk.branches.cherry_pick, repo.id, "main", models.CherryPickCreation(ref=dev), code="merge_conflict")


def test_hard_reset_branch(sdk, repo, dev, put):
    first = head(sdk, repo, dev)
    put("a", branch=dev)
    sdk.experimental.hard_reset_branch(repo.id, dev, first)
    assert head(sdk, repo, dev) == first and paths(sdk, repo, dev) == []
    refused(404, sdk.experimental.hard_reset_branch, repo.id, dev, NOBODY)
    put("b", branch=dev, commit=False)
    refused(400, sdk.experimental.hard_reset_branch, repo.id, dev, first)


# TagsApi


def test_create_tag(sdk, repo, put):
    commit = put("a")
    made = sdk.tags.create_tag(repo.id, models.TagCreation(id="v1", ref="main"))
    assert made == models.Ref(id="v1", commit_id=commit)
    put("b")
    assert paths(sdk, repo, "v1") == ["a"]
    refused(409, sdk.tags.create_tag, repo.id, models.TagCreation(id="v1", ref="v1"), code="already_exists")
    refused(404, sdk.tags.create_tag, repo.id, models.TagCreation(id="v2", ref="nope"), code="ref_not_found")


def test_get_tag(sdk, repo):
    made = sdk.tags.create_tag(repo.id, models.TagCreation(id="v1", ref="main"))
    assert sdk.tags.get_tag(repo.id, "v1") == made and made.commit_id == head(sdk, repo, "main")
    refused(404, sdk.tags.get_tag, repo.id, "v2", code="tag_not_found")


def test_list_tags(sdk, repo):
    for tag in ("v1", "v2", "w1"):
        sdk.tags.create_tag(repo.id, models.TagCreation(id=tag, ref="main"))
    page = sdk.tags.list_tags(repo.id, prefix="v", amount=1)
    assert [t.id for t in page.results] == ["v1"] and page.pagination.has_more
    assert [t.id for t in sdk.tags.list_tags(repo.id, after="v1").results] == ["v2", "w1"]
    refused(404, sdk.tags.list_tags, "no-such-repository", code="repository_not_found")


def test_delete_tag(sdk, repo):
    sdk.tags.create_tag(repo.id, models.TagCreation(id="v1", ref="main"))
    assert sdk.tags.delete_tag(repo.id, "v1") is None
    assert sdk.tags.list_tags(repo.id).results == []
    refused(404, sdk.tags.delete_tag, repo.id, "v1", code="tag_not_found")


# CommitsApi


def test_commit(sdk, repo, put):
    before = sdk.commits.get_commit(repo.id, "main")
    put("a", commit=False)
    made = sdk.commits.commit(repo.id, "main", models.CommitCreation(message="m", metadata={"k": "v"}, date=1700000000))
    assert (made.message, made.metadata, made.creation_date) == ("m", {"k": "v"}, 1700000000)
    assert (made.parents, made.generation, made.version) == ([before.id], before.generation + 1, 1)
    assert head(sdk, repo, "main") == made.id and sdk.branches.diff_branch(repo.id, "main").results == []
    refused(400, sdk.commits.commit, repo.id, "main", models.CommitCreation(message="m"), code="no_changes")
    refused(404, sdk.commits.commit, repo.id, "nope", models.CommitCreation(message="m"), code="branch_not_found")
    empty = sdk.commits.commit(repo.id, "main", models.CommitCreation(message="", allow_empty=True))
    assert empty.meta_range_id == made.meta_range_id and empty.message == ""


def test_get_commit(sdk, repo, put):
    commit = put("a")
    found = sdk.commits.get_commit(repo.id, commit)
    assert found.id == commit and found.message == "put a"
    for expression in ("main", "main@", commit[:10]):
        assert sdk.commits.get_commit(repo.id, expression) == found
    assert sdk.commits.get_commit(repo.id, "main~1").id == found.parents[0]
    refused(404, sdk.commits.get_commit, repo.id, NOBODY, code="ref_not_found")
    refused(404, sdk.commits.get_commit, "no-such-repository", "main", code="repository_not_found")
    refused(400, sdk.commits.get_commit, repo.id, "main$")


# RefsApi


def test_diff_refs(sdk, repo, dev, put):
    put("both", "main's")
    put("both", "dev's", branch=dev)
    put("added", branch=dev)
    found = sdk.refs.diff_refs(repo.id, "main", dev).results
    assert [(d.path, d.type) for d in found] == [("added", "added"), ("both", "conflict")]
    tips = sdk.refs.diff_refs(repo.id, "main", dev, type="two_dot", include_right_stats=True).results
    assert [(d.path, d.type) for d in tips] == [("added", "added"), ("both", "changed")]
    assert tips[1].right.checksum == sdk.objects.stat_object(repo.id, dev, "both").checksum
    assert [d.type for d in sdk.refs.diff_refs(repo.id, dev, "main", type="two_dot", prefix="a").results] == ["removed"]
    refused(404, sdk.refs.diff_refs, repo.id, "main", "nope", code="ref_not_found")
    refused(400, sdk.refs.diff_refs, repo.id, "main$", dev)


def test_find_merge_base(sdk, repo, dev, put):
    base = head(sdk, repo, "main")
    ours, theirs = put("a"), put("b", branch=dev)
    found = sdk.refs.find_merge_base(repo.id, dev, "main")
    assert (found.base_commit_id, found.source_commit_id, found.destination_commit_id) == (base, theirs, ours)
    refused(404, sdk.refs.find_merge_base, repo.id, "nope", "main", code="ref_not_found")


def test_log_commits(sdk, repo, put):
    first, second, third = put("a"), put("dir/b"), put("c")
    log = sdk.refs.log_commits(repo.id, "main")
    assert [c.id for c in log.results[:3]] == [third, second, first]
    assert log.results[3].message == "Repository created" and not log.pagination.has_more

    def ids(**filters):
        return [c.id for c in sdk.refs.log_commits(repo.id, "main", **filters).results]

    assert ids(prefixes=["dir/"]) == [second]
    assert ids(objects=["c", "a"]) == [third, first]
    assert ids(amount=1, limit=True) == ids(stop_at=third) == [third]
    assert ids(after=second, amount=1) == [first]
    assert ids(first_parent=True)[:3] == [third, second, first]
    assert ids(since=datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)) == []
    refused(404, sdk.refs.log_commits, repo.id, "nope", code="ref_not_found")


def test_merge_into_branch(sdk, repo, dev, put):
    put("a", branch=dev)
    source, destination = head(sdk, repo, dev), head(sdk, repo, "main")
    made = sdk.refs.merge_into_branch(repo.id, dev, "main", models.Merge(message="m", metadata={"k": "v"}))
    commit = sdk.commits.get_commit(repo.id, "main")
    assert commit.id == made.reference
    assert (commit.message, commit.parents) == ("m", [destination, source])
    assert commit.metadata == {"k": "v", ".lakefs.merge.strategy": "default"}
    assert paths(sdk, repo, "main") == ["a"]
    refused(400, sdk.refs.merge_into_branch, repo.id, dev, "main", code="no_changes")
    refused(404, sdk.refs.merge_into_branch, repo.id, "nope", "main", code="ref_not_found")
    put("a", "one")
    put("a", "two", branch=dev)
    refused(409, sdk.refs.merge_into_branch, repo.id, dev, "main")
    assert sdk.objects.get_object(repo.id, "main", "a") == b"one"
    sdk.refs.merge_into_branch(repo.id, dev, "main", models.Merge(strategy="source-wins", squash_merge=True))
    assert sdk.objects.get_object(repo.id, "main", "a") == b"two"
    assert len(sdk.commits.get_commit(repo.id, "main").parents) == 1
