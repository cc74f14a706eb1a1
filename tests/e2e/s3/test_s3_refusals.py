"""Which of several faults S3 names first, and in which words."""

import uuid

import clients
import pytest
import s3_requests
from s3_requests import signed
from users import allow

NO_BUCKET = "The specified bucket does not exist"
LONG_KEY = 1025 * "k"


def told(answer):
    return answer.status, answer.code, answer.xml.findtext("Message")


@pytest.fixture
def repo(repo):
    return repo.id


def requests_of(bucket, key, source):
    """Writes to a key of a bucket."""
    return [
        ("PUT", f"/{bucket}/{key}", {}),
        ("POST", f"/{bucket}/{key}?uploads", {}),
        ("PUT", f"/{bucket}/{key}", {"x-amz-copy-source": source}),
    ]


@pytest.mark.parametrize("key", ["main/a", "main", "main/" + LONG_KEY, LONG_KEY, "main/"])
def test_an_absent_bucket_is_named_before_the_key_is_judged(tarn, repo, key):
    signed(tarn, "PUT", f"/{repo}/main/a", body=b"x")
    for method, target, headers in requests_of("absent-bucket", key, f"{repo}/main/a"):
        assert told(signed(tarn, method, target, headers)) == (404, "NoSuchBucket", NO_BUCKET), (method, target[:30])
    for method in ("GET", "DELETE"):
        assert told(signed(tarn, method, f"/absent-bucket/{key}"))[:2] == (404, "NoSuchBucket"), method


def test_a_key_that_no_object_can_have_is_still_refused(tarn, repo):
    signed(tarn, "PUT", f"/{repo}/main/a", body=b"x")
    for key, code in [("main", "InvalidArgument"), ("main/" + LONG_KEY, "KeyTooLongError")]:
        for method, target, headers in requests_of(repo, key, f"{repo}/main/a"):
            assert signed(tarn, method, target, headers).code == code, (method, key[:10])


def test_a_destination_that_takes_no_write_is_named_before_an_absent_source(tarn, repo, name):
    s3_requests.create_tag(tarn, repo, "v1")
    read_only = f"ro-{name}"[-60:].strip("-")
    s3_requests.rest(
        tarn,
        "POST",
        "/repositories",
        json={"name": read_only, "storage_namespace": f"local://{read_only}", "default_branch": "main", "read_only": True},
    )
    source = {"x-amz-copy-source": f"{repo}/main/absent"}
    for target, expected in [
        (f"/{repo}/v1/a", (405, "MethodNotAllowed")),
        (f"/{repo}/nobranch/a", (404, "NoSuchBucket")),
        (f"/{read_only}/main/a", (403, "AccessDenied")),
        (f"/{repo}/main/a", (404, "NoSuchKey")),
    ]:
        assert told(signed(tarn, "PUT", target, source))[:2] == expected, target


@pytest.mark.parametrize("condition", ["If-None-Match", "If-Match"])
def test_an_empty_condition_is_none(tarn, repo, condition):
    target = f"/{repo}/main/a"
    for body in (b"1", b"2"):
        assert signed(tarn, "PUT", target, {condition: ""}, body).status == 200
    assert signed(tarn, "GET", target, {condition: ""}).body == b"2"
    copied = signed(tarn, "PUT", f"/{repo}/main/b", {condition: "", "x-amz-copy-source": f"{repo}/main/a"})
    assert copied.status == 200
    assert signed(tarn, "DELETE", target, {condition: " "}).status == 204


@pytest.mark.parametrize("value", ["a b", '"a" nonsense', '*, "a"'])
def test_what_is_no_etag_is_no_condition_to_write_under(tarn, repo, value):
    target = f"/{repo}/main/a"
    for headers in ({}, {"x-amz-copy-source": f"{repo}/main/source"}):
        signed(tarn, "PUT", f"/{repo}/main/source", body=b"x")
        answer = signed(tarn, "PUT", target, {"If-None-Match": value, **headers})
        assert told(answer)[:2] == (501, "NotImplemented"), headers
        assert answer.xml.findtext("Header") == "If-None-Match"
    assert signed(tarn, "HEAD", target).status == 404


@pytest.mark.parametrize(
    "bucket", ["A", "Upper-Case", "ab", "a" * 64, "under_score", "192.168.5.123", "has..dots", "-dash", "my.bucket", "dot."]
)
def test_a_name_that_no_bucket_can_have_is_invalid(tarn, bucket):
    status, code, message = told(signed(tarn, "PUT", f"/{bucket}"))
    assert (status, code) == (400, "InvalidBucketName")
    assert message.startswith("The specified bucket is not valid.")


def test_a_bucket_that_somebody_else_has_is_said_to_exist(tarn, repo, make_user):
    creator = make_user(allow(["fs:CreateRepository"], "*"))
    reader = make_user(allow(["fs:CreateRepository", "fs:ReadRepository"], "*"))
    assert told(signed(creator, "PUT", f"/{repo}"))[:2] == (409, "BucketAlreadyExists")
    assert told(signed(creator, "PUT", f"/{repo}.main"))[:2] == (409, "BucketAlreadyExists")
    for user in (reader, tarn):
        assert told(signed(user, "PUT", f"/{repo}"))[:2] == (409, "BucketAlreadyOwnedByYou")


def test_messages_are_those_of_s3(tarn, repo, make_user):
    nobody = make_user()
    upload = f"/{repo}/main/a?uploadId={uuid.uuid4().hex}"
    part = b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>"
    for answer, code, message in [
        (signed(tarn, "GET", f"/{repo}/main/absent"), "NoSuchKey", "The specified key does not exist."),
        (signed(tarn, "GET", "/absent-bucket?list-type=2"), "NoSuchBucket", NO_BUCKET),
        (signed(tarn, "GET", "/No-Such-Bucket/a"), "NoSuchBucket", NO_BUCKET),
        (signed(tarn, "PUT", f"/{repo}/nobranch/a"), "NoSuchBucket", NO_BUCKET + ": "),
        (signed(nobody, "GET", f"/{repo}/main/a"), "AccessDenied", "Access Denied"),
        (
            signed(tarn, "POST", upload, {}, part),
            "NoSuchUpload",
            (
                "The specified multipart upload does not exist. The upload ID may be invalid, or the upload may have been "
                "aborted or completed."
            ),
        ),
        (signed(tarn, "PUT", f"/{repo}/main/a", {"If-Match": "*"}), "NoSuchKey", "The specified key does not exist."),
        (
            signed(tarn, "PUT", f"/{repo}/main/a", {"Content-MD5": "AAAA"}),
            "InvalidDigest",
            "The Content-MD5 you specified is not valid.",
        ),
        (
            signed(tarn, "PUT", f"/{repo}/main/a", {"Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="}, b"x"),
            "BadDigest",
            "The Content-MD5 you specified did not match what we received.",
        ),
        (
            signed(tarn, "PUT", f"/{repo}/main/a", {}, b"x", payload=64 * "0"),
            "XAmzContentSHA256Mismatch",
            "The provided 'x-amz-content-sha256' header does not match what was computed.",
        ),
        (signed(tarn, "PUT", f"/{repo}/main/{LONG_KEY}"), "KeyTooLongError", "Your key is too long"),
        (signed(tarn, "DELETE", f"/{repo}"), "MethodNotAllowed", "The specified method is not allowed against this resource."),
    ]:
        assert answer.code == code
        assert answer.xml.findtext("Message").startswith(message), code


def test_a_wrong_secret_is_told_in_the_words_of_s3(tarn, repo):
    class WrongKey:
        url, access_key, secret_key = tarn.url, tarn.access_key, "wrong"

    assert told(signed(WrongKey, "GET", f"/{repo}/main/a")) == (
        403,
        "SignatureDoesNotMatch",
        "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    )


def test_a_condition_that_fails_says_so_first(tarn, repo):
    s3 = clients.boto3_client(tarn)
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x")
    answer = signed(tarn, "PUT", f"/{repo}/main/a", {"If-None-Match": "*"}, b"y")
    assert told(answer) == (412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
