"""The address behind which servers take turns, over servers that only say who they are and what they got."""

import http.server
import os
import socket
import sys
import threading

import pytest
import requests
import servers


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = b""
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, b"%d:%b" % (self.server.number, data))

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Server", str(self.server.number))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        self.answer(404 if self.path == "/nope" else 200, b"%d" % self.server.number)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def address(tmp_path):
    both = []
    for number in range(2):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        server.daemon_threads, server.number = True, number
        threading.Thread(target=server.serve_forever, daemon=True).start()
        both.append(server)
    command = [sys.executable, str(servers.ROOT / "tests/support/round_robin.py"), str(tmp_path / "ready")]
    command += [f"127.0.0.1:{server.server_port}" for server in both]
    turns = servers.Process(command, tmp_path / "log", dict(os.environ))
    turns.wait_until(lambda: (tmp_path / "ready").exists() and (tmp_path / "ready").read_text(), "round_robin.py")
    yield (tmp_path / "ready").read_text()
    turns.stop()
    for server in both:
        server.shutdown()
        server.server_close()


def test_requests_of_one_connection_take_turns(address):
    with requests.Session() as session:
        url = f"http://{address}/"
        assert [session.get(url, timeout=10).text for _ in range(4)] == ["0", "1", "0", "1"]
        assert session.head(url).headers["Content-Length"] == "1"
        assert session.post(url, data=b"x" * 300_000).text == "1:" + "x" * 300_000
        assert session.post(url, data=iter([b"ab", b"c"])).text == "0:abc"
        assert session.get(f"{url}nope").status_code == 404
        waits = session.post(url, data=b"late", headers={"Expect": "100-continue"})
        assert waits.text == "0:late"


def test_what_is_no_http_reaches_a_server(address):
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx")
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
