"""Keys and refs: what is written where, tags of objects, deleting, and the bucket itself."""

import base64
import hashlib
import re
import threading
import zlib

import s3_requests
from s3_behaviour import EMPTY_MD5, MEBIBYTE, Bucket, behaviour
from s3_requests import signed, with_md5

# Writing.


@behaviour("a write may demand that the key is absent or holds a certain object")
def write_conditions(b):
    etag = b.put(IfNoneMatch="*")["ETag"]
    assert b.fails("put_object", IfNoneMatch="*") == (412, "PreconditionFailed")
    assert b.fails("put_object", IfMatch='"x"') == (412, "PreconditionFailed")
    for condition in [etag, "*"]:
        assert b.fails("put_object", "absent", IfMatch=condition) == (404, "NoSuchKey")
    # Compared rather than refused: with quotes and without.
    for value in [etag, etag.strip('"')]:
        assert b.raw("PUT", headers={"If-None-Match": value}, body=b"y").status == 412, value
    assert b.raw("PUT", headers={"If-None-Match": '"x"'}, body=b"0123456789").status == 200
    assert b.raw("PUT", headers={"If-Match": "*"}, body=b"0123456789").status == 200
    b.put(body=b"new", IfMatch=etag)
    assert b.fails("delete_object", IfMatch=etag) == (412, "PreconditionFailed")
    assert b.read() == b"new"


@behaviour("an overwrite is seen whole or not at all")
def whole_overwrites(b):
    bodies = [bytes([c]) * (2 * MEBIBYTE) for c in b"AB"]
    b.put(body=bodies[0])
    reading = b.call("get_object")["Body"]
    first = reading.read(10)
    b.put(body=bodies[1])
    assert first + reading.read() == bodies[0] and b.read() == bodies[1]
    # Of two that write at once one wins as a whole.
    writers = [threading.Thread(target=b.put, kwargs={"body": body}) for body in bodies]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert b.read() in bodies and b.call("head_object")["ETag"].strip('"') == hashlib.md5(b.read()).hexdigest()


@behaviour("what is not implemented is refused rather than ignored")
def refused_headers(b):
    for headers in [
        {"x-amz-server-side-encryption": "AES256"},
        {"x-amz-object-lock-mode": "COMPLIANCE"},
        {"x-amz-write-offset-bytes": "0"},
        {"x-amz-website-redirect-location": "/b"},
    ]:
        answer = b.raw("PUT", headers=headers, body=b"x")
        assert (answer.status, answer.code) == (501, "NotImplemented"), headers
    assert b.raw("PUT", headers={"x-amz-storage-class": "SOMETHING"}, body=b"x").code == "InvalidStorageClass"
    assert b.listed() == []


@behaviour("a key may have 1024 bytes, the branch not counted, and no more")
def key_length(b):
    b.put("k" * 1024)
    assert b.listed() == ["k" * 1024]
    assert b.fails("put_object", "k" * 1025) == (400, "KeyTooLongError")


@behaviour("keys keep every byte: slashes, dots, blanks, percent signs")
def kept_keys(b):
    keys = [
        "a//b",
        "./x",
        "../x",
        "a/../b",
        "/lead",
        "trail/",
        " ",
        "_",
        "__",
        "%2F",
        "a%20b",
        "a+b",
        "ü",
        "?versionId=1",
        "\x01",
        "a\nb",
        "a&<>\"'b",
    ]
    for key in keys:
        b.put(key, key.encode())
    for key in keys:
        assert b.read(key) == key.encode(), key
    assert b.listed() == sorted(keys, key=lambda k: k.encode())
    assert b.raw("GET", "a").status == 404
    assert signed(b.tarn, "GET", b.target("a") + "%00").code == "InvalidURI"
    assert signed(b.tarn, "GET", b.target("a") + "%ff").code == "InvalidURI"
    # An encoded slash is a slash.
    assert signed(b.tarn, "GET", b.target("a") + "%2F%2Fb").body == b"a//b"


# The ref behind the bucket.


@behaviour("tags and commits are read and never written, by any verb, and the message says read-only")
def read_only_refs(b):
    b.put()
    commit = b.commit()
    s3_requests.create_tag(b.tarn, b.repo, "v1.0")
    for ref in ["v1.0", commit, commit[:10]]:
        bucket = Bucket(b.tarn, b.repo, ref + "/") if b.root else Bucket(b.tarn, b.repo, "")
        if not b.root:
            bucket.name = f"{b.repo}.{ref}"
        read = bucket.raw("GET")
        assert (read.body, read.headers["x-amz-version-id"]) == (b"0123456789", commit)
        for method, query, body in [
            ("PUT", "", b"x"),
            ("DELETE", "", b""),
            ("POST", "uploads", b""),
            ("PUT", "tagging", b"<Tagging><TagSet/></Tagging>"),
            ("DELETE", "tagging", b""),
        ]:
            answer = bucket.raw(method, query=query, body=body)
            assert (answer.status, answer.code) == (405, "MethodNotAllowed"), (ref, method, query)
            assert "read-only" in answer.xml.findtext("Message") and ref in answer.xml.findtext("Message")
        assert bucket.fails("copy_object", "b", CopySource={**bucket.at()}) == (405, "MethodNotAllowed")
        result = bucket.s3.delete_objects(Bucket=bucket.name, Delete={"Objects": [{"Key": bucket.root + "a"}]})
        assert [e["Code"] for e in result["Errors"]] == ["MethodNotAllowed"]
        assert bucket.read() == b"0123456789"


@behaviour("the branch alone is an empty directory that is always there and never listed", only="plain")
def directory_marker(b):
    for method in ["GET", "HEAD"]:
        answer = b.raw(method, "")
        assert (answer.status, answer.body, answer.headers["etag"]) == (200, b"", EMPTY_MD5)
        assert answer.headers["content-type"] == "application/x-directory" and answer.headers["content-length"] == "0"
        assert signed(b.tarn, method, f"/{b.repo}/main").status == 404
        assert signed(b.tarn, method, f"/{b.repo}/nothing/").status == 404
    assert b.raw("GET", "", headers={"Range": "bytes=0-1"}).status == 416
    assert b.raw("PUT", "", body=b"").status == 200
    assert (b.raw("PUT", "", body=b"x").status, b.raw("PUT", "", body=b"x").code) == (400, "InvalidArgument")
    assert b.raw("DELETE", "").status == 204
    assert signed(b.tarn, "DELETE", f"/{b.repo}/main").status == 204
    assert signed(b.tarn, "PUT", f"/{b.repo}/main", body=b"x").code == "InvalidArgument"
    b.put("empty", b"")
    assert b.call("copy_object", "", CopySource=b.at("empty"))["CopyObjectResult"]["ETag"] == EMPTY_MD5
    assert b.listed() == ["empty"]
    deleted = b.s3.delete_objects(Bucket=b.name, Delete={"Objects": [{"Key": "main/"}]})
    assert [d["Key"] for d in deleted["Deleted"]] == ["main/"]


@behaviour("writing to a branch that is not there is a missing bucket that names it, reading a missing key", only="plain")
def missing_branch(b):
    for method, query in [("PUT", ""), ("DELETE", ""), ("POST", "uploads")]:
        answer = signed(b.tarn, method, f"/{b.repo}/nothing/a" + (f"?{query}" if query else ""))
        assert (answer.status, answer.code) == (404, "NoSuchBucket") and "nothing" in answer.xml.findtext("Message")
    assert signed(b.tarn, "GET", f"/{b.repo}/nothing/a").code == "NoSuchKey"
    for version in ["", "&list-type=2", "&versions"]:
        answer = signed(b.tarn, "GET", f"/{b.repo}?prefix=nothing%2F{version}")
        assert answer.status == 200 and answer.xml.find("Contents") is None
    for query in ["partNumber=1&uploadId=x", "uploadId=x"]:
        for method in ["PUT", "DELETE", "GET", "POST"]:
            if (method == "PUT") != query.startswith("part"):
                continue
            body = b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>"
            answer = signed(b.tarn, method, f"/{b.repo}/nothing/a?{query}", body=body if method == "POST" else b"")
            assert (answer.status, answer.code) == (404, "NoSuchUpload"), (method, query)


@behaviour("the root of a repository lists branches or all their keys, tags and commits only by name", only="plain")
def root_listing(b):
    for branch in ["main-2", "zeta"]:
        s3_requests.create_branch(b.tarn, b.repo, branch)
        b.s3.put_object(Bucket=b.repo, Key=branch + "/k", Body=b"x")
    b.rest("POST", "/branches", json={"name": "unseen", "source": "main", "hidden": True})
    b.s3.put_object(Bucket=b.repo, Key="unseen/k", Body=b"x")
    b.put()
    commit = b.commit()
    s3_requests.create_tag(b.tarn, b.repo, "v1")

    def shape(**arguments):
        page = b.s3.list_objects_v2(Bucket=b.repo, **arguments)
        return [o["Key"] for o in page.get("Contents", [])] + [p["Prefix"] for p in page.get("CommonPrefixes", [])]

    assert shape(Delimiter="/") == ["main-2/", "main/", "zeta/"]
    assert shape(Delimiter="/", Prefix="main") == ["main-2/", "main/"]
    assert shape() == ["main-2/k", "main/a", "zeta/k"]
    assert shape(Delimiter="/", MaxKeys=2) == ["main-2/", "main/"]
    assert shape(Prefix="v1/") == ["v1/a"] and shape(Prefix=commit + "/") == [commit + "/a"]
    assert shape(Prefix="v") == [] and shape(Prefix=commit[:12]) == []


# Deleting.


@behaviour("deleting what is not there succeeds")
def idle_deletes(b):
    assert b.raw("DELETE", "absent").status == 204
    b.put()
    for _ in range(2):
        answer = b.raw("DELETE")
        assert answer.status == 204 and "x-amz-delete-marker" not in answer.headers
    assert b.raw("GET").status == 404


@behaviour("of many deletes each has its own outcome")
def many_deletes(b):
    for key in ["a", "b", "c&<>", "ü"]:
        b.put(key)
    etag = b.call("head_object", "a")["ETag"]
    result = b.s3.delete_objects(
        Bucket=b.name,
        Delete={
            "Objects": [
                {"Key": b.root + "a", "ETag": '"x"'},
                {"Key": b.root + "b"},
                {"Key": b.root + "c&<>"},
                {"Key": b.root + "absent"},
                {"Key": b.root + "k" * 1025},
            ]
        },
    )
    assert [d["Key"] for d in result["Deleted"]] == [b.root + "b", b.root + "c&<>", b.root + "absent"]
    assert {e["Key"].removeprefix(b.root): e["Code"] for e in result["Errors"]} == {
        "a": "PreconditionFailed",
        "k" * 1025: "KeyTooLongError",
    }
    assert b.listed() == ["a", "ü"]
    quiet = b.s3.delete_objects(Bucket=b.name, Delete={"Quiet": True, "Objects": [{"Key": b.root + "a", "ETag": etag}]})
    assert "Deleted" not in quiet and "Errors" not in quiet and b.listed() == ["ü"]


@behaviour("the document of many deletes is bounded, checked and free of entities")
def delete_documents(b):
    b.put()

    def document(count):
        objects = "".join(f"<Object><Key>{b.root}k{i}</Key></Object>" for i in range(count))
        return f"<Delete>{objects}</Delete>".encode()

    unproven = b.raw("POST", None, "delete", body=document(1))
    assert (unproven.status, unproven.code) == (400, "InvalidRequest")
    assert "Content-MD5 OR x-amz-checksum-*" in unproven.xml.findtext("Message")
    assert b.raw("POST", None, "delete", with_md5(document(1000)), document(1000)).status == 200
    for body in [
        document(1001),
        document(0),
        b"",
        b"<Delete><Object/></Delete>",
        b"<Delete><Object>",
        b"<Other/>",
        b'<!DOCTYPE d [<!ENTITY x "a">]><Delete><Object><Key>&x;</Key></Object></Delete>',
    ]:
        answer = b.raw("POST", None, "delete", with_md5(body), body)
        assert (answer.status, answer.code) == (400, "MalformedXML"), body[:60]
    large = b"<Delete>" + b" " * (3 * MEBIBYTE) + b"</Delete>"
    large = b.raw("POST", None, "delete", with_md5(large), large)
    assert (large.status, large.code) == (400, "EntityTooLarge")
    target = f"<Delete><Object><Key>{b.root}a</Key></Object></Delete>".encode()
    other = base64.b64encode(hashlib.md5(b"other").digest()).decode()
    assert b.raw("POST", None, "delete", headers={"Content-MD5": other}, body=target).code == "BadDigest"
    wrong = base64.b64encode(zlib.crc32(b"other").to_bytes(4, "big")).decode()
    assert b.raw("POST", None, "delete", headers={"x-amz-checksum-crc32": wrong}, body=target).code == "BadDigest"
    assert b.listed() == ["a"]


# Tags.


@behaviour("tags of an object are set, shown, counted, bounded and removed")
def object_tags(b):
    b.put()
    assert b.call("get_object_tagging")["TagSet"] == []
    tags = [{"Key": f"k{i}", "Value": "v ü"} for i in range(10)]
    b.call("put_object_tagging", Tagging={"TagSet": tags})
    assert b.call("get_object_tagging")["TagSet"] == tags
    assert b.raw("HEAD").headers["x-amz-tagging-count"] == "10"
    for bad in [
        [{"Key": str(i), "Value": ""} for i in range(11)],
        [{"Key": "k" * 129, "Value": ""}],
        [{"Key": "k", "Value": "v" * 257}],
        [{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}],
    ]:
        assert b.fails("put_object_tagging", Tagging={"TagSet": bad}) == (400, "InvalidTag")
    assert b.raw("PUT", query="tagging", body=b"<Tagging>").code == "MalformedXML"
    assert b.call("get_object_tagging")["TagSet"] == tags and b.read() == b"0123456789"
    b.call("delete_object_tagging")
    assert b.call("get_object_tagging")["TagSet"] == [] and "x-amz-tagging-count" not in b.raw("HEAD").headers
    b.put("sent", Tagging="a=1&b=x%20y%2B")
    assert b.call("get_object_tagging", "sent")["TagSet"] == [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "x y+"}]
    for operation in ["get_object_tagging", "delete_object_tagging"]:
        assert b.fails(operation, "absent") == (404, "NoSuchKey")
    assert b.fails("put_object", "b", Tagging="&".join(f"k{i}=" for i in range(11))) == (400, "InvalidTag")


# The bucket.


@behaviour("the bucket is there, in its region, and without the configurations that buckets may have")
def bucket_facts(b):
    head = b.raw("HEAD", None)
    assert (head.status, head.body, head.headers["x-amz-bucket-region"]) == (200, b"", "us-east-1")
    assert signed(b.tarn, "GET", f"/{b.name}/").xml.tag == "ListBucketResult"
    assert b.s3.get_bucket_location(Bucket=b.name)["LocationConstraint"] is None
    for query, code in [("tagging", "NoSuchTagSet"), ("policy", "NoSuchBucketPolicy"), ("cors", "NoSuchCORSConfiguration")]:
        answer = b.raw("GET", None, query)
        assert (answer.status, answer.code) == (404, code)
    assert b.fails("create_bucket", None) == (409, "BucketAlreadyOwnedByYou")
    assert b.fails("delete_bucket", None) == (405, "MethodNotAllowed")


@behaviour("every answer has its request id, every failure is XML with it, and codes are S3's own")
def answers(b):
    b.put()
    for method, path, query in [
        ("GET", "a", ""),
        ("GET", "absent", ""),
        ("HEAD", "a", ""),
        ("PUT", "b", ""),
        ("GET", None, ""),
        ("POST", None, "delete"),
        ("DELETE", "b", ""),
        ("POST", "a", ""),
        ("PATCH", "a", ""),
    ]:
        answer = b.raw(method, path, query)
        assert answer.headers["x-amz-request-id"] and answer.headers["x-amz-id-2"] and answer.headers["date"], (method, path)
        assert answer.headers["x-amz-bucket-region"] == "us-east-1"
        if answer.status >= 400 and method != "HEAD":
            assert answer.xml.tag == "Error" and re.fullmatch("[A-Z][A-Za-z0-9]+", answer.code)
            assert answer.xml.findtext("RequestId") == answer.headers["x-amz-request-id"]
            assert answer.xml.findtext("HostId") == answer.headers["x-amz-id-2"]
            assert not answer.code.startswith("ERR") and answer.body.find(b"xmlns") < 0
    # The names of the REST API hint at a mistaken endpoint.
    assert signed(b.tarn, "GET", "/api/v1/x").code == "ErrNoSuchBucketPossibleAPIEndpoint"


@behaviour("somebody else's bucket is refused when the caller names whose it should be")
def expected_owner(b):
    b.put()
    owner = b.s3.get_bucket_acl(Bucket=b.name)["Owner"]["ID"]
    for who, status in [(owner, 200), ("111122223333", 403)]:
        assert b.raw("GET", headers={"x-amz-expected-bucket-owner": who}).status == status
        assert b.raw("HEAD", None, headers={"x-amz-expected-bucket-owner": who}).status == status
        assert (
            b.raw(
                "PUT", "copy", headers={"x-amz-copy-source": f"{b.name}/{b.root}a", "x-amz-source-expected-bucket-owner": who}
            ).status
            == status
        )
    assert b.raw("GET", headers={"x-amz-request-payer": "requester", "x-amz-mfa": "1 2"}).status == 200
