"""Versions where the repository keeps them."""

import itertools
import urllib.parse

import pytest
import s3_requests
from botocore.exceptions import ClientError
from s3_behaviour import behaviour


def keep_versions(b, status="Enabled"):
    b.s3.put_bucket_versioning(Bucket=b.name, VersioningConfiguration={"Status": status})


def versions(b, **where):
    """[(key, "d" for a delete marker, version id, is latest)] in the order of S3: by key, newest first."""
    page = b.s3.list_object_versions(Bucket=b.name, **{"Prefix": b.root, **where})
    kept = [
        (v["Key"].removeprefix(b.root), "", v["VersionId"], v["IsLatest"], v["LastModified"]) for v in page.get("Versions", [])
    ]
    return kept, [(m["Key"].removeprefix(b.root), m["VersionId"], m["IsLatest"]) for m in page.get("DeleteMarkers", [])]


def ids(b, key="a"):
    return [v[2] for v in versions(b, Prefix=b.root + key)[0]]


@behaviour("where versions are kept every write says its version, which reads exactly it for ever")
def every_write(b):
    keep_versions(b)
    first = b.put(body=b"1", Metadata={"n": "1"}, Tagging="n=1")["VersionId"]
    second = b.put(body=b"22")["VersionId"]
    b.commit()
    copied = b.call("copy_object", "copy", CopySource={**b.at(), "VersionId": first})
    assert copied["CopySourceVersionId"] == first
    upload = b.upload("parts")
    whole = b.call(
        "complete_multipart_upload", "parts", UploadId=upload, MultipartUpload=b.parts(b.part(upload, 1, b"part", "parts"))
    )["VersionId"]
    gone = b.call("delete_object")
    assert gone["DeleteMarker"] is True
    third = b.put(body=b"333")["VersionId"]
    for path, version, body in [
        ("a", first, b"1"),
        ("a", second, b"22"),
        ("a", third, b"333"),
        ("parts", whole, b"part"),
        ("copy", copied["VersionId"], b"1"),
    ]:
        assert b.read(path, VersionId=version) == body
        head = b.call("head_object", path, VersionId=version)
        assert (head["ContentLength"], head["VersionId"]) == (len(body), version)
        attributes = b.call("get_object_attributes", path, VersionId=version, ObjectAttributes=["ObjectSize"])
        assert (attributes["ObjectSize"], attributes["VersionId"]) == (len(body), version)
    assert b.call("head_object", VersionId=first)["Metadata"] == {"n": "1"}
    assert b.call("get_object_tagging", VersionId=first)["TagSet"] == [{"Key": "n", "Value": "1"}]
    assert b.call("get_object")["VersionId"] == b.call("head_object")["VersionId"] == third
    assert b.call("get_object", VersionId=first, Range="bytes=0-0")["Body"].read() == b"1"
    for method in ["get_object", "head_object"]:
        assert b.fails(method, VersionId=gone["VersionId"])[0] == 405
        assert b.fails(method, VersionId="0" * 32)[0] == 404
        assert b.fails(method, "copy", VersionId=first)[0] == 404
    marked = b.raw("GET", query="versionId=" + gone["VersionId"])
    assert (marked.code, marked.headers["x-amz-delete-marker"]) == ("MethodNotAllowed", "true")


@behaviour("a listing of versions has versions and delete markers, newest first, and says which is latest")
def listed(b):
    b.put("old", body=b"0")
    keep_versions(b)
    one, two = b.put(body=b"1")["VersionId"], b.put(body=b"22")["VersionId"]
    b.put("d/b")
    marker = b.call("delete_object")["VersionId"]
    kept, markers = versions(b)
    assert [(v[0], v[2], v[3]) for v in kept if v[0] in ("a", "old")] == [
        ("a", two, False),
        ("a", one, False),
        ("old", "null", True),
    ]
    assert markers == [("a", marker, True)]
    assert kept[0][4] >= kept[1][4]
    raw = b.raw("GET", None, f"prefix={urllib.parse.quote(b.root, safe='')}a&versions").xml
    assert [e.tag for e in raw if e.tag in ("Version", "DeleteMarker")] == ["DeleteMarker", "Version", "Version"]
    assert raw.find("DeleteMarker/Owner/ID").text
    folded = b.s3.list_object_versions(Bucket=b.name, Prefix=b.root, Delimiter="/")
    assert [p["Prefix"] for p in folded["CommonPrefixes"]] == [b.root + "d/"]
    assert b.listed() == ["d/b", "old"]


@behaviour("a listing of versions goes on behind a version, over pages of any size")
def listed_in_pages(b):
    keep_versions(b)
    for key in ["a", "b", "d/c"]:
        for n in range(3):
            b.put(key, body=str(n).encode())
    b.call("delete_object", "b")

    def pages(**arguments):
        out, marker = [], {}
        while True:
            page = b.s3.list_object_versions(Bucket=b.name, Prefix=b.root, **arguments, **marker)
            out.append(
                [(v["Key"], v["VersionId"]) for v in page.get("Versions", [])]
                + [(m["Key"], m["VersionId"]) for m in page.get("DeleteMarkers", [])]
                + [(p["Prefix"], "") for p in page.get("CommonPrefixes", [])]
            )
            if not page["IsTruncated"]:
                return out
            marker = {"KeyMarker": page["NextKeyMarker"]}
            if page.get("NextVersionIdMarker"):
                marker["VersionIdMarker"] = page["NextVersionIdMarker"]

    for delimiter, count in [("", 10), ("/", 8)]:
        whole = sorted(pages(Delimiter=delimiter)[0])
        assert len(whole) == count
        for size in [1, 2, 3]:
            parts = pages(MaxKeys=size, Delimiter=delimiter)
            assert sorted(itertools.chain(*parts)) == whole and all(len(p) == size for p in parts[:-1])
    assert b.raw("GET", None, "versions&key-marker=a&version-id-marker=x").code == "InvalidArgument"
    assert b.raw("GET", None, "versions&version-id-marker=null").code == "InvalidArgument"


@behaviour("removing the latest version or a delete marker shows the version before, any other leaves the object")
def removing(b):
    keep_versions(b)
    one, two, three = [b.put(body=x)["VersionId"] for x in (b"1", b"2", b"3")]
    b.commit()
    marker = b.call("delete_object")["VersionId"]
    assert b.fails("get_object") == (404, "NoSuchKey")
    for method in ["GET", "HEAD"]:
        headers = b.raw(method).headers
        assert (headers["x-amz-delete-marker"], headers["x-amz-version-id"]) == ("true", marker)
    removed = b.call("delete_object", VersionId=marker)
    assert (removed["DeleteMarker"], removed["VersionId"]) == (True, marker)
    assert b.read() == b"3"
    removed = b.call("delete_object", VersionId=two)
    assert "DeleteMarker" not in removed and removed["VersionId"] == two
    assert b.read() == b"3" and ids(b) == [three, one]
    b.call("delete_object", VersionId=three)
    assert b.read() == b"1" and ids(b) == [one]
    assert b.call("head_object")["VersionId"] == one
    b.commit()
    assert b.read() == b"1" and b.call("head_object")["VersionId"] == one
    b.call("delete_object", VersionId=one)
    b.call("delete_object", VersionId=one)
    assert b.fails("get_object") == (404, "NoSuchKey") and versions(b) == ([], [])
    for version in (one, two, three, marker):
        assert b.fails("get_object", VersionId=version) == (404, "NoSuchVersion")


@behaviour("DeleteObjects makes a delete marker of each key, and removes versions")
def removing_many(b):
    keep_versions(b)
    put = {key: b.put(key)["VersionId"] for key in ("a", "b", "c")}
    result = b.s3.delete_objects(
        Bucket=b.name,
        Delete={
            "Objects": [
                {"Key": b.root + "a"},
                {"Key": b.root + "b", "VersionId": put["b"]},
                {"Key": b.root + "c", "VersionId": "x"},
            ]
        },
    )
    assert [(e["Key"], e["Code"]) for e in result["Errors"]] == [(b.root + "c", "InvalidArgument")]
    done = {d["Key"].removeprefix(b.root): d for d in result["Deleted"]}
    assert done["a"]["DeleteMarker"] and done["a"]["DeleteMarkerVersionId"] == versions(b)[1][0][1]
    assert done["b"]["VersionId"] == put["b"] and "DeleteMarker" not in done["b"]
    assert b.listed() == ["c"]
    marker = done["a"]["DeleteMarkerVersionId"]
    result = b.s3.delete_objects(Bucket=b.name, Delete={"Objects": [{"Key": b.root + "a", "VersionId": marker}]})
    assert result["Deleted"][0]["DeleteMarker"] and result["Deleted"][0]["DeleteMarkerVersionId"] == marker
    assert b.listed() == ["a", "c"]


@behaviour("what was there before versions were kept, or written while they are suspended, is the null version")
def null_versions(b):
    b.put(body=b"before")
    keep_versions(b)
    assert b.call("head_object")["VersionId"] == "null"
    new = b.put(body=b"new")["VersionId"]
    assert b.read(VersionId="null") == b"before" and b.read(VersionId=new) == b"new"
    keep_versions(b, "Suspended")
    assert "VersionId" not in b.put("other")
    assert b.read(VersionId=new) == b"new"
    keep_versions(b)
    b.call("delete_object", VersionId="null")
    assert b.read() == b"new" and ids(b) == [new]
    assert b.fails("get_object", VersionId="null") == (404, "NoSuchVersion")
    assert b.read("other", VersionId="null") == b"0123456789"
    b.call("delete_object", "other", VersionId="null")
    assert b.listed() == ["a"] and versions(b)[1] == []


@behaviour("tags are part of a version: put on the object they make one, on a version they are refused")
def tagged(b):
    keep_versions(b)
    first = b.put(Tagging="n=1")["VersionId"]
    tags = {"TagSet": [{"Key": "n", "Value": "2"}]}
    second = b.call("put_object_tagging", Tagging=tags)["VersionId"]
    assert b.call("get_object_tagging")["TagSet"] == tags["TagSet"]
    assert b.call("get_object_tagging", VersionId=first)["TagSet"] == [{"Key": "n", "Value": "1"}]
    assert ids(b) == [second, first]
    for version in (first, second):
        assert b.fails("put_object_tagging", VersionId=version, Tagging=tags) == (405, "MethodNotAllowed")
    assert b.fails("put_object_tagging", VersionId="null", Tagging=tags) == (404, "NoSuchVersion")
    assert ids(b) == [second, first]


@behaviour("conditions hold where versions are kept, and a refused write makes no version")
def conditions(b):
    keep_versions(b)
    first = b.put(body=b"1", IfNoneMatch="*")
    assert b.fails("put_object", Body=b"2", IfNoneMatch="*") == (412, "PreconditionFailed")
    second = b.put(body=b"2", IfMatch=first["ETag"])["VersionId"]
    assert b.fails("put_object", Body=b"3", IfMatch=first["ETag"]) == (412, "PreconditionFailed")
    assert b.fails("delete_object", IfMatch=first["ETag"]) == (412, "PreconditionFailed")
    assert ids(b) == [second, first["VersionId"]]


@behaviour("commits stay versions too, and are never removed")
def commits(b):
    keep_versions(b)
    version = b.put()["VersionId"]
    commit = b.commit()
    b.call("delete_object", VersionId=version)
    assert b.read(VersionId=commit) == b"0123456789"
    assert b.fails("delete_object", VersionId=commit) == (405, "MethodNotAllowed")
    assert b.fails("get_object", VersionId=version) == (404, "NoSuchVersion")
    for wrong in [version.upper(), version[:31], version + "0"]:
        assert b.fails("get_object", VersionId=wrong) == (400, "InvalidArgument")
        assert b.fails("delete_object", VersionId=wrong) == (400, "InvalidArgument")


@behaviour("a listing over all branches has the versions of each", only="plain")
def over_branches(b):
    keep_versions(b)
    s3_requests.create_branch(b.tarn, b.repo, "dev")
    b.put(body=b"1")
    b.put(body=b"2")
    b.s3.put_object(Bucket=b.name, Key="dev/a", Body=b"3")

    def keys(**arguments):
        page = b.s3.list_object_versions(Bucket=b.name, **arguments)
        return [(v["Key"], v["IsLatest"]) for v in page.get("Versions", [])], page

    everything = [("dev/a", True), ("main/a", True), ("main/a", False)]
    assert keys()[0] == everything
    found, marker = [], {}
    for _ in range(3):
        part, page = keys(MaxKeys=1, **marker)
        found += part
        marker = {"KeyMarker": page.get("NextKeyMarker", ""), "VersionIdMarker": page.get("NextVersionIdMarker", "")}
    assert found == everything and not page["IsTruncated"]
    assert [p["Prefix"] for p in keys(Delimiter="/")[1]["CommonPrefixes"]] == ["dev/", "main/"]
    with pytest.raises(ClientError) as refused:
        keys(Delimiter="a")
    assert s3_requests.failure(refused) == (501, "NotImplemented")
