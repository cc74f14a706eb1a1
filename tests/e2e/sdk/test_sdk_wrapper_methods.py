"""Each public method of the lakeFS Python package: what the server makes it return, and how its usual failure looks.

test_sdk_wrapper.py and test_sdk_wrapper_objects.py hold the behaviour that users rely on; here are the methods and
failures that they do not touch."""

import datetime
import io
import os

import boto3
import lakefs
import lakefs_sdk
import pytest
from lakefs import exceptions

# The address of a URL or object that does not exist.
NOWHERE = "no-such-repository"
# So often is an import started until one is cancelled before its end.
IMPORTS_MAX = 10


@pytest.fixture
def nowhere(client):
    return lakefs.repository(NOWHERE, client=client)


@pytest.fixture
def main(repo):
    return repo.branch("main")


@pytest.fixture
def stranger(tarn):
    """A client whose secret is wrong."""
    return lakefs.client.Client(host=tarn.url, username=tarn.access_key, password="wrong")


def not_found(call, *arguments, **named):
    with pytest.raises(exceptions.NotFoundException) as caught:
        call(*arguments, **named)
    assert (caught.value.status_code, caught.value.reason) == (404, "Not Found")
    return caught.value


# Client


def test_client(tarn, client, stranger):
    assert client.version and client.storage_config.blockstore_type == "local"
    assert client.storage_config_by_id("") == client.storage_config
    with pytest.raises(KeyError):
        client.storage_config_by_id("other")
    assert client.config.host == tarn.url + "/api/v1" and client.reset_time is None
    assert client.sdk_client.config_api.get_config().version_config.version == client.version
    for ask in (lambda: stranger.version, lambda: stranger.storage_config):
        with pytest.raises(exceptions.NotAuthorizedException):
            ask()


def test_server_configuration(client):
    configuration = lakefs.client.ServerConfiguration(client)
    assert configuration.version == client.version
    assert configuration.storage_config == configuration.storage_config_by_id("") == client.storage_config
    with pytest.raises(KeyError):
        configuration.storage_config_by_id("other")


def test_no_configuration_is_no_client(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(exceptions.NoAuthenticationFound):
        list(lakefs.repositories())


def test_identities_of_others_are_refused(tarn):
    account = {"host": tarn.url, "username": tarn.access_key, "password": tarn.secret_key}
    session = boto3.Session(aws_access_key_id="AKIA", aws_secret_access_key="s", region_name="us-east-1")
    with pytest.raises(exceptions.ServerException) as caught:
        lakefs.client.from_aws_role(session, **account)
    assert caught.value.status_code == 501
    with pytest.raises(exceptions.ServerException) as caught:
        lakefs.client.from_web_identity("code", "state", "http://127.0.0.1/", **account)
    assert caught.value.status_code == 501


# Repository


def test_repository(client, repo, nowhere, name):
    assert (repo.id, nowhere.id) == (name, NOWHERE)
    assert repo.properties.id == name and repo.metadata == {}
    assert (repo.branch("b").id, repo.tag("t").id, repo.ref("r~1").id, repo.commit("c").id) == ("b", "t", "r~1", "c")
    assert not_found(lambda: nowhere.properties).body["code"] == "repository_not_found"
    not_found(lambda: nowhere.metadata)
    not_found(nowhere.delete)
    not_found(list, nowhere.branches())
    not_found(list, nowhere.tags())
    with pytest.raises(exceptions.BadRequestException):
        lakefs.Repository(f"{name}x", client=client).create(f"local://{name}")  # a namespace in use
    with pytest.raises(exceptions.ConflictException):
        lakefs.Repository(name, client=client).create(f"local://{name}")


def test_repositories(client, repo, stranger):
    assert [r.id for r in lakefs.repositories(client=client, prefix=repo.id)] == [repo.id]
    with pytest.raises(exceptions.NotAuthorizedException):
        list(lakefs.repositories(client=stranger))


def test_a_read_only_repository_forbids(client, sdk, name):
    sdk.repositories.create_repository(
        lakefs_sdk.RepositoryCreation(name=name, storage_namespace=f"local://{name}", read_only=True)
    )
    branch = lakefs.repository(name, client=client).branch("new")
    with pytest.raises(exceptions.ForbiddenException):
        branch.create("main")
    branch.create("main", force=True)
    with pytest.raises(exceptions.PermissionException):
        branch.object("a").delete()


# Branch


def test_branch(repo, main, nowhere):
    dev = repo.branch("dev").create(main)
    assert dev.head.id == main.head.id and dev.get_commit() == main.get_commit()
    nope = repo.branch("nope")
    not_found(lambda: nope.head)
    not_found(nope.get_commit)
    not_found(nope.commit, "m")
    not_found(nope.delete)
    not_found(list, nope.uncommitted())
    not_found(nope.cherry_pick, "main")
    not_found(nope.revert, "main")
    not_found(nowhere.branch("main").delete_objects, "a")
    not_found(repo.branch("new").create, "nope")
    with pytest.raises(exceptions.ForbiddenException, match="default branch"):
        main.delete()
    # This one method shows the SDK's own exception.
    with pytest.raises(lakefs_sdk.exceptions.NotFoundException):
        nope.reset_changes()
    dev.delete()
    not_found(dev.delete)


def test_transact(repo, main):
    with pytest.raises(exceptions.NotFoundException), repo.branch("nope").transact(commit_message="m"):
        pass
    main.object("a").upload(data="1")
    main.object("b").upload(data="1")
    main.commit(message="before")
    with main.transact(commit_message="m", commit_metadata={"k": "v"}) as tx:
        assert (tx.source_id, tx.commit_message, tx.commit_metadata, tx.tag) == ("main", "m", {"k": "v"}, None)
        tx.commit_message, tx.commit_metadata, tx.tag = "changed", {"k": "w"}, "release"
        tx.delete_objects(["a"])
        tx.object("c").upload(data="2")
        tx.object("d").upload(data="2")
        tx.reset_changes("object", "d")
        assert [(c.type, c.path) for c in tx.uncommitted()] == [("removed", "a"), ("added", "c")]
    commit = repo.ref(main.get_commit().parents[1]).get_commit()
    assert (commit.message, commit.metadata) == ("changed", {"k": "w"})
    assert [item.path for item in repo.tag("release").objects()] == ["b", "c"]


def test_the_end_of_a_transaction_leaves_no_branch(main):
    with main.transact(commit_message="m") as tx:
        tx.object("a").upload(data="1")
    with pytest.raises(lakefs_sdk.exceptions.NotFoundException):
        tx.reset_changes()
    not_found(list, tx.uncommitted())
    with pytest.raises(exceptions.BadRequestException, match="1000"), main.transact(commit_message="m") as tx:
        tx.delete_objects([str(number) for number in range(1001)])


# Tag


def test_tag(repo, main, nowhere):
    tag = repo.tag("v1").create(main)
    assert tag.get_commit() == main.get_commit() and [t.id for t in repo.tags()] == ["v1"]
    not_found(repo.tag("v2").create, "nope")
    not_found(repo.tag("v2").delete)
    tag.delete()
    assert list(repo.tags()) == []


# Reference


def test_reference(repo, main):
    main.object("dir/a").upload(data="1")
    commit = main.commit(message="m")
    reference = repo.ref(commit.id)
    assert (reference.id, reference.repo_id) == (commit.id, repo.id)
    assert reference.get_commit().message == "m"
    assert [c.message for c in reference.log()] == ["m", "Repository created"]
    assert [o.path for o in reference.objects(delimiter="/")] == ["dir/"]
    assert reference.object("dir/a").reader(mode="r").read() == "1"
    old = repo.branch("old").create("main~1")
    assert [(c.type, c.path) for c in old.diff(reference)] == [("added", "dir/a")]
    assert old.get_commit().id != reference.merge_into(old) == old.get_commit().id
    assert old.object("dir/a").exists()


def test_a_reference_to_nothing(repo):
    nope = repo.ref("nope")
    not_found(nope.get_commit)
    not_found(list, nope.log())
    not_found(list, nope.objects())
    not_found(list, nope.diff("main"))
    not_found(nope.merge_into, "main")


# StoredObject, WriteableObject


def test_object(repo, main):
    item = main.object("dir/a").upload(data="hello", content_type="text/plain", metadata={"k": "v"}, pre_sign=False)
    assert (item.repo, item.ref, item.path, item.storage_id()) == (repo.id, "main", "dir/a", "")
    assert item.exists() and item.stat().size_bytes == 5
    copied = item.copy("main", "copy")
    assert copied.stat().checksum == item.stat().checksum
    copied.delete()
    assert not copied.exists()


def test_an_object_that_is_nowhere(main, nowhere):
    item = main.object("nope")
    assert not item.exists()
    for call in (item.stat, item.reader(pre_sign=False).read, item.reader(pre_sign=False).readline):
        with pytest.raises(exceptions.ObjectNotFoundException):
            call()
    not_found(item.copy, "main", "copy")
    lost = nowhere.branch("main").object("a")
    for call in (lost.delete, lost.storage_id, lost.reader):
        with pytest.raises(exceptions.ObjectNotFoundException):
            call()
    not_found(lost.upload, data="x", pre_sign=False)
    with pytest.raises(FileNotFoundError):  # what code for plain files expects
        lost.writer()


def test_an_object_for_strangers(repo, stranger):
    item = lakefs.repository(repo.id, client=stranger).branch("main").object("a")
    with pytest.raises(exceptions.PermissionException):
        item.exists()
    with pytest.raises(PermissionError):
        item.stat()


# ObjectReader


def test_reader(main):
    item = main.object("a").upload(data="one\ntwo\n")
    reader = item.reader(mode="r", pre_sign=False)
    assert (reader.mode, reader.name, reader.pre_sign, reader.closed) == ("r", "a", False, False)
    assert reader.readable() and reader.seekable() and not reader.writable() and not reader.isatty()
    assert reader.readline() == "one\n" and reader.tell() == 4
    assert reader.seek(-4, os.SEEK_END) == 4 and reader.read() == "two\n" and reader.read() == ""
    reader.flush()
    with pytest.raises(OSError, match="non-negative"):
        reader.seek(-1)
    for call in (reader.fileno, reader.readlines, reader.truncate, lambda: reader.write("x"), lambda: reader.writelines(["x"])):
        with pytest.raises(io.UnsupportedOperation):
            call()
    reader.close()
    assert reader.closed
    for call in (reader.read, reader.readline, reader.flush, lambda: reader.seek(0)):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(ValueError, match="invalid read mode"):
        item.reader(mode="w")


def test_a_reader_takes_416_as_the_end(main):
    for data in ("", "12345"):
        reader = main.object("a").upload(data=data).reader(pre_sign=False)
        reader.seek(100)
        assert reader.read(10) == b""


# ObjectWriter


def test_writer(main):
    item = main.object("a")
    writer = item.writer(mode="w", pre_sign=False)
    assert (writer.mode, writer.name, writer.pre_sign, writer.closed) == ("w", "a", False, False)
    assert writer.writable() and not writer.readable() and not writer.seekable() and not writer.isatty()
    assert writer.write("hello") == 5 == writer.tell()
    writer.flush()
    for call in (
        writer.fileno,
        writer.read,
        writer.readline,
        writer.readlines,
        writer.truncate,
        lambda: writer.seek(0),
        lambda: writer.writelines(["x"]),
    ):
        with pytest.raises(io.UnsupportedOperation):
            call()
    assert not item.exists()
    writer.close()
    assert writer.closed and item.reader(mode="r").read() == "hello"
    for call in (writer.flush, lambda: writer.write("x")):
        with pytest.raises(ValueError, match="closed file"):
            call()
    thrown_away = main.object("b").writer()
    thrown_away.discard()
    assert thrown_away.closed and not main.object("b").exists()
    with pytest.raises(exceptions.ObjectExistsException):
        item.writer(mode="x")


def test_a_writer_tells_at_its_end_what_failed(repo):
    writer = repo.branch("nope").object("a").writer(pre_sign=False)
    writer.write(b"x")
    not_found(writer.close)


def test_the_slower_of_two_exclusive_writers_is_told(main):
    writer = main.object("a").writer(mode="x", pre_sign=False)
    writer.write("mine")
    main.object("a").upload(data="theirs")
    with pytest.raises(exceptions.ObjectExistsException):
        writer.close()
    assert main.object("a").reader(mode="r").read() == "theirs"


# ImportManager


def test_import_manager(tarn, repo, main, name):
    source = tarn.import_root / name
    source.mkdir()
    (source / "a").write_text("hello")
    job = main.import_data(commit_message="m")
    assert job.import_id is None
    for call in (job.status, job.wait, job.cancel):
        with pytest.raises(exceptions.ImportManagerException, match="No import in progress"):
            call()
    assert job.prefix(f"local://{source}/", destination="all/") is job
    assert job.object(f"local://{source}/a", destination="one") is job
    assert job.start() == job.import_id
    with pytest.raises(exceptions.ImportManagerException, match="Import in progress"):
        job.start()
    for call in (job.prefix, job.object):
        with pytest.raises(exceptions.ImportManagerException, match="already started"):
            call(f"local://{source}/", destination="")
    status = job.wait(poll_interval=datetime.timedelta(milliseconds=20))
    assert (status.completed, status.ingested_objects) == (True, 2) == (job.status().completed, 2)
    assert [item.path for item in main.objects()] == ["all/a", "one"]
    with pytest.raises(exceptions.ConflictException):
        job.cancel()
    not_found(repo.branch("nope").import_data().start)
    with pytest.raises(exceptions.ImportManagerException, match="Import Error"):
        main.import_data().prefix(f"local://{source}/nope/", "x/").run(datetime.timedelta(milliseconds=20))


def test_a_cancelled_import_changes_nothing(tarn, main, name):
    source = tarn.import_root / name
    source.mkdir()
    for number in range(2000):
        (source / f"{number:04}").touch()
    for _ in range(IMPORTS_MAX):
        before = main.head.id
        job = main.import_data().prefix(f"local://{source}/", destination="")
        job.start()
        try:
            job.cancel()
            break
        except exceptions.ConflictException:
            pass  # it was faster
    with pytest.raises(exceptions.ImportManagerException, match="Canceled"):
        job.wait(poll_interval=datetime.timedelta(milliseconds=20))
    assert main.head.id == before
