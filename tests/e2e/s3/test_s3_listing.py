"""Listings over S3: inside a ref, over branches, and their pages."""

import pytest
import s3_requests
from botocore.exceptions import ClientError

KEYS = ["a", "b/1", "b/2", "b/c/3", "d e+f", "g/"]


@pytest.fixture
def repo(repo):
    return repo.id


@pytest.fixture
def filled(s3, repo):
    for key in KEYS:
        s3.put_object(Bucket=repo, Key="main/" + key, Body=b"x")
    return repo


def shape(page):
    return ([o["Key"] for o in page.get("Contents", [])], [p["Prefix"] for p in page.get("CommonPrefixes", [])])


def test_both_versions_list_a_ref(s3, filled):
    everything = ["main/" + k for k in KEYS]
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main/")) == (everything, [])
    assert shape(s3.list_objects(Bucket=filled, Prefix="main/")) == (everything, [])
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main/", Delimiter="/")) == (
        ["main/a", "main/d e+f"],
        ["main/b/", "main/g/"],
    )
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main/b", Delimiter="/")) == ([], ["main/b/"])
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main/b/", Delimiter="c/")) == (["main/b/1", "main/b/2"], ["main/b/c/"])
    item = s3.list_objects_v2(Bucket=filled, Prefix="main/a", FetchOwner=True)["Contents"][0]
    head = s3.head_object(Bucket=filled, Key="main/a")
    whole = item["LastModified"].replace(microsecond=0)  # headers have whole seconds
    assert (item["ETag"], item["Size"], whole) == (head["ETag"], 1, head["LastModified"])
    assert "Owner" in item


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@pytest.mark.parametrize("delimiter", ["", "/"])
@pytest.mark.parametrize("prefix", ["", "main/", "main/b/"])
def test_pages_join_to_the_whole(tarn, s3, filled, size, delimiter, prefix):
    for branch in ["dev", "dev-2", "dev-2-x", "main-b"]:
        s3_requests.create_branch(tarn, filled, branch)
        s3.put_object(Bucket=filled, Key=branch + "/k", Body=b"x")
    whole = s3.list_objects_v2(Bucket=filled, Prefix=prefix, Delimiter=delimiter)
    for name in ["list_objects_v2", "list_objects"]:
        keys, prefixes = [], []
        for page in s3.get_paginator(name).paginate(
            Bucket=filled, Prefix=prefix, Delimiter=delimiter, PaginationConfig={"PageSize": size}
        ):
            page_keys, page_prefixes = shape(page)
            assert len(page_keys) + len(page_prefixes) <= size
            assert page["IsTruncated"] is False or len(page_keys) + len(page_prefixes) == size
            keys += page_keys
            prefixes += page_prefixes
        assert (keys, prefixes) == shape(whole), name
    assert keys == sorted(keys, key=str.encode) and prefixes == sorted(prefixes, key=str.encode)


def test_the_root_shows_branches_or_all_their_keys(tarn, s3, filled):
    s3_requests.create_branch(tarn, filled, "main-2")
    s3_requests.create_tag(tarn, filled, "v1")
    s3.put_object(Bucket=filled, Key="main-2/x", Body=b"x")
    assert shape(s3.list_objects_v2(Bucket=filled, Delimiter="/")) == ([], ["main-2/", "main/"])
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main", Delimiter="/")) == ([], ["main-2/", "main/"])
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main-", Delimiter="/")) == ([], ["main-2/"])
    assert shape(s3.list_objects_v2(Bucket=filled)) == (["main-2/x"] + ["main/" + k for k in KEYS], [])
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main-")) == (["main-2/x"], [])
    assert shape(s3.list_objects_v2(Bucket=filled, Delimiter="n")) == ([], ["main"])
    assert shape(s3.list_objects_v2(Bucket=filled, Delimiter="/b")) == (
        ["main-2/x", "main/a", "main/d e+f", "main/g/"],
        ["main/b"],
    )


def test_tags_and_commits_are_listed_by_name(tarn, s3, filled):
    commit = s3_requests.commit(tarn, filled)
    s3_requests.create_tag(tarn, filled, "v1.0")
    s3.delete_object(Bucket=filled, Key="main/a")
    for ref in ["v1.0", commit, commit[:10]]:
        assert shape(s3.list_objects_v2(Bucket=filled, Prefix=ref + "/a")) == ([ref + "/a"], [])
    assert shape(s3.list_objects_v2(Bucket=filled, Prefix="main/a")) == ([], [])


def test_start_after_may_be_anywhere(s3, filled):
    for start, expected in [
        ("", KEYS),
        ("main/b/1", KEYS[2:]),
        ("main/b", KEYS[1:]),
        ("a", KEYS),
        ("zzz", []),
        ("main", KEYS),
        ("main/zzz", []),
        ("main/b/c/", KEYS[3:]),
    ]:
        listed = s3.list_objects_v2(Bucket=filled, Prefix="main/", StartAfter=start)
        assert shape(listed)[0] == ["main/" + k for k in expected], start
    # A marker inside a group still shows the group when something of it follows.
    assert shape(s3.list_objects(Bucket=filled, Prefix="main/", Delimiter="/", Marker="main/b/1"))[1] == ["main/b/", "main/g/"]
    assert shape(s3.list_objects(Bucket=filled, Prefix="main/", Delimiter="/", Marker="main/b/"))[1] == ["main/g/"]


def test_limits(tarn, s3, filled):
    none = s3.list_objects_v2(Bucket=filled, Prefix="main/", MaxKeys=0)
    assert (none["KeyCount"], none["IsTruncated"]) == (0, False)
    assert s3.list_objects_v2(Bucket=filled, Prefix="main/", MaxKeys=5000)["MaxKeys"] == 1000
    for query in ["max-keys=blah", "max-keys=-1", "encoding-type=base64", "continuation-token=nonsense"]:
        answer = s3_requests.signed(tarn, "GET", f"/{filled}?list-type=2&{query}")
        assert (answer.status, answer.code) == (400, "InvalidArgument"), query


def test_what_does_not_exist(s3, repo):
    for call in [s3.list_objects_v2, s3.list_objects, s3.list_object_versions]:
        assert "Contents" not in call(Bucket=repo, Prefix="nobranch/")
        with pytest.raises(ClientError) as error:
            call(Bucket="absent-repository", Prefix="main/")
        assert error.value.response["Error"]["Code"] == "NoSuchBucket"


def test_names_are_encoded_only_when_asked(tarn, filled):
    plain = s3_requests.signed(tarn, "GET", f"/{filled}?list-type=2&prefix=main%2Fd%20").xml
    assert plain.findtext("Contents/Key") == "main/d e+f"
    assert plain.find("EncodingType") is None
    encoded = s3_requests.signed(tarn, "GET", f"/{filled}?encoding-type=url&list-type=2&prefix=main%2Fd%20").xml
    assert encoded.findtext("Contents/Key") == "main/d%20e%2Bf"
    assert (encoded.findtext("EncodingType"), encoded.findtext("Prefix")) == ("url", "main/d%20")


def test_versions_show_each_key_once(s3, filled):
    listed = s3.list_object_versions(Bucket=filled, Prefix="main/b/")
    assert [(v["Key"], v["VersionId"], v["IsLatest"]) for v in listed["Versions"]] == [
        (f"main/{k}", "null", True) for k in KEYS if k.startswith("b/")
    ]


def test_buckets(s3, repo):
    assert repo in [b["Name"] for b in s3.list_buckets()["Buckets"]]
    assert [b["Name"] for b in s3.list_buckets(Prefix=repo)["Buckets"]] == [repo]
    names, token = [], {}
    while True:
        page = s3.list_buckets(MaxBuckets=1, Prefix="r", **token)
        names += [b["Name"] for b in page["Buckets"]]
        if "ContinuationToken" not in page:
            break
        token = {"ContinuationToken": page["ContinuationToken"]}
    assert names == [b["Name"] for b in s3.list_buckets(Prefix="r")["Buckets"]]


def test_facts_of_buckets(s3, repo):
    head = s3.head_bucket(Bucket=repo)
    assert head["BucketRegion"] == "us-east-1"
    assert s3.get_bucket_location(Bucket=repo)["LocationConstraint"] is None
    assert "Status" not in s3.get_bucket_versioning(Bucket=repo)
    assert s3.get_bucket_acl(Bucket=repo)["Grants"][0]["Permission"] == "FULL_CONTROL"
    assert s3.get_bucket_request_payment(Bucket=repo)["Payer"] == "BucketOwner"
    for call, code in [
        (s3.get_bucket_policy, "NoSuchBucketPolicy"),
        (s3.get_bucket_cors, "NoSuchCORSConfiguration"),
        (s3.get_bucket_lifecycle_configuration, "NoSuchLifecycleConfiguration"),
        (s3.get_bucket_tagging, "NoSuchTagSet"),
        (s3.get_bucket_encryption, "ServerSideEncryptionConfigurationNotFoundError"),
        (s3.get_object_lock_configuration, "ObjectLockConfigurationNotFoundError"),
    ]:
        with pytest.raises(ClientError) as error:
            call(Bucket=repo)
        assert error.value.response["Error"]["Code"] == code
        assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_buckets_are_not_made_or_deleted(s3, repo):
    for call, name, expected in [
        (s3.create_bucket, repo, (409, "BucketAlreadyOwnedByYou")),
        (s3.create_bucket, "another-one", (501, "NotImplemented")),
        (s3.create_bucket, "Not_A_Name", (400, "InvalidBucketName")),
        (s3.delete_bucket, repo, (405, "MethodNotAllowed")),
        (s3.delete_bucket, "another-one", (404, "NoSuchBucket")),
    ]:
        with pytest.raises(ClientError) as error:
            call(Bucket=name)
        response = error.value.response
        assert (response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]) == expected
