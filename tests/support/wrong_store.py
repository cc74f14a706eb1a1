"""A proxy before an S3 server that spoils the bytes of GETs: flipped, cut short, another answer's, or out of order."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

HARMS = ("flips", "cuts", "repeats", "reorders")


class WrongStore:
    """While `harm` is set, every answer with an object's bytes is wrong; `spoiled` counts them."""

    def __init__(self, store):
        self.store = store
        self.access_key, self.secret_key, self.region = store.access_key, store.secret_key, store.region
        self.harm = None
        self.spoiled = 0
        self.last = b""
        self.lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                proxy.answer(self)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, format, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPConnection(urlsplit(self.store.url).netloc, timeout=60)
        # The signature covers the host, which is that of the proxy.
        upstream.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders(body)
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        has_object = request.command == "GET" and answer.status in (200, 206) and "?" not in request.path
        sent = self.spoil(data) if has_object and data else data
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "server", "date"):
                request.send_header(name, value)
        length = answer.getheader("Content-Length") if request.command == "HEAD" else len(data)
        request.send_header("Content-Length", str(length or 0))
        request.end_headers()
        request.wfile.write(sent)
        if len(sent) < len(data):
            request.close_connection = True

    def spoil(self, data):
        with self.lock:
            harm, last, self.last = self.harm, self.last, data
            if harm is None:
                return data
            self.spoiled += 1
        half = len(data) // 2
        if harm == "flips":
            return data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :]
        if harm == "cuts":
            return data[:half]
        if harm == "repeats" and len(last) == len(data) and last != data:
            return last
        return data[half:] + data[:half]
