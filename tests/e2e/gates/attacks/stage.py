"""One repository behind a gate, the people around it, and what can be seen of it."""

import base64
import hashlib
import http.client
import json
import re
import subprocess
import time
import uuid
from dataclasses import dataclass

import clients
import command
import servers
from botocore.exceptions import ClientError

SETTLE_SECONDS = 60
POLL_SECONDS = 0.03
SHORT_DIGITS = 12
ENDED = ("promoted", "rejected", "failed", "cancelled", "rolled_back")
WAITS = ("gates_running", "awaiting_approval")
# The exit statuses of `tarn` that may stand for a status of REST.
EXITS = {200: (0,), 202: (0,), 400: (1, 2), 401: (3,), 403: (3,), 404: (4,), 405: (1,), 409: (5, 6, 7), 412: (1, 6)}
BASE = {"README.md": b"base", "data/train.csv": b"1,2", "artifacts/model.pkl": b"model of nobody"}


def authorization(member):
    pair = f"{member.access_key}:{member.secret_key}".encode()
    return {"Authorization": "Basic " + base64.b64encode(pair).decode()}


@dataclass
class Answer:
    """Of REST, S3 or the command; `exit` is that of the command alone."""

    status: int
    text: str
    exit: int | None = None

    def json(self):
        return json.loads(self.text)

    def check(self, status, says):
        """`status` may be several; says: what the text holds."""
        allowed = (status,) if isinstance(status, int) else status
        if self.exit is None:
            assert self.status in allowed, (self.status, self.text)
        else:
            assert self.exit in [code for one in allowed for code in EXITS[one]], (self.exit, self.text)
        assert says in self.text, self.text


class Stage:
    """`way`: how members do what can be done in several ways: rest, s3 or tarn."""

    def __init__(self, team, way, scratch):
        self.team, self.way, self.scratch = team, way, scratch
        self.repo = f"gate-{uuid.uuid4().hex[:12]}"
        self.base = f"/repositories/{self.repo}"
        self.answers, self.promotions = [], []
        self.kept = {"repo": self.repo}  # what <name> stands for in requests
        self.clients = {}
        self.members = {}  # of this stage alone
        for role, member in team.members.items():
            self.keep(f"user:{role}", member.name)
        self.must(
            "admin",
            "POST",
            "/repositories",
            of_repo=False,
            json={"name": self.repo, "storage_namespace": f"local://{self.repo}", "paths": "any"},
        )
        for path, data in BASE.items():
            self.must("admin", "POST", "/branches/main/objects", params={"path": path}, data=data)
        self.keep("main", self.must("admin", "POST", "/branches/main/commits", json={"message": "base"})["id"])
        self.keep("base", self.kept["main"])

    def keep(self, name, value):
        self.kept[name] = value

    def fill(self, value):
        """`value` with what was kept in place of each <name>; of <short:name> the first digits."""
        if isinstance(value, dict):
            return {self.fill(key): self.fill(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.fill(one) for one in value]
        if not isinstance(value, str):
            return value
        value = re.sub(r"<short:([\w.-]+)>", lambda found: str(self.kept[found[1]])[:SHORT_DIGITS], value)
        return re.sub(r"<([\w:.-]+)>", lambda found: str(self.kept.get(found[1], found[0])), value)

    def member(self, role):
        return self.members.get(role) or self.team[role]

    def client(self, kind, role, make):
        member = self.member(role)
        if (kind, member.access_key) not in self.clients:
            self.clients[kind, member.access_key] = make(member)
        return self.clients[kind, member.access_key]

    def ask(self, role, method, path, of_repo=True, **options):
        """A request to REST as it is."""
        rest = self.client("rest", role, clients.Rest)
        options = {name: one if name in ("data", "raw") else self.fill(one) for name, one in options.items()}
        got = rest(method, (self.base if of_repo else "") + self.fill(path), **options)
        return self.note(Answer(got.status_code, got.text))

    def must(self, role, method, path, **options):
        answer = self.ask(role, method, path, **options)
        assert answer.status < 300, (role, method, path, options, answer)
        return answer.json() if answer.text.startswith(("{", "[")) else None

    def s3(self, role, operation, **arguments):
        s3 = self.client("s3", role, clients.boto3_client)
        try:
            getattr(s3, operation)(Bucket=self.repo, **self.fill(arguments))
        except ClientError as error:
            return self.note(Answer(error.response["ResponseMetadata"]["HTTPStatusCode"], json.dumps(error.response["Error"])))
        return self.note(Answer(200, ""))

    def tarn(self, role, *words):
        """The command, whatever its exit status."""
        cli = self.client("tarn", role, lambda member: command.Cli(member, self.scratch / member.name, self.repo))
        ended = subprocess.run(
            [servers.program("tarn"), *[self.fill(str(word)) for word in words]],
            env=cli.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        text = (ended.stdout or ended.stderr).decode(errors="replace")
        return self.note(Answer(200 if ended.returncode == 0 else 0, text, ended.returncode))

    def note(self, answer):
        self.answers.append(answer)
        return answer

    # The state that users can see.

    def look(self, path):
        """(status, text) of what the administrator reads: thousands of times, so without the checks of other requests."""
        for fresh in (False, True):  # the server may have closed the connection meanwhile
            if fresh:
                self.clients.pop(("look", self.member("admin").access_key)).close()
            line = self.client("look", "admin", lambda member: http.client.HTTPConnection(member.url.removeprefix("http://")))
            try:
                line.request("GET", f"/api/v1{self.base}{self.fill(path)}", headers=authorization(self.member("admin")))
                answer = line.getresponse()
                return answer.status, answer.read().decode()
            except (http.client.HTTPException, ConnectionError):
                if fresh:
                    raise
        return None

    def see(self, path):
        status, text = self.look(path)
        assert status == 200, (path, status, text)
        return json.loads(text)

    def promotion(self, id):
        return self.see(f"/promotions/{id}")

    def settled(self, id):
        """The promotion once it has ended, or waits and has looked at all that was said of it."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            found = self.promotion(id)
            if found["state"] in ENDED or (found["state"] in WAITS and self.has_looked(found)):
                self.keep("main", self.see("/branches/main")["commit_id"])
                return found
            assert time.monotonic() < deadline, found
            time.sleep(POLL_SECONDS)

    @staticmethod
    def has_looked(promotion):
        looked = promotion.get("evidence", {"candidates": []})["candidates"]
        said = {(one["user"], one["commit"]) for one in promotion["approvals"]}
        for candidate in looked:
            said -= {(one["user"], one["commit"]) for one in candidate["approvals"]}
        # Each candidate lists the reports of all commits.
        return not said and len(promotion["checks"]) <= max((len(one["checks"]) for one in looked), default=0)

    def seen(self):
        """Everything that nobody may move but a promotion that the gate let pass."""
        status, text = self.look("/branches/main")
        aliases = self.see("/aliases")["results"]
        return {
            "head": json.loads(text)["commit_id"] if status == 200 else None,
            "staged": self.see("/branches/main/diff")["results"] if status == 200 else None,
            "objects": self.objects("main") if status == 200 else None,
            "aliases": {one["id"]: one["commit_id"] for one in aliases},
            "log": {alias: self.alias_log(alias) for alias in {"champion", *(one["id"] for one in aliases)}},
            "policies": [(one["name"], one["version"]) for one in self.see("/policies")["results"]],
        }

    def objects(self, ref):
        listed = self.see(f"/refs/{ref}/objects/ls?amount=1000")
        return {one["path"]: (one["checksum"], one["size_bytes"], one["physical_address"]) for one in listed["results"]}

    def alias_log(self, alias):
        status, text = self.look(f"/aliases/{alias}/history")
        return json.loads(text)["results"] if status == 200 else []

    def read(self, ref, path):
        got = self.client("rest", "admin", clients.Rest)("GET", f"{self.base}/refs/{ref}/objects", params={"path": path})
        assert got.status_code == 200, (ref, path, got.text)
        return got.content

    def check_evidence(self, id):
        """It is of this promotion, and what is stored of its digest fits what is served."""
        _, text = self.look(f"/promotions/{id}")
        promotion = json.loads(text)
        if "evidence" not in promotion:
            return promotion
        raw = text[text.index('"evidence":') + len('"evidence":') : text.rindex(',"evidence_digest"')]
        assert json.loads(raw)["promotion"] == id
        assert hashlib.sha256(raw.encode()).hexdigest() == promotion["evidence_digest"]
        if promotion["state"] == "promoted" and promotion.get("alias") and "undoes" not in promotion:
            [change] = [one for one in self.alias_log(promotion["alias"]) if one["promotion_id"] == id]
            assert change["to_commit_id"] == promotion["result"]
            assert change["evidence"] == promotion["evidence_digest"]
        return promotion
