"""Every limit of a request over S3: what is just allowed, and the code of what is not."""

import hashlib

import pytest

from s3_requests import send, sign, signed

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


@pytest.mark.parametrize("tags, expected", [
    ("&".join(f"k{n}=v" for n in range(10)), None),
    ("&".join(f"k{n}=v" for n in range(11)), "InvalidTag"),
    ("k" * 128 + "=" + "v" * 256, None),
    ("k" * 129 + "=v", "InvalidTag"),
    ("k=" + "v" * 257, "InvalidTag"),
])
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
    headers = sign(tarn, method, target, {"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="},
                   payload=hashlib.sha256(body).hexdigest())
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
    """What is refused before it is read tells no door; the status says which limit it was."""
    target = f"/{repo}/main/limited"
    assert send(tarn, "GET", target, {"x-large": "v" * 33 * KIB}).status == 431
    assert send(tarn, "GET", target, {f"x-{n}": "v" for n in range(130)}).status == 431
    assert send(tarn, "GET", target + "?" + "q" * 17 * KIB).status == 414
