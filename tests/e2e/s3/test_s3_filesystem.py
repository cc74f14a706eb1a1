"""Branches as directories of a file system: s3fs."""

import clients
import pytest
import s3_requests


@pytest.fixture
def repo(repo):
    return repo.id


@pytest.fixture
def fs(tarn):
    return clients.s3fs_filesystem(tarn)


def test_files_and_directories(tarn, fs, repo):
    base = f"{repo}/main"
    with fs.open(f"{base}/dir/a.txt", "wb") as file:
        file.write(b"hello")
    assert fs.cat(f"{base}/dir/a.txt") == b"hello"
    assert fs.exists(f"{base}/dir") and fs.isdir(f"{base}/dir")
    assert fs.exists(base) and fs.isdir(base)
    assert not fs.exists(f"{base}/absent") and not fs.exists(f"{repo}/nobranch")
    assert fs.info(f"{base}/dir/a.txt")["size"] == 5
    assert fs.ls(base) == [f"{base}/dir"]
    assert fs.ls(repo) == [base]
    assert fs.find(repo) == [f"{base}/dir/a.txt"]
    fs.copy(f"{base}/dir/a.txt", f"{base}/dir/b.txt")
    fs.mv(f"{base}/dir/b.txt", f"{base}/other/c.txt")
    assert fs.find(base) == [f"{base}/dir/a.txt", f"{base}/other/c.txt"]
    assert fs.cat(f"{base}/other/c.txt", start=1, end=3) == b"el"
    fs.rm(f"{base}/dir", recursive=True)
    assert fs.find(base) == [f"{base}/other/c.txt"]


def test_exclusive_creation(fs, repo):
    with fs.open(f"{repo}/main/once", "xb") as file:
        file.write(b"1")
    with pytest.raises(OSError, match="pre-conditions"), fs.open(f"{repo}/main/once", "xb") as file:
        file.write(b"2")
    assert fs.cat(f"{repo}/main/once") == b"1"


def test_a_large_file_in_blocks(fs, repo):
    body = bytes(range(256)) * 4096 * 12
    with fs.open(f"{repo}/main/large", "wb", block_size=5 * 1024 * 1024) as file:
        for start in range(0, len(body), 1_000_000):
            file.write(body[start : start + 1_000_000])
    assert fs.info(f"{repo}/main/large")["size"] == len(body)
    with fs.open(f"{repo}/main/large", "rb") as file:
        file.seek(len(body) - 100)
        assert file.read() == body[-100:]
        file.seek(0)
        assert file.read() == body


def test_branches_are_apart(tarn, fs, repo):
    fs.pipe(f"{repo}/main/a", b"main")
    s3_requests.commit(tarn, repo)
    s3_requests.create_branch(tarn, repo, "dev")
    fs.pipe(f"{repo}/dev/a", b"dev")
    assert fs.cat(f"{repo}/main/a") == b"main" and fs.cat(f"{repo}/dev/a") == b"dev"
    assert sorted(fs.ls(repo)) == [f"{repo}/dev", f"{repo}/main"]
