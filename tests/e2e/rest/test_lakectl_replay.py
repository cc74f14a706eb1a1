"""Requests of lakectl 1.84, command by command, and the fields that it reads from each answer.

The commands stand in tests/fixtures/lakectl/*.yaml: one file is one repository's story. A command has
  run      the command line, for the reader
  config   how often it asks for the configuration first: 1 unless given; `local` commands do not ask
  needs    operations, or `presign`, that it is about; while the server does not serve one, the command is expected to
           end there with 501 (or, for presign, is left out, as lakectl would do by itself)
  steps    send (method and target), with json, text, form or headers; then gives (the status line that lakectl prints
           after an error and compares otherwise), reads (the fields it uses; others may be there), prints (the text of
           an error, or a plain body), lists (the only values of one field over the results, in order)
Tried out with other statuses, texts and fields in the files. $name is replaced; <kind> stands for a value of that kind, and <kind:name> keeps it as $name.
"""

import re
import string
import time
from pathlib import Path

import clients
import openapi
import pytest
import servers
import yaml

FIXTURES = sorted((servers.ROOT / "tests/fixtures/lakectl").glob("*.yaml"))
TABLE = (servers.ROOT / "docs/rest-compatibility.md").read_text()
UNSERVED = set(re.findall(r"^\| (\w+) \|.*\| 501 \|$", TABLE, re.M))

KINDS = {
    "id": r"[0-9a-f]{64}",
    "checksum": r"[0-9a-f]{32}",
    "address": r"\w+://.*/data/[0-9a-v]{20}/[0-9a-v]{20}(,.*)?",
    "text": r"(?s).+",
    "any": r"(?s).*",
    "key": r"AKIA[IJ][A-Z0-9]{14}Q",
    "secret": r"[A-Za-z0-9/+]{40}",
    "uuid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "date": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
}
TOKEN = re.compile(r"<(\w+)(?::(\w+))?>")
POLLS_MAX = 200


def matches(expected, actual, names):
    """The differences, as a text; "" = none. Keeps the values of <kind:name> in `names`."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{actual!r} is no object"
        wrong = [
            f"{key}: {why}"
            for key, value in expected.items()
            if (why := matches(value, actual[key], names) if key in actual else "is missing")
        ]
        return "; ".join(wrong)
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{actual!r} instead of {len(expected)} items"
        return "; ".join(why for e, a in zip(expected, actual, strict=True) if (why := matches(e, a, names)))
    token = TOKEN.fullmatch(expected) if isinstance(expected, str) else None
    if token is None:
        expected = string.Template(expected).substitute(names) if isinstance(expected, str) else expected
        return "" if type(actual) is type(expected) and actual == expected else f"{actual!r} instead of {expected!r}"
    kind, name = token.groups()
    if kind == "boolean":
        fits = isinstance(actual, bool)
    elif kind in ("int", "time"):
        fits = type(actual) is int and (kind == "int" or abs(actual - time.time()) < 86400)
    else:
        fits = isinstance(actual, str) and re.fullmatch(KINDS[kind], actual)
    if name:
        names[name] = actual
    return "" if fits else f"{actual!r} is no {kind}"


def filled(value, names):
    if isinstance(value, dict):
        return {filled(key, names): filled(member, names) for key, member in value.items()}
    if isinstance(value, list):
        return [filled(item, names) for item in value]
    return string.Template(value).substitute(names) if isinstance(value, str) else value


class Replay:
    def __init__(self, tarn, names):
        self.tarn, self.names = tarn, names
        self.rest = clients.Rest(tarn)
        self.rest.session.headers.update({"User-Agent": "lakectl/1.84.0/linux/amd64", "Accept-Encoding": "gzip", "Accept": None})

    def command(self, command):
        for _ in range(command.get("config", 1)):
            answer = self.rest("GET", "/config")
            assert answer.status_code == 200
            assert answer.json()["version_config"].get("version_context", "") in ("", "lakeFS")
            storage = answer.json()["storage_config"]
        if command.get("config", 1):
            event = {"class": "lakectl", "name": command["run"].split(" lakefs")[0], "count": 1}
            assert self.rest("POST", "/statistics", json={"events": [event]}).status_code == 204
        needs = command.get("needs", [])
        if "presign" in needs and not storage["pre_sign_support"]:
            return
        if "multipart" in needs and not storage["pre_sign_multipart_upload"]:
            return
        for step in command["steps"]:
            if self.step(step, UNSERVED.intersection(needs)):
                return

    def request(self, step):
        method, target = filled(step["send"], self.names).split(" ", 1)
        headers = filled(step.get("headers", {}), self.names)
        rest = self.rest
        if step.get("credentials") == "wrong":
            stranger = type("Stranger", (), {"url": self.tarn.url, "access_key": "AKIANOBODY", "secret_key": "wrong"})
            rest = clients.Rest(stranger)
        if "json" in step:
            return rest(method, target, json=filled(step["json"], self.names), headers=headers)
        if "form" in step:
            headers["Content-Type"] = "multipart/form-data; boundary=replayed"
            text = (
                f"--replayed\r\nContent-Disposition: {step['form']}\r\nContent-Type: {step.get('type', 'application/octet-stream')}"
                f"\r\n\r\n{step['text']}\r\n--replayed--\r\n"
            ).encode()
            # Through a pipe, hence without a length.
            return rest(method, target, data=iter([text[:40], text[40:]]), headers=headers)
        if target.startswith("http"):
            return rest.session.request(
                method, target, data=step.get("text", "").encode(), timeout=60, headers={"Authorization": None, **headers}
            )
        return rest(method, target, headers=headers, data=step.get("text"))

    def step(self, step, unserved):
        """Whether the command ends here."""
        answer = self.request(step)
        where = f"{step['send']}: {answer.status_code} {answer.text[:300]}"
        operation = openapi.operation_of(answer.request.method, answer.request.path_url.split("?")[0][len(openapi.BASE) :])
        if operation and operation["operationId"] in unserved:
            assert answer.status_code == 501 and answer.json()["message"].startswith("Not Implemented"), where
            return True
        for _ in range(POLLS_MAX):
            if "until" not in step or not matches(step["until"], answer.json(), self.names):
                break
            time.sleep(0.05)
            answer = self.request(step)
        assert f"{answer.status_code} {answer.reason}" == step["gives"], where
        if answer.status_code >= 400 and answer.headers.get("Content-Type") == "application/json" and "prints" in step:
            wrong = matches(step["prints"], answer.json()["message"], self.names)
        else:
            wrong = matches(step["prints"], answer.text, self.names) if "prints" in step else ""
        assert not wrong, f"{where}\n{wrong}"
        if "reads" in step:
            assert "json" in answer.headers["Content-Type"], where
            wrong = matches(step["reads"], answer.json(), self.names)
            assert not wrong, f"{where}\n{wrong}"
        for field, values in step.get("lists", {}).items():
            found = [item.get(field) for item in answer.json()["results"]]
            wrong = matches(values, found, self.names)
            assert not wrong, f"{where}\n{wrong}"
        for header, value in step.get("answers", {}).items():
            wrong = matches(value, answer.headers.get(header), self.names)
            assert not wrong, f"{where}\n{header}: {wrong}"
        return False


@pytest.mark.parametrize("story", FIXTURES, ids=lambda path: path.stem)
def test_lakectl(tarn, name, story):
    source = tarn.import_root / name
    source.mkdir()
    for text in ("one", "two"):
        (source / text).write_text(text)
    replay = Replay(
        tarn, {"repo": name[:40].strip("-") + name[-13:], "name": name, "url": tarn.url, "source": f"local://{source}"}
    )
    commands = yaml.safe_load(Path(story).read_text())
    for command in commands:
        try:
            replay.command(command)
        except AssertionError as error:
            raise AssertionError(f"{command['run']}: {error}") from None


def test_every_row_has_a_command():
    """The verbs of lakectl that ask the server, each replayed somewhere."""
    verbs = """--version|doctor|identity|repo create|repo create-bare|repo list|repo delete|branch create|branch delete|
        branch list|branch show|branch reset|branch revert|cherry-pick|commit|diff|merge|find-merge-base|log|show commit|
        tag create|tag list|tag show|tag delete|annotate|branch-protect list|branch-protect add|branch-protect delete|
        gc get-config|gc set-config|gc delete-config|gc prepare-async|gc check-async|fs ls|fs stat|fs cat|fs presign|fs rm|
        fs stage|fs update-metadata|fs upload|fs download|import|local init|local clone|local status|local pull|
        local checkout|local commit|actions runs list|actions runs describe|auth users list|auth users create|
        auth users delete|auth users credentials|auth users groups|auth users policies|auth users aws-iam|auth groups create|
        auth groups members|auth groups policies|auth groups acl|auth groups delete|auth policies create|auth policies show|
        auth policies list|auth policies delete|refs-dump|refs-restore|usage summary|bisect start|abuse"""
    lines = [command["run"] for story in FIXTURES for command in yaml.safe_load(story.read_text())]
    absent = [verb for verb in re.split(r"\|\s*", verbs) if not any(line.startswith(f"lakectl {verb}") for line in lines)]
    assert not absent
