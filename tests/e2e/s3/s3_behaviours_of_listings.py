"""Listings and versions."""

import hashlib
import re
import urllib.parse

import s3_requests
from s3_behaviour import behaviour

# Listing.


@behaviour("a limit of keys is a number from nought, shown as at most a thousand")
def max_keys(b):
    b.put()
    b.put("b")
    for query in ["max-keys=blah", "max-keys=-1", "max-keys=2147483648", "max-keys=1.5"]:
        for kind in ["", "&list-type=2", "&versions"]:
            answer = b.raw("GET", None, query + kind)
            assert (answer.status, answer.code) == (400, "InvalidArgument"), query + kind
    none = b.raw("GET", None, "list-type=2&max-keys=0").xml
    assert (none.findtext("IsTruncated"), none.findtext("KeyCount"), none.findtext("MaxKeys")) == ("false", "0", "0")
    assert b.raw("GET", None, "max-keys=5000").xml.findtext("MaxKeys") == "1000"
    one = b.raw("GET", None, f"list-type=2&max-keys=1&prefix={urllib.parse.quote(b.root, safe='')}").xml
    assert (one.findtext("IsTruncated"), one.findtext("KeyCount")) == ("true", "1")


@behaviour("names are encoded when asked and only then, with blanks as %20 and slashes as they are")
def encoded_names(b):
    for key in ["asdf+b", "foo+1/bar", "quux ab/thud", "x\x01y"]:
        b.put(key)
    plain = b.raw("GET", None, "list-type=2&prefix=" + urllib.parse.quote(b.root + "asdf", safe="")).xml
    assert plain.findtext("Contents/Key") == b.root + "asdf+b" and plain.find("EncodingType") is None
    for kind in ["list-type=2", "versions", ""]:
        query = f"{kind}&encoding-type=url&delimiter=%2F&prefix={urllib.parse.quote(b.root, safe='')}"
        xml = b.raw("GET", None, query.removeprefix("&")).xml
        assert (xml.findtext("EncodingType"), xml.findtext("Delimiter")) == ("url", "/")
        assert [k.text for k in xml.iter("Key")] == [b.root + "asdf%2Bb", b.root + "x%01y"]
        assert [p.findtext("Prefix") for p in xml.iter("CommonPrefixes")] == [b.root + "foo%2B1/", b.root + "quux%20ab/"]
    assert b.raw("GET", None, "encoding-type=base64").code == "InvalidArgument"
    # Prefixes and delimiters that no text shows come back as they were asked, encoded.
    b.put("nl\nx/y")
    prefix = urllib.parse.quote(b.root + "nl\n", safe="")
    xml = b.raw("GET", None, f"list-type=2&encoding-type=url&prefix={prefix}&delimiter=%2Fy&start-after=%0A").xml
    assert (xml.findtext("Prefix"), xml.findtext("Delimiter"), xml.findtext("StartAfter")) == (b.root + "nl%0A", "/y", "%0A")
    assert [p.findtext("Prefix") for p in xml.iter("CommonPrefixes")] == [b.root + "nl%0Ax/y"]
    xml = b.raw("GET", None, f"encoding-type=url&delimiter=%0A&prefix={urllib.parse.quote(b.root + 'nl', safe='')}").xml
    assert (xml.findtext("Delimiter"), xml.findtext("CommonPrefixes/Prefix")) == ("%0A", b.root + "nl%0A")


@behaviour("any delimiter groups, an empty one does not and is not shown")
def delimiters(b):
    for key in ["bar", "baz", "cab", "foo", "a%b", "d\ne", "dir/x", "dir/y/z"]:
        b.put(key)

    def shape(delimiter, **arguments):
        page = b.s3.list_objects_v2(Bucket=b.name, Prefix=b.root, Delimiter=delimiter, **arguments)
        return (
            [o["Key"].removeprefix(b.root) for o in page.get("Contents", [])],
            [p["Prefix"].removeprefix(b.root) for p in page.get("CommonPrefixes", [])],
        )

    assert shape("a") == (["d\ne", "dir/x", "dir/y/z", "foo"], ["a", "ba", "ca"])
    assert shape("%") == (["bar", "baz", "cab", "d\ne", "dir/x", "dir/y/z", "foo"], ["a%"])
    assert shape("\n")[1] == ["d\n"]
    assert shape("/")[1] == ["dir/"]
    assert shape("ir/x")[1] == ["dir/x"]
    assert shape("nowhere") == (sorted(["bar", "baz", "cab", "foo", "a%b", "d\ne", "dir/x", "dir/y/z"]), [])
    xml = b.raw("GET", None, "delimiter=&list-type=2").xml
    assert xml.find("Delimiter") is None and xml.find("CommonPrefixes") is None


@behaviour("a page begins strictly after its marker, wherever that is, byte by byte")
def markers(b):
    for key in ["B", "a", "b", "b/1", "b/2", "c"]:
        b.put(key)
    for after, expected in [
        ("", "B a b b/1 b/2 c"),
        ("a", "b b/1 b/2 c"),
        ("A", "B a b b/1 b/2 c"),
        ("b/", "b/1 b/2 c"),
        ("b/15", "b/2 c"),
        ("c", ""),
        ("zzz", ""),
        ("\n", "B a b b/1 b/2 c"),
        ("a\x01", "b b/1 b/2 c"),
    ]:
        assert b.listed(StartAfter=b.root + after) == expected.split(), after
        old = b.s3.list_objects(Bucket=b.name, Prefix=b.root, Marker=b.root + after)
        assert [o["Key"].removeprefix(b.root) for o in old.get("Contents", [])] == expected.split(), after
        assert old["Marker"] == b.root + after
    # Before the prefix, and in another branch.
    for after in ["", "!", "dev/zzz" if b.root else "!"]:
        assert b.listed(StartAfter=after) == "B a b b/1 b/2 c".split()

    # Inside a group what is left of it still shows; the group itself as marker skips it.
    def groups(marker):
        return [
            p["Prefix"]
            for p in b.s3.list_objects(Bucket=b.name, Prefix=b.root, Delimiter="/", Marker=b.root + marker).get(
                "CommonPrefixes", []
            )
        ]

    assert groups("b/1") == [b.root + "b/"] and groups("b/") == []


@behaviour("pages of any size join to the whole, in all three listings")
def pages(b):
    keys = sorted(f"{d}/{i}" for d in "xyz" for i in range(5)) + ["~"]
    for key in keys:
        b.put(key)
    for operation, member in [
        ("list_objects_v2", "Contents"),
        ("list_objects", "Contents"),
        ("list_object_versions", "Versions"),
    ]:
        for size in [1, 2, 3, 7]:
            for delimiter, expected in [("", (keys, [])), ("/", (["~"], ["x/", "y/", "z/"]))]:
                got = ([], [])
                for page in b.s3.get_paginator(operation).paginate(
                    Bucket=b.name, Prefix=b.root, Delimiter=delimiter, PaginationConfig={"PageSize": size}
                ):
                    got[0].extend(o["Key"].removeprefix(b.root) for o in page.get(member, []))
                    got[1].extend(p["Prefix"].removeprefix(b.root) for p in page.get("CommonPrefixes", []))
                    assert len(page.get(member, [])) + len(page.get("CommonPrefixes", [])) <= size
                assert got == expected, (operation, size, delimiter)


@behaviour("the elements of both listings are those that clients look for")
def listing_elements(b):
    for key in ["a", "b"]:
        b.put(key)
    prefix = urllib.parse.quote(b.root, safe="")
    two = b.raw("GET", None, f"list-type=2&max-keys=1&prefix={prefix}").xml
    assert [two.findtext(n) for n in ["Name", "Prefix", "MaxKeys", "KeyCount", "IsTruncated"]] == [
        b.name,
        b.root,
        "1",
        "1",
        "true",
    ]
    token = two.findtext("NextContinuationToken")
    assert token and two.find("Contents/Owner") is None and two.find("Marker") is None
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", two.findtext("Contents/LastModified"))
    assert two.findtext("Contents/StorageClass") == "STANDARD" and two.findtext("Contents/ETag").startswith('"')
    last = b.raw("GET", None, f"list-type=2&prefix={prefix}&fetch-owner=true&continuation-token={token}").xml
    assert last.findtext("ContinuationToken") == token and last.find("NextContinuationToken") is None
    assert last.findtext("Contents/Key") == b.root + "b" and last.findtext("Contents/Owner/ID")
    one = b.raw("GET", None, f"max-keys=1&prefix={prefix}").xml
    assert one.find("Marker") is not None and one.find("KeyCount") is None and one.findtext("Contents/Owner/ID")
    assert b.raw("GET", None, "list-type=2&continuation-token=a").code == "InvalidArgument"
    body = b.raw("GET", None, "list-type=2").body
    assert body.startswith(b'<?xml version="1.0" encoding="UTF-8"?>') and b"http://s3.amazonaws.com/doc/2006-03-01/" in body


@behaviour("a listing shows what was written and deleted just before")
def fresh_listings(b):
    for i in range(20):
        b.put(f"k{i:02}")
        assert len(b.listed()) == i + 1
    b.call("delete_object", "k00")
    assert "k00" not in b.listed()


# Versions.


@behaviour("the id of a commit is a version, null the branch as it is, anything else no version id")
def versions(b):
    b.put(body=b"old", Tagging="age=old")
    commit = b.commit()
    b.put(body=b"new", Tagging="age=new")
    for version, body, tag in [("null", b"new", "new"), (commit, b"old", "old")]:
        assert b.read(VersionId=version) == body
        assert b.call("get_object_tagging", VersionId=version)["TagSet"] == [{"Key": "age", "Value": tag}]
        got = b.call("get_object_attributes", VersionId=version, ObjectAttributes=["ETag"])
        assert got["ETag"] == hashlib.md5(body).hexdigest()
        copied = b.call("copy_object", "copy", CopySource={**b.at(), "VersionId": version})
        assert b.read("copy") == body
        assert copied.get("CopySourceVersionId") == (commit if version == commit else None)
    assert b.call("head_object", VersionId=commit)["VersionId"] == commit
    for method in ["GET", "HEAD"]:
        assert "x-amz-version-id" not in b.raw(method).headers
        assert "x-amz-version-id" not in b.raw(method, query="versionId=null").headers
    assert "VersionId" not in b.put("b")
    for version in ["latest", commit[:12], "0", "undefined", commit.upper()]:
        assert b.fails("get_object", VersionId=version) == (400, "InvalidArgument"), version
        assert b.fails("delete_object", VersionId=version) == (400, "InvalidArgument"), version
        assert b.fails("copy_object", "c", CopySource={**b.at(), "VersionId": version}) == (400, "InvalidArgument"), version
    for path, version in [("a", "0" * 64), ("never", commit)]:
        assert b.fails("get_object", path, VersionId=version) == (404, "NoSuchVersion")
        assert b.fails("get_object_tagging", path, VersionId=version) == (404, "NoSuchVersion")
        assert b.fails("head_object", path, VersionId=version)[0] == 404


@behaviour("a commit's version is never deleted, null deletes the branch's object")
def deleting_versions(b):
    b.put()
    commit = b.commit()
    assert b.fails("delete_object", VersionId=commit) == (405, "MethodNotAllowed")
    result = b.s3.delete_objects(
        Bucket=b.name, Delete={"Objects": [{"Key": b.root + "a", "VersionId": commit}, {"Key": b.root + "a", "VersionId": "x"}]}
    )
    assert [(e["Code"], e["VersionId"]) for e in result["Errors"]] == [("MethodNotAllowed", commit), ("InvalidArgument", "x")]
    assert b.read() == b"0123456789"
    result = b.s3.delete_objects(Bucket=b.name, Delete={"Objects": [{"Key": b.root + "a", "VersionId": "null"}]})
    assert [(d["Key"], d["VersionId"]) for d in result["Deleted"]] == [(b.root + "a", "null")]
    assert b.listed() == [] and b.read(VersionId=commit) == b"0123456789"
    b.put()
    b.call("delete_object", VersionId="null")
    assert b.listed() == []


@behaviour("a listing of versions shows each key once, with the version that a read of it says")
def listed_versions(b):
    for key in ["a", "d/b", "d/c"]:
        b.put(key)
    commit = b.commit()
    s3_requests.create_tag(b.tarn, b.repo, "v1")
    page = b.s3.list_object_versions(Bucket=b.name, Prefix=b.root)
    assert [(v["Key"], v["VersionId"], v["IsLatest"]) for v in page["Versions"]] == [
        (b.root + k, "null", True) for k in ["a", "d/b", "d/c"]
    ]
    assert page["Versions"][0]["Size"] == 10 and page["Versions"][0]["Owner"]["ID"] and "DeleteMarkers" not in page
    for ref in ["v1", commit]:
        where = {"Bucket": b.repo, "Prefix": ref + "/"} if b.root else {"Bucket": f"{b.repo}.{ref}"}
        assert [v["VersionId"] for v in b.s3.list_object_versions(**where)["Versions"]] == 3 * [commit], ref
    first = b.s3.list_object_versions(Bucket=b.name, Prefix=b.root, MaxKeys=1)
    assert (first["IsTruncated"], first["NextKeyMarker"], first["NextVersionIdMarker"]) == (True, b.root + "a", "null")
    second = b.s3.list_object_versions(
        Bucket=b.name,
        Prefix=b.root,
        Delimiter="/",
        KeyMarker=first["NextKeyMarker"],
        VersionIdMarker=first["NextVersionIdMarker"],
    )
    assert "Versions" not in second and [p["Prefix"] for p in second["CommonPrefixes"]] == [b.root + "d/"]
    assert (second["KeyMarker"], second["VersionIdMarker"]) == (b.root + "a", "null")
    assert b.raw("GET", None, "versions&version-id-marker=null").code == "InvalidArgument"
