"""Every limit of a request over S3: what is just allowed, and the code of what is not."""

import hashlib
import uuid

import clients
import pytest
import requests
import servers
from s3_requests import rest, send, sign, signed

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@pytest.fixture
def repo(repo):
    return repo.id


def failure(answer):
    return answer.status, answer.code


def put(tarn, repo, headers):
    return signed(tarn, "PUT", f"/{repo}/main/limited", headers, body=b"x")


def test_a_path_has_1024_bytes_the_branch_not_counted(tarn, repo):
    assert signed(tarn, "PUT", f"/{repo}/main/" + "k" * 1024, body=b"x").status == 200
    assert signed(tarn, "GET", f"/{repo}/main/" + "k" * 1024).body == b"x"
    for method in ("PUT", "GET", "DELETE"):
        assert failure(signed(tarn, method, f"/{repo}/main/" + "k" * 1025)) == (400, "KeyTooLongError"), method
    assert failure(signed(tarn, "PUT", f"/{repo}/main/" + "%C3%A9" * 513)) == (400, "KeyTooLongError"), "bytes"


def test_user_metadata_has_2_kib_of_names_and_values(tarn, repo):
    assert put(tarn, repo, {"x-amz-meta-a": "v" * (2 * KIB - 1)}).status == 200
    assert failure(put(tarn, repo, {"x-amz-meta-a": "v" * (2 * KIB)})) == (400, "MetadataTooLarge")
    many = {f"x-amz-meta-{n:02}": "v" * 100 for n in range(21)}
    assert failure(put(tarn, repo, many)) == (400, "MetadataTooLarge")


@pytest.mark.parametrize(
    "tags, expected",
    [
        ("&".join(f"k{n}=v" for n in range(10)), None),
        ("&".join(f"k{n}=v" for n in range(11)), "InvalidTag"),
        ("k" * 128 + "=" + "v" * 256, None),
        ("k" * 129 + "=v", "InvalidTag"),
        ("k=" + "v" * 257, "InvalidTag"),
    ],
)
def test_tags(tarn, repo, tags, expected):
    answer = put(tarn, repo, {"x-amz-tagging": tags})
    assert (answer.code if answer.status != 200 else None) == expected


def test_bodies_too_large_are_refused_by_their_announced_length(tarn, repo):
    """Without a byte of them sent."""
    target = f"/{repo}/main/huge"
    headers = {**sign(tarn, "PUT", target), "Content-Length": str(5 * GIB + 1), "Expect": "100-continue"}
    answer = send(tarn, "PUT", target, headers)
    assert failure(answer) == (400, "EntityTooLarge")
    assert answer.xml.findtext("MaxSizeAllowed") == str(5 * GIB)
    upload = signed(tarn, "POST", f"/{repo}/main/parts?uploads").xml.findtext("UploadId")
    part = f"/{repo}/main/parts?partNumber=1&uploadId={upload}"
    headers = {**sign(tarn, "PUT", part), "Content-Length": str(5 * GIB + 1)}
    assert failure(send(tarn, "PUT", part, headers)) == (400, "EntityTooLarge")
    for number in ("0", "10001", "-1", "x"):
        wrong = f"/{repo}/main/parts?partNumber={number}&uploadId={upload}"
        assert failure(signed(tarn, "PUT", wrong, body=b"x")) == (400, "InvalidArgument"), number
    assert signed(tarn, "PUT", f"/{repo}/main/parts?partNumber=10000&uploadId={upload}", body=b"x").status == 200
    assert signed(tarn, "DELETE", f"/{repo}/main/parts?uploadId={upload}").status == 204


@pytest.mark.parametrize("query, bytes_max", [("delete", 2 * MIB), ("uploadId=x", 4 * MIB), ("tagging", 64 * KIB)])
def test_documents_have_a_size(tarn, repo, query, bytes_max):
    body = b"<a>" + b" " * bytes_max + b"</a>"
    target = f"/{repo}?{query}" if query == "delete" else f"/{repo}/main/limited?{query}"
    method = "PUT" if query == "tagging" else "POST"
    put(tarn, repo, {})
    headers = sign(tarn, method, target, {"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, payload=hashlib.sha256(body).hexdigest())
    answer = send(tarn, method, target, headers, body)
    assert answer.status == 400 and answer.code in ("EntityTooLarge", "MalformedXML", "MaxMessageLengthExceeded")


def test_a_listing_has_1000_keys_whatever_is_asked(tarn, repo):
    answer = signed(tarn, "GET", f"/{repo}?list-type=2&max-keys=1000000&prefix=main%2F")
    assert answer.xml.findtext("MaxKeys") == "1000"
    assert failure(signed(tarn, "GET", f"/{repo}?list-type=2&max-keys=-1")) == (400, "InvalidArgument")


def test_many_ranges_are_the_whole_object_once(tarn, repo):
    assert put(tarn, repo, {}).status == 200
    answer = signed(tarn, "GET", f"/{repo}/main/limited", {"Range": "bytes=" + ",".join(["0-0"] * 3000)})
    assert (answer.status, answer.body) == (200, b"x")


def test_heads_have_a_size_and_a_number_of_fields(tarn, repo):
    """Refused before they are read; S3 clients get a document, whatever of the head had come."""
    target = f"/{repo}/main/limited"
    large = {"x-large": "v" * 33 * KIB}
    many = {f"x-{n}": "v" for n in range(130)}
    long = "?" + "q" * 17 * KIB
    for headers, query in ((large, ""), (many, ""), ({}, long)):
        answer = send(tarn, "GET", target + query, headers)
        assert failure(answer) == (400, "RequestHeaderSectionTooLarge"), query[:2]
        assert answer.headers["content-type"] == "application/xml"
        assert send(tarn, "HEAD", target + query, headers).body == b""
    api = f"/api/v1/repositories/{repo}"
    assert send(tarn, "GET", api, large).status == 431
    assert send(tarn, "GET", api, many).status == 431
    assert send(tarn, "GET", api + long).status == 414
    key = {"Authorization": "AWS4-HMAC-SHA256 Credential=x"}
    assert failure(send(tarn, "GET", api, {**key, **large})) == (400, "RequestHeaderSectionTooLarge"), "signed"


@pytest.fixture(params=["local", "s3"])
def sparing(request, scratch_dir, initialised_data):
    """A server that lets a user have two uploads open; with a bucket it signs URLs of the store."""
    environment, namespace = {"TARN_UPLOAD_MULTIPART_OPEN_MAX": 2}, "local://uploads"
    if request.param == "s3":
        store = request.getfixturevalue("versitygw")
        bucket = f"uploads-{uuid.uuid4().hex[:8]}"
        clients.boto3_client(store).create_bucket(Bucket=bucket)
        environment.update(store.tarnd_environment())
        namespace = f"s3://{bucket}/uploads"
    server = servers.Tarnd(scratch_dir / "tarnd", environment=environment).copy_data_of(initialised_data).start()
    rest(server, "POST", "/repositories", json={"name": "uploads", "storage_namespace": namespace})
    yield server
    server.stop()


def test_a_user_has_so_many_uploads_open_over_both_doors(sparing):
    begin = "/repositories/uploads/branches/main/staging/pmpu"
    over_rest = rest(sparing, "POST", begin, params={"path": "rest", "parts": 1})
    over_s3 = signed(sparing, "POST", "/uploads/main/s3?uploads").xml.findtext("UploadId")

    refused = signed(sparing, "POST", "/uploads/main/more?uploads")
    assert failure(refused) == (400, "InvalidRequest")
    for words in ("2 multipart uploads open", "upload.multipart_open_max", "complete or abort"):
        assert words in refused.xml.findtext("Message")
    answer = clients.Rest(sparing)("POST", begin, params={"path": "more"})
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_uploads")
    assert "Retry-After" not in answer.headers, "waiting does not help"

    # One that ends makes room, over whichever door.
    etag = requests.put(over_rest["presigned_urls"][0], data=b"x", timeout=60).headers["ETag"]
    rest(
        sparing,
        "PUT",
        f"{begin}/{over_rest['upload_id']}",
        params={"path": "rest"},
        json={"physical_address": over_rest["physical_address"], "parts": [{"part_number": 1, "etag": etag}]},
    )
    third = signed(sparing, "POST", "/uploads/main/third?uploads")
    assert third.status == 200
    assert failure(signed(sparing, "POST", "/uploads/main/more?uploads")) == (400, "InvalidRequest")
    assert signed(sparing, "DELETE", f"/uploads/main/s3?uploadId={over_s3}").status == 204
    again = rest(sparing, "POST", begin, params={"path": "rest", "parts": 1})
    rest(
        sparing,
        "DELETE",
        f"{begin}/{again['upload_id']}",
        params={"path": "rest"},
        json={"physical_address": again["physical_address"]},
    )
    assert signed(sparing, "POST", "/uploads/main/more?uploads").status == 200
