"""Hand-made requests over S3 for what boto3 hides, and the REST calls that prepare a repository."""

import hashlib
import http.client
import urllib.parse
from dataclasses import dataclass
from xml.etree import ElementTree

import requests
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION = "us-east-1"


def rest(tarn, method, path, **kwargs):
    """A call of the REST API that must succeed; its JSON, or None."""
    answer = requests.request(method, tarn.url + "/api/v1" + path, auth=(tarn.access_key, tarn.secret_key),
                              timeout=60, **kwargs)
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


def send(tarn, method, target, headers=None, body=b""):
    """Sends exactly this request."""
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
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def sign(tarn, method, target, headers=None, payload="UNSIGNED-PAYLOAD"):
    """The headers of a request signed with this x-amz-content-sha256."""
    parts = urllib.parse.urlsplit(tarn.url)
    request = AWSRequest(method=method, url=tarn.url + target,
                         headers={"Host": parts.netloc, **(headers or {})})

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
