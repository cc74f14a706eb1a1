"""The unmodified lakeFS Python package, behaviour by behaviour."""

import re

import lakefs
import pytest
from lakefs import exceptions

PATHS = ["a", "b", "bar/a", "bar/b", "bar/c", "c", "foo/a", "foo/b", "foo/c"]


def upload_all(branch, paths=PATHS):
    for path in paths:
        branch.object(path).upload(data=f"data of {path}")


def uncommitted(branch, **options):
    return [(change.type, change.path, change.path_type, change.size_bytes) for change in branch.uncommitted(**options)]


# Repositories


def test_a_repository_is_created_once(client, repo, name):
    namespace = repo.properties.storage_namespace
    assert repo.properties == lakefs.repository(name, client=client).properties
    assert (repo.properties.id, repo.properties.default_branch, repo.properties.storage_id) == (name, "main", "")
    again = lakefs.Repository(name, client=client).create(namespace, default_branch="main", exist_ok=True)
    assert again.properties == repo.properties
    with pytest.raises(exceptions.ConflictException):
        lakefs.Repository(name, client=client).create(namespace)
    assert repo.metadata == {}
    assert [branch.id for branch in repo.branches()] == ["main"]


def test_a_deleted_repository_is_gone(repo):
    repo.delete()
    with pytest.raises(exceptions.NotFoundException):
        repo.delete()
    with pytest.raises(exceptions.NotFoundException):
        list(repo.branches())


def test_repositories_are_listed_by_prefix_in_order(client, name):
    prefix = name[:40] + "-list"
    for number in reversed(range(10)):
        lakefs.Repository(f"{prefix}-{number}", client=client).create(f"local://{prefix}-{number}")
    found = [repository.id for repository in lakefs.repositories(client=client, prefix=prefix)]
    assert found == [f"{prefix}-{number}" for number in range(10)]


def test_the_one_store_has_the_empty_id(client, name):
    repo = lakefs.Repository(name, client=client).create(f"local://{name}", storage_id="")
    assert repo.properties.storage_id == ""
    with pytest.raises(exceptions.BadRequestException):
        lakefs.Repository(f"{name}x", client=client).create(f"local://{name}x", storage_id="invalidvalue")


def test_two_hundred_branches_and_tags_are_listed(repo):
    main = repo.branch("main")
    for number in range(100):
        repo.branch(f"branches01-{number:02}").create(main)
        repo.branch(f"branches02-{number:02}").create(main)
        repo.tag(f"tags01-{number:02}").create(main)
        repo.tag(f"tags02-{number:02}").create(main)
    assert len(list(repo.branches())) == 201
    assert len(list(repo.tags())) == 200
    ids = [branch.id for branch in repo.branches(max_amount=100, prefix="branches01", after="branches01-09")]
    assert ids == [f"branches01-{number:02}" for number in range(10, 100)]
    tags = [tag.id for tag in repo.tags(max_amount=10, prefix="tags02", after="tags02-89")]
    assert tags == [f"tags02-{number:02}" for number in range(90, 100)]


# Branches


def test_a_branch_starts_at_its_source(repo):
    branch = repo.branch("dev").create("main")
    assert branch.head.id == repo.branch("main").head.id
    with pytest.raises(exceptions.ConflictException):
        branch.create("main")
    branch.create("main", exist_ok=True)
    branch.delete()
    with pytest.raises(exceptions.NotFoundException):
        branch.head  # noqa: B018


def test_the_first_commit(repo):
    commit = repo.ref("main").get_commit()
    assert (commit.message, commit.metadata, commit.parents) == ("Repository created", {}, [])
    assert re.fullmatch("[0-9a-f]{64}", commit.id)


def test_commits_read_the_same_each_time(repo):
    branch = repo.branch("main")
    branch.object("a").upload(data="1")
    made = branch.commit(message="m", metadata={"k": "v"}).get_commit()
    assert branch.get_commit() == made == repo.ref(made.id).get_commit() == repo.ref(made.id[:12]).get_commit()
    assert (made.message, made.metadata) == ("m", {"k": "v"})


def test_committing_nothing_is_a_bad_request(repo):
    with pytest.raises(exceptions.BadRequestException, match="no changes"):
        repo.branch("main").commit(message="nothing")


def test_revert_undoes_the_head(repo):
    branch = repo.branch("dev").create("main")
    for text in ("first", "second"):
        branch.object("file").upload(data=text)
        branch.commit(message=text)
    reverted = branch.revert(branch.head.id)
    assert reverted.message.startswith("Revert")
    assert branch.object("file").reader(mode="r").read() == "first"


@pytest.mark.parametrize("hidden", [False, True])
def test_cherry_pick_repeats_a_commit(repo, hidden):
    branch = repo.branch("dev").create("main", hidden=hidden)
    branch.object("file").upload(data="text")
    commit = branch.commit(message="add a file", metadata={"foo": "bar"}).get_commit()
    picked = repo.branch("main").cherry_pick(branch.head.id)
    assert picked.message == commit.message
    assert commit.metadata.items() <= picked.metadata.items()
    assert picked.metadata["cherry-pick-origin"] == commit.id
    assert repo.branch("main").object("file").exists()


def test_hidden_branches_are_not_listed(repo):
    repo.branch("seen").create("main")
    repo.branch("unseen").create("main", hidden=True)
    assert [branch.id for branch in repo.branches()] == ["main", "seen"]
    assert repo.branch("unseen").head.id == repo.branch("main").head.id


def test_reset_drops_chosen_changes(repo):
    branch = repo.branch("dev").create("main")
    upload_all(branch)
    assert uncommitted(branch) == [("added", path, "object", len(f"data of {path}")) for path in PATHS]
    assert [row[1] for row in uncommitted(branch, prefix="bar")] == ["bar/a", "bar/b", "bar/c"]
    assert len(uncommitted(branch, max_amount=3)) == 3
    branch.reset_changes("object", "bar/a")
    branch.reset_changes("object", "bar/")  # no object: nothing happens
    assert [row[1] for row in uncommitted(branch)] == [path for path in PATHS if path != "bar/a"]
    branch.reset_changes("common_prefix", "foo/")
    assert [row[1] for row in uncommitted(branch)] == ["a", "b", "bar/b", "bar/c", "c"]
    branch.reset_changes()
    assert uncommitted(branch) == []


def test_many_objects_are_deleted_at_once(repo):
    branch = repo.branch("dev").create("main")
    upload_all(branch)
    branch.commit(message="all")
    branch.delete_objects("a")
    branch.delete_objects({"foo/a", "foo/b"})
    branch.delete_objects([branch.object("b"), branch.object("bar/a"), branch.object("not-there")])
    assert [row[:2] for row in uncommitted(branch)] == [("removed", path) for path in ["a", "b", "bar/a", "foo/a", "foo/b"]]


def test_more_than_a_thousand_deletions_at_once_are_refused(repo):
    with pytest.raises(exceptions.BadRequestException):
        repo.branch("main").delete_objects([f"{number}" for number in range(1001)])


# Transactions


def test_a_transaction_is_one_merge(repo):
    branch = repo.branch("dev").create("main")
    with branch.transact(commit_message="my transaction", commit_metadata={"foo": "bar"}) as tx:
        transaction = tx.id
        assert tx.get_commit() == branch.get_commit()
        assert [b.id for b in repo.branches()] == ["dev", "main"]
        upload_all(tx)
        tx.reset_changes("common_prefix", "foo")
    log = list(branch.log(max_amount=2))
    assert log[0].message == f"Merge transaction {transaction} to branch"
    assert (log[1].message, log[1].metadata) == ("my transaction", {"foo": "bar"})
    assert [item.path for item in branch.objects()] == [path for path in PATHS if not path.startswith("foo")]
    with pytest.raises(exceptions.NotFoundException):
        repo.ref(transaction).get_commit()


def test_an_empty_transaction_fails_with_no_changes(repo):
    branch = repo.branch("dev").create("main")
    with pytest.raises(exceptions.TransactionException, match="no changes"), branch.transact(commit_message="nothing"):
        pass


@pytest.mark.parametrize("cleanup", [True, False])
def test_a_failed_transaction_changes_nothing(repo, cleanup):
    branch = repo.branch("dev").create("main")
    before = branch.get_commit()
    failing = branch.transact(commit_message="m", delete_branch_on_error=cleanup)
    with pytest.raises(ValueError, match="mine"), failing as tx:  # noqa: PT012
        transaction = tx.id
        tx.object("a").upload(data="1")
        raise ValueError("mine")
    assert branch.get_commit() == before
    if cleanup:
        with pytest.raises(exceptions.NotFoundException):
            repo.ref(transaction).get_commit()
    else:
        assert repo.branch(transaction).object("a").exists()


def test_a_transaction_on_a_dirty_branch_says_so(repo):
    branch = repo.branch("dev").create("main")
    with pytest.raises(exceptions.TransactionException, match="dirty branch"), branch.transact(commit_message="m") as tx:  # noqa: PT012
        tx.object("a").upload(data="1")
        branch.object("b").upload(data="2")


def test_a_conflicting_transaction_says_so(repo):
    branch = repo.branch("dev").create("main")
    with pytest.raises(exceptions.TransactionException, match="Conflict"), branch.transact(commit_message="m") as tx:  # noqa: PT012
        tx.object("a").upload(data="1")
        branch.object("a").upload(data="2")
        branch.commit(message="meanwhile")


def test_a_transaction_can_leave_a_tag(repo):
    branch = repo.branch("dev").create("main")
    with branch.transact(commit_message="m", tag="release") as tx:
        tx.object("a").upload(data="1")
    assert repo.tag("release").get_commit() == branch.get_commit()
    again = branch.transact(commit_message="m", tag="release")
    with pytest.raises(exceptions.ConflictException, match="tag already exists"), again as tx:  # noqa: PT012
        transaction = tx.id
        tx.object("a").upload(data="2")
    with pytest.raises(exceptions.NotFoundException):
        repo.ref(transaction).get_commit()


# Tags


def test_a_tag_is_made_once_and_deleted_once(repo):
    tag = repo.tag("v1")
    with pytest.raises(exceptions.NotFoundException):
        tag.get_commit()
    commit = repo.branch("main").get_commit()
    tag.create(commit.id)
    assert tag.get_commit() == commit
    with pytest.raises(exceptions.ConflictException):
        repo.tag("v1").create("main")
    repo.tag("v1").create("v1", exist_ok=True)
    tag.delete()
    for call in (repo.tag("v1").get_commit, tag.delete):
        with pytest.raises(exceptions.NotFoundException):
            call()
    tag.create(commit.id)


# References


@pytest.fixture
def history(repo):
    """199 commits that add and remove "test1", newest "commit 0"."""
    branch = repo.branch("history").create("main")
    for number in range(199):
        if number % 2 == 0:
            branch.object("test1").upload(data="data1")
        else:
            branch.object("test1").delete()
        branch.commit(message=f"commit {198 - number}")
    return branch


def test_log_and_diff_of_a_long_history(repo, history):
    log = list(history.log(max_amount=199))
    assert [commit.message for commit in log] == [f"commit {number}" for number in range(199)]
    assert len(list(history.log(max_amount=2000))) == 200
    assert len(list(history.log(limit=True, amount=10, max_amount=100))) == 10
    assert list(history.diff(history.head.id)) == []
    assert list(history.diff(log[0].id, type="two_dot")) == []
    changes = list(history.diff(log[1].id, type="two_dot"))
    assert [(change.path, change.type) for change in changes] == [("test1", "removed")]


def test_diff_shows_what_the_other_brings(repo):
    left = repo.branch("left").create("main")
    right = repo.branch("right").create("left")
    right.object("prefix1/a").upload(data="1")
    right.object("prefix2/a").upload(data="2")
    right.commit(message="two")
    assert len(list(left.diff(right))) == 2
    assert [(c.path, c.type) for c in left.diff(right, prefix="prefix1")] == [("prefix1/a", "added")]


def test_merging_and_the_order_of_the_log(repo):
    source = repo.branch("source").create(repo.branch("main"))
    other = repo.branch("other").create(repo.branch("main"))
    with pytest.raises(exceptions.BadRequestException, match=r".+no changes.+"):
        source.merge_into("other")
    source.merge_into("other", allow_empty=True)
    source.object("a").upload(data="1")
    commit = source.commit(message="add a").get_commit()
    merge = repo.ref(commit.id).merge_into(other, message="my merge")
    log = list(other.log(max_amount=3))
    assert (log[0].id, log[0].message) == (merge, "my merge")
    assert log[1] == commit
    assert other.get_commit().message == "my merge"


def test_objects_at_a_reference(repo):
    branch = repo.branch("dev").create("main")
    upload_all(branch)
    assert [item.path for item in branch.objects()] == PATHS
    assert [item.path for item in branch.objects(delimiter="/")] == ["a", "b", "bar/", "c", "foo/"]
    assert [item.path for item in branch.objects(prefix="foo/", after="foo/a")] == ["foo/b", "foo/c"]
    committed = branch.commit(message="m").get_commit().id
    branch.object("a").delete()
    assert [item.path for item in repo.ref(committed).objects(max_amount=2)] == ["a", "b"]
    assert next(iter(branch.objects())).path == "b"


# Import


def test_an_import_without_paths_commits(repo):
    branch = repo.branch("main")
    job = branch.import_data(commit_message="empty", metadata={"foo": "bar"})
    status = job.run()
    assert (status.completed, status.error, status.ingested_objects) == (True, None, 0)
    assert status.commit.id == branch.get_commit().id
    assert (status.commit.message, status.commit.metadata["foo"]) == ("empty", "bar")
    with pytest.raises(exceptions.ImportManagerException):
        job.run()
    with pytest.raises(exceptions.ConflictException):
        job.cancel()


def test_an_import_replaces_what_was_below_its_destination(tarn, repo, name):
    source = tarn.import_root / name
    (source / "dir").mkdir(parents=True)
    for file in ("1", "2", "dir/3"):
        (source / file).write_text(file)
    branch = repo.branch("main")
    branch.object("in/old").upload(data="old")
    branch.object("kept").upload(data="kept")
    branch.commit(message="before")
    status = (
        branch.import_data(commit_message="m")
        .prefix(f"local://{source}/", destination="in/")
        .object(f"local://{source}/1", destination="one")
        .run()
    )
    assert status.ingested_objects == 4
    assert [item.path for item in branch.objects()] == ["in/1", "in/2", "in/dir/3", "kept", "one"]
    assert branch.object("in/dir/3").reader(mode="r").read() == "dir/3"


def test_the_server_says_what_it_is(client):
    assert client.version
    assert client.storage_config.import_support
