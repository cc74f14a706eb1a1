"""What S3 clients rely on, each behaviour once over a bucket whose keys begin with a branch and once over the bucket of
that branch alone."""

import base64
import email.header
import hashlib
import http.client
import re
import socket
import threading
import urllib.parse
import uuid
import zlib
from xml.sax.saxutils import escape

import clients
import pytest
import s3_requests
from botocore.exceptions import ClientError
from s3_requests import sign, signed

MEBIBYTE = 1 << 20
LEAST_PART = 5 * MEBIBYTE
EMPTY_MD5 = '"d41d8cd98f00b204e9800998ecf8427e"'


class Bucket:
    """A bucket with the branch "main" behind it; `root` stands before every path."""

    def __init__(self, tarn, repo, root):
        self.tarn, self.repo, self.root = tarn, repo, root
        self.name = repo if root else repo + ".main"
        self.s3 = clients.boto3_client(tarn)

    def at(self, path="a"):
        return {"Bucket": self.name, "Key": self.root + path}

    def call(self, operation, path="a", **arguments):
        return getattr(self.s3, operation)(**self.at(path), **arguments)

    def put(self, path="a", body=b"0123456789", **arguments):
        return self.call("put_object", path, Body=body, **arguments)

    def read(self, path="a", **arguments):
        return self.call("get_object", path, **arguments)["Body"].read()

    def fails(self, operation, path="a", **arguments):
        """(status, code) of a call that must fail; on the bucket when `path` is None."""
        where = {"Bucket": self.name} if path is None else self.at(path)
        with pytest.raises(ClientError) as caught:
            getattr(self.s3, operation)(**where, **arguments)
        response = caught.value.response
        return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]

    def target(self, path, query=""):
        key = "" if path is None else "/" + urllib.parse.quote(self.root + path, safe="/")
        return f"/{self.name}{key}" + (f"?{query}" if query else "")

    def raw(self, method, path="a", query="", headers=None, body=b"", **options):
        """A signed request exactly as given; path None is the bucket itself."""
        return signed(self.tarn, method, self.target(path, query), headers, body, **options)

    def listed(self, **arguments):
        page = self.s3.list_objects_v2(Bucket=self.name, Prefix=self.root + arguments.pop("prefix", ""), **arguments)
        return [o["Key"].removeprefix(self.root) for o in page.get("Contents", [])]

    def upload(self, path="a", **arguments):
        return self.call("create_multipart_upload", path, **arguments)["UploadId"]

    def part(self, upload, number, body, path="a", **arguments):
        return self.call("upload_part", path, UploadId=upload, PartNumber=number, Body=body, **arguments)["ETag"]

    def parts(self, *etags):
        return {"Parts": [{"PartNumber": i, "ETag": etag} for i, etag in enumerate(etags, 1)]}

    def rest(self, method, path, **options):
        return s3_requests.rest(self.tarn, method, f"/repositories/{self.repo}{path}", **options)

    def commit(self):
        return s3_requests.commit(self.tarn, self.repo)


BEHAVIOURS = []


def behaviour(text, only=None):
    """Registers a check under what it shows; `only` "plain" or "rooted" where the other form has no such thing."""
    def add(check):
        for form in ("plain", "rooted"):
            if only in (None, form):
                BEHAVIOURS.append(pytest.param(form, check, id=f"{form}: {text}"))
        return check
    return add


@pytest.fixture(scope="session")
def namer():
    count = iter(range(1_000_000))
    return lambda: f"behaviour-{uuid.uuid4().hex[:8]}-{next(count)}"


def test_the_behaviours_have_names_of_their_own():
    names = [b.id for b in BEHAVIOURS]
    assert len(names) == len(set(names)) and len(names) >= 100


# Integrity of bodies.

@behaviour("a Content-MD5 that is no MD5 is an invalid digest, another body's a bad one, and nothing is stored")
def content_md5(b):
    for value, code in [("", "InvalidDigest"), ("YWJj", "InvalidDigest"), ("not base64!", "InvalidDigest"),
                        (base64.b64encode(hashlib.md5(b"other").digest()).decode(), "BadDigest")]:
        answer = b.raw("PUT", headers={"Content-MD5": value}, body=b"x")
        assert (answer.status, answer.code) == (400, code), value
    assert b.listed() == []
    right = base64.b64encode(hashlib.md5(b"x").digest()).decode()
    assert b.raw("PUT", headers={"Content-MD5": right}, body=b"x").status == 200


@behaviour("a checksum is verified, kept and shown when asked for")
def checksums(b):
    right = base64.b64encode(zlib.crc32(b"x").to_bytes(4, "big")).decode()
    wrong = base64.b64encode(zlib.crc32(b"y").to_bytes(4, "big")).decode()
    answer = b.raw("PUT", headers={"x-amz-checksum-crc32": wrong}, body=b"x")
    assert (answer.status, answer.code) == (400, "BadDigest") and b.listed() == []
    for value in ["x", "AAAA", "!"]:
        assert b.raw("PUT", headers={"x-amz-checksum-crc32": value}, body=b"x").code == "InvalidRequest", value
    put = b.raw("PUT", headers={"x-amz-checksum-crc32": right}, body=b"x")
    assert put.headers["x-amz-checksum-crc32"] == right
    shown = b.raw("GET", headers={"x-amz-checksum-mode": "ENABLED"}).headers
    assert (shown["x-amz-checksum-crc32"], shown["x-amz-checksum-type"]) == (right, "FULL_OBJECT")
    assert "x-amz-checksum-crc32" not in b.raw("GET").headers
    # Of a part of the object it would be wrong.
    part = b.raw("GET", headers={"x-amz-checksum-mode": "ENABLED", "Range": "bytes=0-0"}).headers
    assert "x-amz-checksum-crc32" not in part


@behaviour("an announced checksum that does not come is refused, as are two of them")
def announced_checksum(b):
    crc = base64.b64encode(zlib.crc32(b"x").to_bytes(4, "big")).decode()
    sha = base64.b64encode(hashlib.sha256(b"x").digest()).decode()
    for headers in [{"x-amz-sdk-checksum-algorithm": "CRC32"}, {"x-amz-checksum-crc32": crc, "x-amz-checksum-sha256": sha}]:
        answer = b.raw("PUT", headers=headers, body=b"x")
        assert (answer.status, answer.code) == (400, "InvalidRequest"), headers
    assert b.listed() == []


@behaviour("a body that is not the signed one is refused and not stored")
def signed_hash(b):
    answer = b.raw("PUT", body=b"x", payload=hashlib.sha256(b"y").hexdigest())
    assert (answer.status, answer.code) == (400, "XAmzContentSHA256Mismatch") and b.listed() == []


@behaviour("a write without a length is told so, one with a broken length is refused")
def missing_length(b):
    parts = urllib.parse.urlsplit(b.tarn.url)

    def send(*lines):
        fields = sign(b.tarn, "PUT", b.target("a"))
        with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
            head = f"PUT {b.target('a')} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items())
            connection.sendall((head + "".join(line + "\r\n" for line in lines) + "Connection: close\r\n\r\n").encode())
            answer = b""
            while data := connection.recv(65536):
                answer += data
        return int(answer.split(b" ")[1]), answer

    status, answer = send()
    assert status == 411 and b"MissingContentLength" in answer
    for value in ["", "-1", "x"]:
        assert send(f"Content-Length: {value}")[0] == 400, value
    assert b.listed() == []


@behaviour("an expectation other than 100-continue is tolerated", only="plain")
def other_expectation(b):
    assert b.raw("PUT", headers={"Expect": "200-ok"}, body=b"x").status == 200
    assert b.read() == b"x"


# Asking before the body is sent.

def first_answer(b, path, headers=None):
    """Status of a PUT that waits for 100 before it sends a mebibyte."""
    parts = urllib.parse.urlsplit(b.tarn.url)
    fields = sign(b.tarn, "PUT", b.target(path), {**(headers or {}), "Expect": "100-continue"})
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        head = f"PUT {b.target(path)} HTTP/1.1\r\nContent-Length: {MEBIBYTE}\r\n"
        connection.sendall((head + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n").encode())
        return int(connection.recv(65536).split(b" ")[1])


@behaviour("what can be refused is refused before the body is asked for: a protected branch, a condition, a read-only ref")
def refused_before_body(b):
    assert first_answer(b, "new") == 100
    b.put("taken")
    assert first_answer(b, "taken", {"If-None-Match": "*"}) == 412
    assert first_answer(b, "absent", {"If-Match": "x"}) == 404
    b.rest("PUT", "/settings/branch_protection", json=[{"pattern": "main"}])
    assert first_answer(b, "new") == 403
    answer = b.raw("PUT", "new", body=b"x")
    assert (answer.status, answer.code) == (403, "AccessDenied") and "protect" in answer.xml.findtext("Message").lower()
    answer = b.raw("DELETE", "taken")
    assert (answer.status, answer.code) == (403, "AccessDenied") and b.read("taken")


@behaviour("a connection whose upload was refused before its body serves the next request")
def connection_after_refusal(b):
    parts = urllib.parse.urlsplit(b.tarn.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    absent = f"/absent-{b.repo}/main/a"
    for target, status in [(absent, 404), (b.target("a"), 200), (absent, 404), (b.target("b"), 200)]:
        connection.request("PUT", target, body=b"x", headers=sign(b.tarn, "PUT", target))
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()
    assert b.listed() == ["a", "b"]


# Reading.

@behaviour("reads obey all four conditions, and a 304 carries the ETag")
def read_conditions(b):
    etag = b.put()["ETag"]
    past, future = "Sat, 01 Jan 2000 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
    for method in ["GET", "HEAD"]:
        for headers, status in [({"If-Match": etag}, 200), ({"If-Match": '"x"'}, 412), ({"If-Match": "*"}, 200),
                                ({"If-None-Match": etag}, 304), ({"If-None-Match": f'"x", {etag}'}, 304),
                                ({"If-None-Match": etag.strip('"')}, 304), ({"If-None-Match": '"x"'}, 200),
                                ({"If-Modified-Since": past}, 200), ({"If-Modified-Since": future}, 304),
                                ({"If-Unmodified-Since": past}, 412), ({"If-Unmodified-Since": future}, 200),
                                ({"If-Modified-Since": "yesterday"}, 200),
                                # A match decides before a date does.
                                ({"If-Match": etag, "If-Unmodified-Since": past}, 200),
                                ({"If-None-Match": etag, "If-Modified-Since": past}, 304)]:
            answer = b.raw(method, headers=headers)
            assert answer.status == status, (method, headers)
            if status == 304:
                assert answer.headers["etag"] == etag and answer.body == b""
            if status == 412 and method == "GET":
                assert answer.code == "PreconditionFailed"


@behaviour("one range is served, an end too far is cut, nonsense is the whole object, beyond the end is 416")
def ranges(b):
    b.put()
    for header, status, body in [("bytes=0-0", 206, b"0"), ("bytes=2-4", 206, b"234"), ("bytes=8-", 206, b"89"),
                                 ("bytes=-3", 206, b"789"), ("bytes=-99", 206, b"0123456789"), ("bytes=5-999", 206, b"56789"),
                                 ("bytes=4-2", 200, None), ("lines=0-1", 200, None), ("bytes=", 200, None),
                                 ("bytes=0-1,3-4", 200, None)]:
        answer = b.raw("GET", headers={"Range": header})
        assert (answer.status, answer.body) == (status, body or b"0123456789"), header
        assert answer.headers["accept-ranges"] == "bytes"
    for header in ["bytes=10-", "bytes=10-20", "bytes=-0"]:
        answer = b.raw("GET", headers={"Range": header})
        assert (answer.status, answer.code, answer.headers["content-range"]) == (416, "InvalidRange", "bytes */10"), header
        assert answer.xml.findtext("ActualObjectSize") == "10" and answer.xml.findtext("RangeRequested") == header
    b.put("empty", b"")
    for header in ["bytes=0-", "bytes=0-1", "bytes=-1"]:
        assert b.raw("GET", "empty", headers={"Range": header}).status == 416, header


@behaviour("standard headers and metadata come back as they were sent, without the transfer's own coding")
def kept_headers(b):
    sent = {"Cache-Control": "max-age=5", "Content-Disposition": 'attachment; filename="a"', "Content-Language": "de",
            "Content-Encoding": "gzip", "Expires": "Thu, 01 Dec 2033 16:00:00 GMT", "Content-Type": "text/x",
            "x-amz-meta-Colour": "red"}
    b.raw("PUT", headers=sent, body=b"x")
    got = b.raw("HEAD").headers
    assert {k.lower(): got[k.lower()] for k in sent} == {k.lower(): v for k, v in sent.items()}
    b.raw("PUT", "bare", body=b"x")
    assert b.raw("HEAD", "bare").headers["content-type"] == "binary/octet-stream"
    for coding, kept in [("aws-chunked", None), ("aws-chunked, aws-chunked", None), ("gzip, aws-chunked", "gzip"),
                         ("aws-chunked, gzip", "gzip"), ("deflate, gzip", "deflate, gzip")]:
        b.raw("PUT", "coded", headers={"Content-Encoding": coding}, body=b"x")
        assert b.raw("HEAD", "coded").headers.get("content-encoding") == kept, coding
        assert b.read("coded") == b"x"


@behaviour("a signed read may override response headers, but not break out of them")
def overrides(b):
    b.put()
    names = {"response-content-type": "content-type", "response-content-language": "content-language",
             "response-expires": "expires", "response-cache-control": "cache-control",
             "response-content-disposition": "content-disposition", "response-content-encoding": "content-encoding"}
    for method in ["GET", "HEAD"]:
        got = b.raw(method, query="&".join(f"{name}=x-{i}" for i, name in enumerate(names)))
        assert [got.headers[header] for header in names.values()] == [f"x-{i}" for i in range(len(names))]
    assert b.raw("GET", query="response-content-type=a%0D%0Ax%3A%20y").code == "InvalidArgument"


@behaviour("attributes are a document and never the object")
def attributes(b):
    b.put()
    got = b.call("get_object_attributes", ObjectAttributes=["ETag", "ObjectSize", "StorageClass", "Checksum"])
    assert (got["ETag"], got["ObjectSize"], got["StorageClass"]) == (hashlib.md5(b"0123456789").hexdigest(), 10, "STANDARD")
    assert b.raw("GET", query="attributes").code == "InvalidArgument"
    assert b.raw("GET", query="attributes", headers={"x-amz-object-attributes": "Weight"}).code == "InvalidArgument"
    assert b.fails("get_object_attributes", "absent", ObjectAttributes=["ETag"]) == (404, "NoSuchKey")


@behaviour("an unknown sub-resource is refused and never the plain operation")
def unknown_subresource(b):
    b.put()
    for method, query in [("GET", "newThing"), ("PUT", "newThing"), ("PUT", "newThing=1"), ("DELETE", "newThing"),
                          ("POST", "newThing"), ("GET", "torrent"), ("PUT", "retention"), ("PUT", "legal-hold"),
                          ("POST", "restore"), ("POST", "select&select-type=2"), ("PUT", "renameObject")]:
        answer = b.raw(method, query=query)
        assert (answer.status, answer.code) == (501, "NotImplemented"), (method, query)
    assert b.raw("GET", None, "session").code == "NotImplemented"
    for query in ["x-id=GetObject", "metadata=1", "cache=1"]:
        assert b.raw("GET", query=query).body == b"0123456789", query
    assert b.listed() == ["a"] and b.read() == b"0123456789"


@behaviour("HEAD says what GET says, without the body")
def same_headers(b):
    b.put(Metadata={"m": "1"}, Tagging="t=1", CacheControl="no-store", StorageClass="STANDARD_IA")
    changing = {"date", "x-amz-request-id", "x-content-type-options", "content-security-policy"}
    for headers in [{}, {"Range": "bytes=1-3"}, {"x-amz-checksum-mode": "ENABLED"}, {"If-None-Match": "*"}]:
        got, head = b.raw("GET", headers=headers), b.raw("HEAD", headers=headers)
        assert got.status == head.status and head.body == b""
        assert {k: v for k, v in got.headers.items() if k not in changing} == {
            k: v for k, v in head.headers.items() if k not in changing}, headers


@behaviour("an object keeps the time of its write, through reads, listings and a commit")
def write_times(b):
    b.put()
    before = b.call("head_object")["LastModified"]
    b.commit()
    assert b.call("head_object")["LastModified"] == before == b.call("get_object")["LastModified"]
    listed = b.s3.list_objects_v2(Bucket=b.name, Prefix=b.root)["Contents"][0]["LastModified"]
    assert listed.replace(microsecond=0) == before


@behaviour("metadata goes out in lower case, words beyond ASCII encoded, of equal names the first")
def metadata(b):
    assert b.raw("PUT", headers={"x-amz-meta-Plain": "text"}, body=b"x").status == 200
    assert b.raw("HEAD").headers["x-amz-meta-plain"] == "text"
    assert b.fails("put_object", "b", Metadata={"m": "v" * 2049}) == (400, "MetadataTooLarge")
    b.rest("PUT", "/branches/main/objects/stat/user_metadata?path=a", json={"set": {"Twice": "1", "twice": "2", "word": "grün"}})
    got = b.raw("HEAD").headers
    assert (got["x-amz-meta-twice"], got["x-amz-missing-meta"]) == ("1", "1")
    assert str(email.header.make_header(email.header.decode_header(got["x-amz-meta-word"]))) == "grün"


@behaviour("a storage class that S3 knows is kept and shown, the standard one is not mentioned")
def storage_classes(b):
    for name in ["STANDARD", "STANDARD_IA", "GLACIER_IR", "INTELLIGENT_TIERING"]:
        b.put(StorageClass=name)
        assert b.call("head_object").get("StorageClass", "STANDARD") == name
        assert ("x-amz-storage-class" in b.raw("HEAD").headers) == (name != "STANDARD")
        assert b.s3.list_objects_v2(Bucket=b.name, Prefix=b.root)["Contents"][0]["StorageClass"] == name


@behaviour("a path no object has is 404 in XML, and without a body for HEAD")
def absent_object(b):
    answer = b.raw("GET", "absent")
    assert (answer.status, answer.code, answer.headers["content-type"]) == (404, "NoSuchKey", "application/xml")
    assert answer.xml.findtext("Key") == b.root + "absent"
    answer = b.raw("HEAD", "absent")
    assert (answer.status, answer.body) == (404, b"")


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
    for headers in [{"x-amz-server-side-encryption": "AES256"}, {"x-amz-object-lock-mode": "COMPLIANCE"},
                    {"x-amz-write-offset-bytes": "0"}, {"x-amz-website-redirect-location": "/b"}]:
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
    keys = ["a//b", "./x", "../x", "a/../b", "/lead", "trail/", " ", "_", "__", "%2F", "a%20b", "a+b", "ü", "?versionId=1",
            "\x01", "a\nb", "a&<>\"'b"]
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
        for method, query, body in [("PUT", "", b"x"), ("DELETE", "", b""), ("POST", "uploads", b""),
                                    ("PUT", "tagging", b"<Tagging><TagSet/></Tagging>"), ("DELETE", "tagging", b"")]:
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


@behaviour("any delimiter groups, an empty one does not and is not shown")
def delimiters(b):
    for key in ["bar", "baz", "cab", "foo", "a%b", "d\ne", "dir/x", "dir/y/z"]:
        b.put(key)

    def shape(delimiter, **arguments):
        page = b.s3.list_objects_v2(Bucket=b.name, Prefix=b.root, Delimiter=delimiter, **arguments)
        return ([o["Key"].removeprefix(b.root) for o in page.get("Contents", [])],
                [p["Prefix"].removeprefix(b.root) for p in page.get("CommonPrefixes", [])])

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
    for after, expected in [("", "B a b b/1 b/2 c"), ("a", "b b/1 b/2 c"), ("A", "B a b b/1 b/2 c"), ("b/", "b/1 b/2 c"),
                            ("b/15", "b/2 c"), ("c", ""), ("zzz", ""), ("\n", "B a b b/1 b/2 c"), ("a\x01", "b b/1 b/2 c")]:
        assert b.listed(StartAfter=b.root + after) == expected.split(), after
        old = b.s3.list_objects(Bucket=b.name, Prefix=b.root, Marker=b.root + after)
        assert [o["Key"].removeprefix(b.root) for o in old.get("Contents", [])] == expected.split(), after
        assert old["Marker"] == b.root + after
    # Before the prefix, and in another branch.
    for after in ["", "!", "dev/zzz" if b.root else "!"]:
        assert b.listed(StartAfter=after) == "B a b b/1 b/2 c".split()
    # Inside a group what is left of it still shows; the group itself as marker skips it.
    groups = lambda marker: [p["Prefix"] for p in b.s3.list_objects(
        Bucket=b.name, Prefix=b.root, Delimiter="/", Marker=b.root + marker).get("CommonPrefixes", [])]
    assert groups("b/1") == [b.root + "b/"] and groups("b/") == []


@behaviour("pages of any size join to the whole, in all three listings")
def pages(b):
    keys = sorted(f"{d}/{i}" for d in "xyz" for i in range(5)) + ["~"]
    for key in keys:
        b.put(key)
    for operation, member in [("list_objects_v2", "Contents"), ("list_objects", "Contents"),
                              ("list_object_versions", "Versions")]:
        for size in [1, 2, 3, 7]:
            for delimiter, expected in [("", (keys, [])), ("/", (["~"], ["x/", "y/", "z/"]))]:
                got = ([], [])
                for page in b.s3.get_paginator(operation).paginate(
                        Bucket=b.name, Prefix=b.root, Delimiter=delimiter, PaginationConfig={"PageSize": size}):
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
        b.name, b.root, "1", "1", "true"]
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
    result = b.s3.delete_objects(Bucket=b.name, Delete={"Objects": [
        {"Key": b.root + "a", "VersionId": commit}, {"Key": b.root + "a", "VersionId": "x"}]})
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
        (b.root + k, "null", True) for k in ["a", "d/b", "d/c"]]
    assert page["Versions"][0]["Size"] == 10 and page["Versions"][0]["Owner"]["ID"] and "DeleteMarkers" not in page
    for ref in ["v1", commit]:
        where = {"Bucket": b.repo, "Prefix": ref + "/"} if b.root else {"Bucket": f"{b.repo}.{ref}"}
        assert [v["VersionId"] for v in b.s3.list_object_versions(**where)["Versions"]] == 3 * [commit], ref
    first = b.s3.list_object_versions(Bucket=b.name, Prefix=b.root, MaxKeys=1)
    assert (first["IsTruncated"], first["NextKeyMarker"], first["NextVersionIdMarker"]) == (True, b.root + "a", "null")
    second = b.s3.list_object_versions(Bucket=b.name, Prefix=b.root, Delimiter="/", KeyMarker=first["NextKeyMarker"],
                                       VersionIdMarker=first["NextVersionIdMarker"])
    assert "Versions" not in second and [p["Prefix"] for p in second["CommonPrefixes"]] == [b.root + "d/"]
    assert (second["KeyMarker"], second["VersionIdMarker"]) == (b.root + "a", "null")
    assert b.raw("GET", None, "versions&version-id-marker=null").code == "InvalidArgument"


# Copies.

@behaviour("a copy shares its source's bytes and keeps what belongs to the object")
def copies(b):
    b.put(ContentType="text/x", Metadata={"m": "1"}, Tagging="t=1", CacheControl="no-store")
    b.call("copy_object", "copy", CopySource=b.at())

    def address(path):
        return b.rest("GET", f"/refs/main/objects/stat?path={path}")["physical_address"]

    assert address("a") == address("copy")
    kept = b.call("head_object", "copy")
    assert (kept["ContentType"], kept["Metadata"], kept["CacheControl"]) == ("text/x", {"m": "1"}, "no-store")
    assert b.call("get_object_tagging", "copy")["TagSet"] == [{"Key": "t", "Value": "1"}]
    b.call("copy_object", "copy", CopySource=b.at(), MetadataDirective="REPLACE", ContentType="text/y")
    replaced = b.call("head_object", "copy")
    assert (replaced["ContentType"], replaced["Metadata"]) == ("text/y", {}) and "CacheControl" not in replaced
    assert address("a") == address("copy")
    assert b.raw("PUT", "c", headers={"x-amz-copy-source": f"{b.name}/{b.root}a", "x-amz-metadata-directive": "MAYBE"}
                 ).code == "InvalidArgument"


@behaviour("the source of a copy is decoded once, and its version is split off before")
def copy_sources(b):
    for key in [" ", "_", "__", "?versionId", "a+b", "a%2Bb", "ü", "x/y"]:
        b.put(key, key.encode())
        b.call("copy_object", "copy", CopySource=b.at(key))
        assert b.read("copy") == key.encode(), key
    source = f"{b.name}/{b.root}"
    for header, body in [(source + "a+b", b"a+b"), (source + "a%2Bb", b"a+b"), ("/" + source + "a%2bb", b"a+b"),
                         (urllib.parse.quote(source + "x/y", safe=""), b"x/y"), (source + "a%252Bb", b"a%2Bb"),
                         (source + "%3FversionId", b"?versionId"), (source + "x/y?versionId=null", b"x/y")]:
        assert b.raw("PUT", "copy", headers={"x-amz-copy-source": header}).status == 200, header
        assert b.read("copy") == body, header
    for header in ["", "/", b.name, f"{b.name}/", source + "%zz", source + "a?versionId=latest"]:
        assert b.raw("PUT", "c", headers={"x-amz-copy-source": header}).code == "InvalidArgument", header
    assert b.raw("PUT", "c", headers={"x-amz-copy-source": source + "%00"}).code == "InvalidURI"
    assert b.listed(prefix="c") == ["copy"]


@behaviour("a copy onto itself needs a change, from nowhere is 404, and obeys conditions on its source")
def copy_conditions(b):
    etag = b.put()["ETag"]
    assert b.fails("copy_object", CopySource=b.at()) == (400, "InvalidRequest")
    assert b.fails("copy_object", "b", CopySource=b.at("absent")) == (404, "NoSuchKey")
    assert b.fails("copy_object", "b", CopySource={"Bucket": "absent-bucket", "Key": "main/a"}) == (404, "NoSuchBucket")
    past, future = "Sat, 01 Jan 2000 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"
    for condition, status in [({"CopySourceIfMatch": etag}, 200), ({"CopySourceIfMatch": '"x"'}, 412),
                              ({"CopySourceIfNoneMatch": etag}, 412), ({"CopySourceIfNoneMatch": '"x"'}, 200),
                              ({"CopySourceIfModifiedSince": past}, 200), ({"CopySourceIfModifiedSince": future}, 412),
                              ({"CopySourceIfUnmodifiedSince": past}, 412), ({"CopySourceIfUnmodifiedSince": future}, 200)]:
        if status == 200:
            b.call("copy_object", "b", CopySource=b.at(), **condition)
        else:
            assert b.fails("copy_object", "b", CopySource=b.at(), **condition) == (412, "PreconditionFailed"), condition
    assert b.raw("PUT", "b", headers={"x-amz-copy-source": f"{b.name}/{b.root}a", "If-None-Match": "*"}).status == 412


# Uploads in parts.

@behaviour("the ETag of an upload in parts is one and the same in every answer")
def multipart_etag(b):
    bodies = [b"a" * LEAST_PART, b"b"]
    upload = b.upload()
    etags = [b.part(upload, i, body) for i, body in enumerate(bodies, 1)]
    joined = hashlib.md5(b"".join(hashlib.md5(x).digest() for x in bodies)).hexdigest()
    done = b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(*etags))
    assert (done["ETag"], done["Bucket"], done["Key"]) == (f'"{joined}-2"', b.name, b.root + "a")
    listed = b.s3.list_objects_v2(Bucket=b.name, Prefix=b.root + "a")["Contents"][0]["ETag"]
    attributes = b.call("get_object_attributes", ObjectAttributes=["ETag", "ObjectParts"])
    assert {done["ETag"], listed, b.call("head_object")["ETag"], b.call("get_object")["ETag"], f'"{attributes["ETag"]}"'} == {
        f'"{joined}-2"'}
    b.call("copy_object", "copy", CopySource=b.at())
    assert b.call("head_object", "copy")["ETag"] == done["ETag"]
    # Asked again, because the first answer may have been lost.
    assert b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(*etags))["ETag"] == done["ETag"]
    # The parts stay readable one by one, after a commit too.
    b.commit()
    for number, body in enumerate(bodies, 1):
        part = b.call("get_object", PartNumber=number)
        assert (part["ResponseMetadata"]["HTTPStatusCode"], part["PartsCount"], part["ETag"]) == (206, 2, done["ETag"])
        assert part["Body"].read() == body
    assert b.fails("get_object", PartNumber=3) == (400, "InvalidPart")
    page = b.call("get_object_attributes", ObjectAttributes=["ObjectParts"], MaxParts=1)["ObjectParts"]
    assert (page["TotalPartsCount"], page["IsTruncated"], page["NextPartNumberMarker"]) == (2, True, 1)


@behaviour("checksums of parts and of the whole are shown wherever the upload is")
def multipart_checksums(b):
    bodies = [b"a" * LEAST_PART, b"b"]
    upload = b.call("create_multipart_upload", ChecksumAlgorithm="SHA256")
    assert (upload["ChecksumAlgorithm"], upload["ChecksumType"]) == ("SHA256", "COMPOSITE")
    sums = [base64.b64encode(hashlib.sha256(x).digest()).decode() for x in bodies]
    parts = []
    for number, body in enumerate(bodies, 1):
        sent = b.call("upload_part", UploadId=upload["UploadId"], PartNumber=number, Body=body, ChecksumAlgorithm="SHA256")
        assert sent["ChecksumSHA256"] == sums[number - 1]
        parts.append({"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": sent["ChecksumSHA256"]})
    listed = b.call("list_parts", UploadId=upload["UploadId"])
    assert [p["ChecksumSHA256"] for p in listed["Parts"]] == sums
    assert (listed["ChecksumAlgorithm"], listed["ChecksumType"]) == ("SHA256", "COMPOSITE")
    assert b.s3.list_multipart_uploads(Bucket=b.name)["Uploads"][0]["ChecksumAlgorithm"] == "SHA256"
    assert b.fails("upload_part", UploadId=upload["UploadId"], PartNumber=3, Body=b"c", ChecksumAlgorithm="CRC32") == (
        400, "InvalidRequest")
    wrong = [{**parts[0], "ChecksumSHA256": sums[1]}, parts[1]]
    assert b.fails("complete_multipart_upload", UploadId=upload["UploadId"], MultipartUpload={"Parts": wrong})[0] == 400
    done = b.call("complete_multipart_upload", UploadId=upload["UploadId"], MultipartUpload={"Parts": parts})
    whole = base64.b64encode(hashlib.sha256(b"".join(hashlib.sha256(x).digest() for x in bodies)).digest()).decode() + "-2"
    assert (done["ChecksumSHA256"], done["ChecksumType"]) == (whole, "COMPOSITE")
    got = b.call("get_object_attributes", ObjectAttributes=["Checksum", "ObjectParts"])
    assert got["Checksum"]["ChecksumSHA256"] == whole
    assert [p["ChecksumSHA256"] for p in got["ObjectParts"]["Parts"]] == sums
    assert b.call("head_object", ChecksumMode="ENABLED")["ChecksumSHA256"] == whole
    assert "x-amz-checksum-sha256" not in b.raw("HEAD").headers


@behaviour("an object in one piece has one part")
def single_part(b):
    b.put()
    assert b.read(PartNumber=1) == b"0123456789"
    assert b.fails("get_object", PartNumber=2) == (400, "InvalidPart")
    assert b.raw("GET", query="partNumber=0").code == "InvalidArgument"
    assert b.raw("GET", query="partNumber=1", headers={"Range": "bytes=0-1"}).code == "InvalidRequest"


@behaviour("completing with what does not fit says what")
def bad_completions(b):
    upload = b.upload()
    small = [b.part(upload, 1, b"x"), b.part(upload, 2, b"y")]

    def complete(parts, **options):
        body = "<CompleteMultipartUpload>" + "".join(
            f"<Part><PartNumber>{n}</PartNumber><ETag>{escape(e)}</ETag></Part>" for n, e in parts) + "</CompleteMultipartUpload>"
        answer = b.raw("POST", query=f"uploadId={options.get('id', upload)}", body=body.encode())
        return answer.status, answer.code

    assert complete([]) == (400, "MalformedXML")
    assert complete([(1, small[0]), (2, small[1])]) == (400, "EntityTooSmall")
    assert complete([(2, small[1]), (1, small[0])]) == (400, "InvalidPartOrder")
    assert complete([(1, small[0]), (1, small[0])]) == (400, "InvalidPartOrder")
    assert complete([(1, '"' + "0" * 32 + '"')]) == (400, "InvalidPart")
    assert complete([(7, small[0])]) == (400, "InvalidPart")
    assert complete([(1, small[0])], id="unknown") == (404, "NoSuchUpload")
    answer = b.raw("POST", query=f"uploadId={upload}", body=b"no xml")
    assert (answer.status, answer.code) == (400, "MalformedXML")
    assert b.listed() == []
    # Quotes around an ETag may be left out.
    assert b.raw("POST", query=f"uploadId={upload}", body=(
        f"<CompleteMultipartUpload><Part><PartNumber>2</PartNumber><ETag>{small[1].strip(chr(34))}</ETag></Part>"
        "</CompleteMultipartUpload>").encode()).status == 200
    assert b.read() == b"y"


@behaviour("part numbers go from 1 to 10000, and the last upload of a part counts")
def part_numbers(b):
    upload = b.upload()
    for number in ["0", "10001", "-1", "x", ""]:
        answer = b.raw("PUT", query=f"partNumber={number}&uploadId={upload}", body=b"x")
        assert (answer.status, answer.code) == (400, "InvalidArgument"), number
    b.part(upload, 10000, b"first")
    etag = b.part(upload, 10000, b"second")
    b.call("complete_multipart_upload", UploadId=upload,
           MultipartUpload={"Parts": [{"PartNumber": 10000, "ETag": etag}]})
    assert b.read() == b"second"


@behaviour("an upload id works for its own key, branch and bucket alone")
def bound_uploads(b):
    upload = b.upload()
    etag = b.part(upload, 1, b"x")
    s3_requests.create_branch(b.tarn, b.repo, "dev")
    elsewhere = [(b.repo, "main/other"), (b.repo, "dev/a"), (b.repo + ".dev", "a"), (b.repo + ".main", "main/a")]
    for bucket, key in elsewhere:
        where = {"Bucket": bucket, "Key": key, "UploadId": upload}
        for call, more in [(b.s3.upload_part, {"PartNumber": 1, "Body": b"y"}), (b.s3.list_parts, {}),
                           (b.s3.abort_multipart_upload, {}),
                           (b.s3.complete_multipart_upload, {"MultipartUpload": b.parts(etag)})]:
            with pytest.raises(ClientError) as caught:
                call(**where, **more)
            assert caught.value.response["Error"]["Code"] == "NoSuchUpload", (bucket, key, call)
    b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag))
    assert b.read() == b"x"


@behaviour("an aborted upload is gone, and one whose branch is gone as well")
def ended_uploads(b):
    upload = b.upload()
    b.part(upload, 1, b"x")
    b.call("abort_multipart_upload", UploadId=upload)
    assert b.fails("abort_multipart_upload", UploadId=upload) == (404, "NoSuchUpload")
    assert b.fails("upload_part", UploadId=upload, PartNumber=1, Body=b"x") == (404, "NoSuchUpload")
    s3_requests.create_branch(b.tarn, b.repo, "short-lived")
    where = {"Bucket": b.repo, "Key": "short-lived/a"}
    upload = b.s3.create_multipart_upload(**where)["UploadId"]
    etag = b.s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=b"x")["ETag"]
    b.rest("DELETE", "/branches/short-lived")
    with pytest.raises(ClientError) as caught:
        b.s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload=b.parts(etag))
    assert caught.value.response["Error"]["Code"] == "NoSuchUpload"


@behaviour("open uploads and their parts are listed with all their fields, in pages")
def listed_uploads(b):
    ids = {key: b.upload(key, StorageClass="STANDARD_IA") for key in ["a", "d/b", "d/c"]}
    for number in [1, 2, 3]:
        b.part(ids["a"], number, b"x" * number)
    parts = b.call("list_parts", UploadId=ids["a"], MaxParts=2)
    assert (parts["Bucket"], parts["Key"], parts["UploadId"]) == (b.name, b.root + "a", ids["a"])
    assert [(p["PartNumber"], p["Size"]) for p in parts["Parts"]] == [(1, 1), (2, 2)]
    assert all(p["ETag"] and p["LastModified"] for p in parts["Parts"])
    assert (parts["IsTruncated"], parts["NextPartNumberMarker"], parts["MaxParts"]) == (True, 2, 2)
    assert parts["Owner"]["ID"] and parts["Initiator"]["ID"] and parts["StorageClass"]
    rest = b.call("list_parts", UploadId=ids["a"], PartNumberMarker=2)
    assert [p["PartNumber"] for p in rest["Parts"]] == [3]
    assert b.raw("GET", query=f"uploadId={ids['a']}&max-parts=x").code == "InvalidArgument"
    uploads = b.s3.list_multipart_uploads(Bucket=b.name)["Uploads"]
    assert [(u["Key"], u["UploadId"]) for u in uploads] == [(b.root + k, v) for k, v in ids.items()]
    for upload in uploads:
        assert upload["Owner"]["ID"] and upload["Owner"]["DisplayName"] and upload["Initiated"] and upload["StorageClass"]
        assert upload["Initiator"]["ID"] and upload["Initiator"]["DisplayName"]
    grouped = b.s3.list_multipart_uploads(Bucket=b.name, Prefix=b.root, Delimiter="/")
    assert [u["Key"] for u in grouped["Uploads"]] == [b.root + "a"]
    assert [p["Prefix"] for p in grouped["CommonPrefixes"]] == [b.root + "d/"]
    got, more = [], {}
    while True:
        page = b.s3.list_multipart_uploads(Bucket=b.name, MaxUploads=1, **more)
        got += [u["Key"] for u in page.get("Uploads", [])]
        if not page["IsTruncated"]:
            break
        more = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
    assert got == [b.root + k for k in ids]


@behaviour("a part can be copied from a range of an object, and from no other")
def copied_parts(b):
    b.put("source", b"0123456789")
    upload = b.upload()
    where = {"UploadId": upload, "PartNumber": 1, "CopySource": b.at("source")}
    for text in ["0-2", "bytes=0", "bytes=hello-world", "bytes=0-bar", "bytes=hello-", "bytes=0-2,3-5"]:
        assert b.fails("upload_part_copy", **where, CopySourceRange=text) == (400, "InvalidArgument"), text
    for text in ["bytes=0-10", "bytes=10-12"]:
        assert b.fails("upload_part_copy", **where, CopySourceRange=text)[1] == "InvalidRange", text
    copied = b.raw("PUT", query=f"partNumber=1&uploadId={upload}", headers={
        "x-amz-copy-source": f"{b.name}/{b.root}source", "x-amz-copy-source-range": "bytes=2-5"})
    assert copied.xml.tag == "CopyPartResult"
    assert copied.xml.findtext("ETag") == f'"{hashlib.md5(b"2345").hexdigest()}"' and copied.xml.findtext("LastModified")
    b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(copied.xml.findtext("ETag")))
    assert b.read() == b"2345"


@behaviour("a completion may demand that the key is absent, and the size that was sent")
def completion_conditions(b):
    b.put()
    upload = b.upload()
    etag = b.part(upload, 1, b"x")
    assert b.fails("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag), IfNoneMatch="*") == (
        412, "PreconditionFailed")
    assert b.fails("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag), MpuObjectSize=2) == (
        400, "InvalidRequest")
    assert b.read() == b"0123456789"
    b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag), MpuObjectSize=1)
    assert b.read() == b"x"


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
    result = b.s3.delete_objects(Bucket=b.name, Delete={"Objects": [
        {"Key": b.root + "a", "ETag": '"x"'}, {"Key": b.root + "b"}, {"Key": b.root + "c&<>"}, {"Key": b.root + "absent"},
        {"Key": b.root + "k" * 1025}]})
    assert [d["Key"] for d in result["Deleted"]] == [b.root + "b", b.root + "c&<>", b.root + "absent"]
    assert {e["Key"].removeprefix(b.root): e["Code"] for e in result["Errors"]} == {
        "a": "PreconditionFailed", "k" * 1025: "KeyTooLongError"}
    assert b.listed() == ["a", "ü"]
    quiet = b.s3.delete_objects(Bucket=b.name, Delete={"Quiet": True, "Objects": [{"Key": b.root + "a", "ETag": etag}]})
    assert "Deleted" not in quiet and "Errors" not in quiet and b.listed() == ["ü"]


@behaviour("the document of many deletes is bounded, checked and free of entities")
def delete_documents(b):
    b.put()

    def document(count):
        objects = "".join(f"<Object><Key>{b.root}k{i}</Key></Object>" for i in range(count))
        return f"<Delete>{objects}</Delete>".encode()

    assert b.raw("POST", None, "delete", body=document(1000)).status == 200
    for body in [document(1001), document(0), b"", b"<Delete><Object/></Delete>", b"<Delete><Object>", b"<Other/>",
                 b'<!DOCTYPE d [<!ENTITY x "a">]><Delete><Object><Key>&x;</Key></Object></Delete>']:
        answer = b.raw("POST", None, "delete", body=body)
        assert (answer.status, answer.code) == (400, "MalformedXML"), body[:60]
    large = b.raw("POST", None, "delete", body=b"<Delete>" + b" " * (3 * MEBIBYTE) + b"</Delete>")
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
    for bad in [[{"Key": str(i), "Value": ""} for i in range(11)], [{"Key": "k" * 129, "Value": ""}],
                [{"Key": "k", "Value": "v" * 257}], [{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}]]:
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
    for method, path, query in [("GET", "a", ""), ("GET", "absent", ""), ("HEAD", "a", ""), ("PUT", "b", ""), ("GET", None, ""),
                                ("POST", None, "delete"), ("DELETE", "b", ""), ("POST", "a", ""), ("PATCH", "a", "")]:
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
        assert b.raw("PUT", "copy", headers={"x-amz-copy-source": f"{b.name}/{b.root}a",
                                             "x-amz-source-expected-bucket-owner": who}).status == status
    assert b.raw("GET", headers={"x-amz-request-payer": "requester", "x-amz-mfa": "1 2"}).status == 200


@pytest.mark.parametrize("form,check", BEHAVIOURS)
def test_behaviour(tarn, namer, form, check):
    name = namer()
    s3_requests.rest(tarn, "POST", "/repositories", json={
        "name": name, "storage_namespace": f"local://{name}", "default_branch": "main"})
    check(Bucket(tarn, name, "main/" if form == "plain" else ""))
