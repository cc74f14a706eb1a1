"""Rules for branches and tags over REST and S3, with unmodified clients; branches that expire, with two servers."""

import datetime
import time

import clients
import lakefs
import lakefs_sdk
import pytest
from botocore.exceptions import ClientError
from lakefs_sdk import models

EXPIRY_SECONDS_MAX = 30
# The package translates a 403 differently from call to call.
FORBIDDEN = (
    lakefs.exceptions.ForbiddenException,
    lakefs.exceptions.PermissionException,
    lakefs_sdk.exceptions.ForbiddenException,
)


@pytest.fixture
def repositories(tarn):
    return lakefs_sdk.RepositoriesApi(
        lakefs_sdk.ApiClient(
            lakefs_sdk.Configuration(host=tarn.url + "/api/v1", username=tarn.access_key, password=tarn.secret_key)
        )
    )


def rules(*patterns):
    return [models.BranchProtectionRule(pattern=pattern) for pattern in patterns]


def refused(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    error = caught.value.response
    return error["ResponseMetadata"]["HTTPStatusCode"], error["Error"]["Code"]


def test_the_sdk_sets_rules_under_their_etag(repositories, repo):
    answer = repositories.get_branch_protection_rules_with_http_info(repo.id)
    assert answer.data == [] and answer.headers["ETag"] == ""
    repositories.set_branch_protection_rules(repo.id, branch_protection_rule=rules("main"))
    answer = repositories.get_branch_protection_rules_with_http_info(repo.id)
    assert [rule.pattern for rule in answer.data] == ["main"]
    etag = answer.headers["ETag"]
    repositories.set_branch_protection_rules(repo.id, if_match=etag, branch_protection_rule=rules("main", "release-*"))
    with pytest.raises(lakefs_sdk.ApiException) as caught:
        repositories.set_branch_protection_rules(repo.id, if_match=etag, branch_protection_rule=[])
    assert caught.value.status == 412
    assert len(repositories.get_branch_protection_rules(repo.id)) == 2


def test_a_client_that_does_not_know_them_keeps_our_members(repositories, rest, repo):
    path = f"/repositories/{repo.id}/settings/branch_protection"
    mine = {"pattern": "main", "blocked_actions": ["delete"], "merge_methods": ["squash"], "approvals": 1}
    assert rest("PUT", path, json=[mine]).status_code == 204
    repositories.set_branch_protection_rules(
        repo.id, branch_protection_rule=[*repositories.get_branch_protection_rules(repo.id), *rules("dev")]
    )
    assert rest("GET", path).json() == [mine, {"pattern": "dev"}]
    assert rest("PUT", path, headers={"If-Match": ""}, json=[]).status_code == 412


def test_a_protected_branch_is_written_by_merges_only(repositories, repo, s3):
    main = repo.branch("main")
    main.object("a").upload(data=b"1")
    main.commit("first")
    dev = repo.branch("dev").create("main")
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="main/joined")["UploadId"]
    part = s3.upload_part(Bucket=repo.id, Key="main/joined", UploadId=upload, PartNumber=1, Body=b"x")
    repositories.set_branch_protection_rules(repo.id, branch_protection_rule=rules("m*"))

    for change in (
        lambda: main.object("b").upload(data=b"1"),
        lambda: main.object("a").delete(),
        lambda: dev.object("a").copy("main", "c"),
        lambda: main.commit("no"),
        main.reset_changes,
    ):
        with pytest.raises(FORBIDDEN):
            change()
    main.delete_objects(["a"])  # answers with a list of refusals, which the package drops
    denied = (403, "AccessDenied")
    assert refused(s3.put_object, Bucket=repo.id, Key="main/b", Body=b"1") == denied
    assert refused(s3.delete_object, Bucket=repo.id, Key="main/a") == denied
    assert refused(s3.copy_object, Bucket=repo.id, Key="main/c", CopySource=f"{repo.id}/dev/a") == denied
    assert (
        refused(s3.put_object_tagging, Bucket=repo.id, Key="main/a", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]}) == denied
    )
    assert refused(s3.create_multipart_upload, Bucket=repo.id, Key="main/other") == denied
    assert (
        refused(
            s3.complete_multipart_upload,
            Bucket=repo.id,
            Key="main/joined",
            UploadId=upload,
            MultipartUpload={"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]},
        )
        == denied
    )
    removed = s3.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": "main/a"}, {"Key": "dev/absent"}]})
    assert [(error["Key"], error["Code"]) for error in removed["Errors"]] == [("main/a", "AccessDenied")]
    assert [item.path for item in main.objects()] == ["a"] and not list(main.uncommitted())

    dev.object("b").upload(data=b"2")
    dev.commit("second")
    dev.merge_into(main)
    assert [item.path for item in main.objects()] == ["a", "b"]
    repositories.set_branch_protection_rules(repo.id, branch_protection_rule=[])
    s3.complete_multipart_upload(
        Bucket=repo.id, Key="main/joined", UploadId=upload, MultipartUpload={"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    )
    assert main.object("joined").exists()


def test_tag_rules_hold(repo, rest):
    path = f"/repositories/{repo.id}/settings/tag_protection"
    assert rest("PUT", path, json=[{"pattern": "v*", "delete": False}]).status_code == 204
    assert rest("GET", path).json() == [{"pattern": "v*", "create": True, "delete": False}]
    tag = repo.tag("v1").create("main")
    with pytest.raises(FORBIDDEN):
        tag.delete()
    assert rest("PUT", path, json=[]).status_code == 204
    tag.delete()


def test_collection_rules_are_kept(repositories, repo):
    with pytest.raises(lakefs_sdk.ApiException) as caught:
        repositories.get_gc_rules(repo.id)
    assert caught.value.status == 404
    wanted = models.GarbageCollectionRules(
        default_retention_days=7, branches=[models.GarbageCollectionRule(branch_id="main", retention_days=9)]
    )
    repositories.set_gc_rules(repo.id, garbage_collection_rules=wanted)
    assert repositories.get_gc_rules(repo.id) == wanted
    repositories.delete_gc_rules(repo.id)
    repositories.delete_gc_rules(repo.id)


@pytest.mark.timeout(300)
def test_rules_and_expiry_hold_on_both_servers(two_tarnds):
    first, second = two_tarnds
    second.access_key, second.secret_key = first.access_key, first.secret_key
    rest, there = clients.Rest(first), clients.Rest(second)
    assert rest("POST", "/repositories", json={"name": "shared", "storage_namespace": "local://shared"}).status_code == 201

    put = {"Bucket": "shared", "Key": "main/a", "Body": b"1"}
    s3 = clients.boto3_client(second)
    for _ in range(3):
        s3.put_object(**put)
        assert rest("PUT", "/repositories/shared/settings/branch_protection", json=[{"pattern": "main"}]).ok
        assert refused(s3.put_object, **put) == (403, "AccessDenied")
        assert rest("PUT", "/repositories/shared/settings/branch_protection", json=[]).ok

    def branches():
        return [branch["id"] for branch in there("GET", "/repositories/shared/branches").json()["results"]]

    assert rest(
        "PUT", "/repositories/shared/settings/branch_protection", json=[{"pattern": "kept", "blocked_actions": ["delete"]}]
    ).ok
    soon = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=2)).isoformat()
    for branch, expires in [("soon", "2s"), ("at", soon), ("kept", "2s"), ("later", "72h")]:
        assert (
            rest("POST", "/repositories/shared/branches", json={"name": branch, "source": "main", "expires": expires}).status_code
            == 201
        )
    assert branches() == ["at", "kept", "later", "main", "soon"]
    assert "expires" in there("GET", "/repositories/shared/branches/later").json()
    deadline = time.monotonic() + EXPIRY_SECONDS_MAX
    while branches() != ["kept", "later", "main"]:
        assert time.monotonic() < deadline, branches()
        time.sleep(0.2)
