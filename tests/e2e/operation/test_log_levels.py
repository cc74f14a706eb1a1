"""The level of a request's line in the log: by whose fault it failed."""

import base64
import re
import time

import clients
import pytest
import requests
import servers
from botocore.exceptions import ClientError
from s3_requests import rest, send, signed


def level_of(server, request_id):
    """The level of the one line about a request."""
    lines = [
        line for line in server.process.log.read_text().splitlines() if f"request_id={request_id}" in line and " request " in line
    ]
    assert len(lines) == 1, lines
    return re.search(r" (debug|info|warn|error) ", lines[0]).group(1)


def test_what_the_caller_brought_about_is_no_error_of_the_server(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    try:
        rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
        statuses = []
        for answer in [
            signed(server, "PUT", "/lake/main/a", body=b"x"),
            signed(server, "GET", "/lake/main/absent"),
            signed(server, "PUT", "/lake?policy"),
            signed(server, "PUT", "/lake/main/a", {"x-amz-grant-read": "x"}),
            send(server, "GET", "/lake/main/a?X-Amz-Signature=x"),
            signed(server, "PUT", "/lake/main/a", {"If-None-Match": "*"}, b"y"),
        ]:
            statuses.append(answer.status)
            assert level_of(server, answer.headers["x-amz-request-id"]) == "info", answer
        assert statuses == [200, 404, 501, 501, 400, 412]
        for path, status in [("/repositories/absent", 404), ("/repositories", 401), ("/oidc/callback", 501)]:
            auth = None if status == 401 else (server.access_key, server.secret_key)
            answer = requests.get(server.url + "/api/v1" + path, auth=auth, timeout=60)
            assert answer.status_code == status
            assert level_of(server, answer.headers["X-Request-Id"]) == "info", path
    finally:
        server.stop()


def test_a_refused_sign_in_is_a_warning(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    try:
        stranger = clients.boto3_client(server, user_agent="stranger/1")
        stranger._request_signer._credentials.secret_key = "another secret"
        with pytest.raises(ClientError) as refused:
            stranger.list_buckets()
        assert level_of(server, refused.value.response["ResponseMetadata"]["RequestId"]) == "warn"
        for ask in [
            lambda: requests.get(server.url + "/api/v1/repositories", auth=(server.access_key, "wrong"), timeout=60),
            lambda: requests.post(
                server.url + "/api/v1/auth/login",
                timeout=60,
                json={"access_key_id": server.access_key, "secret_access_key": "wrong"},
            ),
        ]:
            answer = ask()
            assert answer.status_code == 401
            assert level_of(server, answer.headers["X-Request-Id"]) == "warn"
        lines = [line for line in server.process.log.read_text().splitlines() if "stranger/1" in line]
        assert len(lines) == 1 and "address=127.0.0.1" in lines[0] and 'user=""' in lines[0]
    finally:
        server.stop()


def failed(ask):
    """The first answer of a server whose database was killed that says so."""
    deadline = time.monotonic() + 60
    while (answer := ask()).status < 500:
        assert time.monotonic() < deadline
    return answer


def test_what_the_server_lacks_is_its_error(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    try:
        rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
        basic = base64.b64encode(f"{server.access_key}:{server.secret_key}".encode()).decode()
        for ask, name in [
            (lambda: signed(server, "GET", "/lake/main/a"), "x-amz-request-id"),
            (lambda: send(server, "GET", "/api/v1/repositories", {"Authorization": f"Basic {basic}"}), "x-request-id"),
        ]:
            server.kill_postgres()
            assert level_of(server, failed(ask).headers[name]) == "error"
            server.process.wait_until(lambda ask=ask: ask().status < 500, "the database is back")
    finally:
        server.stop()
