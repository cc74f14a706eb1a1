"""A local store that somebody spoiled from outside: REST and S3 say whose fault it is, and the log says why."""

import hashlib
import os
import re
import resource
import shutil

import clients
import pytest
import requests
import servers
from s3_requests import rest, signed

ACCOUNT = "nobody"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run the server as an account that files can be kept from")


@pytest.fixture
def server(scratch_dir, initialised_data):
    started = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    yield started
    started.stop()


def lake(server, name):
    """The folder of a new repository with some objects, the first of them "old"."""
    rest(server, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})
    for key in ("old", "b", "c"):
        assert signed(server, "PUT", f"/{name}/main/{key}", body=b"before").status == 200
    return server.objects_dir / name


def over_rest(server, method, path, **options):
    return requests.request(
        method, f"{server.url}/api/v1{path}", auth=(server.access_key, server.secret_key), timeout=60, **options
    )


def puts(server, name, key):
    """(status, code, message) of writing over REST and over S3."""
    answer = over_rest(
        server,
        "POST",
        f"/repositories/{name}/branches/main/objects?path={key}",
        data=b"x",
        headers={"Content-Type": "application/octet-stream"},
    )
    yield answer.status_code, answer.json().get("code"), answer.json().get("message")
    answer = signed(server, "PUT", f"/{name}/main/{key}-s3", body=b"x")
    yield answer.status, *(answer.xml.findtext(part) if answer.body else None for part in ("Code", "Message"))


def gets(server, name, key="old"):
    answer = over_rest(server, "GET", f"/repositories/{name}/refs/main/objects?path={key}")
    yield answer.status_code, answer.json().get("code") if not answer.ok else None
    answer = signed(server, "GET", f"/{name}/main/{key}")
    yield answer.status, answer.xml.findtext("Code") if answer.status != 200 else None


def logged(server, text):
    return [line for line in server.process.log.read_text().splitlines() if text in line]


def by_a_file(place):
    shutil.rmtree(place)
    place.write_bytes(b"")


def by_a_link(place):
    moved = place.with_name(place.name + "-moved")
    place.rename(moved)
    place.symlink_to(moved)


@pytest.mark.parametrize("below", [".", "data"])
@pytest.mark.parametrize("replaced, cause", [(by_a_file, "a file"), (by_a_link, "a symbolic link")])
def test_what_stands_in_the_place_of_a_folder_is_the_stores_damage(server, replaced, cause, below):
    place = lake(server, "lake") / below
    replaced(place)
    for n in range(3):  # a folder that was known and one that was not
        (status, code, message), (s3_status, s3_code, s3_message) = puts(server, "lake", f"new{n}")
        assert (status, code, s3_status, s3_code) == (503, "store_damaged", 503, "ServiceUnavailable")
        assert cause in message and cause in s3_message
    assert any(" error request " in line and "store_damaged" in line for line in logged(server, "operation=uploadObject"))
    # The names that were not acknowledged are not there, and the branch goes on.
    listed = rest(server, "GET", "/repositories/lake/refs/main/objects/ls")["results"]
    assert sorted(item["path"] for item in listed) == ["b", "c", "old"]
    place.unlink()
    assert [status for status, _, _ in puts(server, "lake", "after")] == [201, 200]
    assert [status for status, _ in gets(server, "lake", "after")] == [200, 200]


def test_a_folder_that_was_moved_away_takes_no_more_writes(server):
    """As a restore does it: an acknowledged object would else be where nobody looks."""
    place = lake(server, "lake")
    place.rename(place.with_name("aside"))
    assert [status for status, _, _ in puts(server, "lake", "new")] == [201, 200]
    assert [status for status, _ in gets(server, "lake", "new")] == [200, 200]
    assert list(gets(server, "lake", "old")) == [(500, "bytes_missing"), (500, "InternalError")]
    shutil.copytree(place.with_name("aside"), place, dirs_exist_ok=True)
    assert [status for status, _ in gets(server, "lake", "old")] == [200, 200]


def corruptions(server):
    lines = requests.get(server.url + "/metrics", timeout=10).text.splitlines()
    return sum(float(line.split()[1]) for line in lines if line.startswith("tarn_object_corruption_total"))


def append(file):
    with file.open("ab") as stream:
        stream.write(b"more")


@pytest.mark.parametrize(
    "damage, reason",
    [(lambda file: os.truncate(file, 3), "object_corrupt"), (append, "object_corrupt"), (os.remove, "bytes_missing")],
    ids=["cut", "longer", "removed"],
)
def test_lost_bytes_are_no_fault_of_the_client(server, damage, reason):
    """Readers of stored bytes: GETs of whole objects and ranges, over both APIs, archives, copies of bytes and hooks."""
    place = lake(server, "lake")
    assert signed(server, "PUT", "/lake/main/_lakefs_actions/a.yaml", body=b"name: a\non: {}\n" * 2).status == 200
    upload = signed(server, "POST", "/lake/main/joined?uploads").xml.findtext("UploadId")
    for file in [path for path in (place / "data").rglob("*") if path.is_file()]:
        file.chmod(0o600)
        damage(file)
    rest_object = "/repositories/lake/refs/main/objects"
    readers = {
        "rest": lambda: over_rest(server, "GET", f"{rest_object}?path=old"),
        "rest range": lambda: requests.get(
            f"{server.url}/api/v1{rest_object}?path=old",
            headers={"Range": "bytes=1-5"},
            auth=(server.access_key, server.secret_key),
            timeout=60,
        ),
        "archive": lambda: over_rest(server, "GET", f"{rest_object}/archive"),
        "commit with hooks": lambda: over_rest(server, "POST", "/repositories/lake/branches/main/commits", json={"message": "m"}),
        "s3": lambda: signed(server, "GET", "/lake/main/old"),
        "s3 range": lambda: signed(server, "GET", "/lake/main/old", {"Range": "bytes=1-5"}),
        "s3 copy with a checksum": lambda: signed(
            server, "PUT", "/lake/main/copy", {"x-amz-copy-source": "/lake/main/old", "x-amz-checksum-algorithm": "SHA256"}
        ),
        "s3 part of a copy": lambda: signed(
            server,
            "PUT",
            f"/lake/main/joined?partNumber=1&uploadId={upload}",
            {"x-amz-copy-source": "/lake/main/old", "x-amz-copy-source-range": "bytes=1-5"},
        ),
    }
    for name, read in readers.items():
        before = corruptions(server)
        answer = read()
        status = answer.status if hasattr(answer, "status") else answer.status_code
        assert (name, status, answer.headers.get("x-tarn-error")) == (name, 500, reason)
        assert corruptions(server) > before, name
    assert len(logged(server, " error object_corrupt ")) >= len(readers)
    assert [status for status, _ in gets(server, "lake", "old")] == [500, 500]
    assert [status for status, _, _ in puts(server, "lake", "old")] == [201, 200]


def test_a_store_that_is_gone_is_no_missing_bucket(server):
    lake(server, "lake")
    shutil.rmtree(server.objects_dir)
    assert [(status, code) for status, code, _ in puts(server, "lake", "new")] == [
        (503, "bucket_not_found"),
        (503, "ServiceUnavailable"),
    ]
    assert list(gets(server, "lake")) == [(503, "bucket_not_found"), (503, "ServiceUnavailable")]
    answer = requests.get(server.url + "/_ready", timeout=10)
    assert (answer.status_code, "store local: bucket_not_found" in answer.text) == (503, True)
    assert logged(server, "it was removed")


def test_a_server_out_of_descriptors_says_so_and_goes_on(server):
    lake(server, "lake")
    with requests.Session() as session, requests.Session() as s3:  # the connections are there before
        session.auth = (server.access_key, server.secret_key)
        objects = f"{server.url}/api/v1/repositories/lake"

        def write(key):
            return session.post(
                f"{objects}/branches/main/objects?path={key}",
                data=b"x",
                timeout=60,
                headers={"Content-Type": "application/octet-stream"},
            )

        def write_s3(target):
            head = {"Host": server.listen, "Content-Type": "text/plain"}
            sent = clients.RawS3(server).signature("PUT", target, head, hashlib.sha256(b"x").hexdigest(), 0)
            return s3.put(server.url + target, data=b"x", headers={**head, **sent}, timeout=60)

        assert (write("a").status_code, write_s3("/lake/main/b").status_code) == (201, 200)
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            for answer in (write("new"), session.get(f"{objects}/refs/main/objects?path=a", timeout=60)):
                assert (answer.status_code, answer.json()["code"]) == (503, "store_out_of_descriptors")
            answer = write_s3("/lake/main/new")
            assert answer.status_code == 503 and "<Code>ServiceUnavailable</Code>" in answer.text
            assert answer.headers["X-Tarn-Error"] == "store_out_of_descriptors"
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert write("new").status_code == 201
    assert [status for status, _ in gets(server, "lake", "new")] == [200, 200]


@as_root
def test_what_the_server_may_not_do_is_not_what_the_caller_may_not_do(scratch_dir):
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_RUN_AS": ACCOUNT})
    shutil.chown(server.directory, ACCOUNT)
    server.start()
    try:
        place = lake(server, "lake")
        files = [path for path in (place / "data").rglob("*") if path.is_file()]
        for path in files:
            shutil.chown(path, "root", "root")
            path.chmod(0o400)
        assert list(gets(server, "lake")) == [(503, "store_not_readable"), (503, "ServiceUnavailable")]
        for path in [place, *(path for path in place.rglob("*") if path.is_dir())]:
            shutil.chown(path, "root", "root")
            path.chmod(0o755)
        answers = list(puts(server, "lake", "new"))
        assert [(status, code) for status, code, _ in answers] == [(503, "store_not_writable"), (503, "ServiceUnavailable")]
        assert all("may not write" in message for _, _, message in answers)
        assert re.search("error store_not_readable .*Permission denied", "\n".join(logged(server, "store_not_readable")))
        for path in [place, *place.rglob("*")]:
            shutil.chown(path, ACCOUNT)
        assert [status for status, _, _ in puts(server, "lake", "new")] == [201, 200]
        assert [status for status, _ in gets(server, "lake")] == [200, 200]
    finally:
        server.stop()
