"""A store that only lists: as many keys as a prefix says, made up for each page, so that imports of any size need no disk.

The prefix "N/" has the keys "N/000000/000.bin" and so on: N objects, 1,000 in each folder. Answers ListObjectsV2 with
`start-after`, and HEAD of the bucket.
"""

import http.server
import re
import threading
import urllib.parse

PAGE = 1000
SIZE_BYTES = 1024
HEAD = '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
NAMES = [f"{number:03}.bin</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;" for number in range(1000)]
TAIL = f"&quot;</ETag><Size>{SIZE_BYTES}</Size><StorageClass>STANDARD</StorageClass></Contents>"
SPREAD = 0x9E3779B97F4A7C15F39CC0605CEDC835  # odd, so that every number has an etag of its own, which no codec compresses
KEY = re.compile(r"^(\d+)/(\d+)/(\d+)\.bin$")


def key_of(count, number):
    return f"{count}/{number // 1000:06}/{number % 1000:03}.bin"


def page(count, begin):
    parts, end = [HEAD, f"<Prefix>{count}/</Prefix>"], min(begin + PAGE, count)
    for number in range(begin, end):
        if number == begin or number % 1000 == 0:
            folder = f"<Contents><Key>{count}/{number // 1000:06}/"
        parts.append(f"{folder}{NAMES[number % 1000]}{number * SPREAD % 2**128:032x}{TAIL}")
    parts.append(f"<IsTruncated>{str(end < count).lower()}</IsTruncated><KeyCount>{end - begin}</KeyCount></ListBucketResult>")
    return "".join(parts).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        count = int(query.get("prefix", "0/").split("/")[0] or 0)
        after = KEY.match(query.get("start-after", ""))
        body = page(count, int(after[2]) * 1000 + int(after[3]) + 1 if after else 0)
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ListingStore:
    region = "us-east-1"
    access_key = "LISTINGONLY000000001"
    secret_key = "listing-only-secret-0001"

    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
