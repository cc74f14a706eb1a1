"""Answers to clients when a user's share of the server is full, and the counters of it."""

import socket
import threading
import time
import types
import urllib.parse

import boto3
import pytest
import requests
import servers
from botocore.config import Config
from s3_requests import REGION, rest, sign, signed

REPOSITORY = "overload"
# A bound of a bucket of tarn_http_queue_wait_seconds.
LONG_WAIT_SECONDS = 0.3


@pytest.fixture
def narrow(scratch_dir, initialised_data):
    """One worker a user, one request that may wait for it."""
    server = (
        servers.Tarnd(scratch_dir / "narrow", environment={"TARN_HTTP_WORKERS": 1, "TARN_HTTP_QUEUED_PER_SHARE_MAX": 1})
        .copy_data_of(initialised_data)
        .start()
    )
    rest(server, "POST", "/repositories", json={"name": REPOSITORY, "storage_namespace": f"local://{REPOSITORY}"})
    rest(server, "POST", f"/repositories/{REPOSITORY}/branches/main/objects?path=k", data=b"bytes")
    yield server
    server.stop()


def another_user(server):
    rest(server, "POST", "/auth/users", json={"id": "other"})
    rest(server, "PUT", "/auth/groups/Admins/members/other")
    keys = rest(server, "POST", "/auth/users/other/credentials")
    return types.SimpleNamespace(url=server.url, access_key=keys["access_key_id"], secret_key=keys["secret_access_key"])


class HalfAnUpload:
    """Holds a worker until it is finished."""

    def __init__(self, server, target):
        parts = urllib.parse.urlsplit(server.url)
        headers = {**sign(server, "PUT", target), "Content-Length": "2"}
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=30)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"PUT {target} HTTP/1.1\r\n{lines}\r\nx".encode())

    def finish(self):
        self.socket.sendall(b"y")
        answer = self.socket.recv(65536)
        self.socket.close()
        return answer


def metrics(server):
    """/metrics as a dictionary of lines to values; of servers that take turns, the sums."""
    sums = {}
    for each in getattr(server, "each", [server]):
        for line in requests.get(each.url + "/metrics", timeout=60).text.splitlines():
            name, _, value = line.rpartition(" ")
            if not line.startswith("#"):
                sums[name] = sums.get(name, 0) + float(value)
    return sums


def long_waits(counted):
    """Requests that waited long for a worker; one may wait a moment for the last one of its own user."""
    name = "tarn_http_queue_wait_seconds"
    return counted[name + "_count"] - counted[f'{name}_bucket{{le="{LONG_WAIT_SECONDS}"}}']


def wait_for(server, name, value):
    deadline = time.monotonic() + 30
    while metrics(server).get(name) != value:
        assert time.monotonic() < deadline, (name, metrics(server).get(name))
        time.sleep(0.01)


def test_a_full_share_slows_its_user_down_and_no_other(narrow):
    target = f"/{REPOSITORY}/main/k"
    other = another_user(narrow)
    assert signed(narrow, "GET", target).body == b"bytes"
    assert signed(other, "GET", target).body == b"bytes"
    upload = HalfAnUpload(narrow, f"/{REPOSITORY}/main/up")
    wait_for(narrow, "tarn_http_running_requests", 2)  # with the one for the metrics
    waits_before = long_waits(metrics(narrow))
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(signed(narrow, "GET", target)))
    waiting.start()
    wait_for(narrow, "tarn_http_queued_requests", 1)
    time.sleep(LONG_WAIT_SECONDS)

    refused = signed(narrow, "GET", target)
    assert (refused.status, refused.code) == (503, "SlowDown")
    assert refused.headers["retry-after"] == "1"
    assert "too many requests of this user wait" in refused.xml.findtext("Message")
    assert signed(narrow, "HEAD", target).status == 503
    over_rest = requests.get(narrow.url + "/api/v1/repositories", auth=(narrow.access_key, narrow.secret_key), timeout=60)
    assert over_rest.status_code == 503 and over_rest.headers["Retry-After"] == "1"
    assert over_rest.json()["code"] == "overloaded"

    for _ in range(5):
        assert signed(other, "GET", target).body == b"bytes"
    assert requests.get(narrow.url + "/_health", timeout=60).status_code == 200
    assert not answers, "nobody has passed the upload"
    assert b" 200 OK" in upload.finish()
    waiting.join()
    assert answers[0].body == b"bytes"
    counted = metrics(narrow)
    assert counted['tarn_http_refusals_total{reason="share_full"}'] == 3
    assert long_waits(counted) == waits_before + 1


def test_a_client_that_retries_gets_through_a_full_share(narrow):
    """boto3 takes SlowDown for what it is."""
    signed(narrow, "GET", f"/{REPOSITORY}/main/k")
    upload = HalfAnUpload(narrow, f"/{REPOSITORY}/main/up")
    timer = threading.Timer(1.5, upload.finish)
    timer.start()
    s3 = boto3.client(
        "s3",
        endpoint_url=narrow.url,
        region_name=REGION,
        aws_access_key_id=narrow.access_key,
        aws_secret_access_key=narrow.secret_key,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 10, "mode": "standard"}),
    )
    bodies = []
    threads = [
        threading.Thread(target=lambda: bodies.append(s3.get_object(Bucket=REPOSITORY, Key="main/k")["Body"].read()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in [*threads, timer]:
        thread.join()
    assert bodies == [b"bytes"] * 4
    assert metrics(narrow)['tarn_http_refusals_total{reason="share_full"}'] > 0


def test_requests_are_counted_by_operation_and_code(tarn, repo):
    before = metrics(tarn)
    target = f"/{repo.id}/main/counted"
    assert signed(tarn, "PUT", target, body=b"x" * 1000).status == 200
    assert len(signed(tarn, "GET", target, {"Range": "bytes=0-99"}).body) == 100
    assert signed(tarn, "HEAD", target).status == 200
    for _ in range(2):
        assert signed(tarn, "GET", target + "-not").status == 404
    after = metrics(tarn)

    def grown(name):
        return after.get(name, 0) - before.get(name, 0)

    assert grown('tarn_s3_requests_total{code="OK",operation="PutObject"}') == 1
    assert grown('tarn_s3_requests_total{code="OK",operation="GetObject"}') == 1
    assert grown('tarn_s3_requests_total{code="NoSuchKey",operation="GetObject"}') == 2
    assert grown('tarn_s3_request_seconds_count{operation="GetObject"}') == 3
    assert grown('tarn_s3_received_bytes_total{operation="PutObject"}') == 1000
    assert grown('tarn_s3_sent_bytes_total{operation="HeadObject"}') == 0
    assert grown('tarn_s3_sent_bytes_total{operation="GetObject"}') > 100
    assert not any(repo.id in name for name in after), "no label tells what is stored"
