"""A client of a branch of its own, with a model of what the branch, its commits and its tags show, byte for byte.

Nobody else writes to the branch, so the model knows each key's body, but for requests without an answer: then it knows the
bodies that are possible. Bodies are known by their ETag, also those that other workers have written and this one copies.
"""

import collections
import hashlib
import re
import threading
import time

from wire import NotSent, Unknown

KEYS = [f"k/{number}" for number in range(16)]
KEYS_BETWEEN = 12  # of each worker in the other repository: they live long enough for their sources to go
BIG_PART_BYTES = 5 << 20
UPLOAD = re.compile(rb"<UploadId>([^<]+)</UploadId>")
ETAG = re.compile(rb"<ETag>(?:&quot;|&#34;|\")?([0-9a-f-]+)")
IMPORT_SECONDS_MAX = 30
READ_SECONDS_MAX = 60
DOUBT_SECONDS = 8  # after a request without an answer: how long it may still take effect
REFUSED = (400, 403, 404, 409, 412, 423)


class Bodies:
    """Every body that any worker has sent, by ETag. Safe from any thread."""

    def __init__(self):
        self.by_etag = {}
        self.all = set()
        self.lock = threading.Lock()
        self.number = 0

    def new(self, of):
        with self.lock:
            self.number += 1
            return f"{of} {self.number} ".encode() * (1 + self.number % 40)

    def keep(self, body, parts=None):
        """Returns the ETag; of a multipart object with `parts`."""
        if parts is None:
            etag = hashlib.md5(body).hexdigest()
        else:
            digest = hashlib.md5(b"".join(hashlib.md5(part).digest() for part in parts)).hexdigest()
            etag = f"{digest}-{len(parts)}"
        self.by_etag[etag] = body
        self.all.add(body)
        return etag


class Worker:
    """One thread. `shared`: Shared state of the race (tests/e2e/gc/test_collection_races.py)."""

    def __init__(self, number, shared, chance):
        self.number, self.shared, self.chance = number, shared, chance
        self.repository, self.branch = shared.repository, f"w{number}"
        self.base = f"/repositories/{self.repository}"
        self.here = f"{self.base}/branches/{self.branch}"
        self.shown = {}  # key: the set of possible ETags; None = absent
        self.committed = {}  # as `shown`, at the head
        self.head = None
        self.doubt_until = 0
        self.done = self.unknown = self.refused = 0
        self.verbs = collections.Counter()  # successful requests by verb
        self.verb = ""

    # Requests

    def rest(self, method, path, document=None, body=None):
        return self.count(self.shared.wire(self.chance).rest(method, path, body=body, document=document))

    def s3(self, method, target, body=b"", headers=None):
        return self.count(self.shared.wire(self.chance).s3(method, target, body, headers))

    def count(self, answer):
        if answer.status < 300:
            self.done += 1
            self.verbs[self.verb] += 1
        else:
            self.refused += 1
            assert answer.status in REFUSED, f"{answer.status} {answer.reason}"
        return answer

    def step(self):
        verbs = (
            [self.put] * 6
            + [self.copy] * 5
            + [self.copy_between] * 2
            + [self.upload] * 2
            + [self.commit] * 4
            + [
                self.delete,
                self.link,
                self.presign,
                self.merge,
                self.revert,
                self.pick,
                self.reset,
                self.move_back,
                self.bring,
                self.side_branch,
                self.tag,
                self.alias,
                self.check,
            ]
        )
        try:
            verb = self.chance.choice(verbs)
            self.verb = verb.__name__
            verb()
        except NotSent:
            time.sleep(0.1)
        except Unknown:
            self.in_doubt()

    def in_doubt(self):
        """A verb of the whole branch, or a read, had no answer: reads it again, and takes it as it is."""
        self.unknown += 1
        self.doubt_until = time.monotonic() + DOUBT_SECONDS
        self.adopt()

    # The model

    def one(self, key):
        """The ETag of the key; None = absent or unknown."""
        known = self.shown.get(key, {None})
        return next(iter(known)) if len(known) == 1 else None

    def write(self, key, etag, request, expected):
        before = self.shown.get(key, {None})
        try:
            answer = request()
        except Unknown:
            self.unknown += 1
            self.doubt_until = time.monotonic() + DOUBT_SECONDS
            self.shown[key] = before | {etag}
            return None
        if answer.status == expected:
            self.shown[key] = {etag}
        return answer

    def read_all(self, ref):
        """{key: ETag} as the ref shows it, from any server; waits for one that answers."""
        deadline = time.monotonic() + READ_SECONDS_MAX
        while True:
            try:
                answer = self.shared.wire(self.chance).rest("GET", f"{self.base}/refs/{ref}/objects/ls?amount=1000")
                if answer.status == 200:
                    return {item["path"]: item["checksum"] for item in answer.json()["results"]}
                assert answer.status == 404, answer.reason
                return None
            except (Unknown, NotSent):
                assert time.monotonic() < deadline, f"nobody shows {ref}"
                time.sleep(0.2)

    def head_now(self):
        deadline = time.monotonic() + READ_SECONDS_MAX
        while True:
            try:
                return self.shared.wire(self.chance).rest("GET", self.here).json()["commit_id"]
            except (Unknown, NotSent):
                assert time.monotonic() < deadline, "nobody shows the branch"
                time.sleep(0.2)

    def adopt(self):
        self.head = self.head_now()
        self.committed = {key: {etag} for key, etag in self.read_all(self.head).items()}
        self.shown = {key: {etag} for key, etag in self.read_all(self.branch).items()}

    def check(self):
        """The branch shows what the model knows."""
        listed = self.read_all(self.branch)
        if time.monotonic() < self.doubt_until:
            self.adopt()
            return
        for key in set(listed) | set(self.shown):
            known = self.shown.get(key, {None})
            if listed.get(key) not in known:
                self.shared.violation(f"{self.branch}/{key} shows {listed.get(key)}, not {known}")
        self.shown = {key: {etag} for key, etag in listed.items()}

    # Verbs

    def put(self):
        body = self.shared.bodies.new(self.branch)
        etag, key = self.shared.bodies.keep(body), self.chance.choice(KEYS)
        self.write(key, etag, lambda: self.s3("PUT", f"/{self.repository}/{self.branch}/{key}", body), 200)

    def delete(self):
        key = self.chance.choice(KEYS)
        self.write(key, None, lambda: self.s3("DELETE", f"/{self.repository}/{self.branch}/{key}"), 204)

    def source(self):
        """A key of any worker's branch, or of a tag."""
        ref = self.chance.choice([f"w{self.chance.randrange(self.shared.workers)}", *list(self.shared.tags)[-3:]])
        return ref, self.chance.choice(KEYS)

    def copy(self, repository=None, source=None):
        key = self.chance.choice(KEYS)
        ref, of = source or self.source()
        header = {"x-amz-copy-source": f"/{repository or self.repository}/{ref}/{of}"}
        before = self.shown.get(key, {None})
        try:
            answer = self.s3("PUT", f"/{self.repository}/{self.branch}/{key}", b"", header)
        except Unknown:
            return self.in_doubt()
        found = ETAG.search(answer.body) if answer.status == 200 else None
        self.shown[key] = {found[1].decode()} if found else before

    def copy_between(self):
        """To the other repository, where every worker has a key of its own, and back."""
        ref, of = self.source()
        other, key = self.shared.other, f"o/{self.number}-{self.chance.randrange(KEYS_BETWEEN)}"
        try:
            answer = self.s3("PUT", f"/{other}/main/{key}", b"", {"x-amz-copy-source": f"/{self.repository}/{ref}/{of}"})
        except Unknown:
            return
        if answer.status == 200 and self.chance.random() < 0.5:
            self.copy(other, ("main", key))

    def upload(self):
        """In one part or two, perhaps with one copied by reference; sometimes given up."""
        key = self.chance.choice(KEYS)
        target = f"/{self.repository}/{self.branch}/{key}"
        try:
            found = UPLOAD.search(self.s3("POST", f"{target}?uploads=").body)
        except Unknown:
            return
        if not found:
            return
        upload = found[1].decode()
        parts = [self.shared.bodies.new(self.branch)]
        if self.chance.random() < 0.2:
            parts.insert(0, bytes([97 + self.number % 26]) * BIG_PART_BYTES)
        copied = self.one(key) if len(parts) == 1 and self.chance.random() < 0.5 else None
        if copied and not self.shared.bodies.by_etag.get(copied):
            copied = None
        etags = []
        try:
            for number, part in enumerate(parts, 1):
                if copied:
                    parts = [self.shared.bodies.by_etag[copied]]
                    answer = self.s3(
                        "PUT",
                        f"{target}?partNumber=1&uploadId={upload}",
                        b"",
                        {"x-amz-copy-source": f"/{self.repository}/{self.branch}/{key}"},
                    )
                    etags.append(ETAG.search(answer.body)[1].decode() if answer.status == 200 else "")
                else:
                    answer = self.s3("PUT", f"{target}?partNumber={number}&uploadId={upload}", part)
                    etags.append((answer.headers["ETag"] or "").strip('"'))
                if answer.status != 200:
                    return
            if self.chance.random() < 0.2:
                self.s3("DELETE", f"{target}?uploadId={upload}")
                return
        except Unknown:
            return  # the upload stays open: what it holds stays
        body = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in enumerate(etags, 1)
        )
        etag = self.shared.bodies.keep(b"".join(parts), parts)
        self.write(
            key,
            etag,
            lambda: self.s3(
                "POST", f"{target}?uploadId={upload}", f"<CompleteMultipartUpload>{body}</CompleteMultipartUpload>".encode()
            ),
            200,
        )

    def link(self):
        key = self.chance.choice(KEYS)
        path = f"{self.here}/staging/backing?path={key}"
        wire = self.shared.wire(self.chance)
        body = self.shared.bodies.new(self.branch)
        try:
            given = self.count(wire.rest("GET", f"{path}&presign=true")).json()
            if self.count(wire.presigned("PUT", given["presigned_url"], body)).status != 200:
                return
        except Unknown:
            return
        time.sleep(self.chance.uniform(0, 1.5))  # a collection or two meanwhile
        etag = self.shared.bodies.keep(body)
        self.write(
            key,
            etag,
            lambda: self.rest(
                "PUT",
                path,
                {"staging": {"physical_address": given["physical_address"]}, "checksum": etag, "size_bytes": len(body)},
            ),
            200,
        )

    def presign(self):
        key, etag = self.chance.choice(KEYS), None
        etag = self.one(key)
        if etag is None or time.monotonic() < self.doubt_until:
            return
        wire = self.shared.wire(self.chance)
        found = self.count(wire.rest("GET", f"{self.base}/refs/{self.branch}/objects/stat?path={key}&presign=true"))
        if found.status == 200:
            self.shared.expect(wire.presigned("GET", found.json()["physical_address"]), etag, f"{self.branch}/{key}, presigned")

    def commit(self):
        if self.rest("POST", f"{self.here}/commits", {"message": f"{self.branch} {self.done}"}).status == 201:
            self.after_commit()

    def after_commit(self):
        """The commit shows what the branch showed."""
        before = dict(self.shown)
        self.adopt()
        if time.monotonic() >= self.doubt_until:
            for key, etags in before.items():
                if not (self.shown.get(key, {None}) & etags):
                    self.shared.violation(f"{self.branch}/{key} shows {self.shown.get(key)} after a commit, not {etags}")
        self.shared.commits[self.head] = {key: next(iter(etags)) for key, etags in self.committed.items()}

    def side_branch(self):
        """Makes a branch with a commit and deletes it: what is only there goes."""
        side = f"s{self.number}"
        answer = self.rest("POST", f"{self.base}/branches", {"name": side, "source": self.branch})
        if answer.status == 201:
            body = self.shared.bodies.new(side)
            self.shared.bodies.keep(body)
            self.s3("PUT", f"/{self.repository}/{side}/{self.chance.choice(KEYS)}", body)
            self.rest("POST", f"{self.base}/branches/{side}/commits", {"message": side})
        if self.chance.random() < 0.5:
            self.rest("DELETE", f"{self.base}/branches/{side}")

    def merge(self):
        self.commit()  # it needs a branch without changes
        answer = self.rest(
            "POST",
            f"{self.base}/refs/s{self.number}/merge/{self.branch}",
            {"message": "merge", "strategy": "source-wins", "allow_dirty": False},
        )
        if answer.status == 200:
            self.adopt()
            self.shared.commits[self.head] = {key: next(iter(etags)) for key, etags in self.committed.items()}

    def revert(self):
        if self.head and self.rest("POST", f"{self.here}/revert", {"ref": self.head, "parent_number": 1}).status == 204:
            self.adopt()

    def pick(self):
        self.commit()
        if self.rest("POST", f"{self.here}/cherry-pick", {"ref": f"s{self.number}"}).status == 201:
            self.adopt()

    def reset(self):
        if self.rest("PUT", self.here, {"type": "reset"}).status == 204:
            self.shown = {key: set(etags) for key, etags in self.committed.items()}

    def move_back(self):
        """The branch goes back to an older commit: what was committed since is reached by nothing."""
        answer = self.rest("GET", f"{self.base}/refs/{self.branch}/commits?amount=3")
        if answer.status == 200:
            target = answer.json()["results"][-1]["id"]
            if self.rest("PUT", f"{self.here}/hard_reset?ref={target}&force=true").status in (200, 204):
                self.adopt()

    def bring(self):
        folder = self.shared.imports / f"{self.branch}-{self.done}"
        folder.mkdir(parents=True, exist_ok=True)
        body = self.shared.bodies.new(self.branch)
        (folder / "0").write_bytes(body)
        self.shared.bodies.keep(body)
        answer = self.rest(
            "POST",
            f"{self.here}/import",
            {
                "paths": [{"type": "common_prefix", "path": f"local://{folder}/", "destination": "im/"}],
                "commit": {"message": "import"},
            },
        )
        deadline = time.monotonic() + IMPORT_SECONDS_MAX
        while answer.status == 202 and time.monotonic() < deadline:
            time.sleep(0.1)
            try:
                status = self.shared.wire(self.chance).rest("GET", f"{self.here}/import?id={answer.json()['id']}")
            except (Unknown, NotSent):
                continue
            found = status.json() if status.status == 200 else {}
            if found.get("completed") or found.get("error"):
                break
        self.doubt_until = time.monotonic() + DOUBT_SECONDS
        self.adopt()

    def tag(self):
        if not self.head:
            return
        name, head = f"t{self.number}-{self.done}", self.head
        if self.rest("POST", f"{self.base}/tags", {"id": name, "ref": head}).status == 201:
            self.shared.tags[name] = self.read_all(head)
        mine = [one for one in list(self.shared.tags) if one.startswith(f"t{self.number}-")]
        if len(mine) > 3:
            self.shared.tags.pop(mine[0])
            self.rest("DELETE", f"{self.base}/tags/{mine[0]}")

    def alias(self):
        if self.head and self.chance.random() < 0.3:
            head = self.head
            if self.rest("POST", f"{self.base}/aliases/a{self.number}:set", {"to": head, "reason": "race"}).status == 200:
                self.shared.aliased[head] = self.read_all(head)  # its history keeps it for ever
