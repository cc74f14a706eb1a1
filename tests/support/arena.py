"""A branch that random clients contend for, and the recording of what they see: objects and uploads.

Each write has a number. The body repeats it, the metadata and tags hold it, so every reader can tell which write it sees.
"""

import hashlib
import os
import re
import time
from collections import deque

import branch_model as model
from branch_model import KeyState, State
from history import Cell
from wire import NotSent, Unknown

NONE = -1  # instead of a number: no metadata, no tags
TAG = re.compile(rb"<Value>(\d+)</Value>")
UPLOAD = re.compile(rb"<UploadId>([^<]+)</UploadId>")
ETAG = re.compile(rb"<ETag>(?:&quot;|&#34;|\")?([0-9a-f-]+)")
OPEN_UPLOADS_MAX = 6  # and as many links
LEFT_OUT = os.environ.get("TARN_HISTORY_WITHOUT", "").split(",")  # operations, by the names of the methods below
CELLS = [("r/0",), ("r/1",), ("s/0",), ("s/1",), ("im/0",), ("im/1",), ("mv/a/0", "mv/b/0"), ("mv/a/1", "mv/b/1")]
UNIMPORTED = ("r/0", "r/1", "s/0", "s/1")  # keys that copies are made between


def body_of(number):
    return b"%d." % number * (1 + number % 40)


def number_in(body):
    """The number of the write, or None for bytes that no write had."""
    number = body.partition(b".")[0]
    return int(number) if number.isdigit() and body == body_of(int(number)) else None


def tags_shown(wire, repository, ref, path):
    """The number in them, or NONE."""
    found = TAG.search(wire.s3("GET", f"/{repository}/{ref}/{path}?tagging=").body)
    return int(found[1]) if found else NONE


class Arena:
    """`branch` of `repository`; `share_of_writes`: how many of the objects' operations change something."""

    addresses_expire = False  # while clients use them

    def __init__(self, recorder, repository, branch, share_of_writes):
        self.recorder, self.repository, self.branch = recorder, repository, branch
        self.share_of_writes = share_of_writes
        self.etags = {}  # number of the body by ETag
        self.written = {}  # (body, metadata, tags) by metadata
        self.commits = deque(maxlen=8)
        self.begin({path: None for cell in CELLS for path in cell})

    def begin(self, values):
        """A round in which nothing is staged and the head shows `values`."""
        self.cells = [
            Cell(f"{self.branch}: {', '.join(paths)}", paths, State(tuple(KeyState(values[path]) for path in paths)))
            for paths in CELLS
        ]
        self.places = {path: (cell, key) for cell in self.cells for key, path in enumerate(cell.keys)}
        self.uploads = deque(maxlen=OPEN_UPLOADS_MAX)
        self.links = deque(maxlen=OPEN_UPLOADS_MAX)
        self.verbs = []
        kept = {value[0] for value in values.values() if value}
        self.etags = {etag: number for etag, number in self.etags.items() if number in kept}
        self.written = {value[1]: value for value in values.values() if value}

    def new_value(self, chance, tagged=True):
        number = self.recorder.number()
        body = body_of(number)
        self.etags[hashlib.md5(body).hexdigest()] = number
        value = (number, number, number if tagged and chance.random() < 0.5 else NONE)
        self.written[number] = value
        return value, body


def headers_of(value):
    headers = {}
    if value[1] > 0:
        headers["x-amz-meta-w"] = str(value[1])
    if value[2] > 0:
        headers["x-amz-tagging"] = f"w={value[2]}"
    return headers


class ObjectClient:
    """One thread's operations on the objects of an arena, through a server chosen anew each time."""

    def __init__(self, name, wires, chance):
        self.name, self.wires, self.chance = name, wires, chance

    def wire(self):
        return self.wires[self.chance.randrange(len(self.wires))]

    def one(self, arena, path):
        writes = (
            self.put,
            self.put,
            self.put_absent,
            self.put_match,
            self.delete,
            self.tag,
            self.describe,
            self.copy,
            self.upload,
            self.complete,
            self.complete,
            self.abort,
            self.send,
            self.link,
        )
        reads = (self.get, self.get, self.get_tags, self.stat, self.list, self.copy_away)
        many = writes if self.chance.random() < arena.share_of_writes else reads
        self.choose(many)(arena, path)

    def choose(self, operations):
        return self.chance.choice([one for one in operations if one.__name__ not in LEFT_OUT])

    def ask(self, arena, path, label, request, unknown=None):
        """(answer, start, label), or None without an answer; `unknown(start, label)` records that it may have happened."""
        start = arena.recorder.now()
        label = f"{self.name} {label} {path}"
        try:
            answer = request()
        except NotSent:
            time.sleep(0.05)
            return None
        except Unknown as why:
            if unknown:
                unknown(start, f"{label} -> {str(why)[:60]}")
            time.sleep(0.1)  # few writes in doubt are worth more than many: each excuses what is seen later
            return None
        return answer, start, f"{label} -> {answer.status}"

    def target(self, arena, path, query=""):
        return f"/{arena.repository}/{arena.branch}/{path}{query}"

    # Reads

    def saw(self, arena, path, start, label, value):
        cell, key = arena.places[path]
        arena.recorder.read(cell, start, f"{label} {value}", model.read(key, value), value or ())

    def get(self, arena, path):
        got = self.ask(arena, path, "GET", lambda: self.wire().s3("GET", self.target(arena, path)))
        if not got:
            return
        answer, start, label = got
        if answer.status == 404:
            return self.saw(arena, path, start, label, None)
        number = number_in(answer.body) if answer.status == 200 else None
        etag = answer.headers.get("ETag", "").strip('"')
        if number is None or arena.etags.setdefault(etag, number) != number:
            return arena.recorder.problem(f"{label}: {etag} {answer.body[:60]}")
        self.saw(arena, path, start, label, (number, int(answer.headers.get("x-amz-meta-w", NONE)), 0))

    def get_tags(self, arena, path):
        got = self.ask(arena, path, "GET tags", lambda: self.wire().s3("GET", self.target(arena, path, "?tagging=")))
        if got:
            answer, start, label = got
            found = TAG.search(answer.body)
            if answer.status == 200:
                self.saw(arena, path, start, label, (0, 0, int(found[1]) if found else NONE))
            elif answer.status == 404:
                self.saw(arena, path, start, label, None)

    def shown(self, arena, item):
        return (arena.etags.get(item["checksum"], 0), int(item.get("metadata", {}).get("w", NONE)), 0)

    def stat(self, arena, path):
        got = self.ask(
            arena,
            path,
            "stat",
            lambda: self.wire().rest("GET", f"/repositories/{arena.repository}/refs/{arena.branch}/objects/stat?path={path}"),
        )
        if got:
            answer, start, label = got
            if answer.status in (200, 404):
                self.saw(arena, path, start, label, self.shown(arena, answer.json()) if answer.status == 200 else None)

    def list(self, arena, path):
        got = self.ask(
            arena,
            "",
            "list",
            lambda: self.wire().rest("GET", f"/repositories/{arena.repository}/refs/{arena.branch}/objects/ls?amount=1000"),
        )
        if got and got[0].status == 200:
            answer, start, label = got
            listed = {item["path"]: self.shown(arena, item) for item in answer.json()["results"]}
            for one in arena.places:
                self.saw(arena, one, start, f"{label} {one}", listed.get(one))

    # Writes

    def conditional(self, arena, path, label, headers, value, body, step, refusals, alike):
        cell, key = arena.places[path]
        got = self.ask(
            arena,
            path,
            f"{label} {value}",
            lambda: self.wire().s3("PUT", self.target(arena, path), body, {**headers_of(value), **headers}),
            lambda start, text: arena.recorder.in_doubt(cell, start, text, lambda real: step(key, real), value, alike),
        )
        if not got:
            return
        answer, start, text = got
        if answer.status == 200:
            arena.recorder.done(cell, start, text, step(key, value))
        elif answer.status in refusals:
            arena.recorder.read(cell, start, text, refusals[answer.status](key))
        elif answer.status != 409:
            arena.recorder.problem(f"{text} {answer.reason}")

    def put(self, arena, path):
        value, body = arena.new_value(self.chance)
        self.conditional(arena, path, "PUT", {}, value, body, model.write, {}, ("put", path))

    def put_absent(self, arena, path):
        value, body = arena.new_value(self.chance)
        self.conditional(
            arena,
            path,
            "PUT if absent",
            {"If-None-Match": "*"},
            value,
            body,
            model.create,
            {412: model.present},
            ("create", path),
        )

    def put_match(self, arena, path):
        """Reads the object and replaces it."""
        got = self.ask(arena, path, "GET", lambda: self.wire().s3("GET", self.target(arena, path)))
        if not got or got[0].status != 200:
            return
        old = number_in(got[0].body)
        if old is None:
            return arena.recorder.problem(f"{got[2]} {got[0].body[:60]}")
        arena.recorder.seen.add(old)
        value, body = arena.new_value(self.chance)
        self.conditional(
            arena,
            path,
            f"PUT if {old}",
            {"If-Match": got[0].headers["ETag"]},
            value,
            body,
            lambda key, real: model.replace_body(key, old, real),
            {412: lambda key: model.other_body(key, old), 404: model.absent},
            ("swap", path, old),
        )

    def delete(self, arena, path):
        cell, key = arena.places[path]
        got = self.ask(
            arena,
            path,
            "DELETE",
            lambda: self.wire().s3("DELETE", self.target(arena, path)),
            lambda start, text: arena.recorder.in_doubt(cell, start, text, lambda: model.delete(key), alike=("delete", path)),
        )
        if got and got[0].status == 204:
            arena.recorder.done(cell, got[1], got[2], model.delete(key))
        elif got and got[0].status != 409:
            arena.recorder.problem(f"{got[2]} {got[0].reason}")

    def part(self, arena, path, label, part, request):
        cell, key = arena.places[path]
        number = arena.recorder.number()
        got = self.ask(
            arena,
            path,
            f"{label} {number}",
            lambda: request(number),
            lambda start, text: arena.recorder.in_doubt(
                cell, start, text, lambda real: model.change(key, part, real[0]), (number,), (label, path)
            ),
        )
        if not got:
            return
        answer, start, text = got
        if answer.status in (200, 201, 204):
            arena.recorder.done(cell, start, text, model.change(key, part, number))
        elif answer.status == 404:
            arena.recorder.read(cell, start, text, model.absent(key))
        elif answer.status not in (409, 412):
            arena.recorder.problem(f"{text} {answer.reason}")

    def tag(self, arena, path):
        text = "<Tagging><TagSet><Tag><Key>w</Key><Value>%d</Value></Tag></TagSet></Tagging>"
        self.part(
            arena,
            path,
            "PUT tags",
            2,
            lambda number: self.wire().s3("PUT", self.target(arena, path, "?tagging="), (text % number).encode()),
        )

    def describe(self, arena, path):
        self.part(
            arena,
            path,
            "PUT metadata",
            1,
            lambda number: self.wire().rest(
                "PUT",
                f"/repositories/{arena.repository}/branches/{arena.branch}/objects/stat/user_metadata?path={path}",
                document={"set": {"w": str(number)}},
            ),
        )

    def copy(self, arena, path):
        """From another key, with metadata and tags of its own: a read of that key and a write here."""
        source = self.chance.choice([one for one in UNIMPORTED if one != path])
        cell, key = arena.places[path]
        number = arena.recorder.number()
        headers = {
            **headers_of((0, number, number)),
            "x-amz-copy-source": self.target(arena, source),
            "x-amz-metadata-directive": "REPLACE",
            "x-amz-tagging-directive": "REPLACE",
        }
        got = self.ask(
            arena,
            path,
            f"copy {number} of {source} to",
            lambda: self.wire().s3("PUT", self.target(arena, path), b"", headers),
            lambda start, text: arena.recorder.in_doubt(
                cell, start, text, lambda real: model.write(key, real), (0, number, number), ("copy", path)
            ),
        )
        if not got:
            return
        answer, start, text = got
        found = ETAG.search(answer.body)
        if answer.status == 200 and found:
            body = arena.etags.get(found[1].decode(), 0)
            value = (body, number, number)
            arena.written[number] = value
            self.saw(arena, source, start, text, (body, 0, 0))
            arena.recorder.done(cell, start, f"{text} {value}", model.write(key, value))
        elif answer.status == 404:
            self.saw(arena, source, start, text, None)
        elif answer.status != 409:
            arena.recorder.problem(f"{text} {answer.reason}")

    def copy_away(self, arena, path):
        """To a key that nobody else uses: whatever arrives there is what the source was, bytes, metadata and condition."""
        away = f"away/{arena.recorder.number()}"
        headers = {"x-amz-copy-source": self.target(arena, path)}
        number = None
        wish = self.chance.choice(("all", "tags", "match"))
        if wish == "tags":
            number = arena.recorder.number()
            headers |= {"x-amz-tagging-directive": "REPLACE", "x-amz-tagging": f"w={number}"}
        elif wish == "match":
            head = self.ask(arena, path, "HEAD", lambda: self.wire().s3("HEAD", self.target(arena, path)))
            if not head or head[0].status != 200:
                return
            headers["x-amz-copy-source-if-match"] = head[0].headers["ETag"]
        got = self.ask(
            arena, path, f"copy ({wish}) to {away} of", lambda: self.wire().s3("PUT", self.target(arena, away), b"", headers)
        )
        if not got or got[0].status != 200:
            if got and got[0].status == 404:
                self.saw(arena, path, got[1], got[2], None)
            return
        end = arena.recorder.now()
        copied = self.ask(arena, away, "GET", lambda: self.wire().s3("GET", self.target(arena, away)))
        if not copied:
            return
        answer = copied[0]
        if answer.status == 404:
            return  # a reset of the branch took it away
        body = number_in(answer.body) if answer.status == 200 else None
        if body is None:
            return arena.recorder.problem(f"{copied[2]} {answer.body[:60]}")
        if wish == "match" and answer.headers["ETag"] != headers["x-amz-copy-source-if-match"]:
            arena.recorder.problem(f"{got[2]}: asked for {headers['x-amz-copy-source-if-match']}, got {body}")
        value = (body, int(answer.headers.get("x-amz-meta-w", NONE)), 0)
        cell, key = arena.places[path]
        arena.recorder.read(cell, got[1], f"{got[2]} {value}", model.read(key, value), value, end=end)
        self.ask(arena, away, "DELETE", lambda: self.wire().s3("DELETE", self.target(arena, away)))

    # Uploads

    def upload(self, arena, path):
        value, body = arena.new_value(self.chance)
        begun = self.ask(
            arena,
            path,
            "begin upload",
            lambda: self.wire().s3("POST", self.target(arena, path, "?uploads="), b"", headers_of(value)),
        )
        found = UPLOAD.search(begun[0].body) if begun else None
        if not found:
            return
        upload = found[1].decode()
        part = self.ask(
            arena,
            path,
            "upload part",
            lambda: self.wire().s3("PUT", self.target(arena, path, f"?partNumber=1&uploadId={upload}"), body),
        )
        if part and part[0].status == 200:
            digest = hashlib.md5(hashlib.md5(body).digest()).hexdigest()
            arena.etags[f"{digest}-1"] = value[0]
            arena.uploads.append((path, upload, part[0].headers["ETag"], value))

    def send(self, arena, path):
        """Asks for an address and sends the bytes there, to be linked later, perhaps more than once."""
        value, body = arena.new_value(self.chance, tagged=False)
        wire = self.wire()
        got = self.ask(
            arena,
            path,
            "address",
            lambda: wire.rest(
                "GET", f"/repositories/{arena.repository}/branches/{arena.branch}/staging/backing?path={path}&presign=true"
            ),
        )
        if not got or got[0].status != 200:
            return
        given = got[0].json()
        sent = self.ask(arena, path, "send", lambda: wire.presigned("PUT", given["presigned_url"], body))
        if sent and sent[0].status == 200:
            arena.links.append((path, given["physical_address"], hashlib.md5(body).hexdigest(), value))
        elif sent and not (arena.addresses_expire and b"expired" in sent[0].body):
            arena.recorder.problem(f"{sent[2]} {sent[0].reason}")

    def link(self, arena, _):
        self.ending(
            arena,
            "link",
            lambda path, address, etag: self.wire().rest(
                "PUT",
                f"/repositories/{arena.repository}/branches/{arena.branch}/staging/backing?path={path}",
                document={
                    "staging": {"physical_address": address},
                    "checksum": etag,
                    "size_bytes": len(body_of(arena.etags[etag])),
                    "user_metadata": {"w": str(arena.etags[etag])},
                },
            ),
            model.complete,
            200,
            arena.links,
        )

    def ending(self, arena, label, request, step_of, closes, begun=None):
        try:
            path, upload, etag, value = self.chance.choice(arena.uploads if begun is None else begun)
        except IndexError:
            return
        cell, key = arena.places[path]
        step = step_of(key, upload, value)
        got = self.ask(
            arena,
            path,
            f"{label} {value}",
            lambda: request(path, upload, etag),
            lambda start, text: arena.recorder.in_doubt(cell, start, text, lambda: step),
        )
        if not got:
            return
        answer, start, text = got
        if answer.status == closes:
            arena.recorder.done(cell, start, text, step)
        elif answer.status == 404:
            if not (label == "link" and arena.addresses_expire):
                arena.recorder.read(cell, start, text, model.no_upload(upload))
        elif answer.status not in (400, 409):  # 400: its parts are gone, since it is being completed
            arena.recorder.problem(f"{text} {answer.reason}")

    def complete(self, arena, _):
        text = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>%s</ETag></Part></CompleteMultipartUpload>"
        self.ending(
            arena,
            "complete",
            lambda path, upload, etag: self.wire().s3(
                "POST", self.target(arena, path, f"?uploadId={upload}"), (text % etag).encode()
            ),
            model.complete,
            200,
        )

    def abort(self, arena, _):
        if self.chance.random() < 0.3:
            self.ending(
                arena,
                "abort",
                lambda path, upload, _: self.wire().s3("DELETE", self.target(arena, path, f"?uploadId={upload}")),
                lambda _, upload, __: model.abort(upload),
                204,
            )
