"""Buckets as such: made, found, listed and removed over S3, and that no call of S3 destroys history."""

import json
import subprocess
import threading
import types
import uuid

import clients
import lakefs_sdk
import pytest
import requests
import s3_requests
import servers
from botocore.exceptions import ClientError
from lakefs_sdk import models
from s3_requests import signed, with_md5


def failure(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["ResponseMetadata"]["HTTPStatusCode"], caught.value.response["Error"]["Code"]


def keys(s3, bucket, **options):
    return [o["Key"] for o in s3.list_objects_v2(Bucket=bucket, **options).get("Contents", [])]


@pytest.fixture
def repo(repo):
    return repo.id


def started(place, initialised_data, **environment):
    return servers.Tarnd(place, environment=environment).copy_data_of(initialised_data).start()


@pytest.fixture(scope="session", params=["repository", "rooted"])
def making(request, session_scratch, initialised_data):
    """A server whose CreateBucket makes buckets of this kind."""
    server = started(
        session_scratch / f"buckets-{request.param}",
        initialised_data,
        TARN_S3_CREATE_BUCKET=request.param,
        TARN_S3_HOSTS="s3.test",
    )
    server.kind = request.param
    yield server
    server.stop()


@pytest.fixture(scope="session")
def rooted(session_scratch, initialised_data):
    server = started(session_scratch / "rooted", initialised_data, TARN_S3_CREATE_BUCKET="rooted", TARN_S3_HOSTS="s3.test")
    yield server
    server.stop()


# Making buckets.


def test_buckets_are_not_made_unless_configured(s3, repo):
    absent = repo[:60] + "-no"
    assert failure(s3.create_bucket, Bucket=absent) == (501, "NotImplemented")
    assert failure(s3.create_bucket, Bucket=absent + ".main") == (400, "InvalidBucketName")
    assert failure(s3.create_bucket, Bucket=repo) == (409, "BucketAlreadyOwnedByYou")
    assert failure(s3.create_bucket, Bucket=repo + ".main") == (409, "BucketAlreadyOwnedByYou")
    assert failure(s3.create_bucket, Bucket=repo + ".nothing") == (404, "NoSuchBucket")


def test_a_bucket_is_made_removed_and_made_again(making, name):
    s3 = clients.boto3_client(making)
    root = "" if making.kind == "rooted" else "main/"
    namespaces = set()
    for content in [b"first", b"second"]:
        made = s3.create_bucket(Bucket=name)
        assert made["Location"] == f"/{name}"
        assert failure(s3.create_bucket, Bucket=name) == (409, "BucketAlreadyOwnedByYou")
        s3.head_bucket(Bucket=name)
        repository = s3_requests.rest(making, "GET", f"/repositories/{name}")
        assert (repository["default_branch"], repository["read_only"]) == ("main", False)
        assert repository["storage_namespace"].startswith(f"local://buckets/{name}-")
        namespaces.add(repository["storage_namespace"])
        s3.put_object(Bucket=name, Key=root + "a/b", Body=content)
        assert keys(s3, name) == [root + "a/b"]
        assert s3.get_object(Bucket=name, Key=root + "a/b")["Body"].read() == content
        assert s3.get_object(Bucket=name + ".main", Key="a/b")["Body"].read() == content
        assert failure(s3.delete_bucket, Bucket=name) == (409, "BucketNotEmpty")
        s3.delete_object(Bucket=name, Key=root + "a/b")
        assert failure(s3.delete_bucket, Bucket=name + ".main") == (405, "MethodNotAllowed")
        s3.delete_bucket(Bucket=name)
        assert failure(s3.head_bucket, Bucket=name)[0] == 404
        assert failure(s3.delete_bucket, Bucket=name) == (404, "NoSuchBucket")
        assert failure(s3.put_object, Bucket=name, Key="main/a") == (404, "NoSuchBucket")
    assert len(namespaces) == 2


def test_what_creation_accepts_and_refuses(making, name):
    s3 = clients.boto3_client(making)
    s3.create_bucket(
        Bucket=name + "-a",
        CreateBucketConfiguration={"LocationConstraint": "eu-central-1"},
        ACL="private",
        ObjectOwnership="BucketOwnerEnforced",
        ObjectLockEnabledForBucket=False,
    )
    refused = name + "-b"
    for headers, body, expected in [
        ({"x-amz-bucket-object-lock-enabled": "true"}, b"", (501, "NotImplemented")),
        ({"x-amz-acl": "everybody"}, b"", (400, "InvalidArgument")),
        ({"x-amz-acl": "public-read"}, b"", (501, "NotImplemented")),
        ({"x-amz-acl": "authenticated-read"}, b"", (501, "NotImplemented")),
        ({"x-amz-object-ownership": "Nobody"}, b"", (501, "NotImplemented")),
        ({}, b"<CreateBucketConfiguration>", (400, "MalformedXML")),
        ({}, b"<Other/>", (400, "MalformedXML")),
        ({}, b"<CreateBucketConfiguration>" + b" " * 70_000 + b"</CreateBucketConfiguration>", (400, "EntityTooLarge")),
    ]:
        answer = signed(making, "PUT", f"/{refused}", headers, body)
        assert (answer.status, answer.code) == expected, (headers, body[:40])
    for bucket in ["Upper-case", "ab", "a" * 64, "under_score", "-dash", "_blocks"]:
        answer = signed(making, "PUT", f"/{bucket}")
        assert (answer.status, answer.code) == (400, "InvalidBucketName"), bucket
    assert failure(s3.head_bucket, Bucket=refused)[0] == 404


def test_a_bucket_is_made_by_those_who_may_make_repositories(making, name):
    auth = lakefs_sdk.AuthApi(
        lakefs_sdk.ApiClient(
            lakefs_sdk.Configuration(host=making.url + "/api/v1", username=making.access_key, password=making.secret_key)
        )
    )

    def user(*resources):
        who = f"user-{uuid.uuid4().hex[:12]}"
        auth.create_user(user_creation=models.UserCreation(id=who))
        auth.create_policy(
            policy=models.Policy(
                id=who, statement=[models.Statement(effect="allow", resource=resource, action=["fs:*"]) for resource in resources]
            )
        )
        auth.attach_policy_to_user(who, who)
        key = auth.create_credentials(who)
        return clients.boto3_client(
            types.SimpleNamespace(url=making.url, access_key=key.access_key_id, secret_key=key.secret_access_key)
        )

    files = "arn:lakefs:fs:::"
    mine = f"{files}repository/{name}*"
    for resources in [[f"{files}namespace/*"], [mine], [mine, f"{files}namespace/local://elsewhere/*"]]:
        assert failure(user(*resources).create_bucket, Bucket=name) == (403, "AccessDenied"), resources
    allowed = user(mine, f"{files}namespace/local://buckets/*")
    allowed.create_bucket(Bucket=name)
    assert failure(user(f"{files}repository/other").delete_bucket, Bucket=name) == (403, "AccessDenied")
    allowed.delete_bucket(Bucket=name)


def test_a_bucket_made_by_two_at_once_is_made_once(making, name):
    outcomes = []

    def make():
        answer = signed(making, "PUT", f"/{name}")
        outcomes.append((answer.status, answer.code if answer.body else ""))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [(200, "")] + 3 * [(409, "BucketAlreadyOwnedByYou")]


# Rooted buckets.


def test_a_rooted_name_answers_as_its_default_branch(rooted, name):
    s3 = clients.boto3_client(rooted)
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="main/a", Body=b"a path that begins like a branch")
    s3.put_object(Bucket=name, Key="top", Body=b"x")
    assert keys(s3, name) == ["main/a", "top"]
    assert s3.list_objects_v2(Bucket=name, Delimiter="/")["Name"] == name
    assert s3.get_object(Bucket=name + ".main", Key="main/a")["Body"].read().startswith(b"a path")
    commit = s3_requests.commit(rooted, name)
    s3_requests.create_branch(rooted, name, "dev")
    s3_requests.create_tag(rooted, name, "v1.0")
    s3.put_object(Bucket=name + ".dev", Key="top", Body=b"dev")
    for bucket, content in [(name, b"x"), (name + ".dev", b"dev"), (name + ".v1.0", b"x"), (f"{name}.{commit[:9]}", b"x")]:
        assert s3.get_object(Bucket=bucket, Key="top")["Body"].read() == content, bucket
    assert failure(s3.put_object, Bucket=name + ".v1.0", Key="top") == (405, "MethodNotAllowed")
    assert name in [b["Name"] for b in s3.list_buckets()["Buckets"]]
    # Everything that takes a bucket knows it: copies, deletions of many, uploads in parts, the host's name.
    s3.copy_object(Bucket=name, Key="copied", CopySource={"Bucket": name, "Key": "main/a"})
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=name).get("Uploads", [])] == []
    upload = s3.create_multipart_upload(Bucket=name, Key="parts/x")["UploadId"]
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=name)["Uploads"]] == ["parts/x"]
    part = s3.upload_part(Bucket=name, Key="parts/x", UploadId=upload, PartNumber=1, Body=b"part")["ETag"]
    done = s3.complete_multipart_upload(
        Bucket=name, Key="parts/x", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]}
    )
    assert (done["Bucket"], done["Key"]) == (name, "parts/x")
    assert signed(rooted, "GET", "/parts/x", {"Host": f"{name}.s3.test"}).body == b"part"
    deleted = s3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": k} for k in ["copied", "parts/x"]]})
    assert len(deleted["Deleted"]) == 2 and keys(s3, name) == ["main/a", "top"]
    # There is history now.
    s3.delete_objects(Bucket=name, Delete={"Objects": [{"Key": k} for k in ["main/a", "top"]]})
    assert failure(s3.delete_bucket, Bucket=name) == (409, "BucketNotEmpty")


def test_the_kind_of_a_bucket_stays_when_the_setting_changes(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_S3_CREATE_BUCKET": "rooted"})
    server.copy_data_of(initialised_data).start()
    try:
        clients.boto3_client(server).create_bucket(Bucket="lake")
        server.stop()
        server.environment["TARN_S3_CREATE_BUCKET"] = "off"
        server.start()
        s3 = clients.boto3_client(server)
        s3.put_object(Bucket="lake", Key="a/b", Body=b"x")
        assert s3.get_object(Bucket="lake.main", Key="a/b")["Body"].read() == b"x"
        s3.delete_object(Bucket="lake", Key="a/b")
        s3.delete_bucket(Bucket="lake")
    finally:
        server.stop()


@pytest.mark.parametrize("style", ["path", "host"])
def test_views_of_a_ref(making, name, style):
    """Branch, tag with dots and commit prefix as buckets, wherever the bucket stands."""
    s3_requests.rest(
        making, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}", "default_branch": "main"}
    )

    def call(method, ref, key="", query="", body=b"", headers=None):
        bucket = f"{name}.{ref}"
        target = (f"/{bucket}/{key}" if style == "path" else f"/{key}") + (f"?{query}" if query else "")
        host = {"Host": f"{bucket}.s3.test"} if style == "host" else {}
        return signed(making, method, target, {**host, **(headers or {})}, body)

    assert call("PUT", "main", "dir/a", body=b"x").status == 200
    commit = s3_requests.commit(making, name)
    s3_requests.create_tag(making, name, "v1.0.2")
    for ref in ["main", "v1.0.2", commit, commit[:8]]:
        assert call("HEAD", ref).status == 200
        assert call("GET", ref, "dir/a").body == b"x"
        assert call("HEAD", ref, "dir/a").status == 200
        assert call("GET", ref, "dir/absent").code == "NoSuchKey"
        for query in ["list-type=2&delimiter=%2F", "delimiter=%2F"]:
            listed = call("GET", ref, query=query).xml
            assert listed.findtext("CommonPrefixes/Prefix") == "dir/" and listed.findtext("Name") == f"{name}.{ref}"
        assert [k.text for k in call("GET", ref, query="versions").xml.iter("Key")] == ["dir/a"]
        assert call("GET", ref, query="location").status == 200
        assert call("DELETE", ref).code == "MethodNotAllowed"
        assert call("PUT", ref).code == "BucketAlreadyOwnedByYou"
    for ref in ["v1.0.2", commit, commit[:8]]:
        assert call("GET", ref, "dir/a").headers["x-amz-version-id"] == commit
        refused = [call("PUT", ref, "dir/a", body=b"y"), call("DELETE", ref, "dir/a"), call("POST", ref, "dir/a", "uploads")]
        assert [(r.status, r.code) for r in refused] == 3 * [(405, "MethodNotAllowed")]
        assert all("read-only" in r.xml.findtext("Message") for r in refused)
    assert "x-amz-version-id" not in call("GET", "main", "dir/a").headers
    # No ref, no bucket: a mistyped branch and digits too few for a commit are not guessed at.
    for ref in ["nothing", commit[:7], "main~1", "main.x", ""] + (["main@"] if style == "path" else []):
        assert call("HEAD", ref).status == 404, ref
        assert call("GET", ref, "dir/a").code == "NoSuchBucket", ref
        assert call("GET", ref, query="list-type=2").code == "NoSuchBucket", ref
        assert call("GET", ref, query="list-type=2&max-keys=0").code == "NoSuchBucket", ref
        assert call("GET", ref, query="uploads").code == "NoSuchBucket", ref
        assert call("GET", ref, query="versioning").code == "NoSuchBucket", ref
        assert call("PUT", ref, "dir/a", body=b"y").code == "NoSuchBucket", ref
        assert call("DELETE", ref, "dir/a").code == "NoSuchBucket", ref
        document = b"<Delete><Object><Key>a</Key></Object></Delete>"
        assert call("POST", ref, query="delete", headers=with_md5(document), body=document).code == "NoSuchBucket", ref
        assert call("DELETE", ref).code == "NoSuchBucket", ref


def test_views_and_plain_buckets_copy_to_each_other(tarn, s3, repo):
    s3_requests.create_branch(tarn, repo, "dev")
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x")
    s3.copy_object(Bucket=repo + ".dev", Key="from-plain", CopySource=f"{repo}/main/a")
    s3.copy_object(Bucket=repo, Key="main/from-view", CopySource=f"{repo}.dev/from-plain")
    assert keys(s3, repo) == ["dev/from-plain", "main/a", "main/from-view"]
    # The same object by two names is still the same object.
    assert failure(s3.copy_object, Bucket=repo + ".main", Key="a", CopySource=f"{repo}/main/a") == (400, "InvalidRequest")
    upload = s3.create_multipart_upload(Bucket=repo + ".dev", Key="parts")["UploadId"]
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=repo)["Uploads"]] == ["dev/parts"]
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=repo + ".dev")["Uploads"]] == ["parts"]
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=repo + ".main")
    part = s3.upload_part_copy(Bucket=repo, Key="dev/parts", UploadId=upload, PartNumber=1, CopySource=f"{repo}.main/a")[
        "CopyPartResult"
    ]["ETag"]
    s3.complete_multipart_upload(
        Bucket=repo + ".dev", Key="parts", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]}
    )
    assert s3.get_object(Bucket=repo, Key="dev/parts")["Body"].read() == b"x"


def test_pages_of_a_view(s3, repo):
    for i in range(7):
        s3.put_object(Bucket=repo, Key=f"main/d{i % 3}/{i}", Body=b"x")
    bucket = repo + ".main"
    expected = sorted(f"d{i % 3}/{i}" for i in range(7))
    for operation in ["list_objects_v2", "list_objects", "list_object_versions"]:
        pages = s3.get_paginator(operation).paginate(Bucket=bucket, PaginationConfig={"PageSize": 2})
        member = "Versions" if operation == "list_object_versions" else "Contents"
        assert [o["Key"] for page in pages for o in page.get(member, [])] == expected, operation
        pages = s3.get_paginator(operation).paginate(Bucket=bucket, Delimiter="/", PaginationConfig={"PageSize": 1})
        assert [p["Prefix"] for page in pages for p in page.get("CommonPrefixes", [])] == ["d0/", "d1/", "d2/"]
    assert keys(s3, bucket, StartAfter="d1/4") == ["d2/2", "d2/5"]


def test_urls_signed_in_advance_for_a_view(s3, repo):
    put = s3.generate_presigned_url("put_object", Params={"Bucket": repo + ".main", "Key": "a b"})
    assert requests.put(put, data=b"x", timeout=60).status_code == 200
    get = s3.generate_presigned_url("get_object", Params={"Bucket": repo + ".main", "Key": "a b"})
    assert requests.get(get, timeout=60).content == b"x"
    assert keys(s3, repo) == ["main/a b"]


# Listing buckets.


def test_buckets_are_listed_in_pages(tarn, s3, name):
    names = [f"{name}-{i}" for i in range(5)]
    for each in names:
        s3_requests.rest(
            tarn, "POST", "/repositories", json={"name": each, "storage_namespace": f"local://{each}", "default_branch": "main"}
        )
    first = s3.list_buckets(Prefix=name, MaxBuckets=2)
    assert first["Prefix"] == name and first["Owner"]["ID"]
    assert all(b["BucketRegion"] == "us-east-1" and b["CreationDate"] for b in first["Buckets"])
    got, answer = [b["Name"] for b in first["Buckets"]], first
    while "ContinuationToken" in answer:
        answer = s3.list_buckets(Prefix=name, MaxBuckets=2, ContinuationToken=answer["ContinuationToken"])
        got += [b["Name"] for b in answer["Buckets"]]
    assert got == names
    assert "ContinuationToken" not in s3.list_buckets(Prefix=name, MaxBuckets=5)
    assert s3.list_buckets(Prefix=name, BucketRegion="eu-central-1")["Buckets"] == []
    assert len(s3.list_buckets(Prefix=name, BucketRegion="us-east-1")["Buckets"]) == 5
    for query in ["max-buckets=0", "max-buckets=10001", "max-buckets=x", "continuation-token=%21"]:
        answer = signed(tarn, "GET", f"/?{query}")
        assert (answer.status, answer.code) == (400, "InvalidArgument"), query
    assert signed(tarn, "GET", "/?max-buckets=10000").status == 200


def test_every_answer_names_the_region(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x")
    for method, target in [
        ("HEAD", f"/{repo}"),
        ("GET", f"/{repo}?list-type=2"),
        ("GET", f"/{repo}/main/absent"),
        ("HEAD", f"/{repo}/main/a"),
        ("GET", "/"),
        ("GET", "/absent-bucket"),
        ("GET", f"/{repo}.main"),
    ]:
        assert signed(tarn, method, target).headers["x-amz-bucket-region"] == "us-east-1", target
    answer = signed(tarn, "HEAD", f"/{repo}", {"x-amz-expected-bucket-owner": "somebody"})
    assert (answer.status, answer.body) == (403, b"")
    assert signed(tarn, "HEAD", "/absent-bucket").status == 404


# Configurations.


def test_configurations_that_no_bucket_has(tarn, repo):
    absent = {
        "policy": "NoSuchBucketPolicy",
        "policyStatus": "NoSuchBucketPolicy",
        "cors": "NoSuchCORSConfiguration",
        "lifecycle": "NoSuchLifecycleConfiguration",
        "tagging": "NoSuchTagSet",
        "encryption": "ServerSideEncryptionConfigurationNotFoundError",
        "website": "NoSuchWebsiteConfiguration",
        "replication": "ReplicationConfigurationNotFoundError",
        "object-lock": "ObjectLockConfigurationNotFoundError",
        "publicAccessBlock": "NoSuchPublicAccessBlockConfiguration",
        "ownershipControls": "OwnershipControlsNotFoundError",
    }
    fixed = {
        "logging": "BucketLoggingStatus",
        "notification": "NotificationConfiguration",
        "accelerate": "AccelerateConfiguration",
        "requestPayment": "RequestPaymentConfiguration",
        "acl": "AccessControlPolicy",
        "versioning": "VersioningConfiguration",
    }
    for bucket in [repo, repo + ".main"]:
        for name, code in absent.items():
            answer = signed(tarn, "GET", f"/{bucket}?{name}")
            assert (answer.status, answer.code) == (404, code), name
        for name, root in fixed.items():
            answer = signed(tarn, "GET", f"/{bucket}?{name}")
            assert (answer.status, answer.xml.tag) == (200, root), name
            assert signed(tarn, "GET", f"/absent-bucket?{name}").code == "NoSuchBucket"
    acl = signed(tarn, "GET", f"/{repo}?acl").xml
    assert [g.findtext("Permission") for g in acl.iter("Grant")] == ["FULL_CONTROL"]
    assert signed(tarn, "GET", f"/{repo}?requestPayment").xml.findtext("Payer") == "BucketOwner"


def test_configurations_are_not_set(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x")
    for name in ["policy", "encryption", "website", "replication"]:
        for method in ["PUT", "DELETE"]:
            answer = signed(tarn, method, f"/{repo}?{name}", body=b"<x/>" if method == "PUT" else b"")
            assert (answer.status, answer.code) == (501, "NotImplemented"), (method, name)
    for name in ["object-lock", "logging", "notification", "accelerate", "requestPayment"]:
        assert signed(tarn, "PUT", f"/{repo}?{name}", body=b"<x/>").code == "NotImplemented", name
    s3.put_bucket_acl(Bucket=repo, ACL="private")
    assert failure(s3.put_bucket_acl, Bucket=repo, ACL="public-read") == (501, "NotImplemented")
    s3.put_object_acl(Bucket=repo, Key="main/a", ACL="private")
    assert failure(s3.put_object_acl, Bucket=repo, Key="main/a", ACL="public-read") == (501, "NotImplemented")
    # Nothing of all that became an object or removed the bucket.
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == b"x" and keys(s3, repo) == ["main/a"]


def test_versioning_is_switched_on_and_off(tarn, s3, repo):
    assert "Status" not in s3.get_bucket_versioning(Bucket=repo)
    for status in ["Suspended", "Enabled", "Suspended"]:
        s3.put_bucket_versioning(Bucket=repo, VersioningConfiguration={"Status": status})
        assert s3.get_bucket_versioning(Bucket=repo)["Status"] == status
    for body in [
        b"",
        b"<VersioningConfiguration>",
        b"<Other/>",
        b"<VersioningConfiguration/>",
        b"<VersioningConfiguration><Status>Off</Status></VersioningConfiguration>",
    ]:
        assert signed(tarn, "PUT", f"/{repo}?versioning", body=body).code == "MalformedXML", body
    factor = {"Status": "Enabled", "MFADelete": "Enabled"}
    assert failure(s3.put_bucket_versioning, Bucket=repo, MFA="1 2", VersioningConfiguration=factor) == (501, "NotImplemented")
    assert s3.get_bucket_versioning(Bucket=repo)["Status"] == "Suspended"


# Nothing is destroyed.


def remembered(server, repo):
    """The state that must outlive every call of S3: branches, tags, their commits, and the committed objects."""
    refs = {
        branch["id"]: branch["commit_id"]
        for branch in s3_requests.rest(server, "GET", f"/repositories/{repo}/branches")["results"]
    }
    refs |= {tag["id"]: tag["commit_id"] for tag in s3_requests.rest(server, "GET", f"/repositories/{repo}/tags")["results"]}
    log = [c["id"] for c in s3_requests.rest(server, "GET", f"/repositories/{repo}/refs/main/commits")["results"]]
    s3 = clients.boto3_client(server)
    objects = {
        (commit, key): s3.get_object(Bucket=repo, Key=key)["Body"].read()
        for commit in log
        for key in keys(s3, repo, Prefix=commit + "/")
    }
    return refs, log, objects


def aws_rb(server, repo, home):
    return ["aws", "--endpoint-url", server.url, "s3", "rb", f"s3://{repo}", "--force"]


def rclone_purge(server, repo, home):
    (home / "rclone.conf").write_text(
        f"[tarn]\ntype = s3\nprovider = Other\nendpoint = {server.url}\naccess_key_id = {server.access_key}\n"
        f"secret_access_key = {server.secret_key}\nregion = us-east-1\nforce_path_style = true\n"
    )
    return ["rclone", "--config", str(home / "rclone.conf"), "--retries", "1", "purge", f"tarn:{repo}"]


@pytest.mark.parametrize("tool", [aws_rb, rclone_purge])
def test_tools_that_remove_a_whole_bucket_destroy_no_history(tarn, s3, repo, tmp_path, tool):
    for key in ["a", "dir/b"]:
        s3.put_object(Bucket=repo, Key="main/" + key, Body=key.encode())
    s3_requests.commit(tarn, repo)
    s3_requests.create_branch(tarn, repo, "dev")
    s3_requests.create_tag(tarn, repo, "v1")
    s3.put_object(Bucket=repo, Key="main/a", Body=b"changed")
    s3_requests.commit(tarn, repo)
    before = remembered(tarn, repo)
    assert len(before[2]) == 4
    ended = subprocess.run(
        tool(tarn, repo, tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=servers.clean_environment(
            {
                "HOME": str(tmp_path),
                "AWS_ACCESS_KEY_ID": tarn.access_key,
                "AWS_SECRET_ACCESS_KEY": tarn.secret_key,
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
        ),
    )
    # The tool did its worst: the branches are empty, and it says that the bucket stays.
    assert ended.returncode != 0 and "MethodNotAllowed" in ended.stdout + ended.stderr, ended
    assert keys(s3, repo) == []
    assert remembered(tarn, repo) == before
    s3.head_bucket(Bucket=repo)
    for branch in ["main", "dev"]:
        s3_requests.rest(tarn, "PUT", f"/repositories/{repo}/branches/{branch}", json={"type": "reset"})
    assert keys(s3, repo) == ["dev/a", "dev/dir/b", "main/a", "main/dir/b"]


@pytest.mark.parametrize("tool", [aws_rb, rclone_purge])
def test_tools_remove_what_they_made(making, name, tmp_path, tool):
    s3 = clients.boto3_client(making)
    s3.create_bucket(Bucket=name)
    for key in ["a", "dir/b"]:
        s3.put_object(Bucket=name, Key=("" if making.kind == "rooted" else "main/") + key, Body=b"x")
    ended = subprocess.run(
        tool(making, name, tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=servers.clean_environment(
            {
                "HOME": str(tmp_path),
                "AWS_ACCESS_KEY_ID": making.access_key,
                "AWS_SECRET_ACCESS_KEY": making.secret_key,
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
        ),
    )
    assert ended.returncode == 0, ended
    assert failure(s3.head_bucket, Bucket=name)[0] == 404


def test_what_keeps_a_made_bucket(making, name):
    s3 = clients.boto3_client(making)
    losses = {
        "branch": lambda repo: s3_requests.create_branch(making, repo, "dev"),
        "tag": lambda repo: s3_requests.create_tag(making, repo, "v1"),
        "object": lambda repo: s3.put_object(Bucket=repo + ".main", Key="a", Body=b"x"),
        "commit": lambda repo: (
            s3.put_object(Bucket=repo + ".main", Key="a", Body=b"x"),
            s3_requests.commit(making, repo),
            s3.delete_object(Bucket=repo + ".main", Key="a"),
            s3_requests.commit(making, repo),
        ),
    }
    for what, lose in losses.items():
        repo = f"{name[:40]}-{what}"
        s3.create_bucket(Bucket=repo)
        lose(repo)
        assert failure(s3.delete_bucket, Bucket=repo) == (409, "BucketNotEmpty"), what
        s3.head_bucket(Bucket=repo)
    made_elsewhere = f"{name[:40]}-rest"
    s3_requests.rest(
        making,
        "POST",
        "/repositories",
        json={"name": made_elsewhere, "storage_namespace": f"local://{made_elsewhere}", "default_branch": "main"},
    )
    assert failure(s3.delete_bucket, Bucket=made_elsewhere) == (405, "MethodNotAllowed")


def test_no_acknowledged_write_is_lost_with_its_bucket(making, name):
    """Writers and DeleteBucket at once: whoever was told 200 finds the object, or the bucket refused to go."""
    s3 = clients.boto3_client(making)
    lost, removed = [], 0
    for round_number in range(20):
        bucket = f"{name[:40]}-{round_number}"
        s3.create_bucket(Bucket=bucket)
        outcome = {}
        go = threading.Barrier(2)

        def write(bucket=bucket, go=go, outcome=outcome):
            go.wait()
            outcome["write"] = signed(making, "PUT", f"/{bucket}.main/a", body=b"x").status

        writer = threading.Thread(target=write)
        writer.start()
        go.wait()
        outcome["removal"] = signed(making, "DELETE", f"/{bucket}").status
        writer.join()
        removed += outcome["removal"] == 204
        if outcome["removal"] == 204 and outcome["write"] == 200:
            lost.append(outcome)
        if outcome["removal"] != 204:
            assert outcome == {"removal": 409, "write": 200}
            assert s3.get_object(Bucket=bucket + ".main", Key="a")["Body"].read() == b"x"
    assert lost == [], json.dumps(lost)
