"""Copies and uploads in parts."""

import base64
import hashlib
import urllib.parse
from xml.sax.saxutils import escape

import pytest
import s3_requests
from botocore.exceptions import ClientError
from s3_behaviour import LEAST_PART, behaviour

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
    assert (
        b.raw("PUT", "c", headers={"x-amz-copy-source": f"{b.name}/{b.root}a", "x-amz-metadata-directive": "MAYBE"}).code
        == "InvalidArgument"
    )


@behaviour("the source of a copy is decoded once, and its version is split off before")
def copy_sources(b):
    for key in [" ", "_", "__", "?versionId", "a b", "a+b", "a%2Bb", "ü", "x/y"]:
        b.put(key, key.encode())
        b.call("copy_object", "copy", CopySource=b.at(key))
        assert b.read("copy") == key.encode(), key
    source = f"{b.name}/{b.root}"
    for header, body in [
        (source + "a+b", b"a b"),
        (source + "a%2Bb", b"a+b"),
        ("/" + source + "a%2bb", b"a+b"),
        (urllib.parse.quote(source + "x/y", safe=""), b"x/y"),
        (urllib.parse.quote("/" + source + "x/y", safe=""), b"x/y"),
        ("%2F" + source + "x/y", b"x/y"),
        (source + "a%252Bb", b"a%2Bb"),
        (source + "%3FversionId", b"?versionId"),
        (source + "x/y?versionId=null", b"x/y"),
    ]:
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
    for condition, status in [
        ({"CopySourceIfMatch": etag}, 200),
        ({"CopySourceIfMatch": '"x"'}, 412),
        ({"CopySourceIfNoneMatch": etag}, 412),
        ({"CopySourceIfNoneMatch": '"x"'}, 200),
        ({"CopySourceIfModifiedSince": past}, 200),
        ({"CopySourceIfModifiedSince": future}, 412),
        ({"CopySourceIfUnmodifiedSince": past}, 412),
        ({"CopySourceIfUnmodifiedSince": future}, 200),
    ]:
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
        f'"{joined}-2"'
    }
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
    rest = b.call("get_object_attributes", ObjectAttributes=["ObjectParts"], MaxParts=1, PartNumberMarker=1)["ObjectParts"]
    assert (rest["PartNumberMarker"], rest["IsTruncated"]) == (1, False)
    assert b.call("head_object", PartNumber=2)["ContentLength"] == len(bodies[1])
    assert b.fails("head_object", PartNumber=3) == (400, "400")


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
        400,
        "InvalidRequest",
    )
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
        body = (
            "<CompleteMultipartUpload>"
            + "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>{escape(e)}</ETag></Part>" for n, e in parts)
            + "</CompleteMultipartUpload>"
        )
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
    assert (
        b.raw(
            "POST",
            query=f"uploadId={upload}",
            body=(
                f"<CompleteMultipartUpload><Part><PartNumber>2</PartNumber><ETag>{small[1].strip(chr(34))}</ETag></Part>"
                "</CompleteMultipartUpload>"
            ).encode(),
        ).status
        == 200
    )
    assert b.read() == b"y"


@behaviour("part numbers go from 1 to 10000, and the last upload of a part counts")
def part_numbers(b):
    upload = b.upload()
    for number in ["0", "10001", "-1", "x", ""]:
        answer = b.raw("PUT", query=f"partNumber={number}&uploadId={upload}", body=b"x")
        assert (answer.status, answer.code) == (400, "InvalidArgument"), number
    b.part(upload, 10000, b"first")
    etag = b.part(upload, 10000, b"second")
    b.call("complete_multipart_upload", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 10000, "ETag": etag}]})
    assert b.read() == b"second"


@behaviour("an upload id works for its own key, branch and bucket alone")
def bound_uploads(b):
    upload = b.upload()
    etag = b.part(upload, 1, b"x")
    s3_requests.create_branch(b.tarn, b.repo, "dev")
    elsewhere = [(b.repo, "main/other"), (b.repo, "dev/a"), (b.repo + ".dev", "a"), (b.repo + ".main", "main/a")]
    for bucket, key in elsewhere:
        where = {"Bucket": bucket, "Key": key, "UploadId": upload}
        for call, more in [
            (b.s3.upload_part, {"PartNumber": 1, "Body": b"y"}),
            (b.s3.list_parts, {}),
            (b.s3.abort_multipart_upload, {}),
            (b.s3.complete_multipart_upload, {"MultipartUpload": b.parts(etag)}),
        ]:
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
    for condition in [{"CopySourceIfMatch": '"x"'}, {"CopySourceIfNoneMatch": "*"}]:
        assert b.fails("upload_part_copy", **where, **condition) == (412, "PreconditionFailed"), condition
    assert b.fails("upload_part_copy", **{**where, "CopySource": b.at("absent")}) == (404, "NoSuchKey")
    copied = b.raw(
        "PUT",
        query=f"partNumber=1&uploadId={upload}",
        headers={"x-amz-copy-source": f"{b.name}/{b.root}source", "x-amz-copy-source-range": "bytes=2-5"},
    )
    assert copied.xml.tag == "CopyPartResult"
    whole = urllib.parse.quote(f"/{b.name}/{b.root}source", safe="")
    encoded = {"x-amz-copy-source": whole, "x-amz-copy-source-range": "bytes=2-5"}
    assert b.raw("PUT", query=f"partNumber=1&uploadId={upload}", headers=encoded).xml.tag == "CopyPartResult"
    assert copied.xml.findtext("ETag") == f'"{hashlib.md5(b"2345").hexdigest()}"' and copied.xml.findtext("LastModified")
    b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(copied.xml.findtext("ETag")))
    assert b.read() == b"2345"


@behaviour("a completion may demand that the key is absent, and the size that was sent")
def completion_conditions(b):
    b.put()
    upload = b.upload()
    etag = b.part(upload, 1, b"x")
    assert b.fails("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag), IfNoneMatch="*") == (
        412,
        "PreconditionFailed",
    )
    assert b.fails("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag), MpuObjectSize=2) == (
        400,
        "InvalidRequest",
    )
    assert b.read() == b"0123456789"
    b.call("complete_multipart_upload", UploadId=upload, MultipartUpload=b.parts(etag), MpuObjectSize=1)
    assert b.read() == b"x"
