"""The other end of webhooks, and files of actions that call it."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

AFTER_SECONDS = 20


class Receiver:
    """A webhook's other end; `answers` maps a path to a status, `delays` to seconds until it, `holds` to an event that it waits for."""

    def __init__(self):
        self.taken, self.answers, self.delays, self.holds = [], {}, {}, {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.taken.append((self.path, json.loads(body), dict(self.headers)))
                time.sleep(outer.delays.get(self.path, 0))
                if self.path in outer.holds:
                    outer.holds[self.path].wait(AFTER_SECONDS)
                self.send_response(outer.answers.get(self.path, 200))
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def events(self):
        return [body["event_type"] for _, body, _ in self.taken]

    def wait_for(self, event):
        deadline = time.monotonic() + AFTER_SECONDS
        while event not in self.events():
            assert time.monotonic() < deadline, f"{event} never came; {self.events()}"
            time.sleep(0.05)
        return next(body for _, body, _ in self.taken if body["event_type"] == event)


@pytest.fixture
def receiver():
    made = Receiver()
    yield made
    made.server.shutdown()


def action(name, events, *hooks):
    return json.dumps({"name": name, "on": dict.fromkeys(events), "hooks": list(hooks)})
