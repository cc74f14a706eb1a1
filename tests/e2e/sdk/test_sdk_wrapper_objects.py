"""Objects as files of the unmodified lakeFS Python package: modes, seeking, writers, copies, paths."""

import csv
import io
import json
import time

import pytest
from lakefs import exceptions


def test_an_object_and_what_is_known_of_it(repo):
    made = repo.branch("main").object("dir/file").upload(data=b"bytes", metadata={"foo": "bar"}, mode="wb")
    assert made.reader(mode="rb").read() == b"bytes"
    stat = made.stat()
    assert (stat.path, stat.size_bytes, stat.metadata) == ("dir/file", 5, {"foo": "bar"})
    assert stat.content_type == "application/octet-stream"
    assert stat.checksum == "4b3a6218bb3e3a7303e8a171a60fcf92"
    assert stat.mtime <= time.time()
    made.delete()
    with pytest.raises(exceptions.ObjectNotFoundException):
        repo.branch("main").object("dir/file").stat()


def test_exclusive_modes_do_not_overwrite(repo):
    item = repo.branch("main").object("file")
    item.upload(data="first", mode="x")
    for mode in ("x", "xb"):
        with pytest.raises(exceptions.ObjectExistsException):
            item.upload(data=b"second", mode=mode)
    assert item.reader(mode="r").read() == "first"
    item.upload(data="second", mode="w")
    assert item.reader(mode="r").read() == "second"


@pytest.mark.parametrize("mode", ["w", "x", "wb", "xb"])
def test_every_mode_writes_what_was_given(repo, mode):
    data = b"\x00\xff bytes" if "b" in mode else "text ä"
    item = repo.branch("main").object("file").upload(data=data, mode=mode)
    expected = data if isinstance(data, bytes) else data.encode()
    assert item.reader(mode="rb").read() == expected


def test_reading_and_seeking(repo):
    data = b"0123456789" * 10
    item = repo.branch("main").object("file").upload(data=data, mode="wb")
    with item.reader(mode="rb") as body:
        assert body.read(3) == data[:3]
        body.seek(50)
        assert body.read(10) == data[50:60]
        body.seek(-5, io.SEEK_END)
        assert body.read() == data[-5:]
        assert body.read(1) == b""
        body.seek(1000)
        assert body.read(1) == b""
        with pytest.raises(OSError, match="non-negative"):
            body.seek(-1)


def test_an_empty_object_reads_as_nothing(repo):
    item = repo.branch("main").object("empty").upload(data=b"", mode="wb")
    assert item.reader(mode="rb").read() == b""
    assert item.reader(mode="rb").read(5) == b""
    assert item.stat().size_bytes == 0


def test_reading_byte_by_byte_ends(repo):
    data = bytes(range(30))
    body = repo.branch("main").object("file").upload(data=data, mode="wb").reader(mode="rb")
    read = []
    while piece := body.read(1):
        read.append(piece)
    assert b"".join(read) == data


def test_copies_keep_everything_but_the_path(repo):
    item = repo.branch("main").object("file").upload(data="text", metadata={"foo": "bar"}, content_type="text/plain")
    copied = item.copy("main", "copy")
    old, new = item.stat(), copied.stat()
    assert (new.metadata, new.content_type, new.size_bytes, new.checksum) == (
        old.metadata,
        "text/plain",
        old.size_bytes,
        old.checksum,
    )
    assert new.path == "copy" and new.mtime >= old.mtime
    assert copied.reader(mode="r").read() == "text"


def test_nothing_is_there_before_the_writer_closes(repo):
    item = repo.branch("main").object("file")
    with item.writer(mode="w", content_type="text/plain", metadata={"k": "v"}) as out:
        out.write("hello ")
        assert not item.exists()
        out.write("world")
    stat = item.stat()
    assert (stat.size_bytes, stat.content_type, stat.metadata) == (11, "text/plain", {"k": "v"})
    assert item.reader(mode="r").read() == "hello world"


def test_an_aborted_writer_leaves_nothing(repo):
    item = repo.branch("main").object("file")
    with pytest.raises(ValueError, match="mine"), item.writer() as out:  # noqa: PT012
        out.write("half")
        raise ValueError("mine")
    assert not item.exists()
    writer = item.writer()
    writer.write("half")
    writer.discard()
    assert not item.exists()


def test_a_large_object_through_a_spooled_file(repo):
    size = (32 << 20) + 1
    item = repo.branch("main").object("large")
    with item.writer(mode="wb") as out:
        for _ in range(32):
            out.write(b"x" * (1 << 20))
        out.write(b"y")
    assert item.stat().size_bytes == size
    with item.reader(mode="rb") as body:
        body.seek(-2, io.SEEK_END)
        assert body.read() == b"xy"


def test_readers_are_files_for_other_libraries(repo):
    rows = [["id", "name"], ["1", "Ann"], ["2", "Bö"]]
    branch = repo.branch("main")
    with branch.object("table.csv").writer(content_type="text/csv") as out:
        csv.writer(out).writerows(rows)
    assert list(csv.reader(branch.object("table.csv").reader(mode="r"))) == rows
    with branch.object("x.json").writer() as out:
        json.dump({"a": [1, 2]}, out)
    assert json.load(branch.object("x.json").reader(mode="r")) == {"a": [1, 2]}
    lines = branch.object("lines").upload(data="one\ntwo\n\nlast").reader(mode="r")
    assert [lines.readline() for _ in range(5)] == ["one\n", "two\n", "\n", "last", ""]


@pytest.mark.parametrize(
    "path",
    ["a b+c&d=e", "ä/ö/\u65e5\u672c", "%2F%20", "a//b", "/lead", "trail/", "../up", "a?b#c", "tab\there", "'\"\\", "x" * 1024],
)
def test_any_path_round_trips(repo, any_paths, path):
    branch = repo.branch("main")
    branch.object(path).upload(data=b"x", mode="wb")
    assert [item.path for item in branch.objects()] == [path]
    assert branch.object(path).stat().path == path
    assert branch.object(path).reader(mode="rb").read() == b"x"
    branch.commit(message="m")
    branch.object(path).delete()
    assert [(change.type, change.path) for change in branch.uncommitted()] == [("removed", path)]
