"""Requests that must be refused: each gets its own error, changes nothing, and the server lives on.

REST answers with lakeFS's JSON, X-Tarn-Error and a request id; S3 answers with its XML.
"""

import base64
import gzip
import hashlib
import http.client
import json
import xml.etree.ElementTree as ElementTree

import clients
import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def raw(tarn):
    return clients.RawS3(tarn)


@pytest.fixture(autouse=True)
def alive(tarn):
    """After each test the server still runs and serves."""
    yield
    assert tarn.alive()
    assert clients.Rest(tarn)("GET", "/config").status_code == 200


@pytest.fixture
def unchanged(tarn, repo):
    """The repository with one committed object; after the test it must be as it was, and so must the store."""
    branch = repo.branch("main")
    branch.object("kept").upload(data=b"kept", mode="wb")
    branch.commit(message="m")

    def state():
        return (
            [(b.id, b.commit_id) for b in listed(tarn, repo)],
            [i.path for i in branch.objects()],
            [c.path for c in branch.uncommitted()],
            [t.id for t in repo.tags()],
        )

    before = state()
    yield repo
    assert state() == before


def listed(tarn, repo):
    page = clients.Rest(tarn)("GET", f"/repositories/{repo.id}/branches?amount=1000").json()["results"]
    return [type("Branch", (), item) for item in page]


def refused(answer, status, message=None, code=None):
    """A lakeFS error body, and what Tarn adds to it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    assert isinstance(answer.json()["message"], str) and answer.json()["message"]
    assert answer.headers["X-Request-Id"]
    assert answer.headers["X-Tarn-Error"]
    if code is not None:
        assert answer.headers["X-Tarn-Error"] == code
    if message is not None:
        assert message in answer.json()["message"]


def s3_refused(answer, status, code):
    got, headers, body = answer
    assert (got, body and ElementTree.fromstring(body).findtext("Code")) == (status, code), body
    assert headers["Content-Type"] == "application/xml"
    root = ElementTree.fromstring(body)
    assert root.tag == "Error" and root.findtext("Message") and root.findtext("RequestId")
    assert headers["x-amz-request-id"] == root.findtext("RequestId")


# Names


@pytest.mark.parametrize("text", ["ab", "Upper", "-lead", "with_underscore", "with.dot", "x" * 64, "", "a/b", "ab\0c", "ä" * 5])
def test_bad_repository_names(rest, text):
    refused(rest("POST", "/repositories", json={"name": text, "storage_namespace": "local://whatever"}), 400)


@pytest.mark.parametrize("text", ["a.b", "a/b", "-lead", "", "a b", "a~1", "a@", "a\0b", "x" * 256])
def test_bad_branch_names(rest, unchanged, text):
    refused(rest("POST", f"/repositories/{unchanged.id}/branches", json={"name": text, "source": "main"}), 400)


@pytest.mark.parametrize("text", ["a..b", "@x", "a/b", "", "a b", "a^1", "a:b", "end.", "end.lock", "a\0b", "a@b", "a$"])
def test_bad_tag_names(rest, unchanged, text):
    refused(rest("POST", f"/repositories/{unchanged.id}/tags", json={"id": text, "ref": "main"}), 400)


@pytest.mark.parametrize(
    "namespace",
    [
        "",
        "local://",
        "ftp://x",
        "local:///etc",
        "local://../up",
        "local://a/../../b",
        "local://a\0b",
        "nonsense",
        "s3://bucket/x",
        "local://.hidden",
    ],
)
def test_bad_namespaces(rest, name, namespace):
    refused(rest("POST", "/repositories", json={"name": name, "storage_namespace": namespace}), 400)
    refused(rest("GET", f"/repositories/{name}"), 404, code="repository_not_found")


def test_namespaces_are_used_once_and_do_not_nest(rest, repo, name):
    for number, (query, inside) in enumerate((("", ""), ("", "/in"), ("?bare=true", ""))):
        body = {"name": f"{name}{number}", "storage_namespace": f"local://{name}{inside}"}
        refused(rest("POST", f"/repositories{query}", json=body), 400, code="namespace_in_use")


# Keys


@pytest.mark.parametrize(
    "path, why",
    [
        ("%00", "NUL"),
        ("a%00b", "NUL"),
        ("%FF", "not UTF-8"),
        ("a%C3%28", "not UTF-8"),
        ("%ED%A0%80", "a surrogate"),
        ("", "empty"),
        ("x" * 1025, "too long"),
    ],
)
def test_bad_keys_over_rest(rest, unchanged, path, why):
    for method, where in [
        ("POST", "branches/main/objects"),
        ("GET", "refs/main/objects/stat"),
        ("DELETE", "branches/main/objects"),
        ("GET", "branches/main/staging/backing"),
    ]:
        answer = rest(method, f"/repositories/{unchanged.id}/{where}?path={path}")
        refused(answer, 400)


@pytest.mark.parametrize(
    "key, code",
    [
        ("a%00b", "InvalidURI"),
        ("%FF", "InvalidURI"),
        ("a%C3%28", "InvalidURI"),
        ("%ZZ", "InvalidURI"),
        ("x" * 1025, "KeyTooLongError"),
    ],
)
def test_bad_keys_over_s3(raw, unchanged, key, code):
    s3_refused(raw("PUT", f"/{unchanged.id}/main/{key}", b"x"), 400, code)


def test_a_missing_path_is_named(rest, unchanged):
    refused(rest("GET", f"/repositories/{unchanged.id}/refs/main/objects"), 400)


@pytest.mark.parametrize("path", ["../../etc/passwd", "a/../../../b", "..", "/etc/passwd", "./x", "a//b"])
def test_keys_are_no_file_paths(tarn, rest, raw, repo, any_paths, path):
    """Dots and slashes mean nothing in a key, and nothing leaves the store's directory."""
    outside = tarn.directory.parent / "etc"
    answer = rest("POST", f"/repositories/{repo.id}/branches/main/objects", params={"path": path}, data=b"x")
    assert answer.status_code == 201
    assert rest("GET", f"/repositories/{repo.id}/refs/main/objects", params={"path": path}).content == b"x"
    assert raw("GET", f"/{repo.id}/main/{path}")[2] == b"x"
    assert not outside.exists()


# References


@pytest.mark.parametrize(
    "ref, status",
    [
        ("nope", 404),
        ("main~99", 404),
        ("main~1~1~1~1", 404),
        ("0123456789abcdef", 404),
        ("main%20x", 400),
        ("~1", 400),
        ("main@1", 400),
        ("main~x", 400),
        ("main@~1", 400),
        ("main^9", 400),
        ("@nope", 404),
        ("main~99999999999999999999", (400, 404)),
    ],
)
def test_references_that_are_not_there(rest, unchanged, ref, status):
    answer = rest("GET", f"/repositories/{unchanged.id}/refs/{ref}/objects/ls")
    refused(answer, answer.status_code if isinstance(status, tuple) and answer.status_code in status else status)


def test_things_that_are_not_there(rest, unchanged):
    base = f"/repositories/{unchanged.id}"
    refused(rest("GET", "/repositories/no-such-repository/branches"), 404, code="repository_not_found")
    refused(rest("GET", f"{base}/branches/nope"), 404, code="branch_not_found")
    refused(rest("GET", f"{base}/tags/nope"), 404, code="tag_not_found")
    refused(rest("GET", f"{base}/commits/nope"), 404, code="ref_not_found")
    refused(rest("GET", f"{base}/refs/main/objects?path=nope"), 404)
    refused(rest("POST", f"{base}/branches/nope/commits", json={"message": "m"}), 404)
    refused(rest("POST", f"{base}/refs/nope/merge/main", json={}), 404)
    refused(rest("POST", f"{base}/branches", json={"name": "x", "source": "nope"}), 404, code="ref_not_found")
    refused(rest("POST", f"{base}/branches/main/objects?path=x&nothing=1", data=b"", headers={"If-Match": '"x"'}), 404)
    refused(rest("POST", f"{base}/branches/main/objects?path=x", data=b"", headers={"If-Match": "*"}), 501)
    refused(rest("GET", "/no/such/endpoint"), 404, code="unknown_endpoint")


@pytest.mark.parametrize(
    "method, target, status, code",
    [
        ("GET", "/{repo}/nope/key", 404, "NoSuchKey"),
        ("GET", "/no-such-repository/main/key", 404, "NoSuchBucket"),
        ("GET", "/{repo}/main/nope", 404, "NoSuchKey"),
        ("PUT", "/{repo}/nope/key", 404, None),
    ],
)
def test_things_that_are_not_there_over_s3(raw, unchanged, method, target, status, code):
    got, _, body = raw(method, target.replace("{repo}", unchanged.id), b"x" if method == "PUT" else b"")
    assert got == status
    found = ElementTree.fromstring(body).findtext("Code")
    assert found == code if code else found.startswith("NoSuch")


# Bodies


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"name":1,"source":"main"}',
        b"\xff\xfe",
        b'{"name":"x","source":"main"} trailing',
        b'{"name":"x","name":"y"',
    ],
)
def test_bodies_that_are_no_branch(rest, unchanged, body):
    refused(rest("POST", f"/repositories/{unchanged.id}/branches", data=body, headers={"Content-Type": "application/json"}), 400)


@pytest.mark.parametrize("piece", [b"[", b'{"a":'])
def test_json_a_hundred_thousand_levels_deep(rest, unchanged, piece):
    refused(
        rest(
            "POST", f"/repositories/{unchanged.id}/branches", data=piece * 100_000, headers={"Content-Type": "application/json"}
        ),
        400,
    )
    metadata = b'{"message":"m","metadata":' + piece * 100_000
    refused(
        rest(
            "POST",
            f"/repositories/{unchanged.id}/branches/main/commits",
            data=metadata,
            headers={"Content-Type": "application/json"},
        ),
        400,
    )


def test_a_compressed_body_is_not_unpacked(rest, repo):
    bomb = gzip.compress(b"0" * 10_000_000)
    path = f"/repositories/{repo.id}/branches/main/objects?path=bomb"
    assert rest("POST", path, data=bomb, headers={"Content-Encoding": "gzip"}).json()["size_bytes"] == len(bomb)
    assert rest("GET", f"/repositories/{repo.id}/refs/main/objects?path=bomb").content == bomb


def test_a_huge_json_body_is_refused(rest, unchanged):
    answer = rest(
        "POST",
        f"/repositories/{unchanged.id}/branches/main/commits",
        data=b'{"message":"' + b"m" * (64 << 20) + b'"}',
        headers={"Content-Type": "application/json"},
    )
    refused(answer, answer.status_code if answer.status_code in (400, 413) else 413)


def test_a_body_that_breaks_off_is_not_kept(tarn, raw, rest, unchanged):
    connection = http.client.HTTPConnection(tarn.url.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", f"/api/v1/repositories/{unchanged.id}/branches/main/objects?path=short")
    connection.putheader("Authorization", rest.session.headers["Authorization"])
    connection.putheader("Content-Length", "1000")
    connection.endheaders()
    connection.send(b"x" * 100)
    connection.close()
    try:
        status, _, _ = raw("PUT", f"/{unchanged.id}/main/short", b"x" * 100, length=1000)
        assert status == 400
    except (http.client.HTTPException, ConnectionError):
        pass  # closing the connection is an answer too


def test_a_body_that_is_too_long_is_another_request(raw, repo):
    """Bytes behind Content-Length are not part of the object, and are not parsed as a good request."""
    status, _, _ = raw("PUT", f"/{repo.id}/main/long", b"x" * 10, payload_hash=hashlib.sha256(b"x" * 5).hexdigest(), length=5)
    assert status == 200
    assert raw("GET", f"/{repo.id}/main/long")[2] == b"x" * 5


def md5_of(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()


@pytest.mark.parametrize(
    "headers, payload_hash, code",
    [
        ({"Content-MD5": md5_of(b"other")}, None, "BadDigest"),
        ({"Content-MD5": "not base64"}, None, "InvalidDigest"),
        ({"Content-MD5": ""}, None, "InvalidDigest"),
        ({"x-amz-checksum-crc32": "AAAAAA=="}, None, "BadDigest"),
        ({"x-amz-checksum-sha256": base64.b64encode(b"\0" * 32).decode()}, None, "BadDigest"),
        ({"x-amz-checksum-crc32": "short"}, None, "InvalidRequest"),
        ({}, hashlib.sha256(b"other").hexdigest(), "XAmzContentSHA256Mismatch"),
    ],
)
def test_wrong_digests(raw, unchanged, headers, payload_hash, code):
    s3_refused(raw("PUT", f"/{unchanged.id}/main/key", b"body", headers=headers, payload_hash=payload_hash), 400, code)


BOMB = b"""<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><Delete><Object><Key>&c;</Key></Object></Delete>"""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"<Delete>",
        b"<Other/>",
        b"<Delete></Delete>",
        BOMB,
        b"<a>" * 100_000,
        b"\xff\xfe",
        b"<Delete>" + b"<Object><Key>k</Key></Object>" * 1001 + b"</Delete>",
        b'<!DOCTYPE d SYSTEM "file:///etc/passwd"><Delete><Object><Key>&d;</Key></Object></Delete>',
    ],
    ids=["empty", "open", "unclosed", "other", "nothing", "bomb", "deep", "no-text", "many", "external"],
)
def test_xml_that_is_no_delete(raw, unchanged, body):
    headers = {"Content-MD5": md5_of(body)}
    s3_refused(raw("POST", f"/{unchanged.id}?delete", body, headers=headers), 400, "MalformedXML")


def test_an_endless_xml_body_is_refused(raw, unchanged):
    body = b"<Delete>" + b"<Object><Key>" + b"k" * (8 << 20) + b"</Key></Object></Delete>"
    status, _, _ = raw("POST", f"/{unchanged.id}?delete", body, headers={"Content-MD5": md5_of(body)})
    assert status in (400, 413)


# Ranges


@pytest.mark.parametrize(
    "range_, status",
    [
        ("bytes=4-", 416),
        ("bytes=100-200", 416),
        ("bytes=-0", 416),
        ("bytes=2-1", 416),
        ("bytes=0-0,2-3", 416),
        ("items=0-1", 400),
        ("bytes=x", 400),
    ],
)
def test_ranges_outside_over_rest(rest, unchanged, range_, status):
    answer = rest("GET", f"/repositories/{unchanged.id}/refs/main/objects?path=kept", headers={"Range": range_})
    assert answer.status_code in ({status, 416} if status == 400 else {status})
    assert answer.headers["X-Request-Id"]


def test_ranges_outside_over_s3(raw, unchanged):
    answer = raw("GET", f"/{unchanged.id}/main/kept", headers={"Range": "bytes=4-"})
    s3_refused(answer, 416, "InvalidRange")
    assert answer[1]["Content-Range"] == "bytes */4"
    assert ElementTree.fromstring(answer[2]).findtext("ActualObjectSize") == "4"
    assert raw("GET", f"/{unchanged.id}/main/kept", headers={"Range": "bytes=nonsense"})[::2] == (200, b"kept")


# Authentication


def test_wrong_credentials_over_rest(tarn, unchanged):
    nobody = clients.Rest(tarn, credentials=False)
    target = f"/repositories/{unchanged.id}"
    pair = base64.b64encode(f"{tarn.access_key}:wrong".encode()).decode()
    for code, *values in (
        ("no_credentials", None, "Basic", "Basic !!!", "Basic OjoK", "Digest x"),
        ("wrong_secret_key", f"Basic {pair}"),
        ("invalid_token", "Bearer abc", "Bearer a.b.c"),
    ):
        for header in values:
            headers = {"Authorization": header} if header else {}
            refused(nobody("DELETE", target, headers=headers), 401, code=code)


@pytest.mark.parametrize("shift", [-3600, 3600])
def test_clocks_apart(raw, unchanged, shift):
    status, _, body = raw("PUT", f"/{unchanged.id}/main/key", b"x", time_shift=shift)
    assert (status, ElementTree.fromstring(body).findtext("Code")) == (403, "RequestTimeTooSkewed")


def test_wrong_signatures(tarn, raw, unchanged):
    stranger = type("Stranger", (), {"url": tarn.url, "access_key": "AKIANOBODY", "secret_key": tarn.secret_key})
    s3_refused(clients.RawS3(stranger)("GET", f"/{unchanged.id}/main/kept"), 403, "InvalidAccessKeyId")
    forger = type("Forger", (), {"url": tarn.url, "access_key": tarn.access_key, "secret_key": "wrong"})
    s3_refused(clients.RawS3(forger)("GET", f"/{unchanged.id}/main/kept"), 403, "SignatureDoesNotMatch")
    status, _, _ = raw("GET", f"/{unchanged.id}/main/kept", headers={"Authorization": "AWS4-HMAC-SHA256 nonsense"}, sign=False)
    assert status in (400, 403)


# Operations


@pytest.mark.parametrize(
    "method, target",
    [
        ("GET", "/{repo}/main/kept?torrent"),
        ("PUT", "/{repo}/main/kept?legal-hold"),
        ("PUT", "/{repo}/main/kept?retention"),
        ("POST", "/{repo}/main/kept?select&select-type=2"),
        ("POST", "/{repo}/main/kept?restore"),
        ("PUT", "/{repo}?replication"),
        ("PUT", "/{repo}/main/kept?nosuchthing"),
    ],
)
def test_operations_that_nobody_offers(raw, unchanged, method, target):
    s3_refused(raw(method, target.replace("{repo}", unchanged.id)), 501, "NotImplemented")


@pytest.mark.parametrize("method", ["PATCH", "TRACE", "CONNECT", "NONSENSE", "OPTIONS"])
def test_methods_that_nobody_offers(tarn, unchanged, method):
    connection = http.client.HTTPConnection(tarn.url.removeprefix("http://"), timeout=20)
    connection.request(method, f"/{unchanged.id}/main/kept")
    assert 400 <= connection.getresponse().status < 600
    connection.close()


@pytest.mark.parametrize(
    "text",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 5_000 + b"\r\n",
    ],
)
def test_bytes_that_are_no_request(tarn, text):
    import socket

    host, port = tarn.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as connection:
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
        except ConnectionError:
            answer = b""
    assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), answer


@pytest.mark.parametrize("amount", ["1001", "-2", "abc", "99999999999999999999"])
def test_amounts_outside(rest, amount):
    refused(rest("GET", f"/repositories?amount={amount}"), 400)


# Imports


def import_error(repo, url, kind="prefix"):
    """The message of the job's error, or of the refusal."""
    job = repo.branch("main").import_data(commit_message="m")
    getattr(job, kind)(url, destination="in/")
    try:
        status = job.run()
    except Exception as error:  # refused at once, or by the wait
        return str(error)
    assert status.error is not None and not status.completed
    return status.error.message


@pytest.mark.parametrize(
    "url",
    [
        "local:///etc/",
        "local:///",
        "local:///no/such/dir/",
        "local://relative/",
        "ftp://x/y",
        "nonsense",
        "s3://no-such-bucket/x",
        "",
    ],
)
def test_imports_from_forbidden_places(unchanged, url):
    assert import_error(unchanged, url)


def test_imports_cannot_climb_out(tarn, unchanged):
    assert import_error(unchanged, f"local://{tarn.import_root}/../data/")
    assert import_error(unchanged, f"local://{tarn.import_root}/%2e%2e/data/")


def test_imports_do_not_follow_links_out(tarn, repo, name):
    source = tarn.import_root / name
    source.mkdir()
    (source / "link").symlink_to("/etc/passwd")
    (source / "good").write_text("good")
    job = repo.branch("main").import_data(commit_message="m").prefix(f"local://{source}/", destination="")
    job.run()
    assert [item.path for item in repo.ref("main").objects()] == ["good"]


def test_imports_of_what_is_not_there(tarn, unchanged):
    assert import_error(unchanged, f"local://{tarn.import_root}/absent/")
    assert import_error(unchanged, f"local://{tarn.import_root}/absent", kind="object")


def test_imports_of_a_missing_bucket(tarn_s3, name):
    import lakefs

    repo = lakefs.repository(name, client=clients.lakefs_client(tarn_s3)).create(storage_namespace=f"s3://lake/{name}")
    assert import_error(repo, "s3://no-such-bucket/x/")
    assert list(repo.ref("main").objects()) == []
    with pytest.raises(ClientError):
        clients.boto3_client(tarn_s3).head_object(Bucket=name, Key="main/in/x")


def test_an_import_of_the_repository_itself_is_refused(rest, unchanged):
    namespace = unchanged.properties.storage_namespace
    body = {"paths": [{"type": "common_prefix", "path": f"{namespace}/", "destination": "x/"}], "commit": {"message": "m"}}
    answer = rest("POST", f"/repositories/{unchanged.id}/branches/main/import", data=json.dumps(body))
    refused(answer, 400, code="invalid_import_source")


@pytest.mark.parametrize("name", ["admin ", " admin", "\u202enimda", "ad\u200bmin", "admin\u00a0"])
def test_names_that_pass_for_others(tarn, name):
    rest = clients.Rest(tarn)
    statement = [{"effect": "allow", "resource": "*", "action": ["fs:ReadObject"]}]
    for path, body in [
        ("/auth/users", {"id": name}),
        ("/auth/groups", {"id": name}),
        ("/auth/policies", {"id": name, "statement": statement}),
    ]:
        refused(rest("POST", path, json=body), 400, "name: must not", "invalid_argument")
