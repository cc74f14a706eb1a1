"""A server whose clock is an hour off its database's: it says so, and judges and dates by the database's."""

import re
import shutil
import time
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

import clients
import pytest
import requests
import servers
from s3_requests import commit, rest, signed
from shifted_clock import ShiftedClock

HOUR = 3600
TOLERANCE_SECONDS = 60


@pytest.fixture(scope="module", params=[HOUR, -HOUR], ids=["ahead", "behind"])
def apart(request):
    """(server, seconds that its clock is ahead)"""
    directory = servers.scratch_directory("clock")
    database = servers.Postgres(directory / "postgres")
    database.start()
    server = servers.Tarnd(directory / "tarnd", arguments=["--database", database.url()],
                           environment={"TARN_STORE_LOCAL_ROOT": directory / "objects", "TARN_AUTH_MASTER_KEY": "a5" * 32,
                                        **ShiftedClock(directory).environment(request.param)})
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
