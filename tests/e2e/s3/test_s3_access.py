"""Access to the gateway: pages of other origins, unsigned requests, version 2, temporary credentials."""

import contextlib
import json
import time

import boto3
import clients
import pytest
import requests
import s3_requests
import servers
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from s3_requests import send, signed

ORIGIN = "https://app.test"


@pytest.fixture
def repo(repo):
    return repo.id


@contextlib.contextmanager
def server_with(scratch_dir, initialised_data, **settings):
    """A server with these settings and a repository "lake" that holds main/a."""
    environment = {f"TARN_{name}": value for name, value in settings.items()}
    server = servers.Tarnd(scratch_dir / "tarnd", environment=environment).copy_data_of(initialised_data).start()
    try:
        s3_requests.rest(
            server, "POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake", "default_branch": "main"}
        )
        clients.boto3_client(server).put_object(Bucket="lake", Key="main/a", Body=b"bytes")
        yield server
    finally:
        server.stop()


def preflight(server, target, origin=ORIGIN, method="PUT", headers="content-type,x-amz-meta-a", **more):
    return requests.options(
        server.url + target,
        timeout=60,
        headers={"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": headers, **more},
    )


def test_pages_of_allowed_origins(scratch_dir, initialised_data):
    with server_with(scratch_dir, initialised_data, S3_CORS_ALLOWED_ORIGINS="https://app.test,https://*.lake.test") as server:
        s3 = clients.boto3_client(server, signature_version="s3v4")
        url = s3.generate_presigned_url("put_object", Params={"Bucket": "lake", "Key": "main/b"})
        target = url.removeprefix(server.url)
        for path in [target, "/lake", "/lake?delete", "/lake/main/b?partNumber=1&uploadId=x"]:
            answer = preflight(server, path)
            assert (answer.status_code, answer.content) == (200, b""), path
            assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
            assert answer.headers["Access-Control-Allow-Methods"] == "GET, HEAD, PUT, POST, DELETE"
            assert answer.headers["Access-Control-Allow-Headers"] == "content-type, x-amz-meta-a"
            assert answer.headers["Access-Control-Max-Age"] == "600"
            assert "Access-Control-Allow-Credentials" not in answer.headers
        put = requests.put(url, data=b"x", headers={"Origin": ORIGIN}, timeout=60)
        assert put.status_code == 200 and put.headers["Access-Control-Allow-Origin"] == ORIGIN
        assert "ETag" in put.headers["Access-Control-Expose-Headers"] and put.headers["Vary"] == "Origin"
        # A page may read why it failed; another origin's page may not read anything.
        denied = requests.get(server.url + "/lake/main/b?AWSAccessKeyId=x", headers={"Origin": ORIGIN}, timeout=60)
        assert denied.status_code == 403 and denied.headers["Access-Control-Allow-Origin"] == ORIGIN
        for origin in ["https://evil.test", "null", "https://app.test.evil"]:
            refused = preflight(server, target, origin)
            assert (refused.status_code, "<Code>AccessForbidden</Code>" in refused.text) == (403, True), origin
            answer = requests.put(url, data=b"x", headers={"Origin": origin}, timeout=60)
            assert "Access-Control-Allow-Origin" not in answer.headers
        # REST and the web page are not for other origins.
        assert "Access-Control-Allow-Origin" not in preflight(server, "/api/v1/repositories").headers


def test_without_configured_origins_no_page_may(tarn, repo):
    answer = preflight(tarn, f"/{repo}/main/a")
    assert (answer.status_code, "<Code>AccessForbidden</Code>" in answer.text) == (403, True)
    assert "Access-Control-Allow-Origin" not in answer.headers
    put = signed(tarn, "PUT", f"/{repo}?cors", body=b"<CORSConfiguration/>")
    assert (put.status, put.code) == (400, "MalformedXML")


def code_of(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]["Code"]


def test_unsigned_requests_act_as_a_user(scratch_dir, initialised_data):
    with server_with(scratch_dir, initialised_data, S3_ANONYMOUS="public", S3_HOSTS="localhost") as server:
        rest = clients.Rest(server)
        anonymous = boto3.client(
            "s3",
            endpoint_url=server.url.replace("127.0.0.1", "localhost"),
            region_name="us-east-1",
            config=Config(signature_version=UNSIGNED, s3={"addressing_style": "path"}),
        )
        read = {"Bucket": "lake", "Key": "main/a"}
        assert code_of(anonymous.get_object, **read) == "AccessDenied", "there is no such user yet"
        assert rest("POST", "/auth/users", json={"id": "public"}).status_code == 201
        time.sleep(1.1)  # the longest that servers remember who may what
        assert code_of(anonymous.get_object, **read) == "AccessDenied", "who may nothing yet"
        policy = {
            "id": "read-lake",
            "statement": [
                {"effect": "allow", "resource": "arn:lakefs:fs:::repository/lake/object/*", "action": ["fs:ReadObject"]}
            ],
        }
        assert rest("POST", "/auth/policies", json=policy).status_code == 201
        assert rest("PUT", "/auth/users/public/policies/read-lake").status_code == 201
        time.sleep(1.1)
        assert anonymous.get_object(**read)["Body"].read() == b"bytes"
        assert code_of(anonymous.put_object, **read, Body=b"x") == "AccessDenied"
        assert code_of(anonymous.list_objects_v2, Bucket="lake") == "AccessDenied"
        assert code_of(anonymous.get_object, **read, ResponseContentType="text/html") == "InvalidRequest"
        # A signature that is wrong does not become an unsigned request.
        wrong = clients.boto3_client(server)
        wrong.meta.events.register(
            "before-send.s3",
            lambda request, **_: request.headers.__setitem__("Authorization", request.headers["Authorization"][:-64] + b"0" * 64),
        )
        assert code_of(wrong.get_object, **read) == "SignatureDoesNotMatch"
        form = requests.post(f"{server.url}/lake", data={"key": "main/b"}, files={"file": b"x"}, timeout=60)
        assert form.status_code == 403
        policy["statement"][0]["action"].append("fs:WriteObject")
        assert rest("PUT", "/auth/policies/read-lake", json=policy).status_code in (200, 201)
        time.sleep(1.1)
        form = requests.post(f"{server.url}/lake", data={"key": "main/b"}, files={"file": b"x"}, timeout=60)
        assert form.status_code == 204, form.text
        form = requests.post(
            f"{server.url}/lake",
            timeout=60,
            files={"file": b"x"},
            data={"key": "main/b", "success_action_redirect": "http://app.test"},
        )
        assert form.status_code == 400, "nobody vouches for where it leads"
        # Only what is addressed to S3 is served so.
        assert requests.get(f"{server.url}/lake/main/a", timeout=60).status_code == 404


def test_version_2_can_be_switched_off(scratch_dir, initialised_data):
    with server_with(scratch_dir, initialised_data, S3_SIGNATURE_V2="false") as server:
        old = clients.boto3_client(server, signature_version="s3")
        assert code_of(old.get_object, Bucket="lake", Key="main/a") == "InvalidRequest"
        url = old.generate_presigned_url("get_object", Params={"Bucket": "lake", "Key": "main/a"})
        assert "AWSAccessKeyId" in url and requests.get(url, timeout=60).status_code == 400
        form = old.generate_presigned_post("lake", "main/b")
        assert requests.post(form["url"], data=form["fields"], files={"file": b"x"}, timeout=60).status_code == 400
        assert clients.boto3_client(server).get_object(Bucket="lake", Key="main/a")["Body"].read() == b"bytes"


def default_client(server):
    """boto3 as a program gets it that sets nothing: its signed URLs are of version 2."""
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
    )


def version_4_client(server):
    return clients.boto3_client(server, signature_version="s3v4")


@pytest.mark.parametrize("signer", [default_client, version_4_client])
def test_a_signed_url_does_what_was_signed_and_no_more(tarn, repo, name, signer):
    s3, vault, mine = signer(tarn), f"{name}-vault", {"Bucket": repo, "Key": "main/drop/mine.bin"}
    made = clients.Rest(tarn)("POST", "/repositories", json={"name": vault, "storage_namespace": f"local://{vault}"})
    assert made.status_code == 201
    s3.put_object(Bucket=vault, Key="main/key.txt", Body=b"secret")
    upload = s3.create_multipart_upload(**mine)["UploadId"]
    part = {**mine, "UploadId": upload, "PartNumber": 1}
    urls = {
        "PUT": s3.generate_presigned_url("put_object", Params=mine),
        "part": s3.generate_presigned_url("upload_part", Params=part),
        "POST": s3.generate_presigned_url("create_multipart_upload", Params=mine),
    }
    assert ("AWSAccessKeyId" in urls["PUT"]) == (signer is default_client)
    for kind, url in urls.items():
        method = {"part": "PUT"}.get(kind, kind)
        for added in [
            f"x-amz-copy-source={vault}/main/key.txt",
            f"X-Amz-Copy-Source=/{vault}/main/key.txt",
            "x-amz-meta-role=admin",
            "x-amz-tagging=a%3Db",
            "x-amz-storage-class=GLACIER",
            "content-type=text/html",
            "content-md5=XUFAKrxLKna5cZ2REBfFkg==",
        ]:
            answer = requests.request(method, f"{url}&{added}", timeout=60)
            assert answer.status_code == 403, (kind, added, answer.text)
            assert "<Code>SignatureDoesNotMatch</Code>" in answer.text
    assert requests.head(s3.generate_presigned_url("head_object", Params=mine), timeout=60).status_code == 404
    assert s3.list_parts(**mine, UploadId=upload).get("Parts", []) == []
    # As they were signed they work.
    assert requests.put(urls["PUT"], data=b"mine", timeout=60).status_code == 200
    assert requests.put(urls["part"], data=b"part", timeout=60).status_code == 200
    assert requests.post(urls["POST"], timeout=60).status_code == 200
    described = s3.generate_presigned_url(
        "put_object", Params={**mine, "Key": "main/described", "ContentType": "text/csv", "Metadata": {"color": "red"}}
    )
    headers = {"Content-Type": "text/csv"}
    if signer is not default_client:
        headers["x-amz-meta-color"] = "red"
    assert requests.put(described, data=b"a,b", headers=headers, timeout=60).status_code == 200
    stat = s3.head_object(Bucket=repo, Key="main/described")
    assert (stat["ContentType"], stat["Metadata"]) == ("text/csv", {"color": "red"})


@pytest.mark.parametrize("signer", [default_client, version_4_client])
def test_a_signed_url_cannot_be_extended_by_a_parameter_of_another_spelling(tarn, repo, signer):
    s3, mine = signer(tarn), {"Bucket": repo, "Key": "main/shared.txt"}
    s3.put_bucket_versioning(Bucket=repo, VersioningConfiguration={"Status": "Enabled"})
    old = s3.put_object(**mine, Body=b"old")["VersionId"]
    s3.put_object(**mine, Body=b"new")
    tagging = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>"
    links = {
        "GET": s3.generate_presigned_url("get_object", mine),
        "PUT": s3.generate_presigned_url("put_object", mine),
        "POST": s3.generate_presigned_url("create_multipart_upload", mine),
        "DELETE": s3.generate_presigned_url("delete_object", mine),
    }
    for method, url in links.items():
        for added in (
            f"%76ersionId={old}",
            f"versionI%64={old}",
            f"versionId={old}",
            "%72esponse-content-type=text/html",
            "%74agging",
            "tagging",
            "%75ploads",
            "%61ttributes",
            "attributes",
            "publicAccessBlock",
            "a%63l",
        ):
            answer = requests.request(method, f"{url}&{added}", data=tagging if method == "PUT" else None, timeout=60)
            # Two sub-resources in one query are refused before anything is proven.
            assert answer.status_code == 403 or (method, answer.status_code) == ("POST", 400), (method, added, answer.text)
    assert requests.get(links["GET"], timeout=60).content == b"new"
    assert s3.get_object_tagging(**mine)["TagSet"] == []
    assert s3.get_object(**mine, VersionId=old)["Body"].read() == b"old"


@pytest.mark.parametrize(
    "region,version_2", [("us-east-1", True), ("eu-west-1", True), (None, True), ("eu-central-1", False), ("tarn", False)]
)
def test_boto3_signs_urls_with_version_2_in_the_regions_that_had_it(tarn, repo, region, version_2):
    """Why `s3.signature_v2` is on: docs/security.md."""
    s3 = boto3.client(
        "s3", endpoint_url=tarn.url, region_name=region, aws_access_key_id=tarn.access_key, aws_secret_access_key=tarn.secret_key
    )
    s3.put_object(Bucket=repo, Key="main/a", Body=b"bytes")
    url = s3.generate_presigned_url("get_object", {"Bucket": repo, "Key": "main/a"})
    assert ("AWSAccessKeyId=" in url, "X-Amz-Signature=" in url) == (version_2, not version_2)
    assert requests.get(url, timeout=60).content == b"bytes"


def test_temporary_credentials_are_refused(tarn, repo):
    answer = signed(tarn, "GET", f"/{repo}/main/a", {"x-amz-security-token": "token"})
    assert (answer.status, answer.code) == (400, "InvalidToken")
    s3 = boto3.client(
        "s3",
        endpoint_url=tarn.url,
        aws_access_key_id=tarn.access_key,
        region_name="us-east-1",
        aws_secret_access_key=tarn.secret_key,
        aws_session_token="token",
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )
    url = s3.generate_presigned_url("get_object", Params={"Bucket": repo, "Key": "main/a"})
    assert "X-Amz-Security-Token" in url and "InvalidToken" in requests.get(url, timeout=60).text
    form = s3.generate_presigned_post(repo, "main/a")
    assert "InvalidToken" in requests.post(form["url"], data=form["fields"], files={"file": b"x"}, timeout=60).text


def test_logs_say_who_did_what_and_hold_no_signatures(scratch_dir, initialised_data):
    with server_with(scratch_dir, initialised_data, LOG_LEVEL="debug", LOG_FORMAT="json", S3_HOSTS="s3.test") as server:
        signed(server, "PUT", "/main/in-host", {"Host": "lake.s3.test"}, b"abc")
        assert signed(server, "GET", "/main/in-host", {"Host": "lake.s3.test"}).body == b"abc"
        secrets = [server.secret_key]
        for version in ("s3", "s3v4"):
            s3 = clients.boto3_client(server, signature_version=version)
            for key in ("main/a", "main/absent"):
                url = s3.generate_presigned_url("get_object", Params={"Bucket": "lake", "Key": key})
                requests.get(url, timeout=60)
                requests.get(url + "0", timeout=60)
                secrets.append(url.partition("Signature=")[2].partition("&")[0])
        headers = s3_requests.sign(server, "GET", "/lake/main/a")
        send(server, "GET", "/lake/main/a", headers)
        send(server, "GET", "/lake/main/a", {**headers, "x-amz-meta-b": "changed"})
        secrets.append(headers["Authorization"].rpartition("=")[2])
        form = clients.boto3_client(server).generate_presigned_post("lake", "main/a")
        requests.post(form["url"], data=form["fields"], files={"file": b"x"}, timeout=60)
        secrets.append(form["fields"]["signature"])
        text = server.process.log.read_text()
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    told = [line for line in lines if line.get("api") == "s3"]
    assert len(told) >= 11
    # User, operation, object, bytes and outcome.
    facts = ("operation", "user", "path", "status", "received_bytes", "sent_bytes")
    kept = [tuple(line[fact] for fact in facts) for line in told]
    assert ("PutObject", "admin", "/lake/main/a", 200, 5, 0) in kept
    assert ("GetObject", "admin", "/lake/main/a", 200, 0, 5) in kept
    assert ("GetObject", "admin", "/lake/main/in-host", 200, 0, 3) in kept
    assert all(line["request_id"] and line["address"] == "127.0.0.1" for line in told)
    assert all(0 < line["duration_ms"] < 60_000 and round(line["duration_ms"], 3) == line["duration_ms"] for line in told)
    rest = [line for line in lines if line.get("api") == "rest"]
    assert rest and all(line.keys() == told[0].keys() for line in rest)
    for secret in secrets:
        assert secret and secret not in text
