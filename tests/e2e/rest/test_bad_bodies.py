"""Every field of every JSON body that docs/api/openapi.yaml describes, spoiled in every way: of a wrong type, missing,
huge, given twice. Each is answered 400 with the name of the field, nothing changes, and the server lives on.

The cases are made from the description, so a new operation is covered once it stands there; a value that a correct body
needs and that its type does not tell goes into GOOD.

Tried out: without the name check of Check::key in server/api/json/document.cc, without the type check of
Value::boolean, and with Value::at giving null for a member that is missing, the cases of that kind fail.
"""

import json
import re

import clients
import openapi
import pytest
from not_yet import NOT_YET, REFUSED

HUGE_TEXT = "h" * (1 << 20)
LONG_TEXT = "l" * 100_000  # no reader refuses it for its length alone, and no column or index may choke on it
HUGE_COUNT = 100_000

# Values of correct bodies, by operation and field or by field alone. They would change something if they got through.
GOOD = {
    "createRepository.name": "made-by-a-bad-body",
    "createRepository.default_branch": "main",
    "storage_namespace": "local://made-by-a-bad-body",
    "storage_id": "",
    "storageID": "",
    "source": "main",
    "ref": "main",
    "onto": "main",
    "name": "made",
    "id": "made-by-a-bad-body",
    "type": "reset",
    "importStart.paths.type": "object",
    "path": "kept",
    "importStart.paths.path": "local:///no/such",
    "src_path": "kept",
    "src_ref": "main",
    "physical_address": "local://x/y",
    "checkPermissions.checks.action": "fs:ReadObject",
    "importPreview.paths.type": "object",
    "importPreview.paths.path": "local:///no/such",
    "evaluateGatePolicy.version": 1,
    "resource": "*",
    "action": ["fs:ReadObject"],
    "condition": {"IpAddress": {"SourceIp": ["10.0.0.0/8"]}},
    "permission": "Read",
    "strategy": "source-wins",
    "checksum": "abc",
    "size_bytes": 1,
    "count": 1,
    "keys": ["k"],
    "date": 1700000000,
    "mtime": 1700000000,
    "parent_number": 1,
    "version": 0,
    "generation": 1,
    "email": "a@b.example",
    "range": "bytes=0-1",
    "updatePolicy.id": "bad-bodies",
    "expires": "72h",
    "commits_meta_range_id": "commits-x",
    "tags_meta_range_id": "tags-x",
    "branches_meta_range_id": "branches-x",
    "CreateCommitRecord.commit_id": "a" * 64,
    "metarange_id": "b" * 64,
    "parents": ["c" * 64],
    "creation_date": 1700000000,
    "event": "pre-commit",
    "runHooks.action": "none",
    "recordRun.source": {"git_sha": "abc", "ci_url": "http://ci.example/1", "user": "dana"},
    "startRun.source": {"git_sha": "abc", "ci_url": "http://ci.example/1", "user": "dana"},
    "compareCandidates.after": None,
    "recordRun.ref": "a" * 64,
    "recordRun.commit": None,
    "sha256": "e" * 64,
    "head": "f" * 64,
    "createPromotion.expect.destination": "d" * 64,
    "createPromotion.expect.alias": "d" * 64,
    "reportCheck.commit": "d" * 64,
    "createPromotion.candidates": ["dev"],
    "createPromotion.destination": "main",
    "createPromotion.paths": ["artifacts/**"],
    "createPromotion.method": "replace-paths",
    "approvePromotion.review_digest": "d" * 64,
    "setBranchCleanup.rules.expire_days": 30,
    "setBranchCleanup.rules.notice_days": 7,
    "setBranchCleanup.rules.stale_days": 14,
    "setBranchCleanup.deletions_max": 10,
    "setBranchCleanup.rules.pattern": "exp-*",
    "createPromotion.alias": "champion",
    "createPromotion.metrics": [],
    "createRepository.paths": "strict",
    "setPathSettings.paths": "strict",
}

WRONG = {
    "string": [1, 1.5, True, [], {}, ["x"]],
    "boolean": ["true", "", 1, 0, [], {}],
    "integer": ["1", 1.5, True, [], {}, 2**63, -(2**63) - 1, 10**30],
    "array": ["x", 1, True, {}, {"0": "x"}],
    "object": ["x", 1, True, [], [{}]],
}


def resolved(schema):
    if "$ref" in schema:
        return openapi.DESCRIPTION["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def operations():
    for path, members in openapi.DESCRIPTION["paths"].items():
        for method, operation in members.items():
            if method == "parameters":
                continue
            name = operation["operationId"]
            schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if schema is not None and 501 not in (NOT_YET.get(name), REFUSED.get(name)):
                yield pytest.param(method.upper(), path, operation, resolved(schema), id=name)


def good(schema, names):
    """A correct value of `schema`; `names` are the operation and the fields that lead to it."""
    schema = resolved(schema)
    for known in (".".join(names), names[-1]):
        if known in GOOD and len(names) > 1:
            return GOOD[known]
    kind = schema.get("type", "object")
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: good(member, (*names, name)) for name, member in schema.get("properties", {}).items()}
    return {
        "string": "text",
        "boolean": False,
        "integer": 1,
        "array": [good(schema["items"], names)] if "items" in schema else [],
    }[kind]


class Twice(dict):
    """An object one of whose members is written twice."""

    def __init__(self, members, name):
        super().__init__(members)
        self.name = name

    def items(self):
        return [*super().items(), (self.name, self[self.name])]


def replaced(value, way, new):
    """`value` with what lies behind the keys and indexes of `way` replaced by new(old)."""
    if not way:
        return new(value)
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[way[0]] = replaced(value[way[0]], way[1:], new)
    return copy


def without(name):
    return lambda members: {key: value for key, value in members.items() if key != name}


def cases(schema, body, way=(), names=()):
    """(what is spoiled, the fields that lead to it, the spoiled body) below `way`."""
    schema = resolved(schema)
    here = lambda new: replaced(body, way, lambda old: new)  # noqa: E731
    value = body
    for step in way:
        value = value[step]
    kind = schema.get("type", "object")
    lists = any(resolved(one).get("type") == "array" for one in schema.get("oneOf", ()))
    for wrong in WRONG[kind]:
        if lists and isinstance(wrong, list):
            continue
        yield f"{wrong!r:.40} for {kind}", names, here(wrong)
    if "enum" in schema:
        for wrong in ("", "nope", schema["enum"][0].upper()):
            yield f"{wrong!r} of enum", names, here(wrong)
    if kind == "array":
        count = max(HUGE_COUNT, schema.get("maxItems", 0) + 1)
        yield "huge array", names, here([value[0] if value else "x"] * count)
        if value:
            yield from cases(schema["items"], body, (*way, 0), names)
            yield "null in array", names, here([*value, None])
    elif kind == "string":
        yield "huge text", names, here(HUGE_TEXT)
        yield "NUL", names, here("a\0b")
    elif "properties" in schema:
        for name, member in schema["properties"].items():
            if name in schema.get("required", ()):
                yield "missing", (*names, name), replaced(body, way, without(name))
                yield "null", (*names, name), replaced(body, (*way, name), lambda old: None)
            yield "twice", (*names, name), replaced(body, way, lambda old, name=name: Twice(old, name))
            yield from cases(member, body, (*way, name), (*names, name))
    elif resolved(schema.get("additionalProperties", {})).get("type") == "string":
        for wrong in (1, None, True, {}, ["x"]):
            yield f"{wrong!r} in map", names, here({"k": wrong})
        yield "twice in map", (*names, "k"), here(Twice({"k": "v"}, "k"))
        yield "huge text in map", names, here({"k": HUGE_TEXT})
        yield "huge map", names, here({f"k{n}": "v" for n in range(HUGE_COUNT)})


def lookup(body, way):
    for step in way:
        body = body[step]
    return body


def long_texts(schema, body, way=(), names=()):
    """(the fields that lead to it, a body with one long text)."""
    schema = resolved(schema)
    long = lambda new: (names, replaced(body, way, lambda old: new))  # noqa: E731
    kind = schema.get("type", "object")
    if kind == "string":
        yield long(LONG_TEXT)
    elif kind == "array":
        if names[-1:] == ("metrics",) and not lookup(body, way):
            return  # those of a promotion exclude the method of the correct body
        yield from long_texts(schema["items"], replaced(body, way, lambda old: old[:1] or ["x"]), (*way, 0), names)
    elif "properties" in schema:
        for name, member in schema["properties"].items():
            yield from long_texts(member, body, (*way, name), (*names, name))
    elif kind == "object":
        yield long({"k": LONG_TEXT})
        yield long({LONG_TEXT: "v"})


NO_BODIES = [
    b"",
    b"{",
    b"[",
    b'"text"',
    b"1",
    b"null",
    b"\xff\xfe",
    b'{"a":1} x',
    b"{'a':1}",
    b'{"a":01}',
    b'{"a":1e999}',
    b'{"a":"\\ud800"}',
    b'{"a":"\xc3\x28"}',
    b"[" * 100_000,
]


class World:
    """A repository, a user, a group and a policy of one name, for the paths of all operations."""

    def __init__(self, tarn, name):
        self.rest, self.name, self.base = clients.Rest(tarn), name, f"/repositories/{name}"
        self.values = {
            "repository": name,
            "branch": "dev",
            "ref": "dev",
            "sourceRef": "dev",
            "destinationBranch": "main",
            "userId": name,
            "groupId": name,
            "policyId": name,
            "uploadId": "up",
            "partNumber": "1",
            "pull_request": "pull",
            "comment": "1",
            "alias": "champion",
            "promotion": "0" * 20,
            "check": "bench",
            "job": "0" * 64,
            "policy": "gate",
            "experiment": "trees",
            "run": "0" * 20,
            "webhook": "deploy",
            "delivery": "d",
            "run_id": "r",
        }
        self.last_state = None  # nobody but the tests of this file changes it
        self.query = {"path": "kept", "dest_path": "copied", "principalId": f"arn:{name}"}
        self.done("POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}"})
        for branch, path in (("main", "kept"), ("dev", "new")):
            if branch == "dev":
                self.done("POST", f"{self.base}/branches", json={"name": branch, "source": "main"})
            self.done("POST", f"{self.base}/branches/{branch}/objects?path={path}", data=path.encode())
            self.done("POST", f"{self.base}/branches/{branch}/commits", json={"message": "m"})
        self.done("POST", f"{self.base}/branches/dev/objects?path=staged", data=b"staged")
        self.done("POST", f"{self.base}/metadata", json={"metadata": {"k": "v"}})
        self.done("POST", "/auth/users", json={"id": name})
        self.done("POST", "/auth/groups", json={"id": name})
        statement = {
            "effect": "allow",
            "checkPermissions.checks.action": "fs:ReadObject",
            "importPreview.paths.type": "object",
            "importPreview.paths.path": "local:///no/such",
            "evaluateGatePolicy.version": 1,
            "resource": "*",
            "action": ["fs:ListObjects"],
        }
        self.done("POST", "/auth/policies", json={"id": name, "statement": [statement]})

    def done(self, method, path, **options):
        answer = self.rest(method, path, **options)
        assert answer.status_code < 300, answer.text

    def send(self, method, path, operation, body):
        target = re.sub(r"\{(\w+)\}", lambda match: self.values[match[1]], path)
        query = {
            parameter["name"]: self.query[parameter["name"]]
            for parameter in operation.get("parameters", [])
            if parameter.get("required") and parameter.get("in") == "query"
        }
        return self.rest(method, target, params=query, data=body, headers={"Content-Type": "application/json"})

    def state(self):
        """All that a body could have changed."""
        base, name = self.base, self.name
        paths = [
            "/repositories?amount=1000",
            f"{base}/metadata",
            f"{base}/branches",
            f"{base}/tags",
            f"{base}/refs/main/commits",
            f"{base}/refs/dev/commits",
            f"{base}/refs/main/objects/ls",
            f"{base}/refs/dev/objects/ls",
            f"{base}/branches/main/diff",
            f"{base}/branches/dev/diff",
            f"{base}/settings/branch_protection",
            f"{base}/settings/tag_protection",
            f"{base}/settings/gc_rules",
            "/auth/users?amount=1000",
            "/auth/groups?amount=1000",
            "/auth/policies?amount=1000",
            f"/auth/groups/{name}/acl",
            f"/auth/groups/{name}/policies",
            f"/auth/users/{name}/policies",
            f"/auth/users/{name}/external/principals/ls",
        ]
        return {path: self.stable(self.rest("GET", path)) for path in paths}

    @staticmethod
    def stable(answer):
        return answer.status_code, answer.json() if answer.ok else answer.headers["X-Tarn-Error"]

    def remove(self):
        self.done("DELETE", self.base)
        for kind in ("users", "groups", "policies"):
            self.done("DELETE", f"/auth/{kind}/{self.name}")


@pytest.fixture(scope="module")
def world(tarn):
    """Made once, for no case may change it."""
    made = World(tarn, "bad-bodies")
    yield made
    made.remove()


def complaint(case, names, answer):
    """The error in the answer to a spoiled body; "" = none."""
    message = answer.json().get("message", "") if answer.headers.get("Content-Type") == "application/json" else ""
    if answer.status_code == 413 and case.startswith("huge"):
        return ""
    if answer.status_code != 400:
        return f"{answer.status_code} {message[:100]}"
    # A value too large to be parsed at all is reported in the outermost field.
    named = names[-1:] + (names[:1] if case.startswith("huge") else ())
    if names and not any(field in message for field in named):
        return f"does not name {names[-1]}: {message[:100]}"
    return ""


@pytest.mark.parametrize("method, path, operation, schema", list(operations()))
def test_every_field_spoiled(tarn, world, method, path, operation, schema):
    name = operation["operationId"]
    send = lambda body: world.send(method, path, operation, body)  # noqa: E731
    spoiled = list(cases(schema, good(schema, (name,))))
    before, pids = world.last_state or world.state(), tarn.pids()
    wrong = []
    for case, names, value in spoiled:
        if why := complaint(case, names, send(json.dumps(value))):
            wrong.append(f"{'.'.join(names) or 'body'}, {case}: {why}")
    for text in NO_BODIES:
        if text or operation["requestBody"].get("required"):
            if why := complaint("no body" if len(text) < 1000 else "huge", (), send(text)):
                wrong.append(f"{text[:20]!r}: {why}")
    after = world.last_state = world.state()
    wrong += [f"changed {path}: {before[path]} -> {after[path]}"[:400] for path in before if before[path] != after[path]]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(spoiled)}:", *wrong])
    assert tarn.alive() and tarn.pids() == pids


def test_long_texts_choke_no_column(tarn):
    """Texts that the readers let through: they may be taken or refused, but never be too much for the server."""
    world = World(tarn, "long-texts")
    wrong = []
    for method, path, operation, schema in (parameters.values for parameters in operations()):
        name = operation["operationId"]
        for names, body in long_texts(schema, good(schema, (name,))):
            answer = world.send(method, path, operation, json.dumps(body))
            if answer.status_code == 501 and answer.headers["X-Tarn-Error"] == "unimplemented":
                break
            if answer.status_code >= 500 or len(answer.content) > 2 * len(LONG_TEXT):
                wrong.append(f"{name}.{'.'.join(names)}: {answer.status_code} {answer.text[:100]}")
    assert not wrong, "\n".join(wrong)
