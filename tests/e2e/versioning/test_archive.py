"""Many objects as one tar or zip: by prefix, by a list of paths, with the command, with a loader of training data."""

import hashlib
import io
import os
import random
import socket
import subprocess
import tarfile
import time
import zipfile
from types import SimpleNamespace

import clients
import pytest
import servers

MIB = 1024 * 1024


@pytest.fixture
def put(s3, repo):
    return lambda path, body, branch="main": s3.put_object(Bucket=repo.id, Key=f"{branch}/{path}", Body=body)


@pytest.fixture
def archive(rest, repo):
    """By prefix, or by paths when some are given."""

    def archive(ref="main", paths=None, missing=None, **query):
        path = f"/repositories/{repo.id}/refs/{ref}/objects/archive"
        if paths is None:
            return rest("GET", path, params=query)
        return rest("POST", path, params=query, json={"paths": paths, **({"missing": missing} if missing else {})})

    return archive


def members(answer, form="tar"):
    """Names with contents, in order."""
    assert answer.status_code == 200, answer.text
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    if form == "zip":
        with zipfile.ZipFile(io.BytesIO(answer.content)) as z:
            assert z.testzip() is None
            return [(i.filename, z.read(i)) for i in z.infolist()]
    with tarfile.open(fileobj=io.BytesIO(answer.content), mode="r|") as t:
        return [(m.name + "/" * m.isdir(), t.extractfile(m).read() if m.isfile() else b"") for m in t]


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_a_folder_comes_back_byte_for_byte(s3, put, repo, archive, form):
    long = "n" * 200 + "/" + "m" * 200
    contents = {
        "data/a.bin": os.urandom(3 * MIB + 7),
        "data/deep/é 日本 😀.txt": b"names",
        f"data/{long}": b"long",
        "data/empty": b"",
        "data/marker/": b"",
        "other/x": b"outside",
        "data.txt": b"beside",
    }
    for path, body in contents.items():
        put(path, body)
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="main/data/parts")["UploadId"]
    parts = [os.urandom(5 * MIB), b"tail"]
    etags = [
        s3.upload_part(Bucket=repo.id, Key="main/data/parts", UploadId=upload, PartNumber=n, Body=body)["ETag"]
        for n, body in enumerate(parts, 1)
    ]
    s3.complete_multipart_upload(
        Bucket=repo.id,
        Key="main/data/parts",
        UploadId=upload,
        MultipartUpload={"Parts": [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, 1)]},
    )
    contents["data/parts"] = b"".join(parts)
    s3.put_object(Bucket=repo.id, Key="main/data/crc", Body=b"c" * 999, ChecksumAlgorithm="CRC32")
    contents["data/crc"] = b"c" * 999
    repo.branch("main").commit("half")
    put("data/staged", b"staged")
    s3.delete_object(Bucket=repo.id, Key="main/data/empty")
    committed = sorted((path[5:], body) for path, body in contents.items() if path.startswith("data/"))
    staged = sorted([*(p for p in committed if p[0] != "empty"), ("staged", b"staged")])

    def by_bytes(list):
        return sorted(list, key=lambda pair: pair[0].encode())

    answer = archive(prefix="data/", format=form)
    assert members(answer, form) == by_bytes(staged)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{repo.id}-main-data.{form}"'
    assert members(archive("main@", prefix="data/", format=form), form) == by_bytes(committed)
    # Names begin behind the last slash; without a prefix they are the whole paths.
    assert members(archive(prefix="data/st", format=form), form) == [("staged", b"staged")]
    assert {name for name, _ in members(archive(format=form), form)} >= {"data/staged", "other/x", "data.txt"}
    # The same state gives the same bytes.
    assert archive("main@", prefix="data/", format=form).content == archive("main@", prefix="data/", format=form).content


@pytest.mark.parametrize("form", ["tar", "zip"])
def test_paths_come_in_the_order_in_which_they_are_named(put, archive, form):
    for name in "abc":
        put(f"d/{name}", name.encode())
    answer = archive(paths=["d/c", "d/a", "d/b", "d/a"], format=form)
    assert members(answer, form) == [("d/c", b"c"), ("d/a", b"a"), ("d/b", b"b"), ("d/a", b"a")]
    failed = archive(paths=["d/c", "d/none", "d/nor"], format=form)
    assert failed.status_code == 404 and '\\"d/none\\"' in failed.text, failed.text
    marked = archive(paths=["d/c", "d/none", "d/b"], missing="mark", format=form)
    assert members(marked, form) == [("d/c", b"c"), ("d/none.missing", b""), ("d/b", b"b")]


def test_what_is_refused(rest, repo, put, archive):
    put("a/x", b"x")
    assert archive(prefix="nothing/").status_code == 404
    assert archive("nobranch", prefix="a/").status_code == 404
    assert archive(prefix="a/", format="rar").status_code == 400
    for body in ({"paths": []}, {"paths": ["a/x"], "missing": "skip"}, {"paths": [""]}, {"paths": "a/x"}, {}):
        answer = rest("POST", f"/repositories/{repo.id}/refs/main/objects/archive", json=body)
        assert answer.status_code == 400, (body, answer.text)
    many = archive(paths=["a/x"] * 100_001)
    assert many.status_code == 400 and "100000" in many.text
    assert len(members(archive(paths=["a/x"] * 20_000))) == 20_000
    huge = archive(paths=["a/" + "x" * 1000] * 20_000)
    assert huge.status_code in (400, 413), huge.text
    anonymous = clients.Rest(SimpleNamespace(url=rest.url.removesuffix("/api/v1")), credentials=False)
    assert anonymous("POST", f"/repositories/{repo.id}/refs/main/objects/archive", json={"paths": ["a/x"]}).status_code == 401


@pytest.mark.parametrize("path", ["d/../../etc/passwd", "d/..", "d//x", "d/./x", "d/a\\..\\..\\x", "d//", "d/C:x/.."])
def test_names_that_leave_the_directory_are_left_out(any_paths, repo, cli, put, archive, path, tmp_path):
    put("d/good", b"g")
    put(path, b"evil")
    for answer in (archive(prefix="d/", strict="true"), archive(paths=["d/good", path])):
        assert (answer.status_code, answer.headers.get("X-Tarn-Error")) == (400, "unsafe_name"), (path, answer.text)
    listed = [("good", b"g"), ("_skipped.txt", path.removeprefix("d/").encode() + b"\n")]
    for form in ("tar", "zip"):
        answer = archive(prefix="d/", format=form)
        assert (members(answer, form), answer.headers["X-Tarn-Skipped"]) == (listed, "1")
    whole = archive(paths=["d/good"])
    assert (members(whole), whole.headers.get("X-Tarn-Skipped")) == ([("d/good", b"g")], None)
    words = ["fs", "archive", f"tarn://{repo.id}/main/d/", tmp_path / "d.tar"]
    assert "1 objects" in cli.run(*words, status=20).talk
    assert cli.reason(*words, "--strict", status=1) == "unsafe_name"


def test_the_list_of_what_is_left_out_replaces_no_object(any_paths, put, archive):
    for path in ("d/_skipped.txt", "d/_skipped.txt.txt", "d/a\\b", "d/z"):
        put(path, b"own")
    names = [name for name, _ in members(archive(prefix="d/"))]
    assert names == ["_skipped.txt", "_skipped.txt.txt", "z", "_skipped.txt.txt.txt"]


def test_who_may_not_read_one_object_gets_nothing(tarn, rest, repo, put):
    for path in ("d/a", "d/secret/b"):
        put(path, b"x")
    user = f"archive-{repo.id[-12:]}"
    resource = f"arn:lakefs:fs:::repository/{repo.id}"
    statements = [
        {"effect": "allow", "action": ["fs:*"], "resource": "*"},
        {"effect": "deny", "action": ["fs:ReadObject"], "resource": f"{resource}/object/d/secret/*"},
    ]
    for path, body in (("/auth/users", {"id": user}), ("/auth/policies", {"id": user, "statement": statements})):
        assert rest("POST", path, json=body).status_code == 201
    assert rest("PUT", f"/auth/users/{user}/policies/{user}").status_code == 201
    keys = rest("POST", f"/auth/users/{user}/credentials").json()
    ask = clients.Rest(SimpleNamespace(url=tarn.url, access_key=keys["access_key_id"], secret_key=keys["secret_access_key"]))
    url = f"/repositories/{repo.id}/refs/main/objects/archive"
    for refused in (ask("GET", url, params={"prefix": "d/"}), ask("POST", url, json={"paths": ["d/a", "d/secret/b"]})):
        assert (refused.status_code, refused.headers["X-Tarn-Error"]) == (401, "insufficient_permissions")
    assert members(ask("POST", url, json={"paths": ["d/a"]})) == [("d/a", b"x")]


def test_an_absolute_name_is_left_out(put, archive):
    put("/etc/passwd", b"evil")
    assert members(archive()) == [("_skipped.txt", b"/etc/passwd\n")]
    assert archive(strict="true").status_code == 400
    assert archive(paths=["/etc/passwd"]).status_code == 400


def test_with_the_command(cli, put, tmp_path):
    for name in ("x/1", "x/2", "x/sub/3"):
        put(name, name.encode())
    cli.run("fs", "archive", f"tarn://{cli.environment['TARN_REPO']}/main/x/", tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as t:
        assert t.getnames() == ["1", "2", "sub/3"]
    piped = cli.run(
        "fs",
        "archive",
        f"tarn://{cli.environment['TARN_REPO']}/main/",
        "--format",
        "zip",
        "--paths-from",
        "-",
        stdin=b"x/sub/3\nx/1\n",
    )
    with zipfile.ZipFile(io.BytesIO(piped.out)) as z:
        assert [(i.filename, z.read(i)) for i in z.infolist()] == [("x/sub/3", b"x/sub/3"), ("x/1", b"x/1")]
    (tmp_path / "list").write_text("sub/3\nnone\n")
    uri = f"tarn://{cli.environment['TARN_REPO']}/main/x/"
    gone = cli.run("fs", "archive", uri, tmp_path / "no.tar", "--paths-from", tmp_path / "list", status=4)
    assert "x/none" in gone.talk and not (tmp_path / "no.tar").exists()
    marked = cli.run("fs", "archive", uri, "--paths-from", tmp_path / "list", "--missing", "mark")
    with tarfile.open(fileobj=io.BytesIO(marked.out)) as t:
        assert t.getnames() == ["x/sub/3", "x/none.missing"]


def test_a_loader_reads_shards_in_order(tarn, put, repo, tmp_path):
    """WebDataset over the URL of an archive: every prefix is a shard, its samples are the objects."""
    import webdataset  # slow to import, for this test alone

    expected = []
    for shard in range(3):
        for n in range(5):
            body = os.urandom(100)
            put(f"train/{shard:03}/{n:05}.bin", body)
            put(f"train/{shard:03}/{n:05}.cls", str(n).encode())
            expected.append((f"{n:05}", body, str(n).encode()))
    commit = repo.branch("main").commit("shards").id
    base = f"{tarn.url}/api/v1/repositories/{repo.id}/refs/{commit}/objects/archive?prefix=train/"
    urls = [f"pipe:curl -sSf -u {tarn.access_key}:{tarn.secret_key} '{base}{shard:03}/'" for shard in range(3)]
    samples = webdataset.WebDataset(urls, shardshuffle=False)
    assert [(s["__key__"], s["bin"], s["cls"]) for s in samples] == expected


def test_a_failure_in_the_middle_breaks_the_connection(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir).copy_data_of(initialised_data).start()
    s3, rest = clients.boto3_client(server), clients.Rest(server)
    assert rest("POST", "/repositories", json={"name": "torn", "storage_namespace": "local://torn"}).status_code == 201
    for n in range(3):
        s3.put_object(Bucket="torn", Key=f"main/{n}", Body=os.urandom(8 * MIB))
    url = f"{rest.url}/repositories/torn/refs/main/objects/archive"
    stats = [rest("GET", "/repositories/torn/refs/main/objects/stat", params={"path": str(n)}).json() for n in range(3)]
    files = {f.name: f for f in (server.data_dir / "objects").rglob("*") if f.is_file()}
    broken = files[stats[1]["physical_address"].rsplit("/", 1)[1]]
    curl = ["curl", "-s", "-u", f"{server.access_key}:{server.secret_key}", "-o", "/dev/null", "-w", "%{size_download}"]
    for damage in (lambda: os.truncate(broken, 4 * MIB), broken.unlink):
        damage()
        for form in ("tar", "zip"):
            torn = subprocess.run([*curl, f"{url}?format={form}"], capture_output=True, check=False)
            assert torn.returncode in (18, 56), torn  # the end came before the announced length
            assert 7 * MIB < int(torn.stdout) < 9 * MIB
    # Bytes that are missing at the beginning are told in words.
    files[stats[0]["physical_address"].rsplit("/", 1)[1]].unlink()
    assert rest("GET", "/repositories/torn/refs/main/objects/archive").status_code == 500
    server.stop()


def rss_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def test_memory_is_bounded_and_a_client_that_leaves_is_let_go(scratch_dir, initialised_data, long_tests):
    """2 GiB when long, else 256 MiB: one object named over and over."""
    server = servers.Tarnd(scratch_dir).copy_data_of(initialised_data).start()
    s3, rest = clients.boto3_client(server), clients.Rest(server)
    assert rest("POST", "/repositories", json={"name": "big", "storage_namespace": "local://big"}).status_code == 201
    block = random.Random(1).randbytes(32 * MIB)
    s3.put_object(Bucket="big", Key="main/block", Body=block)
    times = 66 if long_tests else 8
    url = "/repositories/big/refs/main/objects/archive"
    before = rss_bytes(server.process.pid)
    peak, received, digest = 0, 0, hashlib.md5()
    with rest("POST", url, json={"paths": ["block"] * times}, stream=True) as answer:
        for piece in answer.iter_content(MIB):
            received += len(piece)
            digest.update(piece)
            peak = max(peak, rss_bytes(server.process.pid))
    assert received == int(answer.headers["Content-Length"]) > times * len(block)
    print(f"{received // MIB} MiB in one archive: the server grew by {(peak - before) / MIB:.1f} MiB")
    assert peak - before < 64 * MIB, (before, peak)
    # Clients that leave in the middle, more than there are workers: the next is still served.
    for _ in range(80):
        leaver = socket.create_connection(("127.0.0.1", int(server.url.rsplit(":", 1)[1])))
        leaver.sendall(
            (f"GET /api/v1{url} HTTP/1.1\r\nHost: x\r\nAuthorization: {rest.session.headers['Authorization']}\r\n\r\n").encode()
        )
        assert leaver.recv(1000).startswith(b"HTTP/1.1 200")
        leaver.close()
    start = time.monotonic()
    assert rest("GET", url, params={"prefix": "block"}).status_code == 200
    assert time.monotonic() - start < 20
    assert rss_bytes(server.process.pid) - before < 64 * MIB
    server.stop()
