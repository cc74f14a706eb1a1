"""A server whose clock is an hour off its database's: it says so, and judges and dates by the database's."""

import datetime
import json
import re
import shutil
import time
from email.utils import parsedate_to_datetime
from unittest import mock
from xml.etree import ElementTree

import clients
import pytest
import requests
import servers
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from command import Cli
from jumping_clock import JumpingClock
from s3_requests import REGION, commit, rest, signed
from shifted_clock import ShiftedClock

HOUR = 3600
TOLERANCE_SECONDS = 60


@pytest.fixture(scope="module", params=[HOUR, -HOUR], ids=["ahead", "behind"])
def apart(request):
    """(server, seconds that its clock is ahead)"""
    directory = servers.scratch_directory("clock")
    database = servers.Postgres(directory / "postgres")
    database.start()
    server = servers.Tarnd(
        directory / "tarnd",
        arguments=["--database", database.url()],
        environment={
            "TARN_STORE_LOCAL_ROOT": directory / "objects",
            "TARN_AUTH_MASTER_KEY": "a5" * 32,
            **ShiftedClock(directory).environment(request.param),
        },
    )
    server.start()
    rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    yield server, request.param
    server.stop()
    database.stop()
    shutil.rmtree(directory)


def test_it_says_so_and_works(apart):
    server, ahead = apart
    answer = requests.get(f"{server.url}/_ready", timeout=20)
    assert answer.status_code == 200
    shown = re.search(r"clock: this server is (-?\d+) ms ahead of the database", answer.text)
    assert shown and abs(int(shown[1]) / 1000 - ahead) < TOLERANCE_SECONDS, answer.text
    metrics = requests.get(f"{server.url}/metrics", timeout=20).text
    offset = re.search(r"^tarn_clock_offset_seconds (\S+)$", metrics, re.MULTILINE)
    assert abs(float(offset[1]) - ahead) < TOLERANCE_SECONDS, offset[0]
    assert "clock_differs" in server.process.log.read_text()


def test_signatures_are_judged_by_the_databases_clock(apart):
    server, ahead = apart
    assert signed(server, "PUT", "/lake/main/a", body=b"bytes").status == 200
    assert signed(server, "GET", "/lake/main/a").body == b"bytes"
    status, _, body = clients.RawS3(server)("GET", "/lake/main/a", time_shift=ahead)
    assert (status, ElementTree.fromstring(body).findtext("Code")) == (403, "RequestTimeTooSkewed")


def test_commits_and_objects_are_dated_by_the_databases_clock(apart):
    server, _ = apart
    assert signed(server, "PUT", "/lake/main/a", body=b"bytes").status == 200
    head = signed(server, "HEAD", "/lake/main/a")
    assert abs(parsedate_to_datetime(head.headers["last-modified"]).timestamp() - time.time()) < TOLERANCE_SECONDS
    made = rest(server, "GET", f"/repositories/lake/commits/{commit(server, 'lake')}")
    assert abs(made["creation_date"] - time.time()) < TOLERANCE_SECONDS


def test_a_presigned_url_is_judged_by_the_databases_clock(apart):
    server, _ = apart
    assert signed(server, "PUT", "/lake/main/a", body=b"bytes").status == 200
    found = rest(server, "GET", "/repositories/lake/refs/main/objects/stat?path=a&presign=true")
    assert requests.get(found["physical_address"], timeout=20).content == b"bytes"


def test_a_refused_signature_names_both_times(apart):
    server, ahead = apart
    _, _, body = clients.RawS3(server)("GET", "/lake/main/a", time_shift=ahead)
    refused = ElementTree.fromstring(body)
    message = refused.findtext("Message")
    assert message.startswith("The difference between the request time and the current time is too large. It was signed at ")
    assert f"the server's time is {refused.findtext('ServerTime')}: they are " in message and "by NTP" in message
    assert re.search(r"they are (1 h 0 min|59 min \d+ s) apart, of at most 15 min", message), message


def test_a_refused_url_names_both_times(apart):
    server, ahead = apart
    url = AWSRequest("GET", f"{server.url}/lake/main/a")
    now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=ahead)
    with mock.patch("botocore.auth.get_current_datetime", return_value=now.replace(tzinfo=None)):
        S3SigV4QueryAuth(Credentials(server.access_key, server.secret_key), "s3", REGION, expires=60).add_auth(url)
    refused = requests.get(url.url, timeout=20)
    words = "it is not yet valid: it was signed at" if ahead > 0 else "Request has expired: it was valid until"
    assert refused.status_code == 403 and words in refused.text and "the server's time is" in refused.text, refused.text
    assert re.search(r"(1 h 0 min|59 min \d+ s|58 min \d+ s) (earlier|later)", refused.text), refused.text


@pytest.fixture
def moved(scratch_dir, monkeypatch):
    """(server, the clock of its database)"""
    clock = JumpingClock(scratch_dir, "database")
    clock.jump_to(-13 * HOUR)
    database = servers.Postgres(scratch_dir / "postgres")
    with monkeypatch.context() as patch:
        for name, value in clock.environment().items():
            patch.setenv(name, value)
        database.start()
    server = servers.Tarnd(
        scratch_dir / "tarnd",
        arguments=["--database", database.url()],
        environment={"TARN_STORE_LOCAL_ROOT": scratch_dir / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32},
    )
    server.start()
    yield server, clock
    server.stop()
    database.stop()


def test_an_expired_token_names_both_times(moved, tmp_path):
    server, clock = moved
    cli = Cli(server, tmp_path)
    token = json.loads(cli.run("auth", "token", "-o", "json").text)["token"]
    for name in ("TARN_ACCESS_KEY", "TARN_SECRET_KEY"):
        cli.environment.pop(name)
    assert cli.json("auth", "whoami", TARN_TOKEN=token)["id"]
    clock.jump_to(0)

    def ask():
        return requests.get(f"{server.url}/api/v1/user", headers={"Authorization": f"Bearer {token}"}, timeout=20)

    deadline = time.monotonic() + 60  # the server measures the clock every 20 s
    while ask().status_code == 200 and time.monotonic() < deadline:
        time.sleep(0.5)
    refused = ask()
    assert (refused.status_code, refused.headers["X-Tarn-Error"]) == (401, "expired_token")
    assert refused.json()["message"] == "error authenticating request"
    detail = refused.json()["detail"]
    assert re.search(r"expired at \S+Z, (1 h 0 min|59 min \d+ s) before the server's time, \S+Z", detail), detail
    talk = cli.run("auth", "whoami", TARN_TOKEN=token, status=3).talk
    assert "with the token from TARN_TOKEN: the token expired at" in talk and "the server's time" in talk
    assert "tarn auth token makes another one" in talk
