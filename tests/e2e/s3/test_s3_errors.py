"""Failures over S3: always XML, always S3's codes, and the connection survives."""

import http.client
import socket
import time
import urllib.parse

import pytest
import s3_requests
import servers
from s3_requests import send, sign, signed, with_md5


@pytest.fixture
def repo(repo):
    return repo.id


def test_every_failure_is_an_xml_document(tarn, repo):
    for method, target, expected in [
        ("GET", f"/{repo}/main/absent", (404, "NoSuchKey")),
        ("GET", "/absent-repository/main/a", (404, "NoSuchBucket")),
        ("GET", "/$extremelyunlikelytoexist$", (404, "NoSuchBucket")),
        ("GET", f"/{repo}/main/a?newFeature", (501, "NotImplemented")),
        ("PUT", f"/{repo}/main/a?newFeature=1", (501, "NotImplemented")),
        ("POST", f"/{repo}/main/a?select&select-type=2", (501, "NotImplemented")),
        ("OPTIONS", f"/{repo}/main/a", (400, "BadRequest")),
        ("PATCH", f"/{repo}/main/a", (405, "MethodNotAllowed")),
        ("GET", f"/{repo}/main/%zz", (400, "InvalidURI")),
        ("GET", f"/{repo}/main/a%00b", (400, "InvalidURI")),
        ("GET", f"/{repo}/main/%ff", (400, "InvalidURI")),
        ("GET", f"/{repo}/main/a?versionId=latest", (400, "InvalidArgument")),
        ("GET", f"/{repo}/not a ref/x".replace(" ", "%20"), (404, "NoSuchKey")),
        ("GET", "/api/v1/main", (404, "ErrNoSuchBucketPossibleAPIEndpoint")),
        ("POST", f"/{repo}?delete", (400, "InvalidRequest")),
        ("GET", f"/{repo}/main/a?versionId=", (400, "InvalidArgument")),
        ("DELETE", f"/{repo}/main/a?versionId=", (400, "InvalidArgument")),
    ]:
        answer = signed(tarn, method, target)
        assert (answer.status, answer.code) == expected, (method, target)
        assert answer.headers["content-type"] == "application/xml"
        assert answer.xml.findtext("Message")
        assert answer.xml.findtext("Resource") == target.partition("?")[0]
        assert answer.xml.findtext("RequestId") == answer.headers["x-amz-request-id"]
        assert answer.headers["x-amz-id-2"] and answer.headers["x-amz-bucket-region"] == "us-east-1"


def test_a_failed_head_has_no_body(tarn, repo):
    answer = signed(tarn, "HEAD", f"/{repo}/main/absent")
    assert (answer.status, answer.body) == (404, b"")


def test_an_unsigned_request_is_told_to_sign(tarn, repo):
    answer = send(tarn, "GET", f"/{repo}/main/a?AWSAccessKeyId=x")
    assert answer.status == 403 and answer.code == "AccessDenied"


def test_a_read_only_repository_says_so(tarn, name):
    s3_requests.rest(
        tarn,
        "POST",
        "/repositories",
        json={"name": name, "storage_namespace": f"local://{name}", "default_branch": "main", "read_only": True},
    )
    for method, target in [("PUT", f"/{name}/main/a"), ("DELETE", f"/{name}/main/a"), ("POST", f"/{name}/main/a?uploads")]:
        answer = signed(tarn, method, target)
        assert (answer.status, answer.code) == (403, "AccessDenied"), method
        assert "read-only" in answer.xml.findtext("Message")


def test_an_object_changed_at_its_source_is_gone(tarn, repo):
    source = tarn.import_root / repo
    source.mkdir()
    (source / "a").write_bytes(b"as imported")
    started = s3_requests.rest(
        tarn,
        "POST",
        f"/repositories/{repo}/branches/main/import",
        json={
            "paths": [{"type": "common_prefix", "path": f"local://{source}/", "destination": "in/"}],
            "commit": {"message": "import"},
        },
    )
    deadline = time.monotonic() + 60
    while not (status := s3_requests.rest(tarn, "GET", f"/repositories/{repo}/branches/main/import?id={started['id']}"))[
        "completed"
    ]:
        assert time.monotonic() < deadline, status
        time.sleep(0.05)
    target = f"/{repo}/main/in/a"
    assert signed(tarn, "GET", target).body == b"as imported"
    (source / "a").write_bytes(b"changed since, and longer")
    answer = signed(tarn, "GET", target)
    assert (answer.status, answer.code, answer.headers["x-tarn-error"]) == (410, "SourceChanged", "source_changed")
    (source / "a").unlink()
    answer = signed(tarn, "GET", target)
    assert (answer.status, answer.headers["x-tarn-error"]) == (410, "bytes_missing") and answer.code == "ObjectBytesMissing"


def test_a_bucket_may_stand_in_the_host(scratch_dir, initialised_data):
    server = (
        servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_S3_HOSTS": "s3.test,deeper.s3.test"})
        .copy_data_of(initialised_data)
        .start()
    )
    try:
        s3_requests.rest(
            server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake", "default_branch": "main"}
        )
        for host in ["lake.s3.test", "lake.deeper.s3.test:8000", "LAKE.S3.TEST"]:
            assert signed(server, "PUT", "/main/a", {"Host": host}, b"x").status == 200
            assert signed(server, "GET", "/main/a", {"Host": host}).body == b"x"
            listed = signed(server, "GET", "/?list-type=2&prefix=main%2F", {"Host": host})
            assert [k.text for k in listed.xml.iter("Key")] == ["main/a"]
        assert signed(server, "GET", "/lake/main/a", {"Host": "s3.test"}).body == b"x"
        assert send(server, "GET", "/main/a", {"Host": "lake.s3.test"}).code == "AccessDenied"
        assert signed(server, "GET", "/main/a", {"Host": "evils3.test"}).code == "NoSuchBucket"
        # A request without proof is refused as S3 does, a write before its body is asked for.
        for given, expected in [
            ({}, (403, "AccessDenied")),
            ({"Authorization": ""}, (403, "AccessDenied")),
            ({"Authorization": "Bearer x"}, (403, "AccessDenied")),
            ({"Authorization": "unreadable"}, (403, "AccessDenied")),
            ({"Authorization": "AWS HAHAHA"}, (400, "InvalidArgument")),
            ({"Authorization": "AWS4-HMAC-SHA256 x"}, (400, "AuthorizationHeaderMalformed")),
        ]:
            answer = send(server, "GET", "/main/a", {"Host": "lake.s3.test", **given})
            assert (answer.status, answer.code) == expected, given
            parts = urllib.parse.urlsplit(server.url)
            with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
                connection.sendall(
                    "".join(
                        [
                            "PUT /main/b HTTP/1.1\r\nHost: lake.s3.test\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n",
                            *(f"{name}: {value}\r\n" for name, value in given.items()),
                            "\r\n",
                        ]
                    ).encode()
                )
                assert connection.recv(4096).startswith(f"HTTP/1.1 {expected[0]} ".encode()), given
    finally:
        server.stop()


def test_the_connection_survives_failures(tarn, repo):
    parts = urllib.parse.urlsplit(tarn.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    local = None
    for method, target, headers, status in [
        ("GET", f"/{repo}/main/absent", {}, 404),
        ("HEAD", f"/{repo}/main/absent", {}, 404),
        ("GET", "/absent-repository/x", {}, 404),
        ("PUT", f"/{repo}/main/a", {}, 200),
        ("PUT", f"/{repo}/main/a", {"If-None-Match": "*"}, 412),
        ("GET", f"/{repo}/main/a", {"Range": "bytes=5-"}, 416),
        ("GET", f"/{repo}/main/a", {}, 200),
    ]:
        connection.request(method, target, headers=sign(tarn, method, target, headers), body=b"" if method == "PUT" else None)
        response = connection.getresponse()
        response.read()
        assert response.status == status, target
        local = local or connection.sock.getsockname()
        assert connection.sock is not None and connection.sock.getsockname() == local
    connection.close()


@pytest.mark.parametrize(
    "key,headers,status",
    [("nobranch/a", {}, b"404"), ("main/taken", {"If-None-Match": "*"}, b"412"), ("main/a", {"If-Match": "x"}, b"404")],
)
def test_refusals_come_before_the_body_is_asked_for(tarn, repo, key, headers, status):
    signed(tarn, "PUT", f"/{repo}/main/taken", body=b"x")
    parts = urllib.parse.urlsplit(tarn.url)
    target = f"/{repo}/{key}"
    fields = sign(tarn, "PUT", target, {**headers, "Expect": "100-continue"})
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        head = (
            f"PUT {target} HTTP/1.1\r\nContent-Length: 1000000\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n"
        )
        connection.sendall(head.encode())
        assert connection.recv(4096).split(b" ")[1] == status


def test_the_body_is_asked_for_when_nothing_speaks_against_it(tarn, repo):
    parts = urllib.parse.urlsplit(tarn.url)
    target = f"/{repo}/main/a"
    fields = sign(tarn, "PUT", target, {"Expect": "100-continue"})
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        head = f"PUT {target} HTTP/1.1\r\nContent-Length: 4\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n"
        connection.sendall(head.encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 100")
        connection.sendall(b"body")
        assert b" 200 " in connection.recv(4096)


def test_entity_bombs_are_refused(tarn, repo):
    bomb = (
        b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa">'
        b'<!ENTITY b "&a;&a;&a;&a;">]><Delete><Object><Key>&b;</Key></Object></Delete>'
    )
    assert signed(tarn, "POST", f"/{repo}?delete", with_md5(bomb), bomb).code == "MalformedXML"
    large = b"<Delete>" + b" " * (3 * 1024 * 1024) + b"</Delete>"
    assert signed(tarn, "POST", f"/{repo}?delete", with_md5(large), large).code == "EntityTooLarge"


def test_another_owner_is_refused(tarn, repo):
    answer = signed(tarn, "GET", f"/{repo}", {"x-amz-expected-bucket-owner": "123456789012"})
    assert (answer.status, answer.code) == (403, "AccessDenied")
