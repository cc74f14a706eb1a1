"""Faults between a client and its object: killed clients, rivals, clocks, proxies, branches that go."""

import concurrent.futures
import datetime
import email.utils
import hashlib
import http.client
import subprocess
import threading
import time
import urllib.parse
from unittest import mock

import boto3
import clients
import proxies
import pytest
import requests
import servers
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from s3_requests import REGION, create_branch, rest, send, sign, signed

MIB = 1024 * 1024
WAYS = ("direct", "tls", "tls-unbuffered")


@pytest.fixture
def repo(repo):
    return repo.id


@pytest.fixture(scope="module")
def doors(tarn, session_scratch):
    """{way: (URL, certificate authority)}: the server itself, and nginx with and without its buffers."""
    nginx = proxies.Nginx(session_scratch / "faults-nginx", tarn.url).start()
    yield {"direct": (tarn.url, ""), **{way: nginx.reached(way) for way in ("tls", "tls-unbuffered")}}
    nginx.stop()


def through(tarn, door):
    url, ca = door
    config = Config(s3={"addressing_style": "path"}, signature_version="s3v4", retries={"max_attempts": 1})
    return boto3.client(
        "s3",
        endpoint_url=url,
        verify=ca or None,
        aws_access_key_id=tarn.access_key,
        aws_secret_access_key=tarn.secret_key,
        region_name="us-east-1",
        config=config,
    )


def half_sent(tarn, target, body):
    """A connection over which the head and half of the body went."""
    parts = urllib.parse.urlsplit(tarn.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.putrequest("PUT", target, skip_host=True, skip_accept_encoding=True)
    for name, value in {**sign(tarn, "PUT", target), "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders(body[: len(body) // 2])
    time.sleep(0.3)  # it has arrived and is being written
    return connection


def end_of(connection, rest_of_body):
    connection.send(rest_of_body)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.mark.parametrize("way", WAYS)
def test_a_client_that_is_killed_in_the_middle_of_a_put(tarn, repo, s3, doors, way, tmp_path):
    s3.put_object(Bucket=repo, Key="main/there", Body=b"as before")
    file = tmp_path / "large"
    file.write_bytes(b"n" * 16 * MIB)
    stored = set(tarn.stored())
    _, ca = doors[way]
    for key in ("there", "new"):
        target = through(tarn, doors[way]).generate_presigned_url("put_object", {"Bucket": repo, "Key": f"main/{key}"})
        command = ["curl", "-sS", "--limit-rate", "4M", "--upload-file", str(file), target]
        client = subprocess.Popen([*command, *(["--cacert", ca] if ca else [])])
        time.sleep(1)
        assert client.poll() is None, "it was to be killed while it sends"
        client.kill()
        client.wait()
    assert s3.get_object(Bucket=repo, Key="main/there")["Body"].read() == b"as before"
    listed = s3.list_objects_v2(Bucket=repo, Prefix="main/")["Contents"]
    assert [item["Key"] for item in listed] == ["main/there"]
    deadline = time.monotonic() + 10
    while set(tarn.stored()) != stored:
        assert time.monotonic() < deadline, "half of an object is left in the store"
        time.sleep(0.05)
    # The same key at once, by the same way.
    through(tarn, doors[way]).upload_file(str(file), repo, "main/new")
    assert s3.head_object(Bucket=repo, Key="main/new")["ContentLength"] == 16 * MIB


def test_two_writers_of_a_key_and_their_readers(tarn, repo):
    bodies = [bytes([letter]) * MIB for letter in b"ab"]
    whole = {f'"{hashlib.md5(body).hexdigest()}"': body for body in bodies}
    clients.boto3_client(tarn).put_object(Bucket=repo, Key="main/k", Body=bodies[0])
    done = threading.Event()

    def write(body):
        for _ in range(10):
            answer = clients.boto3_client(tarn).put_object(Bucket=repo, Key="main/k", Body=body)
            assert whole[answer["ETag"]] == body

    def read():
        count, client = 0, clients.boto3_client(tarn)
        while not done.is_set() or not count:
            answer = client.get_object(Bucket=repo, Key="main/k")
            assert answer["Body"].read() == whole[answer["ETag"]], "a mixture"
            count += 1

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for writer in [pool.submit(write, body) for body in bodies]:
                writer.result()
        finally:
            done.set()
        for reader in readers:
            reader.result()


def test_of_many_writers_with_a_condition_one_wins(tarn, repo):
    def create(number):
        return signed(tarn, "PUT", f"/{repo}/main/once", {"If-None-Match": "*"}, body=b"%d" % number).status

    def add_one(_):
        while True:
            seen = signed(tarn, "GET", f"/{repo}/main/sum")
            body = b"%d" % (int(seen.body) + 1)
            answer = signed(tarn, "PUT", f"/{repo}/main/sum", {"If-Match": seen.headers["etag"]}, body=body)
            if answer.status == 200:
                return
            assert answer.status in (409, 412), answer.body

    signed(tarn, "PUT", f"/{repo}/main/sum", body=b"0")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(create, range(8)))
        list(pool.map(add_one, range(24)))
    assert statuses.count(200) == 1 and set(statuses) <= {200, 409, 412}
    assert signed(tarn, "GET", f"/{repo}/main/once").body == b"%d" % statuses.index(200)
    assert signed(tarn, "GET", f"/{repo}/main/sum").body == b"24"


def test_a_server_killed_in_the_middle_of_a_part(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    rest(server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    s3 = clients.boto3_client(server)
    upload = {"Bucket": "lake", "Key": "main/big"}
    upload["UploadId"] = s3.create_multipart_upload(**upload)["UploadId"]
    first = s3.upload_part(**upload, PartNumber=1, Body=b"1" * 5 * MIB)["ETag"]
    connection = half_sent(server, f"/lake/main/big?partNumber=2&uploadId={upload['UploadId']}", b"2" * 4 * MIB)
    server.kill()
    server.start()
    with pytest.raises((OSError, http.client.HTTPException)):
        end_of(connection, b"2" * 2 * MIB)
    assert [part["PartNumber"] for part in s3.list_parts(**upload)["Parts"]] == [1]
    second = s3.upload_part(**upload, PartNumber=2, Body=b"two")["ETag"]
    parts = [{"PartNumber": 1, "ETag": first}, {"PartNumber": 2, "ETag": second}]
    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert s3.get_object(Bucket="lake", Key="main/big")["Body"].read() == b"1" * 5 * MIB + b"two"
    server.stop()


def test_a_branch_that_is_deleted_while_bytes_arrive(tarn, repo, s3):
    """Requests that end afterwards are refused, and leave nothing on a branch of the same name."""
    create_branch(tarn, repo, "dev")
    upload = s3.create_multipart_upload(Bucket=repo, Key="dev/big")["UploadId"]
    part = half_sent(tarn, f"/{repo}/dev/big?partNumber=1&uploadId={upload}", b"p" * MIB)
    put = half_sent(tarn, f"/{repo}/dev/plain", b"o" * MIB)
    rest(tarn, "DELETE", f"/repositories/{repo}/branches/dev")
    create_branch(tarn, repo, "dev")
    status, body = end_of(part, b"p" * (MIB // 2))
    assert status == 404 and "<Code>NoSuchUpload</Code>" in body
    status, body = end_of(put, b"o" * (MIB // 2))
    assert status == 404 and "<Code>NoSuchBucket</Code>" in body
    assert "Contents" not in s3.list_objects_v2(Bucket=repo, Prefix="dev/")


@pytest.mark.parametrize("minutes", [-20, 20])
def test_a_clock_that_is_twenty_minutes_off(tarn, repo, s3, minutes):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"a")
    shifted = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=minutes)
    with mock.patch("botocore.auth.get_current_datetime", return_value=shifted.replace(tzinfo=None)):
        headers = sign(tarn, "GET", f"/{repo}/main/a")
        presigned = AWSRequest("GET", f"{tarn.url}/{repo}/main/a")
        S3SigV4QueryAuth(Credentials(tarn.access_key, tarn.secret_key), "s3", REGION, expires=3600).add_auth(presigned)
    assert headers["X-Amz-Date"] == shifted.strftime("%Y%m%dT%H%M%SZ")
    assert headers["X-Amz-Date"] in presigned.url
    refused = send(tarn, "GET", f"/{repo}/main/a", headers)
    assert (refused.status, refused.code) == (403, "RequestTimeTooSkewed")
    ahead = email.utils.parsedate_to_datetime(refused.headers["date"])
    assert abs(ahead - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(minutes=1), "clients correct theirs by it"
    answer = requests.get(presigned.url, timeout=60)
    if minutes < 0:
        assert answer.content == b"a", "a URL lives as long as it says"
    else:
        assert answer.status_code == 403 and "not yet valid" in answer.text


@pytest.mark.parametrize("way", WAYS)
def test_failures_are_the_same_through_a_proxy_and_keep_the_connection(tarn, repo, doors, way, s3):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"a")
    client = through(tarn, doors[way])
    session = requests.Session()
    session.trust_env = False  # a bundle of the environment's would go before ours
    session.verify = doors[way][1] or True
    condition = {"IfMatch": '"other"'}
    for call, extra, headers, status, code in [
        ("get_object", {"Key": "main/absent"}, {}, 404, "NoSuchKey"),
        ("get_object", {"Key": "main/a", **condition}, {"If-Match": '"other"'}, 412, "PreconditionFailed"),
        ("get_object", {"Key": "main/a", "Range": "bytes=9-"}, {"Range": "bytes=9-"}, 416, "InvalidRange"),
        ("put_object", {"Key": "nobranch/a"}, {}, 404, "NoSuchBucket"),
        ("get_object", {"Key": "main/a"}, {}, 200, None),
    ]:
        url = client.generate_presigned_url(call, {"Bucket": repo, **extra})
        body = b"x" * MIB if call == "put_object" else None
        answer = session.request(call[:3].upper(), url, headers=headers, data=body, timeout=60)
        assert answer.status_code == status, (call, extra)
        if code:
            assert answer.headers["Content-Type"] == "application/xml" and f"<Code>{code}</Code>" in answer.text
    url = client.generate_presigned_url("get_object", {"Bucket": repo, "Key": "main/a"})
    forged = session.get(url[:-4] + "0000", timeout=60)
    assert forged.status_code == 403 and "<Code>SignatureDoesNotMatch</Code>" in forged.text
    with pytest.raises(ClientError) as error:
        client.put_object(Bucket=repo, Key="main/a", Body=b"b", IfNoneMatch="*")
    assert error.value.response["Error"]["Code"] == "PreconditionFailed"
    assert session.get(url, timeout=60).content == b"a"
