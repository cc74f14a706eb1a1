"""Every mechanism with every kind of payload and every way to spoil the request: what the client is told, and that
nothing of what was refused can be seen. The signer is written out here, so that it shares nothing with the server's."""

import base64
import hashlib
import hmac
import json
import time
import urllib.parse
import uuid
import zlib
from email.utils import formatdate

import clients
import pytest
import requests
from botocore.exceptions import ClientError
from s3_requests import REGION, Chunks, failure, send, signing_key

DATA = b"hello"
CRC32 = base64.b64encode(zlib.crc32(DATA).to_bytes(4, "big")).decode()
WRONG_CRC32 = base64.b64encode(zlib.crc32(b"other").to_bytes(4, "big")).decode()

LITERALS = {
    "hash": hashlib.sha256(DATA).hexdigest(),
    "none": None,
    "unsigned": "UNSIGNED-PAYLOAD",
    "unsigned trailer": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    "chunks": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "chunks, trailer": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
    "ecdsa": "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
}
SPOILS = (
    "nothing",
    "changed header",
    "changed body",
    "cut",
    "chunk signature",
    "no final chunk",
    "wrong trailer",
    "no trailer",
    "length + 1",
    "length - 1",
)

OK, DENIED, SIGNATURE, HASH = "ok", "AccessDenied", "SignatureDoesNotMatch", "XAmzContentSHA256Mismatch"
SHORT, DIGEST, TRAILER = "IncompleteBody", "BadDigest", "MalformedTrailerError"
INVALID, MISSING = "InvalidRequest", "NotImplemented"
# An upload of which nothing but the head is signed cannot be told from the client's own.
UNSIGNED = (OK, SIGNATURE, OK, SHORT)
HASHED = (OK, SIGNATURE, HASH, SHORT)
# A streaming payload outside of its mechanism, and ECDSA everywhere, are refused by the head alone.
NEVER, ECDSA = (INVALID,) * 10, (MISSING,) * 4
# The policy of a form covers its fields and no header of the request.
FORMS = (OK, DENIED, OK, SHORT)

EXPECTED = {
    ("v4 header", "hash"): HASHED,
    # The signature would cover the hash of a body that nobody has seen: refused by the head alone.
    ("v4 header", "none"): (INVALID,) * 4,
    ("v4 header", "unsigned"): UNSIGNED,
    ("v4 header", "unsigned trailer"): (OK, SIGNATURE, DIGEST, SHORT, SHORT, SHORT, DIGEST, TRAILER, SHORT, SHORT),
    ("v4 header", "chunks"): (OK, SIGNATURE, SIGNATURE, SHORT, SIGNATURE, SHORT, TRAILER, None, SHORT, SHORT),
    ("v4 header", "chunks, trailer"): (OK, SIGNATURE, SIGNATURE, SHORT, SIGNATURE, SHORT, SIGNATURE, TRAILER, SHORT, SHORT),
    ("v4 header", "ecdsa"): ECDSA,
    **{
        (mechanism, literal): HASHED
        if literal == "hash"
        else UNSIGNED
        if literal in ("none", "unsigned")
        else ECDSA
        if literal == "ecdsa"
        else NEVER
        for mechanism in ("v4 query", "v2 header", "v2 query")
        for literal in LITERALS
    },
    **{(mechanism, literal): FORMS for mechanism in ("v4 form", "v2 form") for literal in LITERALS},
}


class Upload:
    """One signed upload, not yet sent: `target`, `headers` and `body` may be spoiled."""

    def __init__(self, tarn, repo, key, mechanism, literal):
        self.tarn, self.repo, self.key, self.literal = tarn, repo, key, LITERALS[literal]
        self.method, self.target, self.body = "PUT", f"/{repo}/{key}", DATA
        self.host = urllib.parse.urlsplit(tarn.url).netloc
        self.time = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self.scope = f"{self.time[:8]}/{REGION}/s3/aws4_request"
        self.headers = {"Host": self.host, "x-amz-meta-a": "b"}
        if self.literal:
            self.headers["x-amz-content-sha256"] = self.literal
        self.streams = (self.literal or "").startswith("STREAMING")
        self.has_trailer = self.streams and self.literal.endswith("TRAILER")
        getattr(self, "sign_" + mechanism.replace(" ", "_"))()
        if self.streams and not mechanism.endswith("form"):
            self.body = self.framed(mechanism)

    def length(self, length):
        """Announces the decoded length, which is signed like every x-amz header."""
        self.headers["x-amz-decoded-content-length"] = str(length)

    def v4_signature(self, text):
        return hmac.new(signing_key(self.tarn, self.time[:8]), text.encode(), hashlib.sha256).hexdigest()

    def v4_request(self, query, names, payload):
        canonical = "\n".join(
            [
                self.method,
                urllib.parse.quote(self.target),
                query,
                *(f"{name}:{self.signed[name]}" for name in names),
                "",
                ";".join(names),
                payload,
            ]
        )
        return self.v4_signature(
            "\n".join(["AWS4-HMAC-SHA256", self.time, self.scope, hashlib.sha256(canonical.encode()).hexdigest()])
        )

    def announce(self):
        if self.streams:
            self.length(len(DATA) + getattr(self, "length_error", 0))
        if self.has_trailer:
            self.headers["x-amz-trailer"] = "x-amz-checksum-crc32"
        self.signed = {name.lower(): value for name, value in self.headers.items()}

    def sign_v4_header(self):
        self.headers["x-amz-date"] = self.time
        self.announce()
        names = sorted(self.signed)
        self.signature = self.v4_request("", names, self.literal or hashlib.sha256(DATA).hexdigest())
        self.headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.tarn.access_key}/{self.scope}, "
            f"SignedHeaders={';'.join(names)}, Signature={self.signature}"
        )

    def sign_v4_query(self):
        self.announce()
        names = sorted(self.signed)
        query = "&".join(
            f"{name}={urllib.parse.quote(value, safe='')}"
            for name, value in [
                ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
                ("X-Amz-Credential", f"{self.tarn.access_key}/{self.scope}"),
                ("X-Amz-Date", self.time),
                ("X-Amz-Expires", "60"),
                ("X-Amz-SignedHeaders", ";".join(names)),
            ]
        )
        self.signature = self.v4_request(query, names, self.literal or "UNSIGNED-PAYLOAD")
        self.target += f"?{query}&X-Amz-Signature={self.signature}"

    def v2_signature(self, date):
        amazon = "".join(f"{name}:{value}\n" for name, value in sorted(self.signed.items()) if name.startswith("x-amz-"))
        text = f"{self.method}\n\n\n{date}\n{amazon}{urllib.parse.quote(self.target)}"
        return base64.b64encode(hmac.new(self.tarn.secret_key.encode(), text.encode(), hashlib.sha1).digest()).decode()

    def sign_v2_header(self):
        self.announce()
        self.headers["Date"] = formatdate(usegmt=True)
        self.headers["Authorization"] = f"AWS {self.tarn.access_key}:{self.v2_signature(self.headers['Date'])}"

    def sign_v2_query(self):
        self.announce()
        expires = int(time.time()) + 60
        signature = urllib.parse.quote(self.v2_signature(expires), safe="")
        self.target += f"?AWSAccessKeyId={self.tarn.access_key}&Signature={signature}&Expires={expires}"

    def form(self, fields, sign):
        """The policy covers all fields by their values."""
        expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
        fields = {"key": self.key, "x-amz-meta-a": "b", **fields}
        conditions = [{"bucket": self.repo}, *({name: value} for name, value in fields.items())]
        fields["policy"] = base64.b64encode(json.dumps({"expiration": expires, "conditions": conditions}).encode()).decode()
        fields.update(sign(fields["policy"]))
        parts = [f'--B\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
        self.body = (
            ("".join(parts) + '--B\r\nContent-Disposition: form-data; name="file"\r\n\r\n').encode() + DATA + b"\r\n--B--\r\n"
        )
        self.method, self.target = "POST", f"/{self.repo}"
        del self.headers["x-amz-meta-a"]
        self.headers["Content-Type"] = "multipart/form-data; boundary=B"

    def sign_v4_form(self):
        self.form(
            {
                "x-amz-algorithm": "AWS4-HMAC-SHA256",
                "x-amz-credential": f"{self.tarn.access_key}/{self.scope}",
                "x-amz-date": self.time,
            },
            lambda policy: {"x-amz-signature": self.v4_signature(policy)},
        )

    def sign_v2_form(self):
        self.form(
            {},
            lambda policy: {
                "AWSAccessKeyId": self.tarn.access_key,
                "signature": base64.b64encode(
                    hmac.new(self.tarn.secret_key.encode(), policy.encode(), hashlib.sha1).digest()
                ).decode(),
            },
        )

    def framed(self, mechanism):
        if self.literal == LITERALS["unsigned trailer"] or mechanism != "v4 header":
            return f"{len(DATA):x}\r\n".encode() + DATA + f"\r\n0\r\nx-amz-checksum-crc32:{CRC32}\r\n\r\n".encode()
        chunks = Chunks(self.tarn, {"Authorization": f"Signature={self.signature}", "X-Amz-Date": self.time})
        body = chunks.chunk(DATA) + chunks.chunk(b"")
        return body + (chunks.trailer("x-amz-checksum-crc32", CRC32) if self.has_trailer else b"\r\n")

    def spoil(self, how):
        if how == "changed header":
            if self.method == "POST":
                self.body = self.body.replace(b'"x-amz-meta-a"\r\n\r\nb', b'"x-amz-meta-a"\r\n\r\nc')
            else:
                self.headers["x-amz-meta-a"] = "c"
        elif how == "changed body":
            self.body = self.body.replace(DATA, b"jello")
        elif how == "cut":
            self.headers["Content-Length"] = str(len(self.body))
            self.body = self.body[: self.body.rindex(DATA) + 4]
        elif how == "chunk signature":
            if b"chunk-signature=" in self.body:
                at = self.body.index(b"chunk-signature=") + 16
                self.body = self.body[:at] + (b"1" if self.body[at : at + 1] == b"0" else b"0") + self.body[at + 1 :]
            else:
                self.body = self.body.replace(b"\r\n", b";chunk-signature=" + 64 * b"a" + b"\r\n", 1)
        elif how == "no final chunk":
            self.body = self.body[: self.body.index(b"\r\n0") + 2]
        elif how == "wrong trailer":
            line = f"x-amz-checksum-crc32:{CRC32}".encode()
            if line in self.body:
                self.body = self.body.replace(line, f"x-amz-checksum-crc32:{WRONG_CRC32}".encode())
            else:
                self.body = self.body[:-2] + line + b"\r\n\r\n"
        elif how == "no trailer":
            at = self.body.find(b"x-amz-checksum")
            self.body = self.body if at < 0 else self.body[:at] + b"\r\n"

    def outcome(self, half_close):
        answer = send(self.tarn, self.method, self.target, self.headers, self.body, half_close)
        return OK if answer.status in (200, 204) else answer.code


def outcome(tarn, repo, key, mechanism, literal, spoil):
    class Wrong(Upload):
        length_error = {"length + 1": 1, "length - 1": -1}.get(spoil, 0)

    upload = Wrong(tarn, repo, key, mechanism, literal)
    upload.spoil(spoil)
    return upload.outcome(half_close=spoil == "cut")


@pytest.fixture
def old_s3(tarn):
    """boto3 with version 2, path style."""
    return clients.boto3_client(tarn, signature_version="s3")


def test_boto3_signs_every_call_with_version_2(old_s3, repo):
    """Of a bucket it signs the path with a slash that it does not send."""
    bucket = {"Bucket": repo.id}
    key = {**bucket, "Key": "main/a b+c/ü"}
    assert repo.id in [b["Name"] for b in old_s3.list_buckets()["Buckets"]]
    old_s3.head_bucket(**bucket)
    etag = old_s3.put_object(**key, Body=DATA, Metadata={"m": "1"}, ContentType="text/plain")["ETag"]
    assert old_s3.get_object(**key, IfMatch=etag)["Body"].read() == DATA
    assert old_s3.get_object(**key, ResponseContentType="text/x; a=b")["ContentType"] == "text/x; a=b"
    old_s3.put_object_tagging(**key, Tagging={"TagSet": [{"Key": "t", "Value": "1"}]})
    assert old_s3.get_object_tagging(**key, VersionId="null")["TagSet"] == [{"Key": "t", "Value": "1"}]
    assert old_s3.get_object_acl(**key)["Grants"]
    old_s3.copy_object(**bucket, Key="main/copy", CopySource=key)
    for listing in ("list_objects", "list_objects_v2"):
        page = getattr(old_s3, listing)(**bucket, Prefix="main/", Delimiter="/", MaxKeys=7)
        assert [entry["Key"] for entry in page["Contents"]] == ["main/copy"], listing
    assert "Versions" in old_s3.list_object_versions(**bucket, Prefix="main/copy")
    upload = old_s3.create_multipart_upload(**bucket, Key="main/large")["UploadId"]
    assert old_s3.list_multipart_uploads(**bucket)["Uploads"][0]["UploadId"] == upload
    part = old_s3.upload_part(**bucket, Key="main/large", UploadId=upload, PartNumber=1, Body=DATA)["ETag"]
    old_s3.complete_multipart_upload(
        **bucket, Key="main/large", UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]}
    )
    assert old_s3.get_bucket_location(**bucket)["LocationConstraint"] is None
    assert "Status" not in old_s3.get_bucket_versioning(**bucket)
    assert old_s3.get_bucket_acl(**bucket)["Owner"]
    for configuration, code in [
        ("policy", "NoSuchBucketPolicy"),
        ("cors", "NoSuchCORSConfiguration"),
        ("lifecycle_configuration", "NoSuchLifecycleConfiguration"),
        ("tagging", "NoSuchTagSet"),
        ("website", "NoSuchWebsiteConfiguration"),
        ("replication", "ReplicationConfigurationNotFoundError"),
    ]:
        with pytest.raises(ClientError) as error:
            getattr(old_s3, f"get_bucket_{configuration}")(**bucket)
        assert failure(error)[1] == code
    # Newer than version 2, so boto3 leaves them out of what it signs: anybody could add them.
    for operation, arguments in [
        ("get_bucket_encryption", bucket),
        ("get_object_attributes", {**key, "ObjectAttributes": ["ETag"]}),
        ("get_public_access_block", bucket),
    ]:
        with pytest.raises(ClientError) as error:
            getattr(old_s3, operation)(**arguments)
        assert failure(error) == (403, DENIED), operation
    deleted = old_s3.delete_objects(**bucket, Delete={"Objects": [{"Key": "main/copy"}, {"Key": "main/large"}]})
    assert len(deleted["Deleted"]) == 2
    old_s3.delete_object(**key)
    assert old_s3.list_objects_v2(**bucket, Prefix="main/")["KeyCount"] == 0


def test_urls_that_boto3_signs_with_version_2_work(old_s3, repo):
    for operation, method, parameters in [
        ("put_object", "PUT", {"Key": "main/a"}),
        ("get_object", "GET", {"Key": "main/a"}),
        ("list_objects", "GET", {}),
        ("head_bucket", "HEAD", {}),
        ("get_bucket_location", "GET", {}),
        ("delete_object", "DELETE", {"Key": "main/a"}),
    ]:
        url = old_s3.generate_presigned_url(operation, {"Bucket": repo.id, **parameters}, 60)
        assert "AWSAccessKeyId=" in url
        answer = requests.request(method, url, timeout=60)
        if operation == "list_objects":
            # boto3 adds encoding-type=url. Version 2 signs no parameter of a listing, prefix included.
            assert (answer.status_code, "ParametersNotSigned" in answer.text) == (403, True)
            continue
        assert answer.ok, (operation, answer.text)


@pytest.mark.parametrize(
    "sent,signed_as",
    [
        ("?location=", "?location"),
        ("?location", "?location="),
        ("/?location=", "/?location"),
        ("/?location=", "?location"),
        ("/?uploads=&prefix=main", "/?uploads"),
    ],
)
def test_version_2_takes_what_clients_make_of_a_bucket(tarn, repo, sent, signed_as):
    """minio-go sends ?location= and signs ?location."""
    date = formatdate(usegmt=True)
    text = f"GET\n\n\n{date}\n/{repo.id}{signed_as}"
    signature = base64.b64encode(hmac.new(tarn.secret_key.encode(), text.encode(), hashlib.sha1).digest()).decode()
    headers = {"Date": date, "Authorization": f"AWS {tarn.access_key}:{signature}"}
    assert send(tarn, "GET", f"/{repo.id}{sent}", headers).status == 200
    assert send(tarn, "GET", f"/{repo.id}?versions", headers).code == SIGNATURE


@pytest.mark.parametrize("mechanism", ["v4 header", "v4 query", "v4 form", "v2 header", "v2 query", "v2 form"])
def test_every_combination_has_its_answer(tarn, s3, repo, mechanism):
    accepted, asked = {}, 0
    for literal in LITERALS:
        # A payload in one piece has no chunk and no trailer to spoil: four answers.
        for spoil, expected in zip(SPOILS, EXPECTED[mechanism, literal], strict=False):
            if expected is None:
                continue
            key = f"main/{uuid.uuid4().hex}"
            assert outcome(tarn, repo.id, key, mechanism, literal, spoil) == expected, (literal, spoil)
            if expected == OK:
                accepted[key] = b"jello" if spoil == "changed body" else DATA
            asked += 1
    assert asked == {"v4 header": 45, "v4 form": 28, "v2 form": 28}.get(mechanism, 46)
    listed = s3.list_objects_v2(Bucket=repo.id, Prefix="main/").get("Contents", [])
    assert {entry["Key"] for entry in listed} == set(accepted), "nothing that was refused can be seen"
    for key, data in accepted.items():
        assert s3.get_object(Bucket=repo.id, Key=key)["Body"].read() == data
