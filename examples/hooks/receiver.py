"""A webhook that refuses merges whose message is the default one. Usage: python3 receiver.py PORT"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        allowed = not event.get("commit_message", "").startswith("Merge '")
        self.send_response(200 if allowed else 403)
        self.end_headers()
        self.wfile.write(b"fine" if allowed else b"say in the message why you merge")


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
