"""How bodies and signatures are proven: presigned URLs, chunked uploads, checksums."""

import base64
import hashlib
import hmac
import urllib.parse
import zlib
from datetime import UTC, datetime

import clients
import pytest
import requests
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from s3_requests import REGION, Chunks, failure, send, sign, signed, signing_key


@pytest.fixture
def repo(repo):
    return repo.id


def target_of(url):
    parts = urllib.parse.urlsplit(url)
    return parts.path + "?" + parts.query


@pytest.mark.parametrize("version", ["s3v4", "s3"])
def test_presigned_urls_of_both_versions(tarn, repo, version):
    s3 = clients.boto3_client(tarn, signature_version=version)
    key = "main/dir/a b+ü.txt"
    put = s3.generate_presigned_url("put_object", Params={"Bucket": repo, "Key": key, "ContentType": "text/plain"})
    assert requests.put(put, data=b"hello", headers={"Content-Type": "text/plain"}, timeout=60).status_code == 200
    get = s3.generate_presigned_url(
        "get_object", Params={"Bucket": repo, "Key": key, "ResponseContentDisposition": "attachment; filename=x"}
    )
    answer = requests.get(get, timeout=60)
    assert (answer.status_code, answer.content, answer.headers["Content-Type"]) == (200, b"hello", "text/plain")
    assert answer.headers["Content-Disposition"] == "attachment; filename=x"
    # Another method, key or signature is another request.
    assert requests.delete(get, timeout=60).status_code == 403
    assert requests.get(get.replace("dir", "dirx"), timeout=60).status_code == 403
    assert requests.get(get, headers={"Authorization": "Basic eDp5"}, timeout=60).status_code == 200


def test_presigned_urls_expire(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x")
    for lifetime, expected in [
        (60, (200, None)),
        (0, (403, "AccessDenied")),
        (8 * 86400, (400, "AuthorizationQueryParametersError")),
    ]:
        request = AWSRequest(method="GET", url=f"{tarn.url}/{repo}/main/a")
        S3SigV4QueryAuth(Credentials(tarn.access_key, tarn.secret_key), "s3", REGION, expires=lifetime).add_auth(request)
        answer = send(tarn, "GET", target_of(request.url))
        assert (answer.status, answer.code if answer.status != 200 else None) == expected, lifetime


def test_presigned_urls_carry_headers(tarn, s3, repo):
    url = clients.boto3_client(tarn, signature_version="s3v4").generate_presigned_url(
        "put_object", Params={"Bucket": repo, "Key": "main/a", "Metadata": {"color": "red"}}
    )
    headers = {} if "x-amz-meta-color" in url and "SignedHeaders=host&" in url else {"x-amz-meta-color": "red"}
    assert send(tarn, "PUT", target_of(url), headers, b"x").status == 200
    assert s3.head_object(Bucket=repo, Key="main/a")["Metadata"] == {"color": "red"}


def test_requests_that_prove_nothing(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"secret")
    path = f"/{repo}/main/a"
    good = sign(tarn, "GET", path)
    tampered = dict(good)
    tampered["Authorization"] = good["Authorization"][:-1] + ("0" if good["Authorization"][-1] != "0" else "1")
    answer = send(tarn, "GET", path, tampered)
    assert (answer.status, answer.code) == (403, "SignatureDoesNotMatch")
    assert b"secret" not in answer.body and answer.xml.findtext("StringToSign")
    unknown = dict(good)
    unknown["Authorization"] = good["Authorization"].replace(tarn.access_key, "AKIAUNKNOWNUNKNOWN00")
    answer = send(tarn, "GET", path, unknown)
    assert (answer.status, answer.code) == (403, "InvalidAccessKeyId")
    added = dict(good, **{"x-amz-meta-extra": "1"})
    assert send(tarn, "GET", path, added).status == 403
    assert send(tarn, "GET", f"/{repo}/main/b", good).status == 403
    old = sign(tarn, "GET", path)
    old["X-Amz-Date"] = "20200101T000000Z"
    assert send(tarn, "GET", path, old).status in (400, 403)


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_kept_and_shown(s3, repo, algorithm):
    field = "Checksum" + algorithm
    put = s3.put_object(Bucket=repo, Key="main/a", Body=b"123456789", ChecksumAlgorithm=algorithm)
    got = s3.get_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED")
    assert got["Body"].read() == b"123456789"
    assert put[field] == got[field] == s3.head_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED")[field]
    assert got["ChecksumType"] == "FULL_OBJECT"
    ranged = s3.get_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED", Range="bytes=0-3")
    assert ranged["Body"].read() == b"1234" and field not in ranged
    listed = s3.list_objects_v2(Bucket=repo, Prefix="main/a")["Contents"][0]
    assert listed["ChecksumAlgorithm"] == [algorithm]


def test_an_upload_without_checksum_gets_one(tarn, s3, repo):
    answer = signed(tarn, "PUT", f"/{repo}/main/a", body=b"123456789")
    assert answer.headers["x-amz-checksum-crc64nvme"] == "rosUhgp5mIg="
    assert s3.head_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED")["ChecksumCRC64NVME"] == "rosUhgp5mIg="


@pytest.mark.parametrize(
    "headers,expected",
    [
        ({"x-amz-checksum-crc32": "AAAAAA=="}, (400, "BadDigest")),
        ({"x-amz-checksum-crc32": "nonsense"}, (400, "InvalidRequest")),
        (
            {"x-amz-checksum-crc32": "y/Q5Jg==", "x-amz-checksum-sha1": base64.b64encode(bytes(20)).decode()},
            (400, "InvalidRequest"),
        ),
        ({"x-amz-sdk-checksum-algorithm": "SHA256"}, (400, "InvalidRequest")),
        ({"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, (400, "BadDigest")),
        ({"Content-MD5": "short"}, (400, "InvalidDigest")),
    ],
)
def test_wrong_digests_store_nothing(tarn, s3, repo, headers, expected):
    answer = signed(tarn, "PUT", f"/{repo}/main/a", headers, b"123456789")
    assert (answer.status, answer.code) == expected
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a")
    assert failure(error) == (404, "NoSuchKey")


def test_right_digests_are_accepted(tarn, repo):
    md5 = base64.b64encode(hashlib.md5(b"123456789").digest()).decode()
    answer = signed(tarn, "PUT", f"/{repo}/main/a", {"Content-MD5": md5, "x-amz-checksum-crc32": "y/Q5Jg=="}, b"123456789")
    assert (answer.status, answer.headers["x-amz-checksum-crc32"]) == (200, "y/Q5Jg==")


def test_a_signed_hash_is_compared(tarn, s3, repo):
    answer = signed(tarn, "PUT", f"/{repo}/main/a", body=b"body", payload=hashlib.sha256(b"other").hexdigest())
    assert (answer.status, answer.code) == (400, "XAmzContentSHA256Mismatch")
    assert signed(tarn, "PUT", f"/{repo}/main/a", body=b"body", payload="UNSIGNED-PAYLOAD").status == 200
    assert signed(tarn, "PUT", f"/{repo}/main/a", body=b"body", payload="NONSENSE").code == "InvalidArgument"
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == b"body"


BODY = bytes(range(256)) * 300
BODY_LENGTH = len(BODY)
CRC32 = base64.b64encode(zlib.crc32(BODY).to_bytes(4, "big")).decode()


def chunked_put(tarn, repo, literal, frame, headers=None, length=BODY_LENGTH):
    path = f"/{repo}/main/a"
    all_headers = sign(
        tarn,
        "PUT",
        path,
        {"Content-Encoding": "aws-chunked", "x-amz-decoded-content-length": str(length), **(headers or {})},
        literal,
    )
    return send(tarn, "PUT", path, all_headers, frame(Chunks(tarn, all_headers)))


def signed_frames(chunks):
    return b"".join(chunks.chunk(BODY[i : i + 65536]) for i in range(0, len(BODY), 65536)) + chunks.chunk(b"") + b"\r\n"


def test_signed_chunks(tarn, s3, repo):
    assert chunked_put(tarn, repo, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", signed_frames).status == 200
    got = s3.get_object(Bucket=repo, Key="main/a")
    assert got["Body"].read() == BODY
    assert "ContentEncoding" not in got


def test_signed_chunks_that_were_changed(tarn, s3, repo):
    literal = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    for frame in [
        lambda c: signed_frames(c).replace(bytes(range(256)), bytes(255) + b"x", 1),
        lambda c: signed_frames(c)[:-90],
        lambda c: f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n",
    ]:
        answer = chunked_put(tarn, repo, literal, frame)
        assert answer.status in (400, 403), answer
    assert chunked_put(tarn, repo, literal, signed_frames, length=len(BODY) + 1).code == "IncompleteBody"
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a")
    assert failure(error) == (404, "NoSuchKey")


def test_signed_chunks_with_a_signed_trailer(tarn, s3, repo):
    def frame(c):
        return c.chunk(BODY) + c.chunk(b"") + c.trailer("x-amz-checksum-crc32", CRC32)

    literal = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
    answer = chunked_put(tarn, repo, literal, frame, {"x-amz-trailer": "x-amz-checksum-crc32"})
    assert (answer.status, answer.headers.get("x-amz-checksum-crc32")) == (200, CRC32)

    def wrong(c):
        return c.chunk(BODY) + c.chunk(b"") + c.trailer("x-amz-checksum-crc32", "AAAAAA==")

    assert chunked_put(tarn, repo, literal, wrong, {"x-amz-trailer": "x-amz-checksum-crc32"}).code == "BadDigest"


def test_unsigned_chunks_with_a_trailer(tarn, s3, repo):
    def frame(value):
        return lambda _: f"{len(BODY):x}\r\n".encode() + BODY + f"\r\n0\r\nx-amz-checksum-crc32:{value}\r\n\r\n".encode()

    literal = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
    announced = {"x-amz-trailer": "x-amz-checksum-crc32"}
    assert chunked_put(tarn, repo, literal, frame(CRC32), announced).status == 200
    assert s3.head_object(Bucket=repo, Key="main/a", ChecksumMode="ENABLED")["ChecksumCRC32"] == CRC32
    assert chunked_put(tarn, repo, literal, frame("AAAAAA=="), announced).code == "BadDigest"
    # The same inside HTTP chunks, as clients do over streams of unknown length.
    path = f"/{repo}/main/b"
    headers = sign(tarn, "PUT", path, {"x-amz-decoded-content-length": str(len(BODY)), **announced}, literal)
    inner = frame(CRC32)(None)
    outer = (
        b"".join(f"{len(inner[i : i + 1000]):x}\r\n".encode() + inner[i : i + 1000] + b"\r\n" for i in range(0, len(inner), 1000))
        + b"0\r\n\r\n"
    )
    assert send(tarn, "PUT", path, {**headers, "Transfer-Encoding": "chunked"}, outer).status == 200
    assert s3.get_object(Bucket=repo, Key="main/b")["Body"].read() == BODY


def test_a_signature_that_covers_an_unannounced_body(tarn, s3, repo):
    """Without x-amz-content-sha256 the signature covers the body's hash, so that it proves nothing before the end."""
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    host = urllib.parse.urlsplit(tarn.url).netloc

    def call(method, path, body=b"", signed_body=None):
        hashed = hashlib.sha256(body if signed_body is None else signed_body).hexdigest()
        canonical = "\n".join([method, path, "", f"host:{host}", f"x-amz-date:{now}", "", "host;x-amz-date", hashed])
        scope = f"{now[:8]}/{REGION}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(signing_key(tarn, now[:8]), text.encode(), hashlib.sha256).hexdigest()
        return send(
            tarn,
            method,
            path,
            {
                "X-Amz-Date": now,
                "Authorization": f"AWS4-HMAC-SHA256 Credential={tarn.access_key}/{scope}, SignedHeaders=host;x-amz-date, "
                f"Signature={signature}",
            },
            body,
        )

    path = f"/{repo}/main/a"
    for signed_body in (b"body", b"other"):
        refused = call("PUT", path, b"body", signed_body=signed_body)
        assert (refused.status, refused.code) == (400, "InvalidRequest")
        assert "x-amz-content-sha256" in refused.xml.findtext("Message")
    s3.put_object(Bucket=repo, Key="main/a", Body=b"body")
    assert call("GET", path, signed_body=b"x").status == 403
    assert call("GET", path).body == b"body"
