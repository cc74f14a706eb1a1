"""tarn:// paths of the Python package, for fsspec and what reads through it."""

import asyncio
import os
import random
import subprocess
import sys
import time

import duckdb
import pytest
from servers import free_port


@pytest.fixture
def fs(package):
    from tarn_data.filesystem import TarnFileSystem

    return TarnFileSystem(skip_instance_cache=True)


@pytest.fixture
def asked(fs, monkeypatch):
    """(method, last word of the path) of each request that the file system makes."""
    from tarn_data.asynchronous import AsyncServer

    made, request = [], AsyncServer.request

    async def noted(self, method, *path, **options):
        made.append((method, path[-1]))
        return await request(self, method, *path, **options)

    monkeypatch.setattr(AsyncServer, "request", noted)
    return made


def test_pandas_reads_and_writes_tarn_paths(installed, package_settings, repo):
    """In a process that knows the package as installed packages are known."""
    script = f"""
import pandas
frame = pandas.DataFrame({{"id": range(1000), "name": ["a"] * 1000}})
frame.to_parquet("tarn://{repo.id}/main/tables/x.parquet")
assert pandas.read_parquet("tarn://{repo.id}/main/tables/x.parquet").equals(frame)
part = pandas.read_parquet("tarn://{repo.id}/main/tables/x.parquet", columns=["id"])
assert list(part.columns) == ["id"] and len(part) == 1000
frame.to_csv("tarn://{repo.id}/main/tables/x.csv", index=False)
assert len(pandas.read_csv("tarn://{repo.id}/main/tables/x.csv")) == 1000
"""
    environment = {**os.environ, **package_settings, "PYTHONPATH": str(installed)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert repo.branch("main").object("tables/x.parquet").exists()


def test_files_of_a_branch(fs, repo, tmp_path):
    base = f"{repo.id}/main"
    data = os.urandom(3_000_000)
    with fs.open(f"tarn://{base}/a/big", "wb") as out:
        for begin in range(0, len(data), 700_000):
            out.write(data[begin : begin + 700_000])
        assert not fs.exists(f"{base}/a/big")
    fs.pipe(f"{base}/a/b/small é.txt", b"small")
    fs.touch(f"{base}/a/empty")
    assert sorted(fs.ls(f"{base}/a", detail=False)) == [f"{base}/a/b", f"{base}/a/big", f"{base}/a/empty"]
    assert fs.find(base) == [f"{base}/a/b/small é.txt", f"{base}/a/big", f"{base}/a/empty"]
    assert fs.info(f"{base}/a/big")["size"] == len(data) and fs.isdir(f"{base}/a") and fs.isdir(base)
    assert abs(fs.modified(f"{base}/a/big").timestamp() - time.time()) < 300
    assert fs.cat(f"{base}/a/b/small é.txt") == b"small" and fs.cat(f"{base}/a/empty") == b""
    with fs.open(f"{base}/a/big", block_size=100_000, cache_type="readahead") as reader:
        reader.seek(2_500_000)
        assert reader.read(1000) == data[2_500_000:2_501_000]
        reader.seek(0)
        assert reader.read() == data
    assert fs.cat_file(f"{base}/a/big", start=10, end=20) == data[10:20]
    assert fs.cat_file(f"{base}/a/big", start=-10) == data[-10:]
    assert fs.cat_file(f"{base}/a/big", start=len(data) + 5) == b""
    fs.cp(f"{base}/a", f"{base}/copy", recursive=True)
    assert fs.cat(f"{base}/copy/big") == data
    stored = [repo.branch("main").object(path).stat().physical_address for path in ("a/big", "copy/big")]
    assert stored[0] == stored[1]
    (tmp_path / "up").mkdir()
    (tmp_path / "up" / "x").write_bytes(b"x")
    fs.put(str(tmp_path / "up"), f"{base}/up", recursive=True)
    fs.get(f"{base}/a", str(tmp_path / "down"), recursive=True)
    assert (tmp_path / "down" / "big").read_bytes() == data
    fs.rm(f"{base}/copy", recursive=True)
    fs.rm(f"{base}/a/empty")
    assert fs.find(base) == [f"{base}/a/b/small é.txt", f"{base}/a/big", f"{base}/up/x"]
    assert f"{repo.id}/main" in fs.ls(repo.id, detail=False)
    assert repo.id in fs.ls("", detail=False)


def test_files_that_are_not_there_in_the_way_or_not_to_be_written(fs, package, repo):
    base = f"{repo.id}/main"
    for question in (
        lambda: fs.info(f"{base}/no"),
        lambda: fs.cat(f"{base}/no"),
        lambda: fs.ls(f"{base}/no"),
        lambda: fs.rm(f"{base}/no"),
        lambda: fs.open(f"{base}/no"),
        lambda: fs.ls(f"{repo.id}/no-branch"),
        lambda: fs.cp_file(f"{base}/no", f"{base}/yes"),
    ):
        with pytest.raises(FileNotFoundError):
            question()
    assert not fs.exists(f"{base}/no") and fs.find(f"{base}/no") == []
    with fs.open(f"{base}/once", "xb") as out:
        out.write(b"1")
    with pytest.raises(FileExistsError), fs.open(f"{base}/once", "xb") as out:
        out.write(b"2")
    with pytest.raises(ZeroDivisionError), fs.open(f"{base}/broken", "wb") as out:  # noqa: PT012
        out.write(b"half")
        raise ZeroDivisionError
    assert not fs.exists(f"{base}/broken")
    with fs.transaction:
        with fs.open(f"{base}/later", "wb") as out:
            out.write(b"1")
        assert not fs.exists(f"{base}/later")
    assert fs.cat(f"{base}/later") == b"1"
    repo.branch("main").commit("m")
    repo.tag("v1").create("main")
    assert fs.cat(f"{repo.id}/v1/once") == b"1"
    with (
        pytest.raises(FileNotFoundError, match=f"branch 'v1' not found in repository '{repo.id}'"),
        fs.open(f"{repo.id}/v1/once", "wb") as out,
    ):
        out.write(b"2")
    stranger = type(fs)(secret_key="wrong", skip_instance_cache=True)
    with pytest.raises(PermissionError):
        stranger.cat(f"{base}/once")


def test_an_object_that_changes_while_it_is_read_is_never_mixed(fs, repo):
    path = f"{repo.id}/main/x"
    fs.pipe(path, b"a" * 1000)
    with fs.open(path, block_size=100, cache_type="none") as reader:
        assert reader.read(100) == b"a" * 100
        fs.pipe(path, b"b" * 1000)
        with pytest.raises(OSError, match="was written anew"):
            reader.read(100)


def run_script(installed, package_settings, script):
    """In a process that knows the package as installed packages are known."""
    environment = {**os.environ, **package_settings, "PYTHONPATH": str(installed)}
    ended = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


# Names that need a header of their own in a tar, that tools take for patterns, and a directory marker.
ODD = ["a b", "é 日本", "n" * 120 + "/" + "m" * 120, "x[1]", "plus+and&=", "100%25"]


def many_files(place, count=300):
    """{relative path: bytes}, also as files below `place`: small ones, an empty one, some of more than a piece, odd names."""
    chooser = random.Random(7)
    files = {f"d{number % 7}/f{number}": chooser.randbytes(number % 50) for number in range(count)}
    files.update({f"odd/{name}": name.encode() for name in ODD})
    files.update({f"large/{number}": chooser.randbytes((2 << 20) + number) for number in range(3)})
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    return files


def below(place):
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def test_many_small_files_come_as_few_archives(fs, repo, asked, tmp_path):
    base = f"{repo.id}/main/up"
    (tmp_path / "up").mkdir()
    files = many_files(tmp_path / "up")
    fs.put(str(tmp_path / "up"), base, recursive=True)
    assert asked.count(("POST", "objects")) == len(files)
    asked.clear()
    assert fs.cat([f"{base}/{name}" for name in files if name != "odd/x[1]"]).keys() == {
        f"{base}/{name}" for name in files if name != "odd/x[1]"
    }
    assert set(asked) == {("POST", "archive")} and len(asked) <= 4
    assert {name.removeprefix(f"{base}/"): content for name, content in fs.cat(base, recursive=True).items()} == files
    asked.clear()
    fs.get(base, str(tmp_path / "down"), recursive=True)
    assert below(tmp_path / "down") == files
    assert asked.count(("POST", "archive")) <= 4 and ("GET", "objects") not in asked
    asked.clear()
    assert len(fs.find(base)) == len(files) and asked == [("GET", "ls")]


def test_few_files_come_one_by_one(fs, repo, asked, tmp_path):
    base = f"{repo.id}/main"
    fs.pipe({f"{base}/{number}": b"%d" % number for number in range(9)})
    asked.clear()
    assert fs.cat([f"{base}/{number}" for number in range(9)]) == {f"{base}/{number}": b"%d" % number for number in range(9)}
    assert asked == [("GET", "objects")] * 9


def test_files_that_an_archive_cannot_have_come_all_the_same(fs, repo, any_paths, s3, tmp_path):
    base = f"{repo.id}/main"
    fs.pipe({f"{base}/d/{number}": b"%d" % number for number in range(40)})
    paths = [f"{base}/d/{number}" for number in range(40)]
    # One that is not there is the only one that fails.
    found = fs.cat([*paths, f"{base}/d/none"], on_error="return")
    assert [found[path] for path in paths] == [b"%d" % number for number in range(40)]
    assert isinstance(found[f"{base}/d/none"], FileNotFoundError)
    assert fs.cat([*paths, f"{base}/d/none"], on_error="omit").keys() == set(paths)
    with pytest.raises(FileNotFoundError, match="object 'd/none' not found"):
        fs.cat([*paths, f"{base}/d/none"])
    # The server's name for it is that of an object.
    fs.pipe(f"{base}/d/none.missing", b"own")
    found = fs.cat([*paths, f"{base}/d/none", f"{base}/d/none.missing"], on_error="omit")
    assert found[f"{base}/d/none.missing"] == b"own" and len(found) == 41
    # The server refuses an archive with this name.
    s3.put_object(Bucket=repo.id, Key="main/d/a\\b", Body=b"odd")
    assert fs.cat(f"{base}/d", recursive=True)[f"{base}/d/a\\b"] == b"odd"
    # A marker of a directory is no file.
    s3.put_object(Bucket=repo.id, Key="main/d/", Body=b"")
    fs.get(f"{base}/d", str(tmp_path / "down"), recursive=True)
    assert len(below(tmp_path / "down")) == 42


def test_an_error_says_whether_repository_branch_or_path_is_missing(fs, repo, tmp_path):
    (tmp_path / "x").write_bytes(b"x")
    fs.pipe(f"{repo.id}/main/there", b"1")
    nowhere = f"{repo.id}-none"
    for path, says in (
        (f"{nowhere}/main/a", f"repository '{nowhere}' not found"),
        (f"{repo.id}/none/a", f"'none' not found in repository '{repo.id}'"),
        (f"{repo.id}/main/a", f"object 'a' not found in {repo.id}/main"),
    ):
        questions = [fs.info, fs.cat, fs.open, fs.rm_file, lambda p: fs.get_file(p, str(tmp_path / "out"))]
        questions += [lambda p: fs.cp_file(p, f"{repo.id}/main/copy")] if path.startswith(f"{repo.id}/") else []
        if "/main/" not in path or path.startswith(nowhere):
            questions += [fs.ls, lambda p: fs.pipe(p, b""), lambda p: fs.put_file(str(tmp_path / "x"), p)]
            questions += [lambda p: fs.info(p.rpartition("/")[0]), lambda p: fs.open(p, "wb").close()]
        for number, question in enumerate(questions):
            with pytest.raises(FileNotFoundError) as missing:
                question(path)
            assert says in str(missing.value), (path, number)
    assert not (tmp_path / "out").exists()


def test_a_server_that_is_not_there_is_given_up_soon(fs, package):
    endpoint = f"http://127.0.0.1:{free_port()}"
    absent = type(fs)(endpoint=endpoint, skip_instance_cache=True)
    for question in (lambda: absent.cat("lake/main/a"), lambda: package.list_runs(server=package.connect(endpoint=endpoint))):
        began = time.monotonic()
        with pytest.raises((ConnectionError, package.Unavailable), match=rf"{endpoint}, tried \d times in .* TARN_ENDPOINT"):
            question()
        assert time.monotonic() - began < 3


def test_a_stranger_may_not(fs, repo):
    fs.pipe(f"{repo.id}/main/a", b"1")
    stranger = type(fs)(secret_key="wrong", skip_instance_cache=True)
    for question in (stranger.cat, stranger.info, stranger.ls, stranger.exists):
        with pytest.raises(PermissionError, match="TARN_SECRET_KEY"):
            question(f"{repo.id}/main/a")


def test_from_an_event_loop(fs, repo):
    async def work():
        own = type(fs)(asynchronous=True, skip_instance_cache=True)
        await own._pipe({f"{repo.id}/main/{number}": b"%d" % number for number in range(50)})
        found = await own._cat([f"{repo.id}/main/{number}" for number in range(50)])
        return sorted(found.values())

    assert asyncio.run(work()) == sorted(b"%d" % number for number in range(50))


def test_processes_that_are_forked_read_by_connections_of_their_own(installed, package_settings, repo):
    """Workers of data loaders are forked. Nothing is said about sessions that are left open."""
    script = f"""
import fsspec, gc, multiprocessing, time
fs = fsspec.filesystem("tarn")
fs.pipe({{f"{repo.id}/main/{{n}}": b"%d" % n for n in range(8)}})
def read(n):
    return fs.cat(f"{repo.id}/main/{{n}}")
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(read, range(8)) == [b"%d" % n for n in range(8)]
assert fs.cat("{repo.id}/main/3") == b"3"
other = fsspec.filesystem("tarn", skip_instance_cache=True)
assert other.cat("{repo.id}/main/4") == b"4"
del other
gc.collect()
time.sleep(0.3)
try:
    fsspec.filesystem("tarn", skip_instance_cache=True).cat("{repo.id}/main/none")
except FileNotFoundError as error:
    kept_until_the_end = error
"""
    run_script(installed, package_settings, script)


def test_duckdb_reads_tarn_paths(fs, repo):
    fs.pipe(f"{repo.id}/main/t/a.csv", b"id,label\n1,cat\n2,dog\n")
    fs.pipe(f"{repo.id}/main/t/b.csv", b"id,label\n3,bird\n")
    with duckdb.connect() as database:
        database.register_filesystem(fs)
        assert database.sql(f"SELECT count(*), max(label) FROM 'tarn://{repo.id}/main/t/*.csv'").fetchall() == [(3, "dog")]
        database.sql(f"COPY (SELECT 7 AS id) TO 'tarn://{repo.id}/main/t/c.parquet'")
        assert database.sql(f"SELECT id FROM 'tarn://{repo.id}/main/t/c.parquet'").fetchall() == [(7,)]
