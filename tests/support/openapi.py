"""Holds every answer of the REST API against docs/api/openapi.yaml, whichever Python client asked.

check_all_answers() hooks into `requests` and into lakefs-sdk; from then on an answer that is not as described fails
the test that got it. `seen` counts what was answered: {(operation, status): times}."""

import collections
import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import jsonschema
import lakefs_sdk.rest
import requests
import yaml

BASE = "/api/v1"
# libyaml takes a tenth of the time, and every process of a run reads it.
DESCRIPTION = yaml.load((Path(__file__).resolve().parents[2] / "docs/api/openapi.yaml").read_text(), yaml.CSafeLoader)

seen = collections.Counter()


def _nullable(schema):
    """OpenAPI 3.0's "nullable" as JSON Schema has it."""
    if isinstance(schema, dict):
        out = {key: _nullable(value) for key, value in schema.items() if key != "nullable"}
        if schema.get("nullable"):
            out["type"] = [out["type"], "null"]
        return out
    return [_nullable(item) for item in schema] if isinstance(schema, list) else schema


COMPONENTS = _nullable(DESCRIPTION["components"])


def _operations():
    """Literal segments win over {names}, as in the server."""
    found = []
    for path, members in DESCRIPTION["paths"].items():
        pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
        for method, operation in members.items():
            if method != "parameters":
                found.append((path.count("{"), method.upper(), pattern, operation))
    return sorted(found, key=lambda item: item[0])


OPERATIONS = _operations()


def operation_of(method, path):
    for _, known, pattern, operation in OPERATIONS:
        if known == method and pattern.fullmatch(path):
            return operation
    return None


def check(method, url, status, headers, body):
    """Raises AssertionError when the answer is not as described."""
    path = urlsplit(url).path
    if not path.startswith(BASE + "/"):
        return
    operation = operation_of(method, path[len(BASE) :])
    if operation is None:
        assert status in (400, 401, 404), f"{method} {path}: {status} from an operation that is not described"
        return
    name = operation["operationId"]
    seen[name, status] += 1
    described = operation["responses"].get(str(status))
    if status == 202 and "/operations/" in headers.get("Location", ""):  # the client preferred not to wait
        described = operation_of("GET", "/operations/x")["responses"]["200"]
    if described is None:
        assert status >= 400, f"{name}: {status} is not described"
        described = operation["responses"]["default"]
    if "$ref" in described:
        described = COMPONENTS["responses"][described["$ref"].rsplit("/", 1)[1]]
    content = described.get("content")
    if method == "HEAD" or status == 304:
        assert not body, f"{name}: a body with {method} {status}"
        return
    if content is None:
        assert not body, f"{name}: {status} has a body: {body[:100]!r}"
        return
    schema = content.get("application/json", {}).get("schema")
    if headers.get("Content-Type", "").startswith("application/json") and schema:
        document = json.loads(body)
        try:
            jsonschema.Draft202012Validator({**_nullable(schema), "components": COMPONENTS}).validate(document)
        except jsonschema.ValidationError as error:
            raise AssertionError(f"{name}: {status}: {error.json_path}: {error.message}") from None
    elif not (headers.get("Content-Type", "").startswith("text/plain") and "text/plain" in content):
        assert "application/json" not in content, f"{name}: {status} is {headers.get('Content-Type')}, not JSON"


def check_all_answers():
    plain_send = requests.Session.send

    def send(session, request, **options):
        answer = plain_send(session, request, **options)
        body = b"" if options.get("stream") else answer.content
        if not options.get("stream"):
            check(request.method, request.url, answer.status_code, answer.headers, body)
        return answer

    requests.Session.send = send
    plain_request = lakefs_sdk.rest.RESTClientObject.request

    def request(client, method, url, *arguments, **options):
        if url.split("?")[0].endswith("/objects") and "presign=true" in urlsplit(url).query.lower():
            # It follows the redirect, so the answer is the store's.
            return plain_request(client, method, url, *arguments, **options)
        try:
            answer = plain_request(client, method, url, *arguments, **options)
        except lakefs_sdk.ApiException as error:
            if error.status:
                body = error.body.encode() if isinstance(error.body, str) else error.body or b""
                check(method, url, error.status, error.headers, body)
            raise
        if options.get("_preload_content", True):
            check(method, url, answer.status, answer.getheaders(), answer.data)
        return answer

    lakefs_sdk.rest.RESTClientObject.request = request
