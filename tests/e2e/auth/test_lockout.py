"""Whether strangers who know the id of an access key can keep its user from being served."""

import base64
import contextlib
import socket
import threading
import time
from urllib.parse import urlsplit

import clients
import pytest

CONNECTIONS = 80  # more than there are workers


def basic(server, secret):
    return "Basic " + base64.b64encode(f"{server.access_key}:{secret}".encode()).decode()


@contextlib.contextmanager
def slow_bodies(server, head):
    """Strangers at another address who send a head, then a body at a rate that is just not refused."""
    address = urlsplit(server.url)
    sockets = [
        socket.create_connection((address.hostname, address.port), source_address=("127.0.0.2", 0)) for _ in range(CONNECTIONS)
    ]
    stop = threading.Event()

    def drip():
        while not stop.wait(0.5):
            for connection in sockets:
                with contextlib.suppress(OSError):
                    connection.send(b"x" * 400)

    thread = threading.Thread(target=drip)
    try:
        for connection in sockets:
            connection.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        thread.start()
        yield
    finally:
        stop.set()
        thread.join()
        for connection in sockets:
            connection.close()


HEADS = {
    "JSON with a wrong secret": "POST /api/v1/repositories HTTP/1.1\nHost: h\nContent-Type: application/json\n"
    "Content-Length: 5000000\nAuthorization: {wrong}",
    "a login": "POST /api/v1/auth/login HTTP/1.1\nHost: h\nContent-Type: application/json\n"
    "Content-Length: 60000\nAuthorization: {wrong}",
    "an object with a wrong secret": "POST /api/v1/repositories/{repo}/branches/main/objects?path=a HTTP/1.1\nHost: h\n"
    "Content-Length: 5000000\nAuthorization: {wrong}",
    "a signature that only the body proves": "PUT /{repo}/main/a HTTP/1.1\nHost: h\nContent-Length: 5000000\n"
    "x-amz-date: {date}\nAuthorization: AWS4-HMAC-SHA256 "
    "Credential={key}/{day}/us-east-1/s3/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=" + "0" * 64,
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_a_key_id_is_not_enough_to_shut_its_user_out(tarn, repo, head):
    rest, s3 = clients.Rest(tarn), clients.boto3_client(tarn)
    now = time.gmtime()
    head = head.format(
        wrong=basic(tarn, "wrong"),
        repo=repo.id,
        key=tarn.access_key,
        date=time.strftime("%Y%m%dT%H%M%SZ", now),
        day=time.strftime("%Y%m%d", now),
    )
    s3.head_bucket(Bucket=repo.id)
    with slow_bodies(tarn, head):
        time.sleep(1)
        slowest = 0
        for _ in range(5):
            begin = time.monotonic()
            assert rest("GET", "/user").status_code == 200
            s3.head_bucket(Bucket=repo.id)
            slowest = max(slowest, time.monotonic() - begin)
    assert slowest < 10, f"{slowest:.1f} s"  # it was refused after 30
