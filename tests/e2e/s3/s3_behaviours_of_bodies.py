"""Bodies: their integrity, what is asked before they are sent, and reading them."""

import base64
import email.header
import hashlib
import http.client
import socket
import urllib.parse
import zlib

from s3_behaviour import MEBIBYTE, behaviour
from s3_requests import sign

# Integrity of bodies.


@behaviour("a Content-MD5 that is no MD5 is an invalid digest, another body's a bad one, and nothing is stored")
def content_md5(b):
    for value, code in [
        ("", "InvalidDigest"),
        ("YWJj", "InvalidDigest"),
        ("not base64!", "InvalidDigest"),
        (base64.b64encode(hashlib.md5(b"other").digest()).decode(), "BadDigest"),
    ]:
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
        for headers, status in [
            ({"If-Match": etag}, 200),
            ({"If-Match": '"x"'}, 412),
            ({"If-Match": "*"}, 200),
            ({"If-None-Match": etag}, 304),
            ({"If-None-Match": f'"x", {etag}'}, 304),
            ({"If-None-Match": etag.strip('"')}, 304),
            ({"If-None-Match": '"x"'}, 200),
            ({"If-Modified-Since": past}, 200),
            ({"If-Modified-Since": future}, 304),
            ({"If-Unmodified-Since": past}, 412),
            ({"If-Unmodified-Since": future}, 200),
            ({"If-Modified-Since": "yesterday"}, 200),
            # A match decides before a date does.
            ({"If-Match": etag, "If-Unmodified-Since": past}, 200),
            ({"If-None-Match": etag, "If-Modified-Since": past}, 304),
        ]:
            answer = b.raw(method, headers=headers)
            assert answer.status == status, (method, headers)
            if status == 304:
                assert answer.headers["etag"] == etag and answer.body == b""
            if status == 412 and method == "GET":
                assert answer.code == "PreconditionFailed"


@behaviour("one range is served, an end too far is cut, nonsense is the whole object, beyond the end is 416")
def ranges(b):
    b.put()
    for header, status, body in [
        ("bytes=0-0", 206, b"0"),
        ("bytes=2-4", 206, b"234"),
        ("bytes=8-", 206, b"89"),
        ("bytes=-3", 206, b"789"),
        ("bytes=-99", 206, b"0123456789"),
        ("bytes=5-999", 206, b"56789"),
        ("bytes=4-2", 200, None),
        ("lines=0-1", 200, None),
        ("bytes=", 200, None),
        ("bytes=0-1,3-4", 200, None),
    ]:
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
    sent = {
        "Cache-Control": "max-age=5",
        "Content-Disposition": 'attachment; filename="a"',
        "Content-Language": "de",
        "Content-Encoding": "gzip",
        "Expires": "Thu, 01 Dec 2033 16:00:00 GMT",
        "Content-Type": "text/x",
        "x-amz-meta-Colour": "red",
    }
    b.raw("PUT", headers=sent, body=b"x")
    got = b.raw("HEAD").headers
    assert {k.lower(): got[k.lower()] for k in sent} == {k.lower(): v for k, v in sent.items()}
    b.raw("PUT", "bare", body=b"x")
    assert b.raw("HEAD", "bare").headers["content-type"] == "binary/octet-stream"
    for coding, kept in [
        ("aws-chunked", None),
        ("aws-chunked, aws-chunked", None),
        ("gzip, aws-chunked", "gzip"),
        ("aws-chunked, gzip", "gzip"),
        ("deflate, gzip", "deflate, gzip"),
    ]:
        b.raw("PUT", "coded", headers={"Content-Encoding": coding}, body=b"x")
        assert b.raw("HEAD", "coded").headers.get("content-encoding") == kept, coding
        assert b.read("coded") == b"x"


@behaviour("a signed read may override response headers, but not break out of them")
def overrides(b):
    b.put()
    names = {
        "response-content-type": "content-type",
        "response-content-language": "content-language",
        "response-expires": "expires",
        "response-cache-control": "cache-control",
        "response-content-disposition": "content-disposition",
        "response-content-encoding": "content-encoding",
    }
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
    for method, query in [
        ("GET", "newThing"),
        ("PUT", "newThing"),
        ("PUT", "newThing=1"),
        ("DELETE", "newThing"),
        ("POST", "newThing"),
        ("GET", "torrent"),
        ("PUT", "retention"),
        ("PUT", "legal-hold"),
        ("POST", "restore"),
        ("POST", "select&select-type=2"),
        ("PUT", "renameObject"),
    ]:
        answer = b.raw(method, query=query)
        assert (answer.status, answer.code) == (501, "NotImplemented"), (method, query)
    assert b.raw("GET", None, "session").code == "NotImplemented"
    for query in ["x-id=GetObject", "metadata=1", "cache=1"]:
        assert b.raw("GET", query=query).body == b"0123456789", query
    assert b.listed() == ["a"] and b.read() == b"0123456789"


@behaviour("HEAD says what GET says, without the body")
def same_headers(b):
    b.put(Metadata={"m": "1"}, Tagging="t=1", CacheControl="no-store", StorageClass="STANDARD_IA")
    changing = {"date", "x-amz-request-id", "x-amz-id-2", "x-content-type-options", "content-security-policy"}
    for headers in [{}, {"Range": "bytes=1-3"}, {"x-amz-checksum-mode": "ENABLED"}, {"If-None-Match": "*"}]:
        got, head = b.raw("GET", headers=headers), b.raw("HEAD", headers=headers)
        assert got.status == head.status and head.body == b""
        assert {k: v for k, v in got.headers.items() if k not in changing} == {
            k: v for k, v in head.headers.items() if k not in changing
        }, headers


@behaviour("an object keeps the time of its write, through reads, listings and a commit")
def write_times(b):
    b.put()
    before = b.call("head_object")["LastModified"]
    b.commit()
    assert b.call("head_object")["LastModified"] == before == b.call("get_object")["LastModified"]
    listed = b.s3.list_objects_v2(Bucket=b.name, Prefix=b.root)["Contents"][0]["LastModified"]
    assert listed.replace(microsecond=0) == before
    copied = b.call("copy_object", "copy", CopySource=b.at())["CopyObjectResult"]["LastModified"]
    assert copied.replace(microsecond=0) == b.call("head_object", "copy")["LastModified"]
    assert b.fails("get_object", IfModifiedSince=listed) == (304, "304")
    assert b.call("get_object", IfUnmodifiedSince=listed)["ETag"]
    b.call("delete_object", "copy", IfMatchLastModifiedTime=copied)


@behaviour("metadata goes out in lower case, words beyond ASCII encoded, of equal names the first")
def metadata(b):
    assert b.raw("PUT", headers={"x-amz-meta-Plain": "text"}, body=b"x").status == 200
    assert b.raw("HEAD").headers["x-amz-meta-plain"] == "text"
    assert b.fails("put_object", "b", Metadata={"m": "v" * 2049}) == (400, "MetadataTooLarge")
    b.rest("PUT", "/branches/main/objects/stat/user_metadata?path=a", json={"set": {"Twice": "1", "twice": "2", "word": "grün"}})
    assert b.rest("GET", "/refs/main/objects/stat?path=a")["metadata"] == {"Twice": "1", "twice": "2", "word": "grün"}
    got = b.raw("HEAD").headers
    assert (got["x-amz-meta-twice"], got["x-amz-missing-meta"]) == ("1", "1")
    assert str(email.header.make_header(email.header.decode_header(got["x-amz-meta-word"]))) == "grün"


@behaviour("metadata has one name over S3 and REST, and names with the prefix of lakeFS are shown without it")
def metadata_over_rest(b):
    b.put(Metadata={"Color": "red"})
    assert b.rest("GET", "/refs/main/objects/stat?path=a")["metadata"] == {"color": "red"}
    written = {"X-Amz-Meta-color": "blue", "size": "1"}
    b.rest("PUT", "/branches/main/objects/stat/user_metadata?path=a", json={"set": written})
    assert b.rest("GET", "/refs/main/objects/stat?path=a")["metadata"] == written
    assert b.call("head_object")["Metadata"] == {"color": "blue", "size": "1"}


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
