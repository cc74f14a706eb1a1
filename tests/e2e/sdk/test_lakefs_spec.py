"""The fsspec file system of the lakefs-spec package, unmodified, over REST."""

import csv
import datetime
import warnings

import fsspec
import pytest
from lakefs_spec import LakeFSFileSystem

TREE = {"a": "1", "dir/b": "22", "dir/deep/c": "333", "other/d": "4444"}


@pytest.fixture
def fs(tarn):
    return LakeFSFileSystem(
        host=tarn.url, username=tarn.access_key, password=tarn.secret_key, use_listings_cache=False, skip_instance_cache=True
    )


@pytest.fixture
def root(fs, repo):
    """repository/main with TREE staged on it."""
    root = f"{repo.id}/main"
    for path, data in TREE.items():
        fs.pipe_file(f"{root}/{path}", data.encode())
    return root


def below(root, names):
    return sorted(name.removeprefix(f"{root}/").rstrip("/") for name in names)


# Looking


def test_ls(fs, root):
    assert below(root, fs.ls(root + "/", detail=False)) == ["a", "dir", "other"]
    assert below(root, fs.ls(f"{root}/dir", detail=False)) == ["dir/b", "dir/deep"]
    entry = next(e for e in fs.ls(f"{root}/dir/") if e["type"] == "file")
    assert (entry["name"], entry["size"]) == (f"{root}/dir/b", 2)
    found = [e["name"] for e in fs.ls(root + "/", recursive=True) if e["type"] == "file"]
    assert below(root, found) == sorted(TREE)
    with pytest.raises(FileNotFoundError):
        fs.ls(root.replace("/main", "/nope/"))


def test_info(fs, root, repo):
    info = fs.info(f"lakefs://{root}/dir/b")
    assert (info["type"], info["size"], info["name"]) == ("file", 2, f"{root}/dir/b")
    assert info["checksum"] == fs.checksum(f"{root}/dir/b") == repo.branch("main").object("dir/b").stat().checksum
    assert fs.info(f"{root}/dir")["type"] == "directory"
    assert fs.isfile(f"{root}/a") and fs.isdir(f"{root}/dir") and not fs.isdir(f"{root}/a")
    assert fs.size(f"{root}/dir/deep/c") == 3
    age = datetime.datetime.now(datetime.UTC) - fs.modified(f"{root}/a")
    assert abs(age.total_seconds()) < 120 and fs.created(f"{root}/a") == fs.modified(f"{root}/a")
    with pytest.raises(FileNotFoundError):
        fs.info(f"{root}/nope")
    assert fs.checksum(f"{root}/nope") is None


def test_exists(fs, root, repo):
    for path, there in (("a", True), ("dir", True), ("dir/", True), ("di", False), ("", True)):
        assert fs.exists(f"{root}/{path}") is there, path
    assert not fs.exists(f"{repo.id}/nope/a") and not fs.exists(f"{repo.id}/nope/")


def test_glob_find_and_walk(fs, root):
    assert below(root, fs.glob(f"{root}/*/*")) == ["dir/b", "other/d"]  # it leaves folders out
    assert below(root, fs.glob(f"{root}/**/c")) == ["dir/deep/c"]
    assert below(root, fs.find(root + "/")) == sorted(TREE)
    assert below(root, fs.find(f"{root}/dir/")) == ["dir/b", "dir/deep/c"]
    walked = {path: (folders, files) for path, folders, files in fs.walk(f"{root}/dir")}
    assert [(sorted(folders), sorted(files)) for folders, files in walked.values()] == [(["deep"], ["b"]), ([], ["c"])]
    assert fs.du(f"{root}/dir/") == 5


# Bytes


def test_cat_and_ranges(fs, root):
    path = f"{root}/dir/deep/c"
    fs.pipe_file(path, b"0123456789")
    assert fs.cat(path) == b"0123456789"
    assert fs.cat_file(path, start=2, end=5) == b"234"
    assert fs.cat_ranges([path, path], [0, 8], [2, 100]) == [b"01", b"89"]
    assert fs.head(path, 3) == b"012" and fs.tail(path, 4) == b"6789"
    assert fs.cat([f"{root}/a", path]) == {f"{root}/a": b"1", path: b"0123456789"}
    with pytest.raises(FileNotFoundError):
        fs.cat(f"{root}/nope")


def test_open(fs, root, repo):
    with fs.open(f"{root}/new", "w", content_type="text/csv", metadata={"k": "v"}) as out:
        csv.writer(out).writerows([["id", "name"], ["1", "Bö"]])
    with fs.open(f"{root}/new", "r") as text:
        assert list(csv.reader(text)) == [["id", "name"], ["1", "Bö"]]
    stat = repo.branch("main").object("new").stat()
    assert (stat.content_type, stat.metadata) == ("text/csv", {"k": "v"})
    with fs.open(f"{root}/new", "rb") as body:
        assert body.readline() == b"id,name\r\n"
        body.seek(-3, 2)
        assert body.read() == "ö\r\n".encode()[-3:]
    with pytest.raises(FileExistsError):
        fs.open(f"{root}/new", "xb")
    with pytest.raises(FileNotFoundError):
        fs.open(f"{root}/nope")
    with pytest.raises(NotImplementedError):
        fs.open(f"{root}/new", "ab")


def test_a_branch_that_is_missing_is_made_for_a_write(fs, root, repo):
    fs.pipe_file(f"{repo.id}/made/a", b"x")
    assert {b.id for b in repo.branches()} == {"made", "main"}
    assert fs.cat(f"{repo.id}/made/a") == b"x" and fs.cat(f"{root}/a") == b"1"


def test_fsspec_opens_urls(tarn, root):
    account = {"host": tarn.url, "username": tarn.access_key, "password": tarn.secret_key}
    with fsspec.open(f"lakefs://{root}/dir/b", "rb", **account) as body:
        assert body.read() == b"22"
    mapper = fsspec.get_mapper(f"lakefs://{root}/dir", **account)
    mapper["e"] = b"55"
    assert mapper["e"] == b"55" and mapper["b"] == b"22"


# Files and directories up and down


def test_put_and_get(fs, root, tmp_path):
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "one").write_bytes(b"1")
    (source / "deep" / "two").write_bytes(b"22")
    fs.put(f"{source}/", f"{root}/up/", recursive=True)
    assert below(root, fs.find(f"{root}/up/")) == ["up/deep/two", "up/one"]
    fs.get(f"{root}/up/", f"{tmp_path}/down/", recursive=True)
    assert (tmp_path / "down" / "deep" / "two").read_bytes() == b"22"
    fs.put_file(str(source / "one"), f"{root}/single")
    fs.get_file(f"{root}/single", str(tmp_path / "single"))
    assert (tmp_path / "single").read_bytes() == b"1"
    with pytest.raises(FileExistsError):
        fs.put_file(str(source / "one"), f"{root}/single", mode="create")
    with pytest.raises(FileNotFoundError):
        fs.get_file(f"{root}/nope", str(tmp_path / "nope"))


def test_what_is_the_same_is_not_sent_again(fs, root, repo, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"1")
    before = repo.branch("main").object("a").stat().physical_address
    fs.put_file(str(file), f"{root}/a")
    assert repo.branch("main").object("a").stat().physical_address == before
    file.write_bytes(b"changed")
    fs.put_file(str(file), f"{root}/a")
    assert fs.cat(f"{root}/a") == b"changed"


# Changes


def test_copies_and_moves(fs, root, repo):
    fs.cp_file(f"{root}/a", f"{root}/copy")
    assert fs.cat(f"{root}/copy") == fs.cat(f"{root}/a") == b"1"
    fs.copy(f"{root}/dir/", f"{root}/dir3/", recursive=True)
    assert below(root, fs.find(f"{root}/dir3/")) == ["dir3/b", "dir3/deep/c"]
    fs.mv(f"{root}/copy", f"{root}/moved")
    assert fs.exists(f"{root}/moved") and not fs.exists(f"{root}/copy")
    with pytest.raises(FileNotFoundError):
        fs.cp_file(f"{root}/nope", f"{root}/copy")
    with pytest.raises(ValueError, match="within a repository"):
        fs.cp_file(f"{root}/a", "another-repository/main/a")


def test_rm(fs, root):
    fs.rm_file(f"{root}/a")
    assert not fs.exists(f"{root}/a")
    fs.rm(f"{root}/dir/", recursive=True)
    assert below(root, fs.find(root + "/")) == ["other/d"]
    with pytest.raises(FileNotFoundError):
        fs.rm(root.replace("/main", "/nope") + "/a")


def test_a_stranger_is_not_let_in(tarn, root):
    stranger = LakeFSFileSystem(host=tarn.url, username=tarn.access_key, password="wrong", skip_instance_cache=True)
    for call in (stranger.info, stranger.exists, stranger.rm):
        with pytest.raises(PermissionError):
            call(f"{root}/a")


# Transactions


def test_a_transaction_commits_merges_and_tags(fs, root, repo):
    repo.branch("main").commit(message="the tree")
    with fs.transaction(repo.id, "main") as tx:
        fs.pipe_file(f"{repo.id}/{tx.branch.id}/new", b"x")
        first = tx.commit("add new", metadata={"k": "v"})
        fs.pipe_file(f"{repo.id}/{tx.branch.id}/new", b"y")
        second = tx.commit("change new")
        reverted = tx.revert(tx.branch, second)
        assert reverted.message.startswith("Revert") and tx.rev_parse(tx.branch).id == reverted.id
        tx.tag(first, "v1")
        assert not fs.exists(f"{root}/new")
    assert fs.cat(f"{root}/new") == b"x" and fs.cat(f"{repo.id}/v1/new") == b"x"
    assert repo.tag("v1").get_commit().metadata == {"k": "v"}
    assert [b.id for b in repo.branches()] == ["main"]


def test_a_failed_transaction_changes_nothing(fs, root, repo):
    repo.branch("main").commit(message="the tree")
    before = repo.branch("main").head.id
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lakefs-spec says that what was not committed is lost
        with pytest.raises(RuntimeError, match="mine"), fs.transaction(repo.id, "main", delete="always") as tx:  # noqa: PT012
            fs.pipe_file(f"{repo.id}/{tx.branch.id}/new", b"x")
            raise RuntimeError("mine")
    assert repo.branch("main").head.id == before and [b.id for b in repo.branches()] == ["main"]
    with pytest.raises(ValueError, match="does not exist"):
        fs.transaction("no-such-repository")


def test_touch(fs, root):
    """The package asks for version 1.3.1 of the wire format, as three numbers."""
    fs.touch(f"{root}/empty")
    assert fs.size(f"{root}/empty") == 0
