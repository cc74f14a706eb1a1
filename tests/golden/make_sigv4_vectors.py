#!/usr/bin/env python3
"""Writes sigv4_vectors.json: requests signed by botocore, chunk chains and checksums computed here.

Needs `pip install boto3==1.43.117`. Run it only to add vectors; the output is committed and must not change for
vectors that are there already. Nothing in here uses code of this repository, so it is an independent witness.
"""

import base64
import contextlib
import hashlib
import hmac
import json
import pathlib
import zlib
from datetime import UTC, datetime
from unittest import mock

import botocore
import botocore.auth
import botocore.session
from botocore.auth import HmacV1Auth, HmacV1QueryAuth, S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials

KEY_ID = "TARNTESTKEY000000001"
SECRET = "tarn/test+secret/0123456789abcdefghijklm"
REGION = "us-east-1"
NOW = datetime(2026, 11, 20, 8, 15, 42, tzinfo=UTC)
ISO = NOW.strftime("%Y%m%dT%H%M%SZ")
EPOCH = int(NOW.timestamp())
HTTP_DATE = "Fri, 20 Nov 2026 08:15:42 GMT"
CREDENTIALS = Credentials(KEY_ID, SECRET)
HOST = "http://127.0.0.1:8000"
EMPTY = hashlib.sha256(b"").hexdigest()


def frozen():
    stack = mock.patch.multiple(
        botocore.auth,
        get_current_datetime=lambda remove_tzinfo=True: NOW.replace(tzinfo=None),
        formatdate=lambda usegmt=True: HTTP_DATE,
        time=mock.Mock(time=lambda: EPOCH),
    )
    return stack


def split_url(url):
    rest = url.split("://", 1)[1]
    host, _, target = rest.partition("/")
    return host, "/" + target


def vector(name, method, url, headers, body=b"", **more):
    _, target = split_url(url)
    fields = [[str(k), v.decode() if isinstance(v, bytes) else str(v)] for k, v in headers.items()]
    if not any(k.lower() == "host" for k, _ in fields):
        fields.append(["Host", botocore.auth._host_from_url(url)])
    return {
        "name": name,
        "method": method,
        "target": target,
        "headers": fields,
        "body_base64": base64.b64encode(body).decode(),
        **more,
    }


def header_signed(name, method, url, headers=None, body=b"", context=None):
    auth = S3SigV4Auth(CREDENTIALS, "s3", REGION)
    request = AWSRequest(method=method, url=url, headers=headers or {}, data=body)
    request.context.update(context or {})
    seen = {}
    original = auth.canonical_request
    auth.canonical_request = lambda r: seen.setdefault("canonical", original(r))
    auth.add_auth(request)
    return vector(
        name, method, request.prepare().url, request.headers, body, mechanism="v4_header", canonical_request=seen["canonical"]
    )


def presigned(name, method, url, headers=None, expires=3600, version=4, send_headers=True):
    auth = S3SigV4QueryAuth(CREDENTIALS, "s3", REGION, expires) if version == 4 else HmacV1QueryAuth(CREDENTIALS, expires)
    request = AWSRequest(method=method, url=url, headers=headers or {})
    auth.add_auth(request)
    sent = {k: v for k, v in request.headers.items() if send_headers and k.lower() not in ("date", "x-amz-content-sha256")}
    return vector(name, method, request.prepare().url, sent, mechanism=f"v{version}_query")


def v2_header(name, method, url, headers=None, body=b"", auth_path=None):
    request = AWSRequest(method=method, url=url, headers=headers or {}, data=body, auth_path=auth_path)
    HmacV1Auth(CREDENTIALS).add_auth(request)
    return vector(name, method, request.prepare().url, request.headers, body, mechanism="v2_header")


def handmade():
    base = HOST + "/lake/main/"
    hello = b"hello"
    yield header_signed("plain get", "GET", base + "a.txt")
    yield header_signed("space, plus, accent and RFC 3986 marks", "GET", base + "a%20b%2Bc/%C3%A9~%27%28%29%2A%21.txt")
    yield header_signed(
        "every byte that needs an escape",
        "GET",
        base + "".join(f"%{b:02X}" for b in range(1, 128) if not (chr(b).isalnum() or chr(b) in "-._~/")),
    )
    yield header_signed("double slashes and dots", "GET", base + "/x/./y/../z//")
    yield header_signed("encoded slash", "GET", base + "a%2Fb")
    yield header_signed("four-byte UTF-8", "GET", base + "%F0%9F%90%A6")
    yield header_signed("listing", "GET", HOST + "/lake?list-type=2&prefix=main%2F&delimiter=%2F&encoding-type=url")
    yield header_signed("parameter without value", "GET", base + "k?uploads")
    yield header_signed("parameter with empty value", "GET", base + "k?uploads=")
    yield header_signed("parameters out of order", "PUT", base + "k?uploadId=abc&partNumber=2", body=hello)
    yield header_signed("repeated parameter", "GET", HOST + "/lake?tag=b&tag=a&tag=")
    yield header_signed("names that sort by their encoding", "GET", HOST + "/lake?a%2Fb=1&a-b=2&a=3&ab=4&A=5")
    yield header_signed("space and plus in a value", "GET", HOST + "/lake?prefix=main%2Fa%20b%2Bc&delimiter=&max-keys=1000")
    yield header_signed("default port left out", "PUT", "https://s3.example.test:443/lake/main/k", body=hello)
    yield header_signed(
        "blanks in a header value", "PUT", base + "k", {"x-amz-meta-a": "  two   spaces  ", "Content-Type": "text/plain"}, hello
    )
    yield header_signed(
        "unsigned payload",
        "PUT",
        "https://s3.example.test/lake/main/k",
        body=hello,
        context={"client_config": Config(s3={"payload_signing_enabled": False})},
    )
    yield header_signed("delete", "DELETE", base + "k")
    yield presigned("presigned get", "GET", base + "a%20b.txt?response-content-type=text%2Fplain")
    yield presigned("presigned put with content type", "PUT", base + "k", {"Content-Type": "text/csv"})
    yield presigned("presigned put with metadata in the query", "PUT", base + "k?x-amz-meta-color=red%20blue&x-amz-tagging=a%3Db")
    yield presigned("presigned for a week", "GET", base + "k", expires=604800)
    yield presigned("v2 presigned get", "GET", base + "a%20b.txt?response-content-type=text%2Fplain", version=2)
    yield presigned(
        "v2 presigned put with type and metadata",
        "PUT",
        base + "k",
        {"Content-Type": "text/csv", "x-amz-meta-color": "red"},
        version=2,
    )
    yield presigned(
        "v2 presigned put with type and metadata in the query alone",
        "PUT",
        base + "k",
        {"Content-Type": "text/csv", "x-amz-meta-color": "red"},
        version=2,
        send_headers=False,
    )
    yield presigned("v2 presigned part", "PUT", base + "k?uploadId=u.1&partNumber=3", version=2)
    yield v2_header("v2 plain get", "GET", base + "a%20b.txt")
    yield v2_header(
        "v2 put",
        "PUT",
        base + "k",
        {
            "Content-Type": "text/plain",
            "Content-MD5": base64.b64encode(hashlib.md5(hello).digest()).decode(),
            "x-amz-meta-b": "two",
            "X-Amz-Meta-A": " one ",
        },
        hello,
    )
    yield v2_header("v2 subresources", "GET", base + "k?uploads&acl&prefix=x&response-expires=a%2Cb")


def client_requests():
    """Whole requests as boto3 puts them on the wire, bodies with their chunk framing included."""
    captured = []

    def capture(request, **_):
        body = request.body
        data = body.read() if hasattr(body, "read") else (body or b"")
        data = data.encode() if isinstance(data, str) else bytes(data)
        captured.append((request, data))
        return AWSResponse(request.url, 200, {}, mock.Mock(stream=lambda **_: [], read=lambda *_: b""))

    def client(scheme, version=None):
        session = botocore.session.get_session()
        made = session.create_client(
            "s3",
            region_name=REGION,
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            endpoint_url=f"{scheme}://s3.example.test:8443",
            config=Config(signature_version=version, s3={"addressing_style": "path"}),
        )
        made.meta.events.register("before-send.s3.*", capture)
        return made

    calls = [
        ("client put over http", "http", "put_object", {"Bucket": "lake", "Key": "main/k", "Body": b"hello"}),
        ("client put over tls", "https", "put_object", {"Bucket": "lake", "Key": "main/k", "Body": b"hello"}),
        ("client put over tls, empty", "https", "put_object", {"Bucket": "lake", "Key": "main/e", "Body": b""}),
        (
            "client put over tls, sha256",
            "https",
            "put_object",
            {
                "Bucket": "lake",
                "Key": "main/k",
                "Body": b"hello",
                "ChecksumAlgorithm": "SHA256",
                "ContentEncoding": "gzip",
                "Metadata": {"Color": "red"},
            },
        ),
        (
            "client put over tls, two chunks",
            "https",
            "put_object",
            {"Bucket": "lake", "Key": "main/big", "Body": b"0123456789abcdef" * 70000},
        ),
        (
            "client delete objects",
            "http",
            "delete_objects",
            {"Bucket": "lake", "Delete": {"Objects": [{"Key": "main/a b"}, {"Key": "main/\u00e9"}]}},
        ),
        ("client list", "http", "list_objects_v2", {"Bucket": "lake", "Prefix": "main/a+b c/", "Delimiter": "/"}),
    ]
    for name, scheme, operation, arguments in calls:
        captured.clear()
        with contextlib.suppress(Exception):  # the empty answer need not parse; the request is what counts
            getattr(client(scheme), operation)(**arguments)
        request, body = captured[0]
        random = ("user-agent", "amz-sdk-invocation-id")  # not signed
        headers = {k: v for k, v in request.headers.items() if k.lower() not in random}
        plain = arguments.get("Body")
        more = {"decoded_sha256": hashlib.sha256(plain).hexdigest()} if plain is not None else {}
        if len(body) > 4096:
            more["body_pattern"] = {"unit": "0123456789abcdef", "count": 70000}
            more["body_frame_base64"] = base64.b64encode(
                body.replace(b"0123456789abcdef" * 65536, b"<16*65536>").replace(b"0123456789abcdef" * 4464, b"<16*4464>")
            ).decode()
            body = b""
        yield vector(name, request.method, request.url, headers, body, mechanism="v4_header", **more)


def sign_chain(secret, timestamp, region, seed, chunks, trailer=None):
    def h(key, text):
        return hmac.new(key, text.encode(), hashlib.sha256)

    date = timestamp[:8]
    scope = f"{date}/{region}/s3/aws4_request"
    key = ("AWS4" + secret).encode()
    for part in (date, region, "s3", "aws4_request"):
        key = h(key, part).digest()
    previous, signatures = seed, []
    for chunk in chunks:
        text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", timestamp, scope, previous, EMPTY, hashlib.sha256(chunk).hexdigest()])
        previous = h(key, text).hexdigest()
        signatures.append(previous)
    out = {
        "timestamp": timestamp,
        "scope": scope,
        "signing_key": key.hex(),
        "seed": seed,
        "chunks": [{"fill": chr(c[0]) if c else "", "bytes": len(c)} for c in chunks],
        "signatures": signatures,
    }
    if trailer:
        name, value, line_end = trailer
        lines = f"{name}:{value}\n".encode()
        text = "\n".join(["AWS4-HMAC-SHA256-TRAILER", timestamp, scope, previous, hashlib.sha256(lines).hexdigest()])
        out["trailer"] = {"name": name, "value": value, "line_end": line_end, "signature": h(key, text).hexdigest()}
    return out


def crc32_base64(data):
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def chains():
    a, b = b"a" * 65536, b"a" * 1024
    # The worked examples of the S3 API reference ("Signature calculations: multiple chunks", and with trailers).
    published = ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524T000000Z", REGION)
    yield {
        "name": "published example",
        **sign_chain(*published, "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9", [a, b, b""]),
    }
    yield {
        "name": "published example with trailer",
        **sign_chain(
            *published,
            "106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e",
            [a, b, b""],
            ("x-amz-checksum-crc32c", "sOO8/Q==", "\n"),
        ),
    }
    yield {
        "name": "crc32 trailer",
        **sign_chain(
            SECRET,
            ISO,
            REGION,
            "5" * 64,
            [b"z" * 8192, b"y" * 10, b""],
            ("x-amz-checksum-crc32", crc32_base64(b"z" * 8192 + b"y" * 10), "\r\n"),
        ),
    }


def checksums():
    for data in (b"", b"123456789", b"hello", bytes(range(256)) * 5):
        yield {
            "data_base64": base64.b64encode(data).decode(),
            "crc32": crc32_base64(data),
            "sha1": base64.b64encode(hashlib.sha1(data).digest()).decode(),
            "sha256": base64.b64encode(hashlib.sha256(data).digest()).decode(),
            "md5": base64.b64encode(hashlib.md5(data).digest()).decode(),
        }


def main():
    with frozen():
        requests = list(handmade()) + list(client_requests())
    document = {
        "made_by": f"make_sigv4_vectors.py with botocore {botocore.__version__}",
        "access_key_id": KEY_ID,
        "secret": SECRET,
        "region": REGION,
        "now": ISO,
        "requests": requests,
        "chains": list(chains()),
        "checksums": list(checksums()),
    }
    target = pathlib.Path(__file__).with_name("sigv4_vectors.json")
    target.write_text(json.dumps(document, indent=1, ensure_ascii=True) + "\n")
    print(f"{target}: {len(requests)} requests")


if __name__ == "__main__":
    main()
