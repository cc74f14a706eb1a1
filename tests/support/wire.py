"""One client's connection to one server, for S3 and REST alike: signed, kept open, nothing ever repeated."""

import base64
import datetime
import hashlib
import http.client
import json
import re
import socket
import threading
import urllib.parse

import clients

SKEWED = re.compile(rb"server's time is ([0-9T:.-]+Z):")


class Unknown(Exception):
    """No answer, or one that leaves open whether the request took effect."""


class NotSent(Exception):
    """The server could not be reached: nothing happened."""


class Answer:
    __slots__ = ("status", "headers", "body")

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    @property
    def reason(self):
        return self.body[:300].decode(errors="replace")


class Wire:
    """Used by one thread. `server` has url (that may change), access_key and secret_key."""

    def __init__(self, server, timeout):
        self.server, self.timeout = server, timeout
        self.signer = clients.RawS3(server)
        pair = f"{server.access_key}:{server.secret_key}".encode()
        self.basic = "Basic " + base64.b64encode(pair).decode()
        self.connection = None
        self.ahead = 0  # seconds of the server's clock

    def s3(self, method, target, body=b"", headers=None):
        """`target`: /BUCKET/KEY with the query, already encoded."""
        headers = {"Host": self.server.listen, **(headers or {})}
        headers.update(self.signer.signature(method, target, headers, hashlib.sha256(body).hexdigest(), self.ahead))
        answer = self.send(method, target, body, headers)
        skewed = SKEWED.search(answer.body) if answer.status == 403 else None
        if skewed:  # as the AWS clients do, the next request is signed by the server's clock
            theirs = datetime.datetime.fromisoformat(skewed[1].decode().replace("Z", "+00:00"))
            self.ahead = (theirs - datetime.datetime.now(datetime.UTC)).total_seconds()
            raise NotSent("the clocks are apart")
        return answer

    def rest(self, method, path, body=None, document=None):
        headers = {"Host": self.server.listen, "Authorization": self.basic}
        if document is not None:
            body = json.dumps(document).encode()
            headers["Content-Type"] = "application/json"
        return self.send(method, "/api/v1" + path, body or b"", headers)

    def presigned(self, method, url, body=b""):
        """`url`: one that this server has made, of itself or of its store."""
        parts = urllib.parse.urlsplit(url)
        target = f"{parts.path}?{parts.query}"
        if parts.netloc == self.server.listen:
            return self.send(method, target, body, {"Host": parts.netloc})
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.timeout)
        try:
            connection.request(method, target, body=body)
            got = connection.getresponse()
            return Answer(got.status, got.headers, got.read())
        except (OSError, http.client.HTTPException) as error:
            raise Unknown(f"{type(error).__name__}") from None
        finally:
            connection.close()

    def send(self, method, target, body, headers):
        """The answer with its body; Unknown for a failure that says nothing about the effect."""
        if self.connection is None:
            host, port = self.server.listen.rsplit(":", 1)
            connection = http.client.HTTPConnection(host, int(port), timeout=self.timeout)
            try:
                connection.connect()
            except OSError as error:
                raise NotSent(str(error)) from None
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connection = connection
        try:
            self.connection.request(method, target, body=body, headers=headers)
            got = self.connection.getresponse()
            answer = Answer(got.status, got.headers, got.read())
            if got.will_close:
                self.close()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unknown(f"{type(error).__name__}") from None
        if answer.status >= 500:
            raise Unknown(f"{answer.status} {answer.reason}")
        return answer

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Wires:
    """For each thread, one connection to each server."""

    def __init__(self, servers, timeout):
        self.servers, self.timeout, self.own = servers, timeout, threading.local()

    def __getitem__(self, number):
        kept = self.own.__dict__.setdefault("wires", {})
        if number not in kept:
            kept[number] = Wire(self.servers[number], self.timeout)
        return kept[number]

    def __len__(self):
        return len(self.servers)
