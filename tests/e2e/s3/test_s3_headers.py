"""The x-amz-* headers of S3's API, as botocore's model of it lists them, against every operation that is served."""

import gzip
import json
import re
from pathlib import Path

import botocore
import pytest
from botocore.exceptions import ClientError
from s3_requests import failure, signed

PAGE = (Path(__file__).resolve().parents[3] / "docs/s3-compatibility.md").read_text()
COLUMNS = re.compile(r" \| ")


def table(name):
    """Rows of a table of the page, each a list of its cells."""
    text = PAGE.split(f"<!-- {name}: begin -->\n")[1].split(f"<!-- {name}: end -->")[0]
    return [COLUMNS.split(line.strip("| ")) for line in text.splitlines()[2:]]


def served():
    """(operation, method, target) of each operation that is served, the targets as patterns."""
    for operation, request, answer in table("operations"):
        method, target = re.match(r"`(\w+) ([^`]*)`", request).groups()
        if not answer.startswith("501") and method != "OPTIONS":
            yield operation, method, target


def row_of(operation, header):
    for name, operations, answer, _ in table("headers"):
        name = name.strip("`")
        fits = header.startswith(name[:-1]) if name.endswith("*") else header == name
        if fits and (operations == "all operations" or operation in operations.split(", ")):
            return answer
    return None


def headers_of_model():
    """The x-amz-* headers of each operation of S3's API."""
    data = Path(botocore.__file__).parent / "data/s3/2006-03-01"
    packed = data / "service-2.json.gz"
    text = gzip.decompress(packed.read_bytes()) if packed.exists() else (data / "service-2.json").read_bytes()
    model = json.loads(text)
    out = {}
    for operation, described in model["operations"].items():
        members = model["shapes"][described["input"]["shape"]]["members"] if "input" in described else {}
        names = {member["locationName"].lower() for member in members.values() if member.get("location") in ("header", "headers")}
        out[operation] = {"x-amz-meta-a" if name == "x-amz-meta-" else name for name in names if name.startswith("x-amz-")}
    return out


def test_every_header_of_the_api_has_a_row():
    model = headers_of_model()
    names = {operation for operation, _, _ in served()} & model.keys()
    assert len(names) > 40
    missing = [(name, header) for name in names for header in model[name] if row_of(name, header) is None]
    assert missing == []


def test_every_operation_refuses_what_is_not_served(tarn, repo):
    signed(tarn, "PUT", f"/{repo.id}/main/a", body=b"x")
    refused = [
        name.strip("`").replace("*", "x")
        for name, operations, answer, _ in table("headers")
        if answer.startswith("501") and operations == "all operations" and name != "`x-amz-acl`"
    ]
    assert len(refused) > 8
    asked = 0
    for operation, method, pattern in served():
        if operation == "PostObject":  # its headers are fields of a form: test_s3_post.py
            continue
        target = pattern.replace("/bucket", f"/{repo.id}").replace("/key", "/main/a")
        if operation in ("UploadPart", "UploadPartCopy"):
            target += "=u&partNumber=1"
        for header in refused:
            headers = {header: "x"}
            if operation in ("CopyObject", "UploadPartCopy"):
                headers["x-amz-copy-source"] = f"{repo.id}/main/a"
            answer = signed(tarn, method, target, headers)
            assert answer.status == 501, (operation, header, answer.body)
            if method != "HEAD":
                assert (answer.code, answer.xml.findtext("Header").lower()) == ("NotImplemented", header)
                assert header in answer.xml.findtext("Message").lower()
            asked += 1
    assert asked > 400
    assert signed(tarn, "GET", f"/{repo.id}/main/a").body == b"x"


@pytest.mark.parametrize(
    "headers",
    [
        {"x-amz-acl": "private"},
        {"x-amz-acl": "bucket-owner-full-control"},
        {"x-amz-request-payer": "requester"},
        {"x-amz-storage-class": "STANDARD"},
        {"x-amz-user-agent": "aws-sdk-js"},
        {"x-amz-mfa": "1 2"},
        {"x-amz-bypass-governance-retention": "true"},
        {"x-amz-checksum-algorithm": "CRC32"},
        {"x-amz-cf-id": "x"},
    ],
)
def test_what_changes_nothing_is_accepted(tarn, repo, headers):
    for method, body in [("PUT", b"x"), ("GET", b""), ("HEAD", b""), ("DELETE", b"")]:
        answer = signed(tarn, method, f"/{repo.id}/main/a", headers, body)
        assert answer.status in (200, 204), (method, answer.body)


@pytest.mark.parametrize("value", ["public-read", "public-read-write", "authenticated-read", "aws-exec-read"])
def test_a_list_that_would_let_others_in_is_refused(tarn, repo, value):
    for method, target, headers in [
        ("PUT", "main/a", {}),
        ("POST", "main/a?uploads", {}),
        ("PUT", "main/b", {"x-amz-copy-source": f"{repo.id}/main/a"}),
    ]:
        answer = signed(tarn, method, f"/{repo.id}/{target}", {**headers, "x-amz-acl": value})
        assert (answer.status, answer.code) == (501, "NotImplemented"), target


def test_a_list_may_be_written_back_as_it_was_read(s3, repo):
    bucket, key = {"Bucket": repo.id}, {"Bucket": repo.id, "Key": "main/a"}
    s3.put_object(**key, Body=b"x")
    for read, write, at in [(s3.get_bucket_acl, s3.put_bucket_acl, bucket), (s3.get_object_acl, s3.put_object_acl, key)]:
        acl = {name: read(**at)[name] for name in ("Owner", "Grants")}
        write(**at, AccessControlPolicy=acl)
        everybody = {"Grantee": {"Type": "Group", "URI": "http://acs.amazonaws.com/groups/global/AllUsers"}, "Permission": "READ"}
        for grants in ([*acl["Grants"], everybody], [{**acl["Grants"][0], "Permission": "READ"}]):
            with pytest.raises(ClientError) as error:
                write(**at, AccessControlPolicy={**acl, "Grants": grants})
            assert failure(error) == (501, "NotImplemented")
        assert read(**at)["Grants"] == acl["Grants"]


def test_an_unknown_header_is_refused_where_it_may_change_something(tarn, repo):
    target, header = f"/{repo.id}/main/a", {"x-amz-new-feature": "1"}
    assert signed(tarn, "PUT", target, body=b"x").status == 200
    assert signed(tarn, "GET", target, header).body == b"x"
    for method, at in [("PUT", target), ("DELETE", target), ("POST", f"/{repo.id}?delete")]:
        answer = signed(tarn, method, at, header, b"y" if method == "PUT" else b"")
        assert (answer.status, answer.xml.findtext("Header")) == (501, "x-amz-new-feature"), method
    assert signed(tarn, "GET", target).body == b"x"


def test_an_upload_is_aborted_only_if_it_was_begun_then(tarn, s3, repo):
    at = {"Bucket": repo.id, "Key": "main/a"}
    upload = s3.create_multipart_upload(**at)["UploadId"]
    begun = s3.list_multipart_uploads(Bucket=repo.id, Prefix="main/")["Uploads"][0]["Initiated"]
    target = f"/{repo.id}/main/a?uploadId={upload}"
    name = "x-amz-if-match-initiated-time"
    other = signed(tarn, "DELETE", target, {name: "Sun, 06 Nov 1994 08:49:37 GMT"})
    assert (other.status, other.code) == (412, "PreconditionFailed")
    assert signed(tarn, "DELETE", target, {name: "yesterday"}).code == "InvalidArgument"
    same = begun.strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert signed(tarn, "DELETE", target, {name: same}).status == 204


def test_a_completion_must_name_the_type_of_its_upload(tarn, s3, repo):
    at = {"Bucket": repo.id, "Key": "main/a"}
    upload = s3.create_multipart_upload(**at, ChecksumAlgorithm="CRC32", ChecksumType="COMPOSITE")["UploadId"]
    part = s3.upload_part(**at, UploadId=upload, PartNumber=1, Body=b"x", ChecksumAlgorithm="CRC32")
    document = (
        f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part['ETag']}</ETag></Part></CompleteMultipartUpload>"
    ).encode()
    target = f"/{repo.id}/main/a?uploadId={upload}"
    wrong = signed(tarn, "POST", target, {"x-amz-checksum-type": "FULL_OBJECT"}, document)
    assert (wrong.status, wrong.code) == (400, "InvalidRequest")
    assert signed(tarn, "POST", target, {"x-amz-checksum-type": "COMPOSITE"}, document).status == 200
