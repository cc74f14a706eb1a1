"""Hand-made requests over S3 for what boto3 hides, and the REST calls that prepare a repository."""

import base64
import hashlib
import hmac
import http.client
import socket
import urllib.parse
from dataclasses import dataclass
from xml.etree import ElementTree

import requests
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "us-east-1"


def failure(error):
    """(status, code) of a call of boto3 that failed, from pytest.raises."""
    response = error.value.response
    return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


def rest(tarn, method, path, **kwargs):
    """A call of the REST API that must succeed; its JSON, or None."""
    answer = requests.request(method, tarn.url + "/api/v1" + path, auth=(tarn.access_key, tarn.secret_key), timeout=60, **kwargs)
    assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer.json() if "json" in answer.headers.get("Content-Type", "") else None


def create_branch(tarn, repo, name, source="main"):
    rest(tarn, "POST", f"/repositories/{repo}/branches", json={"name": name, "source": source})


def create_tag(tarn, repo, name, ref="main"):
    rest(tarn, "POST", f"/repositories/{repo}/tags", json={"id": name, "ref": ref})


def commit(tarn, repo, branch="main", message="commit"):
    return rest(tarn, "POST", f"/repositories/{repo}/branches/{branch}/commits", json={"message": message})["id"]


@dataclass
class Answer:
    status: int
    headers: dict  # lower-case names
    body: bytes

    @property
    def xml(self):
        """The document with the namespace taken off its names."""
        root = ElementTree.fromstring(self.body)
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root

    @property
    def code(self):
        return self.xml.findtext("Code")


def send(tarn, method, target, headers=None, body=b"", half_close=False):
    """Sends exactly this request. With half_close, the server sees the connection end behind the body."""
    parts = urllib.parse.urlsplit(tarn.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        fields = {"Host": parts.netloc, **(headers or {})}
        names = {name.lower() for name in fields}
        if "content-length" not in names and "transfer-encoding" not in names:
            fields["Content-Length"] = str(len(body))
        for name, value in fields.items():
            connection.putheader(name, value)
        connection.endheaders()
        if body:
            connection.send(body)
        if half_close:
            connection.sock.shutdown(socket.SHUT_WR)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def sign(tarn, method, target, headers=None, payload="UNSIGNED-PAYLOAD"):
    """The headers of a request signed with this x-amz-content-sha256."""
    parts = urllib.parse.urlsplit(tarn.url)
    request = AWSRequest(method=method, url=tarn.url + target, headers={"Host": parts.netloc, **(headers or {})})

    class Fixed(S3SigV4Auth):
        def payload(self, _request):
            return payload

    Fixed(Credentials(tarn.access_key, tarn.secret_key), "s3", REGION).add_auth(request)
    return dict(request.headers.items())


def signed(tarn, method, target, headers=None, body=b"", payload=None):
    """Signs (with the body's hash unless told otherwise) and sends."""
    if payload is None:
        payload = hashlib.sha256(body).hexdigest()
    return send(tarn, method, target, sign(tarn, method, target, headers, payload), body)


def with_md5(body):
    """The header that a list of deletions needs."""
    return {"Content-MD5": base64.b64encode(hashlib.md5(body).digest()).decode()}


def signing_key(tarn, date):
    key = ("AWS4" + tarn.secret_key).encode()
    for part in (date, REGION, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


class Chunks:
    """A body framed as aws-chunked, signed chunk by chunk after the request's own signature."""

    def __init__(self, tarn, headers):
        authorization = headers["Authorization"]
        self.previous = authorization.rpartition("Signature=")[2]
        self.timestamp = headers["X-Amz-Date"]
        date = self.timestamp[:8]
        self.scope = f"{date}/{REGION}/s3/aws4_request"
        self.key = signing_key(tarn, date)

    def _sign(self, kind, *hashes):
        text = "\n".join([kind, self.timestamp, self.scope, self.previous, *hashes])
        self.previous = hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()
        return self.previous

    def chunk(self, data):
        signature = self._sign("AWS4-HMAC-SHA256-PAYLOAD", hashlib.sha256(b"").hexdigest(), hashlib.sha256(data).hexdigest())
        return f"{len(data):x};chunk-signature={signature}\r\n".encode() + data + (b"\r\n" if data else b"")

    def trailer(self, name, value):
        line = f"{name}:{value}\n".encode()
        signature = self._sign("AWS4-HMAC-SHA256-TRAILER", hashlib.sha256(line).hexdigest())
        return line + b"\r\nx-amz-trailer-signature:" + signature.encode() + b"\r\n\r\n"
