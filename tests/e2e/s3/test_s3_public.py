"""Buckets that everybody may read and lifecycle rules, over two servers with real clients."""

import time
import uuid

import boto3
import clients
import pytest
import requests
import s3_requests
import servers
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError


@pytest.fixture(scope="module")
def server(session_scratch, initialised_data):
    tarnd = servers.Tarnd(
        session_scratch / "public",
        environment={"TARN_S3_CREATE_BUCKET": "rooted", "TARN_S3_PUBLIC_BUCKETS": "true", "TARN_S3_HOSTS": "localhost"},
    )
    tarnd.copy_data_of(initialised_data).start()
    yield tarnd
    tarnd.stop()


@pytest.fixture
def s3(server):
    return clients.boto3_client(server)


@pytest.fixture
def anybody(server):
    return boto3.client(
        "s3",
        endpoint_url=server.url.replace("127.0.0.1", "localhost"),
        region_name="us-east-1",
        config=Config(signature_version=UNSIGNED, s3={"addressing_style": "path"}),
    )


@pytest.fixture
def bucket(s3):
    name = f"public-{uuid.uuid4().hex}"
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="dir/a", Body=b"bytes")
    return name


def code(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return s3_requests.failure(caught)


def test_everybody_reads_a_public_bucket_and_nothing_else(server, s3, anybody, bucket):
    read = {"Bucket": bucket, "Key": "dir/a"}
    assert code(anybody.get_object, **read) == (403, "AccessDenied")
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read")
    assert anybody.get_object(**read)["Body"].read() == b"bytes"
    assert anybody.head_object(**read)["ContentLength"] == 5
    anybody.head_bucket(Bucket=bucket)
    assert [o["Key"] for o in anybody.list_objects_v2(Bucket=bucket)["Contents"]] == ["dir/a"]
    assert [p["Prefix"] for p in anybody.list_objects(Bucket=bucket, Delimiter="/")["CommonPrefixes"]] == ["dir/"]
    for call, more in [
        (anybody.put_object, {"Key": "b", "Body": b"x"}),
        (anybody.delete_object, {"Key": "dir/a"}),
        (anybody.get_bucket_acl, {}),
        (anybody.get_object_tagging, {"Key": "dir/a"}),
        (anybody.list_object_versions, {}),
        (anybody.put_bucket_acl, {"ACL": "private"}),
    ]:
        assert code(call, Bucket=bucket, **more) == (403, "AccessDenied")
    assert code(anybody.list_buckets) == (403, "AccessDenied")
    # Neither over REST, nor at a host that is not for S3.
    assert requests.get(f"{server.url}/api/v1/repositories/{bucket}/refs/main/objects?path=dir/a", timeout=60).status_code == 401
    assert requests.get(f"{server.url}/{bucket}/dir/a", timeout=60).status_code == 404
    grants = s3.get_bucket_acl(Bucket=bucket)["Grants"]
    assert [(g["Grantee"]["Type"], g["Permission"]) for g in grants] == [("CanonicalUser", "FULL_CONTROL"), ("Group", "READ")]
    s3.put_bucket_acl(Bucket=bucket, ACL="private")
    assert code(anybody.get_object, **read) == (403, "AccessDenied")


def test_a_bucket_is_made_public_or_by_its_list(s3, anybody, bucket):
    fresh = bucket[:40] + "-b"
    s3.create_bucket(Bucket=fresh, ACL="public-read", ObjectOwnership="BucketOwnerPreferred")
    assert s3.get_bucket_ownership_controls(Bucket=fresh)["OwnershipControls"]["Rules"] == [
        {"ObjectOwnership": "BucketOwnerPreferred"}
    ]
    assert anybody.list_objects_v2(Bucket=fresh)["KeyCount"] == 0
    shown = s3.get_bucket_acl(Bucket=fresh)
    assert code(anybody.list_objects_v2, Bucket=bucket) == (403, "AccessDenied")
    s3.put_bucket_acl(Bucket=bucket, AccessControlPolicy={"Owner": shown["Owner"], "Grants": shown["Grants"]})
    assert anybody.list_objects_v2(Bucket=bucket)["KeyCount"] == 1


def test_a_download_in_a_browser(server, s3, bucket):
    s3.put_bucket_acl(Bucket=bucket, ACL="public-read")
    answer = requests.get(server.url.replace("127.0.0.1", "localhost") + f"/{bucket}/dir/a", timeout=60)
    assert (answer.status_code, answer.content) == (200, b"bytes")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_everybody_gets_the_bytes_from_here(scratch_dir, initialised_data, versitygw):
    """A URL of the store would be good after the bucket was closed."""
    clients.boto3_client(versitygw).create_bucket(Bucket="publics")
    server = (
        servers.Tarnd(
            scratch_dir / "tarnd",
            environment=versitygw.tarnd_environment()
            | {
                "TARN_S3_CREATE_BUCKET": "rooted",
                "TARN_S3_PUBLIC_BUCKETS": "true",
                "TARN_S3_HOSTS": "localhost",
                "TARN_S3_BUCKET_NAMESPACE": "s3://publics/buckets",
            },
        )
        .copy_data_of(initialised_data)
        .start()
    )
    try:
        s3 = clients.boto3_client(server)
        s3.create_bucket(Bucket="open", ACL="public-read")
        s3.put_object(Bucket="open", Key="a", Body=b"0" * 100_000)
        able = {"headers": {"User-Agent": "s3RedirectionSupport"}, "allow_redirects": False}
        signed = requests.get(s3.generate_presigned_url("get_object", Params={"Bucket": "open", "Key": "a"}), timeout=60, **able)
        assert signed.status_code == 307
        read = requests.get(server.url.replace("127.0.0.1", "localhost") + "/open/a", timeout=60, **able)
        assert (read.status_code, len(read.content)) == (200, 100_000)
    finally:
        server.stop()


def wait_until(met, seconds=30):
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def keys(s3, bucket):
    return [o["Key"] for o in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def test_expired_objects_go_and_their_commits_stay(server, s3, bucket):
    commit = s3_requests.commit(server, bucket)
    s3.put_object(Bucket=bucket, Key="dir/tagged", Body=b"x", Tagging="keep=yes")
    s3.put_object(Bucket=bucket, Key="other", Body=b"x")
    rules = [{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "dir/"}, "Expiration": {"Date": "2020-01-01T00:00:00Z"}}]
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    wait_until(lambda: keys(s3, bucket) == ["other"])
    assert s3.get_object(Bucket=f"{bucket}.{commit}", Key="dir/a")["Body"].read() == b"bytes"
    changes = s3_requests.rest(server, "GET", f"/repositories/{bucket}/branches/main/diff")["results"]
    assert {(c["path"], c["type"]) for c in changes} == {("dir/a", "removed"), ("other", "added")}


def test_an_expiry_is_shown(s3, bucket):
    rules = [
        {
            "ID": "a b",
            "Status": "Enabled",
            "Filter": {"And": {"Prefix": "dir/", "ObjectSizeGreaterThan": 1}},
            "Expiration": {"Date": "2999-01-01T00:00:00Z"},
        },
        {"ID": "never", "Status": "Disabled", "Filter": {}, "Expiration": {"Days": 1}},
    ]
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    shown = s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    assert [r["ID"] for r in shown] == ["a b", "never"] and shown[0]["Filter"] == rules[0]["Filter"]
    expected = 'expiry-date="Tue, 01 Jan 2999 00:00:00 GMT", rule-id="a%20b"'
    assert s3.put_object(Bucket=bucket, Key="dir/b", Body=b"xx")["Expiration"] == expected
    assert s3.get_object(Bucket=bucket, Key="dir/a")["Expiration"] == expected
    assert s3.head_object(Bucket=bucket, Key="dir/a")["Expiration"] == expected
    assert "Expiration" not in s3.put_object(Bucket=bucket, Key="dir/small", Body=b"x")
    assert "Expiration" not in s3.head_object(Bucket=bucket + ".main", Key="dir/a")
    s3.delete_bucket_lifecycle(Bucket=bucket)
    assert "Expiration" not in s3.head_object(Bucket=bucket, Key="dir/a")
    assert keys(s3, bucket) == ["dir/a", "dir/b", "dir/small"]
