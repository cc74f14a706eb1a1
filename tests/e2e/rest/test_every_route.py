"""Every operation that docs/api/openapi.yaml describes with every parameter, every two of them, and hostile page tokens, as an
administrator and as a viewer, over a repository that has something of everything.

No answer is a fault of the server, and the process lives on. The cases are made from the description, so a new operation or
parameter is covered once it stands there.
"""

import base64
import itertools
import json
import random
import re
import time
import urllib.parse

import clients
import openapi
import pytest
import servers
from long_tests import LONG
from not_yet import REFUSED
from test_bad_bodies import World, good, resolved

GATE = "name: gate\ndestination: main\ncandidates: '*'\nmetrics:\n  - {name: accuracy, goal: max, min: 0.1, primary: true}\n"
HOOK = b"name: look\non:\n  pre-commit:\n    branches: [hooked]\nhooks:\n  - id: pass\n    type: lua\n    properties:\n      script: |\n        print('x')\n"

# Values of parameters whose type does not tell a correct one; by name, or by operation and name.
VALUES = {
    "since": "2020-01-01T00:00:00Z",
    "until": "2099-01-01T00:00:00Z",
    "glob": "**",
    "where": "size > 0",
    "sort": "size desc",
    "searchRefs.repository": "every-route",
    "listExperimentRuns.where": "metrics.accuracy > 0",
    "listExperimentRuns.order": "metrics.accuracy desc",
    "modified_after": "1",
    "modified_before": "4102444800",
    "wait": "0s",
    "delimiter": "/",
    "prefix": "a",
    "search": "e",
    "metadata": "k=v",
    "listUsageHistory.after": "2020-01-01",
    "amount": "1",
    "Range": "bytes=0-0",
    "grace": "1h",
    "min_size": "0",
    "max_size": "1000000",
    "stop_at": "main~1",
    "If-None-Match": "*",
    "after": "a",
    "metric": "accuracy",
    "column": "metrics.accuracy",
    "destination": "main",
    "Prefer": "wait=0",
    "location": "a/",
    "user": "every-route",
    "branch": "main",
    "branches": "main",
    "Idempotency-Key": "k",
    "ref": "main",
    "objects": "a/b",
    "prefixes": "a/",
    "experiment": "trees",
    "name": "accuracy",
    "source": "api",
    "content_type": "*",
    "seen": "1",
    "version": "1",
    "parts": "1",
    "days": "1",
    "path": "a/b",
    "copyObject.dest_path": "copied",
    "storageClass": "STANDARD",
    "message": "m",
    "committer": "admin",
}
BODIES = {
    "putWebhook": {"url": "http://127.0.0.1:9/"},
    "mergeIntoBranch": {},
    "createPromotion": {"candidates": ["dev"], "destination": "main"},
    "compareCandidates": {"candidates": ["dev"]},
    "evaluateGatePolicy": {"candidates": ["dev"]},
    "recordRun": {"commit": "c" * 64},
    "updateExperimentRun": {},
    "startRun": {},
    "logRunSteps": {},
    "endRun": {"state": "failed"},
    "setGatePolicy": GATE,
    "uploadObject": "bytes",
    "updateObjectUserMetadata": {"set": {"k": "v"}},
    "resetBranch": {"type": "reset"},
    "setQuota": {"limits": {"bytes": {"hard": 1 << 40}}},
    "setUserQuota": {"user": "every-route", "limits": {"bytes": {"hard": 1 << 40}}},
    "expireCommit": {"ref": "dev", "reason": "r"},
    "addHold": {"ref": "dev", "reason": "r"},
    "archivePaths": {"paths": ["a/b"]},
    "deleteObjects": {"paths": ["gone"]},
    "moveObjects": {"src_prefix": "none/", "dest_prefix": "other/"},
    "acceptInvitation": {"token": "x"},
    "login": {"access_key_id": "x", "secret_access_key": "y"},
    "checkoutPath": {"ref": "dev", "paths": ["a/**"]},
    "setup": {"username": "x"},
    "undeleteRepository": {},
    "startVerification": {},
    "requestGarbageCollection": {},
    "setBranchCleanup": {"rules": []},
}
# Lists that stay empty here, with the reason.
EMPTY = {
    "listDeletedRepositories": "the deletion comes last",
    "listPlannedObjects": "no object waits for a collection",
    "planGarbageCollection": "as listPlannedObjects",
    "listStaleBranches": "all are new",
    "listInvitations": "a list of one at most",
    "listUserExternalPrincipals": "made by a later request",
    "listMergeConflicts": "the branches do not conflict",
    "listServers": "a server alone keeps no list",
    "listExpiries": "nothing has expired",
    "listEvaluations": "no policy has one",
    "getMetricSeries": "the run has no curve",
    "listMetricSeries": "as getMetricSeries",
    "listWebhookDeliveries": "its receiver is not there",
    "verifyImport": "an empty list is the good answer",
    "listUsageHistory": "the job that adds a day looks once a minute",
}
PATIENCE_SECONDS = 60
LAST = ("deleteCredentials", "deleteUser", "deleteGroup", "deletePolicy", "deleteBranch", "deleteTag", "deleteRepository")


class FullWorld(World):
    """A repository that has something of everything, and a viewer."""

    def __init__(self, tarn):
        super().__init__(tarn, "every-route")
        name = self.name
        for path in ("a/b", "a/c", "_lakefs_actions/look.yaml"):
            data = HOOK if path.startswith("_") else path.encode()
            self.done("POST", f"{self.base}/branches/main/objects?path={path}", data=data, headers={"x-lakefs-meta-k": "v"})
        self.done(
            "POST", f"{self.base}/branches/main/commits", json={"message": "m", "metadata": {"metric.accuracy": "0.9", "k": "v"}}
        )
        self.done("POST", f"{self.base}/branches", json={"name": "hooked", "source": "main"})
        self.done("POST", f"{self.base}/branches/hooked/objects?path=a/d", data=b"d")
        self.done("POST", f"{self.base}/branches/hooked/commits", json={"message": "m"})
        self.done("POST", f"{self.base}/branches/main/objects?path=a/staged", data=b"staged")
        self.done("POST", f"{self.base}/tags", json={"id": "v1", "ref": "main"})
        self.done("POST", f"{self.base}/aliases/champion:set", json={"to": "main"})
        self.done("PUT", f"{self.base}/policies/gate", data=GATE.encode())
        self.done("PUT", f"{self.base}/webhooks/deploy", json={"url": "http://127.0.0.1:9/"})
        head = self.done("GET", f"{self.base}/branches/main")["commit_id"]
        self.done("POST", f"{self.base}/experiments/trees/runs", json={"commit": head, "metrics": {"accuracy": 0.9}})
        self.done("PUT", f"{self.base}/quotas", json={"limits": {"bytes": {"hard": 1 << 40}}})
        self.done("PUT", "/quotas", json={"user": name, "limits": {"bytes": {"hard": 1 << 40}}})
        self.done("POST", f"{self.base}/gc/holds", json={"ref": "main", "reason": "r"})
        self.done("POST", f"{self.base}/gc/runs", json={})
        self.done("PUT", f"/auth/groups/Viewers/members/{name}")
        self.done("PUT", f"/auth/groups/{name}/members/{name}")
        self.done("PUT", f"/auth/users/{name}/policies/{name}")
        self.done("PUT", f"/auth/groups/{name}/policies/{name}")
        key = self.done("POST", f"/auth/users/{name}/credentials")
        viewer = type("Viewer", (), {"url": tarn.url, "access_key": key["access_key_id"], "secret_key": key["secret_access_key"]})
        self.users = {"admin": self.rest, "viewer": clients.Rest(viewer)}
        pull = self.done("POST", f"{self.base}/pulls", json={"title": "t", "source_branch": "dev", "destination_branch": "main"})
        self.done("POST", "/auth/users", json={"id": "every-approver"})
        self.done("PUT", "/auth/groups/Admins/members/every-approver")
        key = self.done("POST", "/auth/users/every-approver/credentials")
        approver = type(
            "Approver", (), {"url": tarn.url, "access_key": key["access_key_id"], "secret_key": key["secret_access_key"]}
        )
        assert clients.Rest(approver)(
            "POST",
            f"{self.base}/pulls/{pull['id']}/approvals",
            json={"commit_id": self.done("GET", f"{self.base}/branches/dev")["commit_id"]},
        ).ok
        self.done("POST", f"{self.base}/pulls/{pull['number']}/comments", json={"body": "Why?"})
        promotion = self.done("POST", f"{self.base}/promotions", json={"candidates": ["dev"], "destination": "main"})
        verification = self.done("POST", f"{self.base}/verify", json={})
        self.rest("POST", f"{self.base}/branches/main/commits", json={"message": "m"}, headers={"Prefer": "wait=0"})
        commit = self.done("GET", f"{self.base}/refs/main/commits")["results"][0]
        runs = self.done("GET", f"{self.base}/actions/runs")["results"]
        first = lambda path: self.done("GET", path)["results"][0]  # noqa: E731
        self.values |= {
            "tag": "v1",
            "pull_request": pull["id"],
            "comment": "1",
            "promotion": promotion["id"],
            "verification": verification["id"],
            "leftRef": "main",
            "rightRef": "dev",
            "commitId": commit["id"],
            "type": "meta_range",
            "object_id": commit["meta_range_id"],
            "meta_range": commit["meta_range_id"],
            "range": commit["meta_range_id"],
            "accessKeyId": viewer.access_key,
            "run_id": runs[0]["run_id"],
            "hook_run_id": first(f"{self.base}/actions/runs/{runs[0]['run_id']}/hooks")["hook_run_id"],
            "hold": first(f"{self.base}/gc/holds")["id"],
            "operation": "x",
        }
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self.done("GET", f"{self.base}/gc/runs")["results"]:
            assert time.monotonic() < deadline, "no collection began"
            time.sleep(0.05)
        self.of_operation = {
            "getExperimentRun": first(f"{self.base}/runs")["id"],
            "updateExperimentRun": first(f"{self.base}/runs")["id"],
            "logRunSteps": self.done("POST", f"{self.base}/experiments/trees/start", json={})["id"],
            "endRun": self.done("POST", f"{self.base}/experiments/trees/start", json={})["id"],
            "getGarbageCollection": str(first(f"{self.base}/gc/runs")["run"]),
        }

    def done(self, method, path, **options):
        answer = self.rest(method, path, **options)
        assert answer.status_code < 300, f"{method} {path}: {answer.text}"
        return answer.json() if "json" in answer.headers.get("Content-Type", "") else None

    def ask(self, user, call, given=(), **more):
        """The answer to an operation with these (place, name, value) in addition to what it requires."""
        values = dict(self.values, run=self.of_operation.get(call.name, "x"), ref="main", branch="main")
        if call.name not in ("mergeIntoBranch", "listMergeConflicts", "findMergeBase"):
            values["sourceRef"] = "main"
        target = re.sub(r"\{(\w+)\}", lambda match: urllib.parse.quote(values.get(match[1], "x"), safe=""), call.path)
        pairs = [(name, call.value(name)) for place, name in call.required if place == "query"]
        pairs = [pair for pair in pairs if pair[0] not in [name for _, name, _ in given]]
        pairs += [(name, value) for place, name, value in given if place == "query"]
        headers = {"Content-Type": "application/json"} if isinstance(call.body, (dict, list)) else {}
        headers |= {name: value for place, name, value in given if place == "header"}
        data = json.dumps(call.body) if isinstance(call.body, (dict, list)) else call.body
        return self.users[user](call.method, target, params=pairs, data=data, headers=headers, **more)


class Call:
    """An operation of the description."""

    def __init__(self, method, path, operation, shared):
        self.name, self.method, self.path = operation["operationId"], method.upper(), path
        given = [
            openapi.DESCRIPTION["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p
            for p in [*shared, *operation.get("parameters", [])]
        ]
        self.schemas = {(p["in"], p["name"]): p["schema"] for p in given if p["in"] != "path"}
        self.required = [(p["in"], p["name"]) for p in given if p.get("required") and p["in"] != "path"]
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        self.body = BODIES.get(self.name, good(resolved(schema), (self.name,)) if schema else None)
        answer = operation["responses"].get("200", {}).get("content", {}).get("application/json", {}).get("schema", {})
        self.lists = "results" in resolved(answer).get("properties", {})

    def value(self, name):
        for known in (f"{self.name}.{name}", name):
            if known in VALUES:
                return VALUES[known]
        schema = next(schema for (_, known), schema in self.schemas.items() if known == name)
        schema = schema.get("items", schema)
        return schema["enum"][0] if "enum" in schema else {"boolean": "true", "integer": "1"}.get(schema["type"], "x")

    def combinations(self):
        """No parameter, each, and every two."""
        flags = [(place, name, self.value(name)) for place, name in self.schemas]
        yield ()
        for count in (1, 2):
            yield from itertools.combinations(flags, count)


def calls():
    """Reads first, then what changes something, and last what others need."""
    found = [
        Call(method, path, operation, members.get("parameters", []))
        for path, members in openapi.DESCRIPTION["paths"].items()
        for method, operation in members.items()
        if method != "parameters"
    ]
    rank = lambda call: LAST.index(call.name) + 2 if call.name in LAST else call.method not in ("GET", "HEAD")  # noqa: E731
    return sorted(found, key=rank)


@pytest.fixture
def server(scratch_dir, initialised_data):
    """Of one test alone, for every operation changes something that others would see."""
    made = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    yield made
    made.stop()


@pytest.fixture
def world(server):
    return FullWorld(server)


# Answered 501 with some header or member, which the description says.
PARTLY_SERVED = {"uploadObject", "linkPhysicalAddress", "createUser"}


def is_fault(call, answer):
    return answer.status_code >= 500 and not (answer.status_code == 501 and call.name in {*REFUSED, *PARTLY_SERVED})


PAGES = {"after", "marker"}
TOKENS = [
    "",
    "a",
    "\u00e4",
    "/",
    "%",
    "..",
    "-1",
    "0",
    "9" * 30,
    "null",
    "{}",
    "a" * 5000,
    "AQ",
    "AQAAAAAAAAAA",
    "====",
    "_-_-",
    "main/a",
    "2020-01-01",
    "evt_0",
    "f" * 64,
    "'; --",
    "\x7f",
    " ",
]


def spoiled(token, chance):
    """Mutations of a token that the server made."""
    yield token[:-1]
    yield token + "A"
    yield token[1:]
    for _ in range(40 if LONG else 8):
        at = chance.randrange(len(token))
        yield token[:at] + chance.choice("ABCabc019_-~") + token[at + 1 :]
    raw = (
        base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        if re.fullmatch(r"[\w-]+", token) and len(token) % 4 != 1
        else b""
    )
    for at in range(len(raw)):
        for byte in (b"\0", b"\xff", bytes([chance.randrange(256)])):
            yield base64.urlsafe_b64encode(raw[:at] + byte + raw[at + 1 :]).rstrip(b"=").decode()


def test_hostile_page_tokens_are_no_fault(server, world):
    chance, wrong, paged, forged = random.Random(7), [], 0, 0
    for call in calls():
        name = next((name for place, name in call.schemas if place == "query" and name in PAGES), None)
        if call.method != "GET" or name is None:
            continue
        paged += 1
        own = []
        asks = (("query", "prefix", "a"),) if call.name.startswith("search") else ()
        for sort in [asks, (*asks, ("query", "sort", "size desc"))] if ("query", "sort") in call.schemas else [asks]:
            answer = world.ask("admin", call, (*sort, ("query", "amount", "1")))
            if answer.ok and answer.json().get("pagination", {}).get("has_more"):
                own += [(sort, token) for token in spoiled(answer.json()["pagination"]["next_offset"], chance)]
        forged += len(own)
        for sort, token in [*((sort, token) for token in TOKENS for sort in {asks, *(sort for sort, _ in own)}), *own]:
            answer = world.ask("admin", call, (*sort, ("query", name, token)))
            if is_fault(call, answer):
                wrong.append(f"{call.name} {sort} {token[:60]!r}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)
    assert paged > 40 and forged > 200 and server.alive()


def test_no_flag_and_no_two_are_a_fault(server, world):
    wrong, full, asked, pids = [], set(), 0, server.pids()
    every = calls()
    for call in every:
        for given in call.combinations():
            for user in world.users:
                try:
                    answer = world.ask(user, call, given)
                except OSError as error:
                    pytest.fail(f"{call.name} {given} as {user}: {error}")
                asked += 1
                if is_fault(call, answer):
                    wrong.append(f"{call.name} {given} as {user}: {answer.status_code} {answer.text[:100]}")
                if call.lists and answer.status_code == 200 and answer.json()["results"]:
                    full.add(call.name)
    assert not wrong, "\n".join(wrong)
    assert server.alive() and server.pids() == pids
    assert {call.name for call in every if call.lists and call.method == "GET"} - full <= set(EMPTY)
    assert asked > 1500


# Members that hold a secret, or a URL that is one.
SECRET = re.compile(r"^(secret|secret_access_key|token|presigned_urls?)$")


def names_in(schema, seen=()):
    """The names of all members of a schema."""
    if "$ref" in schema:
        if schema["$ref"] in seen:
            return
        seen = (*seen, schema["$ref"])
    schema = resolved(schema)
    for name, member in schema.get("properties", {}).items():
        yield name
        yield from names_in(member, seen)
    for inner in ([schema["items"]] if "items" in schema else []) + schema.get("oneOf", []) + schema.get("allOf", []):
        yield from names_in(inner, seen)


def documents(operation):
    """The schemas of a request and its good answers."""
    for part in (
        operation.get("requestBody", {}),
        *(answer for status, answer in operation["responses"].items() if status < "3"),
    ):
        schema = part.get("content", {}).get("application/json", {}).get("schema")
        if schema:
            yield schema


def test_no_operation_with_secrets_is_stored(world):
    """The answer comes at once although the client would not wait, so that the table of operations holds none of it."""
    world.rest("POST", f"{world.base}/branches", json={"name": "deferred", "source": "main"})
    secret = {
        operation["operationId"]
        for members in openapi.DESCRIPTION["paths"].values()
        for method, operation in members.items()
        if method != "parameters" and any(SECRET.match(name) for schema in documents(operation) for name in names_in(schema))
    }
    assert {"putWebhook", "createCredentials", "createPresignMultipartUpload", "login"} <= secret
    for call in calls():
        presigns = ("query", "presign") in call.schemas
        if call.name in REFUSED or (call.name not in secret and not presigns):
            continue
        given = (("header", "Prefer", "wait=0"), *((("query", "presign", "true"),) if presigns else ()))
        answer = world.ask("admin", call, given)
        assert answer.status_code != 202, call.name
        assert "Preference-Applied" not in answer.headers, call.name


# Texts that are no number. A value of a metric may be a text, for some are NaN or infinite.
NO_NUMBERS = ["null", "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "true", "[]", "{}"]
NO_NUMBER_TEXTS = ['"1"', '"NaN"', '"x"', '""']
NO_PARAMETERS = ["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "null", "x", "1.5", "9" * 40, "0x1"]
# Bodies that have the numbers of an operation whose correct body has none.
WITH_NUMBERS = {
    "createPromotion": {
        "candidates": ["dev"],
        "destination": "main",
        "metrics": [{"name": "accuracy", "goal": "max", "min_delta": 0}],
    },
    "reportCheck": {"commit": "d" * 64, "status": "success", "metrics": {"x": 0}},
    "recordRun": {"commit": "c" * 64, "metrics": {"accuracy": 0}, "params": {"p": 0}},
    "startRun": {"params": {"p": 0}},
    "logRunSteps": {"params": {"p": 0}, "steps": [{"step": 1, "metrics": {"loss": 0}}]},
    "compareCandidates": {"candidates": ["dev"], "amount": 1},
    "setQuota": {"limits": {"bytes": {"soft": 1, "hard": 1}, "objects": {"soft": 1, "hard": 1}}},
    "setUserQuota": {"user": "every-route", "limits": {"bytes": {"soft": 1, "hard": 1}, "objects": {"soft": 1, "hard": 1}}},
    "evaluateGatePolicy": {"candidates": ["dev"], "version": 1},
    "requestGarbageCollection": {"yes_delete": 1},
    "setBranchCleanup": {"rules": [{"pattern": "x", "stale_days": 1, "expire_days": 1, "notice_days": 1}], "deletions_max": 1},
}
# Numbers that this server does not read: a value of another type changes nothing.
UNREAD = set()


def numbers(schema, value, way=()):
    """(way, whether a text may stand there) of every number of a body."""
    schema = resolved(schema)
    kinds = [resolved(one) for one in schema.get("oneOf", [schema])]
    if any(kind.get("type") in ("integer", "number") for kind in kinds):
        yield way, len(kinds) > 1
    for kind in kinds:
        if isinstance(value, dict):
            for name, inner in value.items():
                member = kind.get("properties", {}).get(name) or kind.get("additionalProperties")
                if isinstance(member, dict):
                    yield from numbers(member, inner, (*way, name))
        if isinstance(value, list) and value and "items" in kind:
            yield from numbers(kind["items"], value[0], (*way, 0))


def number_members(schema, seen=()):
    """The names of the members of a schema that are numbers."""
    if "$ref" in schema:
        if schema["$ref"] in seen:
            return
        seen = (*seen, schema["$ref"])
    schema = resolved(schema)
    inner = [("", one) for one in (*schema.get("oneOf", ()), *schema.get("allOf", ()))]
    inner += list(schema.get("properties", {}).items()) + ([("", schema["items"])] if "items" in schema else [])
    if isinstance(schema.get("additionalProperties"), dict):
        inner.append(("", schema["additionalProperties"]))
    for name, member in inner:
        if name and resolved(member).get("type") in ("integer", "number"):
            yield name
        yield from number_members(member, seen)


def with_text(body, way, text):
    """The body as JSON, with this text in the place of one value."""
    mark = "@number@"
    copy = json.loads(json.dumps(body))
    at = copy
    for step in way[:-1]:
        at = at[step]
    at[way[-1]] = mark
    return json.dumps(copy).replace(f'"{mark}"', text)


def test_every_number_of_a_body_is_finite_or_refused(world):
    wrong, tried = [], 0
    for path, members in openapi.DESCRIPTION["paths"].items():
        for method, operation in members.items():
            schema = method != "parameters" and operation.get("requestBody", {}).get("content", {}).get(
                "application/json", {}
            ).get("schema")
            if not schema or operation["operationId"] in REFUSED:
                continue
            call = Call(method, path, operation, members.get("parameters", []))
            body = WITH_NUMBERS.get(call.name, good(resolved(schema), (call.name,)))
            spots = list(numbers(schema, body))
            unseen = set(number_members(schema)) - {step for way, _ in spots for step in way}
            wrong += [f"{call.name}.{name}: stands in no body here" for name in unseen if name not in UNREAD]
            for way, may_be_text in spots:
                for text in NO_NUMBERS + ([] if may_be_text else NO_NUMBER_TEXTS):
                    if may_be_text and text == "true":
                        continue
                    call.body = with_text(body, way, text)
                    answer = world.ask("admin", call, (("header", "Content-Type", "application/json"),))
                    tried += 1
                    said = answer.json().get("message", "") if answer.status_code == 400 else ""
                    named = way[-1] if isinstance(way[-1], str) else way[-2]
                    if not any(word in said for word in (named, "not JSON", "out of range")):
                        wrong.append(f"{call.name}.{'.'.join(map(str, way))} = {text}: {answer.status_code} {answer.text[:120]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 300


def test_every_number_of_a_query_is_finite_or_refused(world):
    wrong, tried = [], 0
    for call in calls():
        if call.name in REFUSED:
            continue
        for (place, name), schema in call.schemas.items():
            if schema.get("type") not in ("integer", "number"):
                continue
            for text in NO_PARAMETERS:
                answer = world.ask("admin", call, ((place, name, text),))
                tried += 1
                if answer.status_code != 400:
                    wrong.append(f"{call.name} {name}={text[:20]}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 500
