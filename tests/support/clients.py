"""Unmodified clients of the kind that users bring, each pointed at a server with url, access_key and secret_key."""

import base64
import datetime
import hashlib
import hmac
import http.client
import socket

import boto3
import requests
from botocore.config import Config

# Modules of clients that take long to load are imported where they are used: tests of the page need neither.


def lakefs_client(server):
    import lakefs

    return lakefs.client.Client(host=server.url, username=server.access_key, password=server.secret_key)


def boto3_client(server, **config):
    """boto3 as its documentation shows it, but path style: bucket = repository, first part of the key = ref."""
    options = Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, **config)
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
        config=options,
    )


def boto3_resource(server):
    return boto3.resource(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name="us-east-1",
    )


def s3fs_filesystem(server):
    import s3fs

    return s3fs.S3FileSystem(
        anon=False,
        key=server.access_key,
        secret=server.secret_key,
        client_kwargs={"endpoint_url": server.url, "region_name": "us-east-1"},
        skip_instance_cache=True,
        use_listings_cache=False,
    )


class Rest:
    """Plain HTTP to /api/v1, for what no client library sends."""

    def __init__(self, server, credentials=True):
        self.url = f"{server.url}/api/v1"
        self.session = requests.Session()
        self.session.trust_env = False
        if credentials:
            pair = f"{server.access_key}:{server.secret_key}".encode()
            self.session.headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()

    def __call__(self, method, path, **options):
        return self.session.request(method, self.url + path, timeout=60, allow_redirects=False, **options)


class RawS3:
    """S3 requests signed correctly but otherwise exactly as given: nothing is added, folded or re-encoded."""

    def __init__(self, server):
        self.server = server

    def __call__(self, method, target, body=b"", headers=None, payload_hash=None, time_shift=0, sign=True, length=None):
        """`target` is the raw request target; `length` lies about the body; returns (status, headers, body)."""
        host = self.server.url.removeprefix("http://")
        headers = {"Host": host, **(headers or {})}
        if sign:
            headers.update(self.signature(method, target, headers, payload_hash or hashlib.sha256(body).hexdigest(), time_shift))
        connection = http.client.HTTPConnection(host, timeout=20)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body) if length is None else length))
            connection.endheaders()
            if body:
                connection.send(body)
            if length is not None and length > len(body):
                connection.sock.shutdown(socket.SHUT_WR)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def signature(self, method, target, headers, payload_hash, time_shift):
        now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=time_shift)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        signed = {
            "host": headers["Host"],
            "x-amz-content-sha256": payload_hash,
            "x-amz-date": stamp,
            **{k.lower(): v for k, v in headers.items() if k.lower().startswith("x-amz-")},
        }
        path, _, query = target.partition("?")
        pairs = ["=".join(pair) for pair in sorted(part.partition("=")[::2] for part in query.split("&") if part)]
        canonical = "\n".join(
            [
                method,
                path,
                "&".join(pairs),
                *(f"{k}:{v}" for k, v in sorted(signed.items())),
                "",
                ";".join(sorted(signed)),
                payload_hash,
            ]
        )
        scope = f"{day}/us-east-1/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode("latin-1")).hexdigest()])
        key = b"AWS4" + self.server.secret_key.encode()
        for word in (day, "us-east-1", "s3", "aws4_request"):
            key = hmac.digest(key, word.encode(), "sha256")
        proof = hmac.digest(key, text.encode(), "sha256").hex()
        credential = f"{self.server.access_key}/{scope}"
        return {
            "x-amz-date": stamp,
            "x-amz-content-sha256": payload_hash,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={';'.join(sorted(signed))}, "
            f"Signature={proof}",
        }
