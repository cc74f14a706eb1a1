"""Everyday objects over S3 with boto3."""

import concurrent.futures
import datetime
import hashlib

import pytest
import s3_requests
from botocore.exceptions import ClientError
from s3_requests import failure


@pytest.fixture
def repo(repo):
    return repo.id


# Keys that proxies, parsers or careless code change on the way.
AWKWARD = [
    "plain.txt",
    "with blank",
    "plus+and%percent",
    "ümläut/日本語.txt",
    "a//b",
    "dots/./../x",
    "?query#hash",
    "quote'\"<&>",
    "back\\slash",
    "tab\there",
    "/leading",
    "trailing/",
    "~tilde!*()",
    "=equals&amp;",
]


@pytest.mark.parametrize("key", AWKWARD)
def test_awkward_keys_round_trip(s3, repo, key):
    body = key.encode()
    s3.put_object(Bucket=repo, Key="main/" + key, Body=body)
    assert s3.get_object(Bucket=repo, Key="main/" + key)["Body"].read() == body
    listed = s3.list_objects_v2(Bucket=repo, Prefix="main/")
    assert [o["Key"] for o in listed["Contents"]] == ["main/" + key]
    s3.copy_object(Bucket=repo, Key="main/copy", CopySource={"Bucket": repo, "Key": "main/" + key})
    assert s3.get_object(Bucket=repo, Key="main/copy")["Body"].read() == body
    s3.delete_object(Bucket=repo, Key="main/" + key)
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/" + key)
    assert failure(error) == (404, "NoSuchKey")


@pytest.mark.parametrize("size", [0, 1, 1024, 65536, 65537, 3_000_000])
def test_bytes_come_back(s3, repo, size):
    body = bytes(i * 7 % 251 for i in range(size))
    put = s3.put_object(Bucket=repo, Key="main/a", Body=body)
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    got = s3.get_object(Bucket=repo, Key="main/a")
    assert got["Body"].read() == body
    assert got["ETag"] == put["ETag"]
    assert got["ContentLength"] == size
    assert got["ContentType"] == "binary/octet-stream"
    head = s3.head_object(Bucket=repo, Key="main/a")
    assert (head["ETag"], head["ContentLength"], head["LastModified"]) == (put["ETag"], size, got["LastModified"])


def test_headers_and_metadata_come_back(s3, repo):
    s3.put_object(
        Bucket=repo,
        Key="main/a",
        Body=b"x",
        ContentType="text/plain",
        CacheControl="no-cache",
        ContentDisposition="attachment",
        ContentEncoding="gzip",
        ContentLanguage="de",
        Expires="Thu, 01 Dec 2033 16:00:00 GMT",
        StorageClass="STANDARD_IA",
        Metadata={"Color": "red", "size": "big"},
        Tagging="a=1&b=2",
    )
    got = s3.head_object(Bucket=repo, Key="main/a")
    expected = {
        "ContentType": "text/plain",
        "CacheControl": "no-cache",
        "ContentDisposition": "attachment",
        "ContentEncoding": "gzip",
        "ContentLanguage": "de",
        "StorageClass": "STANDARD_IA",
        "Metadata": {"color": "red", "size": "big"},
        "ExpiresString": "Thu, 01 Dec 2033 16:00:00 GMT",
    }
    assert {name: got[name] for name in expected} == expected
    assert got["ResponseMetadata"]["HTTPHeaders"]["x-amz-tagging-count"] == "2"
    overridden = s3.get_object(Bucket=repo, Key="main/a", ResponseContentType="text/html", ResponseContentDisposition="inline")
    assert (overridden["ContentType"], overridden["ContentDisposition"]) == ("text/html", "inline")


def test_ranges(s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"0123456789")
    for header, body, shown in [
        ("bytes=0-0", b"0", "bytes 0-0/10"),
        ("bytes=2-5", b"2345", "bytes 2-5/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=5-99", b"56789", "bytes 5-9/10"),
    ]:
        got = s3.get_object(Bucket=repo, Key="main/a", Range=header)
        assert (got["ResponseMetadata"]["HTTPStatusCode"], got["Body"].read(), got["ContentRange"]) == (206, body, shown)
        head = s3.head_object(Bucket=repo, Key="main/a", Range=header)
        assert (head["ResponseMetadata"]["HTTPStatusCode"], head["ContentLength"]) == (206, len(body))
    assert s3.get_object(Bucket=repo, Key="main/a", Range="bytes=0-1,3-4")["Body"].read() == b"0123456789"
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a", Range="bytes=10-")
    assert failure(error) == (416, "InvalidRange")
    assert error.value.response["Error"]["ActualObjectSize"] == "10"
    with pytest.raises(ClientError) as error:
        s3.head_object(Bucket=repo, Key="main/a", Range="bytes=10-")
    assert failure(error)[0] == 416


def test_an_empty_object_has_no_satisfiable_range(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/empty", Body=b"")
    answer = s3_requests.signed(tarn, "GET", f"/{repo}/main/empty", {"Range": "bytes=0-8388607"})
    assert (answer.status, answer.headers["content-type"]) == (416, "application/xml")
    assert answer.xml.findtext("ActualObjectSize") == "0"
    assert answer.headers["content-range"] == "bytes */0"
    part = s3.get_object(Bucket=repo, Key="main/empty", PartNumber=1)
    assert (part["ResponseMetadata"]["HTTPStatusCode"], part["ContentLength"]) == (200, 0)


def test_conditional_reads(s3, repo):
    etag = s3.put_object(Bucket=repo, Key="main/a", Body=b"x")["ETag"]
    modified = s3.head_object(Bucket=repo, Key="main/a")["LastModified"]
    assert s3.get_object(Bucket=repo, Key="main/a", IfMatch=etag)["Body"].read() == b"x"
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a", IfMatch='"other"')
    assert failure(error) == (412, "PreconditionFailed")
    for condition in [{"IfNoneMatch": etag}, {"IfModifiedSince": modified}]:
        with pytest.raises(ClientError) as error:
            s3.get_object(Bucket=repo, Key="main/a", **condition)
        assert failure(error)[0] == 304
        assert error.value.response["ResponseMetadata"]["HTTPHeaders"]["etag"] == etag


def test_conditional_writes(s3, repo):
    etag = s3.put_object(Bucket=repo, Key="main/a", Body=b"1", IfNoneMatch="*")["ETag"]
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main/a", Body=b"2", IfNoneMatch="*")
    assert failure(error) == (412, "PreconditionFailed")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main/a", Body=b"2", IfMatch='"other"')
    assert failure(error) == (412, "PreconditionFailed")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main/absent", Body=b"2", IfMatch=etag)
    assert failure(error) == (404, "NoSuchKey")
    s3.put_object(Bucket=repo, Key="main/a", Body=b"2", IfMatch=etag)
    with pytest.raises(ClientError) as error:
        s3.delete_object(Bucket=repo, Key="main/a", IfMatch=etag)
    assert failure(error) == (412, "PreconditionFailed")
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == b"2"


def test_conditional_deletes(s3, repo):
    """None of the conditions that a deletion may have is passed over, in the header or in the document."""
    s3.put_object(Bucket=repo, Key="main/a", Body=b"four")
    head = s3.head_object(Bucket=repo, Key="main/a")
    then = head["LastModified"] - datetime.timedelta(hours=1)
    true = {"ETag": head["ETag"], "Size": 4, "LastModifiedTime": head["LastModified"]}
    false = {"ETag": '"other"', "Size": 5, "LastModifiedTime": then}
    names = {"ETag": "IfMatch", "Size": "IfMatchSize", "LastModifiedTime": "IfMatchLastModifiedTime"}

    def delete_many(**conditions):
        return s3.delete_objects(Bucket=repo, Delete={"Objects": [{"Key": "main/a", **conditions}]})

    for name, value in false.items():
        with pytest.raises(ClientError) as error:
            s3.delete_object(Bucket=repo, Key="main/a", **{names[name]: value})
        assert failure(error) == (412, "PreconditionFailed"), name
        answer = delete_many(**{**true, name: value})
        assert [one["Code"] for one in answer["Errors"]] == ["PreconditionFailed"] and "Deleted" not in answer, name
    assert s3.get_object(Bucket=repo, Key="main/a")["Body"].read() == b"four"
    assert [one["Key"] for one in delete_many(**true)["Deleted"]] == ["main/a"]
    s3.put_object(Bucket=repo, Key="main/a", Body=b"four")
    s3.delete_object(Bucket=repo, Key="main/a", IfMatchSize=4)
    for name, value in true.items():
        s3.delete_object(Bucket=repo, Key="main/a", **{names[name]: value})
        assert [one["Key"] for one in delete_many(**{name: value})["Deleted"]] == ["main/a"], "nothing is there"
    with pytest.raises(ClientError) as error:
        s3.get_object(Bucket=repo, Key="main/a")
    assert failure(error) == (404, "NoSuchKey")


def test_copies_keep_or_replace_what_belongs_to_the_object(s3, repo):
    s3.put_object(
        Bucket=repo,
        Key="main/a",
        Body=b"x",
        ContentType="text/plain",
        Metadata={"v": "1"},
        Tagging="t=1",
        CacheControl="no-cache",
    )
    source = {"Bucket": repo, "Key": "main/a"}
    s3.copy_object(Bucket=repo, Key="main/b", CopySource=source)
    kept = s3.head_object(Bucket=repo, Key="main/b")
    assert (kept["ContentType"], kept["Metadata"], kept["CacheControl"]) == ("text/plain", {"v": "1"}, "no-cache")
    s3.copy_object(
        Bucket=repo, Key="main/c", CopySource=source, MetadataDirective="REPLACE", ContentType="text/html", Metadata={"w": "2"}
    )
    replaced = s3.head_object(Bucket=repo, Key="main/c")
    assert (replaced["ContentType"], replaced["Metadata"]) == ("text/html", {"w": "2"})
    assert "CacheControl" not in replaced
    assert s3.get_object_tagging(Bucket=repo, Key="main/c")["TagSet"] == [{"Key": "t", "Value": "1"}]
    s3.copy_object(Bucket=repo, Key="main/d", CopySource=source, TaggingDirective="REPLACE", Tagging="u=2")
    assert s3.get_object_tagging(Bucket=repo, Key="main/d")["TagSet"] == [{"Key": "u", "Value": "2"}]
    assert s3.head_object(Bucket=repo, Key="main/d")["Metadata"] == {"v": "1"}
    # Onto itself only with a change.
    with pytest.raises(ClientError) as error:
        s3.copy_object(Bucket=repo, Key="main/a", CopySource=source)
    assert failure(error) == (400, "InvalidRequest")
    s3.copy_object(Bucket=repo, Key="main/a", CopySource=source, MetadataDirective="REPLACE", Metadata={"v": "3"})
    assert s3.head_object(Bucket=repo, Key="main/a")["Metadata"] == {"v": "3"}


def test_copies_have_conditions_on_their_source(s3, repo):
    etag = s3.put_object(Bucket=repo, Key="main/a", Body=b"x")["ETag"]
    source = {"Bucket": repo, "Key": "main/a"}
    assert (
        s3.copy_object(Bucket=repo, Key="main/b", CopySource=source, CopySourceIfMatch=etag)["CopyObjectResult"]["ETag"] == etag
    )
    for condition in [{"CopySourceIfMatch": '"other"'}, {"CopySourceIfNoneMatch": etag}]:
        with pytest.raises(ClientError) as error:
            s3.copy_object(Bucket=repo, Key="main/b", CopySource=source, **condition)
        assert failure(error) == (412, "PreconditionFailed")
    with pytest.raises(ClientError) as error:
        s3.copy_object(Bucket=repo, Key="main/b", CopySource={"Bucket": repo, "Key": "main/absent"})
    assert failure(error) == (404, "NoSuchKey")


def test_many_deletes_have_one_outcome_each(tarn, s3, repo):
    s3_requests.create_tag(tarn, repo, "v1")
    keys = [f"main/{i}" for i in range(1000)]
    for key in keys[:3]:
        s3.put_object(Bucket=repo, Key=key, Body=b"x")
    result = s3.delete_objects(Bucket=repo, Delete={"Objects": [{"Key": k} for k in keys]})
    assert sorted(d["Key"] for d in result["Deleted"]) == sorted(keys)
    assert s3.list_objects_v2(Bucket=repo, Prefix="main/")["KeyCount"] == 0
    mixed = s3.delete_objects(
        Bucket=repo,
        Delete={
            "Objects": [
                {"Key": "main/a"},
                {"Key": "v1/a"},
                {"Key": "nobranch/a"},
                {"Key": "main/"},
                {"Key": "main/b", "VersionId": "x"},
            ]
        },
    )
    assert [d["Key"] for d in mixed["Deleted"]] == ["main/a", "main/"]
    assert {e["Key"]: e["Code"] for e in mixed["Errors"]} == {
        "v1/a": "MethodNotAllowed",
        "nobranch/a": "NoSuchBucket",
        "main/b": "InvalidArgument",
    }
    quiet = s3.delete_objects(Bucket=repo, Delete={"Objects": [{"Key": "main/a"}], "Quiet": True})
    assert "Deleted" not in quiet and "Errors" not in quiet


def test_tags_of_objects(s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x", Metadata={"m": "1"})
    assert s3.get_object_tagging(Bucket=repo, Key="main/a")["TagSet"] == []
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "zwei ü"}]
    s3.put_object_tagging(Bucket=repo, Key="main/a", Tagging={"TagSet": tags})
    assert s3.get_object_tagging(Bucket=repo, Key="main/a")["TagSet"] == tags
    assert s3.head_object(Bucket=repo, Key="main/a")["Metadata"] == {"m": "1"}
    s3.delete_object_tagging(Bucket=repo, Key="main/a")
    assert s3.get_object_tagging(Bucket=repo, Key="main/a")["TagSet"] == []
    with pytest.raises(ClientError) as error:
        s3.put_object_tagging(Bucket=repo, Key="main/a", Tagging={"TagSet": [{"Key": str(i), "Value": ""} for i in range(11)]})
    assert failure(error) == (400, "InvalidTag")
    with pytest.raises(ClientError) as error:
        s3.get_object_tagging(Bucket=repo, Key="main/absent")
    assert failure(error) == (404, "NoSuchKey")


def test_the_branch_itself_is_a_directory(tarn, s3, repo):
    head = s3.head_object(Bucket=repo, Key="main/")
    assert (head["ContentLength"], head["ContentType"]) == (0, "application/x-directory")
    assert s3.get_object(Bucket=repo, Key="main/")["Body"].read() == b""
    s3.put_object(Bucket=repo, Key="main/", Body=b"")
    s3.delete_object(Bucket=repo, Key="main/")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main/", Body=b"x")
    assert failure(error) == (400, "InvalidArgument")
    for key in ["main", "nobranch/", "nobranch"]:
        with pytest.raises(ClientError) as error:
            s3.head_object(Bucket=repo, Key=key)
        assert failure(error)[0] == 404
    assert s3_requests.signed(tarn, "GET", f"/{repo}/main/", {"Range": "bytes=0-1"}).status == 416
    assert s3.list_objects_v2(Bucket=repo, Prefix="main/")["KeyCount"] == 0


def test_writes_go_to_branches_only(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"x")
    commit = s3_requests.commit(tarn, repo)
    s3_requests.create_tag(tarn, repo, "v1.0")
    for ref, expected in [
        ("v1.0", (405, "MethodNotAllowed")),
        (commit, (405, "MethodNotAllowed")),
        ("main~1", (405, "MethodNotAllowed")),
        ("nobranch", (404, "NoSuchBucket")),
    ]:
        for verb in [
            lambda key: s3.put_object(Bucket=repo, Key=key, Body=b"y"),
            lambda key: s3.delete_object(Bucket=repo, Key=key),
            lambda key: s3.create_multipart_upload(Bucket=repo, Key=key),
            lambda key: s3.copy_object(Bucket=repo, Key=key, CopySource={"Bucket": repo, "Key": "main/a"}),
        ]:
            with pytest.raises(ClientError) as error:
                verb(ref + "/a")
            assert failure(error) == expected, ref
        assert ref in error.value.response["Error"]["Message"]
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main", Body=b"y")
    assert failure(error) == (400, "InvalidArgument")
    s3.delete_object(Bucket=repo, Key="main")
    assert s3.get_object(Bucket=repo, Key="v1.0/a")["Body"].read() == b"x"


def test_versions_are_commits(tarn, s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"old")
    commit = s3_requests.commit(tarn, repo)
    s3_requests.create_tag(tarn, repo, "v1")
    s3.put_object(Bucket=repo, Key="main/a", Body=b"new")
    assert s3.get_object(Bucket=repo, Key="main/a", VersionId="null")["Body"].read() == b"new"
    assert s3.get_object(Bucket=repo, Key="main/a", VersionId=commit)["Body"].read() == b"old"
    assert s3.get_object(Bucket=repo, Key=commit[:12] + "/a")["Body"].read() == b"old"
    tagged = s3.head_object(Bucket=repo, Key="v1/a")
    assert tagged["VersionId"] == commit
    assert "VersionId" not in s3.head_object(Bucket=repo, Key="main/a")
    source = {"Bucket": repo, "Key": "main/a", "VersionId": commit}
    s3.copy_object(Bucket=repo, Key="main/restored", CopySource=source)
    assert s3.get_object(Bucket=repo, Key="main/restored")["Body"].read() == b"old"
    for version, expected in [("f" * 64, (404, "NoSuchVersion")), ("latest", (400, "InvalidArgument"))]:
        with pytest.raises(ClientError) as error:
            s3.get_object(Bucket=repo, Key="main/a", VersionId=version)
        assert failure(error) == expected
    with pytest.raises(ClientError) as error:
        s3.delete_object(Bucket=repo, Key="main/a", VersionId=commit)
    assert failure(error) == (405, "MethodNotAllowed")
    s3.delete_object(Bucket=repo, Key="main/a", VersionId="null")


def test_limits_of_keys_and_metadata(s3, repo):
    key = "main/" + "k" * 1024
    s3.put_object(Bucket=repo, Key=key, Body=b"x")
    assert s3.get_object(Bucket=repo, Key=key)["Body"].read() == b"x"
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key=key + "k", Body=b"x")
    assert failure(error) == (400, "KeyTooLongError")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main/a", Body=b"x", Metadata={"m": "v" * 2048})
    assert failure(error) == (400, "MetadataTooLarge")
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo, Key="main/a", Body=b"x", ServerSideEncryption="AES256")
    assert failure(error) == (501, "NotImplemented")


def test_object_attributes(s3, repo):
    s3.put_object(Bucket=repo, Key="main/a", Body=b"123456789", ChecksumAlgorithm="CRC32")
    got = s3.get_object_attributes(
        Bucket=repo, Key="main/a", ObjectAttributes=["ETag", "Checksum", "StorageClass", "ObjectSize", "ObjectParts"]
    )
    assert got["ETag"] == hashlib.md5(b"123456789").hexdigest()
    assert got["Checksum"] == {"ChecksumCRC32": "y/Q5Jg==", "ChecksumType": "FULL_OBJECT"}
    assert (got["StorageClass"], got["ObjectSize"]) == ("STANDARD", 9)


def test_a_rooted_bucket_is_one_ref(tarn, s3, repo):
    s3.put_object(Bucket=repo + ".main", Key="dir/a", Body=b"x")
    assert s3.get_object(Bucket=repo, Key="main/dir/a")["Body"].read() == b"x"
    s3_requests.commit(tarn, repo)
    s3_requests.create_tag(tarn, repo, "v1.0")
    listed = s3.list_objects_v2(Bucket=repo + ".v1.0", Delimiter="/")
    assert [p["Prefix"] for p in listed["CommonPrefixes"]] == ["dir/"]
    assert s3.get_object(Bucket=repo + ".v1.0", Key="dir/a")["Body"].read() == b"x"
    s3.head_bucket(Bucket=repo + ".v1.0")
    with pytest.raises(ClientError) as error:
        s3.head_bucket(Bucket=repo + ".nothing")
    assert failure(error)[0] == 404
    with pytest.raises(ClientError) as error:
        s3.put_object(Bucket=repo + ".v1.0", Key="dir/a", Body=b"y")
    assert failure(error) == (405, "MethodNotAllowed")


def test_tags_and_user_metadata_set_at_once_are_both_kept(s3, repo, rest):
    def set_metadata(key, value):
        return rest(
            "PUT",
            f"/repositories/{repo}/branches/main/objects/stat/user_metadata",
            params={"path": key},
            json={"set": {"m": value}},
        )

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n in range(20):
            s3.put_object(Bucket=repo, Key="main/a", Body=b"same", Metadata={"m": "old"})
            tagged = pool.submit(
                s3.put_object_tagging, Bucket=repo, Key="main/a", Tagging={"TagSet": [{"Key": "t", "Value": str(n)}]}
            )
            set_ = pool.submit(set_metadata, "a", str(n))
            tagged.result()
            assert set_.result().status_code == 204
            assert s3.get_object_tagging(Bucket=repo, Key="main/a")["TagSet"] == [{"Key": "t", "Value": str(n)}]
            assert s3.head_object(Bucket=repo, Key="main/a")["Metadata"] == {"m": str(n)}
