"""Upload forms of browsers: signed by boto3, or by hand where boto3 would not make them."""

import base64
import hashlib
import hmac
import json
import time
import urllib.parse
from xml.etree import ElementTree

import clients
import pytest
import requests
import s3_requests
import servers


@pytest.fixture
def repo(repo):
    return repo.id


@pytest.fixture
def s3(tarn):
    """boto3 signs forms with version 2 unless it is told otherwise."""
    return clients.boto3_client(tarn, signature_version="s3v4")


def stored(s3, repo, prefix="main/"):
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=repo, Prefix=prefix).get("Contents", [])]


def send(form, data=b"bytes", name="a.txt", url=None, allow_redirects=False, **fields):
    """Sends a form as requests does: the fields in their order, the file last."""
    parts = [(key, (None, value)) for key, value in {**form["fields"], **fields}.items()]
    return requests.post(url or form["url"], files=[*parts, ("file", (name, data))], timeout=60, allow_redirects=allow_redirects)


def code_of(answer):
    return ElementTree.fromstring(answer.content).findtext("Code")


def policy_text(conditions, seconds=600, **more):
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    return json.dumps({"expiration": expires, "conditions": conditions, **more})


def v2_form(tarn, repo, key, conditions=None, document=None, **fields):
    """A form signed with version 2, as boto3 no longer makes them."""
    if document is None:
        document = policy_text(
            [{"bucket": repo}, {"key": key}, *({name: value} for name, value in fields.items()), *(conditions or [])]
        )
    policy = base64.b64encode(document.encode()).decode()
    signature = hmac.new(tarn.secret_key.encode(), policy.encode(), hashlib.sha1).digest()
    return {
        "url": f"{tarn.url}/{repo}",
        "fields": {
            "key": key,
            "AWSAccessKeyId": tarn.access_key,
            "policy": policy,
            "signature": base64.b64encode(signature).decode(),
            **fields,
        },
    }


def test_a_form_of_boto3(tarn, s3, repo):
    form = s3.generate_presigned_post(
        repo,
        "main/a b&c",
        Fields={
            "Content-Type": "text/csv",
            "x-amz-meta-Colour": "grün",
            "Cache-Control": "no-store",
            "tagging": "<Tagging><TagSet><Tag><Key>k &amp; l</Key><Value>v</Value></Tag></TagSet></Tagging>",
        },
        Conditions=[
            {"Content-Type": "text/csv"},
            ["starts-with", "$x-amz-meta-colour", ""],
            {"cache-control": "no-store"},
            ["starts-with", "$tagging", "<Tagging>"],
            ["content-length-range", 5, 1000],
        ],
    )
    answer = send(form)
    assert (answer.status_code, answer.content) == (204, b""), answer.text
    assert answer.headers["ETag"] == f'"{hashlib.md5(b"bytes").hexdigest()}"'
    assert answer.headers["Location"] == f"{tarn.url}/{repo}/main/a%20b%26c"
    assert answer.headers["x-amz-checksum-crc64nvme"]
    found = s3.get_object(Bucket=repo, Key="main/a b&c")
    assert found["Body"].read() == b"bytes"
    assert (found["ContentType"], found["CacheControl"]) == ("text/csv", "no-store")
    assert "colour" in found["Metadata"]
    tags = s3.get_object_tagging(Bucket=repo, Key="main/a b&c")["TagSet"]
    assert tags == [{"Key": "k & l", "Value": "v"}]


@pytest.mark.parametrize("size", [0, 1, 70_000, 9 << 20])
def test_files_of_any_size(s3, repo, size):
    data = bytes(range(256)) * (size // 256) + b"\r\n--" * (size % 256)
    answer = send(s3.generate_presigned_post(repo, "main/file"), data)
    assert answer.status_code == 204, answer.text
    assert s3.get_object(Bucket=repo, Key="main/file")["Body"].read() == data


def test_the_key_takes_the_name_of_the_file(s3, repo):
    form = s3.generate_presigned_post(repo, "main/up/${filename}")
    assert send(form, name="C:/My Files/ä.txt").status_code == 204
    assert send(form, name="plain").status_code == 204
    assert stored(s3, repo) == ["main/up/plain", "main/up/ä.txt"]


def test_answers_a_form_may_ask_for(tarn, s3, repo):
    def asking(**fields):
        return send(
            s3.generate_presigned_post(
                repo, "main/a", Fields=fields, Conditions=[{name: value} for name, value in fields.items()]
            )
        )

    assert [asking(success_action_status=status).status_code for status in ("200", "204", "404", "")] == [200, 204, 204, 204]
    created = asking(success_action_status="201")
    assert (created.status_code, created.headers["Content-Type"]) == (201, "application/xml")
    document = ElementTree.fromstring(created.content)
    assert {element.tag: element.text for element in document} == {
        "Location": f"{tarn.url}/{repo}/main/a",
        "Bucket": repo,
        "Key": "main/a",
        "ETag": f'"{hashlib.md5(b"bytes").hexdigest()}"',
    }
    etag = urllib.parse.quote(document.findtext("ETag"))
    added = f"bucket={repo}&key=main%2Fa&etag={etag}"
    for page, expected in [
        ("http://app.test/done", f"http://app.test/done?{added}"),
        ("https://app.test/?a=b#c", f"https://app.test/?a=b&{added}#c"),
    ]:
        answer = asking(success_action_redirect=page, success_action_status="201")
        assert (answer.status_code, answer.headers["Location"]) == (303, expected)
    for page in ["javascript:alert(1)", "//app.test", "ftp://app.test", "http://app.test/a b"]:
        answer = asking(success_action_redirect=page)
        assert (answer.status_code, code_of(answer)) == (400, "InvalidArgument"), page


def test_checksums_of_forms(s3, repo):
    right = base64.b64encode(hashlib.sha256(b"bytes").digest()).decode()
    for key, data, expected in [("main/right", b"bytes", (204, None)), ("main/wrong", b"other", (400, "BadDigest"))]:
        fields = {"x-amz-checksum-sha256": right, "x-amz-checksum-algorithm": "SHA256"}
        answer = send(
            s3.generate_presigned_post(repo, key, Fields=fields, Conditions=[{name: value} for name, value in fields.items()]),
            data,
        )
        assert (answer.status_code, code_of(answer) if answer.content else None) == expected
    assert stored(s3, repo) == ["main/right"]
    head = s3.head_object(Bucket=repo, Key="main/right", ChecksumMode="ENABLED")
    assert head["ChecksumSHA256"] == right


def test_version_2_forms(tarn, s3, repo):
    assert send(clients.boto3_client(tarn).generate_presigned_post(repo, "main/boto")).status_code == 204
    assert send(v2_form(tarn, repo, "main/a", acl="private")).status_code == 204
    assert stored(s3, repo) == ["main/a", "main/boto"]
    form = v2_form(tarn, repo, "main/b")
    form["fields"]["signature"] = base64.b64encode(bytes(20)).decode()
    assert code_of(send(form)) == "SignatureDoesNotMatch"


def test_names_of_fields_and_conditions_have_no_case(tarn, s3, repo):
    document = policy_text(
        [{"bUcKeT": repo}, ["StArTs-WiTh", "$KeY", "main/"], {"AcL": "private"}, ["EQ", "$CoNtEnT-TyPe", "text/plain"]]
    )
    form = v2_form(tarn, repo, "main/a", document=document)
    fields = form["fields"]
    form["fields"] = {
        "KEY": fields["key"],
        "aWSAccessKeyId": fields["AWSAccessKeyId"],
        "pOLICy": fields["policy"],
        "Signature": fields["signature"],
        "acL": "private",
        "content-TYPE": "text/plain",
        "x-ignore-this": "please",
    }
    assert send(form).status_code == 204
    assert s3.head_object(Bucket=repo, Key="main/a")["ContentType"] == "text/plain"


def test_refused_forms_store_nothing(tarn, s3, repo):
    """Every refusal by its code, in the order in which things are checked."""

    def by_boto(change=None, data=b"bytes", conditions=(), fields=None, **more):
        form = s3.generate_presigned_post(repo, "main/a", Fields=fields, Conditions=list(conditions), **more)
        for name, value in (change or {}).items():
            if value is None:
                del form["fields"][name]
            else:
                form["fields"][name] = value
        return send(form, data)

    def by_document(document):
        return send(v2_form(tarn, repo, "main/a", document=document))

    other_bucket = s3.generate_presigned_post("elsewhere", "main/a")
    usual = [{"bucket": repo}, {"key": "main/a"}]
    flipped = base64.b64encode(policy_text(usual).encode()).decode()
    cases = [
        (403, "SignatureDoesNotMatch", lambda: by_boto({"x-amz-signature": "0" * 64})),
        (403, "SignatureDoesNotMatch", lambda: by_boto({"policy": flipped})),
        (
            403,
            "InvalidAccessKeyId",
            lambda: by_boto({"x-amz-credential": time.strftime("nobody/%Y%m%d/us-east-1/s3/aws4_request", time.gmtime())}),
        ),
        (400, "InvalidArgument", lambda: by_boto({"x-amz-signature": None})),
        (400, "InvalidArgument", lambda: by_boto({"policy": None})),
        (400, "InvalidArgument", lambda: by_boto({"key": None})),
        (400, "InvalidArgument", lambda: by_boto({"AWSAccessKeyId": tarn.access_key})),
        (400, "InvalidToken", lambda: by_boto({"x-amz-security-token": "x"})),
        (501, "NotImplemented", lambda: by_boto({"x-amz-algorithm": "AWS4-ECDSA-P256-SHA256"})),
        (403, "AccessDenied", lambda: by_boto({"key": "main/b"})),
        (403, "AccessDenied", lambda: by_boto({"acl": "private"})),
        (403, "AccessDenied", lambda: by_boto({"x-amz-meta-a": "b"})),
        (403, "AccessDenied", lambda: by_boto({"x-amz-meta-a": "c"}, conditions=[{"x-amz-meta-a": "b"}])),
        (403, "AccessDenied", lambda: by_boto(conditions=[{"x-amz-meta-a": "b"}])),
        (403, "AccessDenied", lambda: by_boto({"success_action_redirect": "http://app.test"})),
        (403, "AccessDenied", lambda: by_boto(ExpiresIn=-1)),
        (403, "AccessDenied", lambda: send(other_bucket, url=f"{tarn.url}/{repo}")),
        (400, "EntityTooLarge", lambda: by_boto(conditions=[["content-length-range", 0, 4]])),
        (400, "EntityTooSmall", lambda: by_boto(conditions=[["content-length-range", 6, 10]])),
        (400, "EntityTooLarge", lambda: by_boto(data=bytes(3 << 20), conditions=[["content-length-range", 0, 1 << 20]])),
        (
            400,
            "InvalidTag",
            lambda: by_boto(
                {"tagging": "<Tagging><TagSet><Tag><Key></Key><Value>v</Value></Tag></TagSet></Tagging>"},
                conditions=[["starts-with", "$tagging", ""]],
            ),
        ),
        (400, "MalformedXML", lambda: by_boto({"tagging": "<Tagging"}, conditions=[["starts-with", "$tagging", ""]])),
        (
            501,
            "NotImplemented",
            lambda: by_boto(
                {"x-amz-server-side-encryption": "AES256"}, conditions=[["starts-with", "$x-amz-server-side-encryption", ""]]
            ),
        ),
        (400, "InvalidPolicyDocument", lambda: by_document("")),
        (400, "InvalidPolicyDocument", lambda: by_document(policy_text([{}]))),
        (400, "InvalidPolicyDocument", lambda: by_document(policy_text([*usual, ["content-length-range", 0]]))),
        (400, "InvalidPolicyDocument", lambda: by_document(policy_text([*usual, ["content-length-range", -1, 0]]))),
        (400, "InvalidPolicyDocument", lambda: by_document(json.dumps({"conditions": usual}))),
        (400, "InvalidPolicyDocument", lambda: by_document(policy_text(usual).replace("expiration", "EXPIRATION"))),
        (400, "InvalidPolicyDocument", lambda: by_document(json.dumps({"expiration": "2100-01-01", "conditions": usual}))),
        (400, "InvalidPolicyDocument", lambda: by_document("[" * 9000)),
        (403, "AccessDenied", lambda: by_document(policy_text([{"key": "main/a"}]))),
        (403, "AccessDenied", lambda: by_document(policy_text([{"bucket": repo}]))),
        (404, "NoSuchBucket", lambda: send(s3.generate_presigned_post(repo, "nobranch/a"))),
        (404, "NoSuchBucket", lambda: send(s3.generate_presigned_post("absent-repository", "main/a"))),
        (400, "InvalidArgument", lambda: send(s3.generate_presigned_post(repo, "main"))),
        (400, "KeyTooLongError", lambda: send(s3.generate_presigned_post(repo, "main/" + 1025 * "k"))),
        (400, "MaxPostPreDataLengthExceeded", lambda: by_boto({"x-ignore-a": 21_000 * "x"})),
    ]
    for index, (status, code, post) in enumerate(cases):
        answer = post()
        assert (answer.status_code, code_of(answer)) == (status, code), (index, answer.text)
        assert stored(s3, repo) == [], index


def test_forms_sent_badly_store_nothing(tarn, s3, repo):
    form = s3.generate_presigned_post(repo, "main/a")
    encoded = requests.Request(
        "POST", form["url"], files=[*((name, (None, value)) for name, value in form["fields"].items()), ("file", ("a", b"bytes"))]
    ).prepare()
    kind = encoded.headers["Content-Type"]

    def post(body, headers=None, target=f"/{repo}"):
        answer = s3_requests.send(tarn, "POST", target, {"Content-Type": kind, **(headers or {})}, body)
        return answer.status, answer.code

    # Cut anywhere behind the first field: no object of half a form.
    at = encoded.body.find(b"bytes")
    for end in [10, at - 3, at, at + 2, at + 5, len(encoded.body) - 5, len(encoded.body) - 4]:
        assert post(encoded.body[:end]) == (400, "MalformedPOSTRequest"), end
    assert post(encoded.body, {"Content-Type": "multipart/form-data"}) == (400, "MalformedPOSTRequest")
    assert post(encoded.body, s3_requests.sign(tarn, "POST", f"/{repo}", {"Content-Type": kind})) == (400, "InvalidArgument")
    assert s3_requests.signed(tarn, "POST", f"/{repo}", body=b"x").code == "PreconditionFailed"
    twice = encoded.body.replace(b'name="key"', b'name="policy"', 1)
    assert post(twice) == (400, "InvalidArgument")
    unsigned = requests.post(f"{tarn.url}/{repo}", files={"file": b"x"}, data={"key": "main/a"}, timeout=60)
    assert (unsigned.status_code, code_of(unsigned)) == (403, "AccessDenied")
    assert stored(s3, repo) == []
    assert s3_requests.send(tarn, "POST", f"/{repo}/", {"Content-Type": kind}, encoded.body).status == 204
    assert stored(s3, repo) == ["main/a"]


def test_a_form_writes_to_branches_only(tarn, s3, repo):
    s3_requests.create_tag(tarn, repo, "v1")
    answer = send(s3.generate_presigned_post(repo, "v1/a"))
    assert (answer.status_code, code_of(answer)) == (405, "MethodNotAllowed")
    assert send(s3.generate_presigned_post(repo, "main/"), b"").status_code == 204, "the directory is there already"


def test_every_style_of_address(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_S3_HOSTS": "s3.test"}).copy_data_of(initialised_data).start()
    try:
        s3_requests.rest(
            server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake", "default_branch": "main"}
        )
        s3 = clients.boto3_client(server, signature_version="s3v4")
        rooted = s3.generate_presigned_post("lake.main", "dir/rooted")
        assert send(rooted).status_code == 204
        hosted = s3.generate_presigned_post("lake", "main/hosted")
        answer = requests.post(
            server.url + "/",
            headers={"Host": "lake.s3.test:1"},
            timeout=60,
            files=[*((name, (None, value)) for name, value in hosted["fields"].items()), ("file", b"bytes")],
        )
        assert answer.status_code == 204 and answer.headers["Location"] == "http://lake.s3.test:1/main/hosted"
        # A policy for one address is none for another.
        swapped = send(hosted, url=f"{server.url}/lake.main")
        assert (swapped.status_code, code_of(swapped)) == (403, "AccessDenied")
        assert stored(s3, "lake") == ["main/dir/rooted", "main/hosted"]
    finally:
        server.stop()
