"""Replays tests/golden/rest.yaml: what a lakeFS answered, and where Tarn answers otherwise on purpose.

A scenario has a repository of its own ({R}, its path {P}) and makes its requests in order; those under `given` only
prepare. `answer` names the members that must be there (`exact`: no others), `text` a body that is not JSON,
`headers_out` headers (null: absent). Text that begins with ~ is a regular expression, or one of ~str, ~int, ~bool.
`keep` keeps members for later requests; `until` repeats the request until that member is true. `tarn` is what Tarn
answers instead, `because` why: the last section of docs/rest-compatibility.md is made of these (`pytest tests/e2e
--write-coverage`), behind what `tarnd --print-rest-table` prints."""

import base64
import json
import re
import string
import time
from pathlib import Path

import pytest
import requests
import yaml

ROOT = Path(__file__).resolve().parents[3]
SCENARIOS = yaml.load((ROOT / "tests/golden/rest.yaml").read_text(), yaml.CSafeLoader)
REPLAYED = [scenario for scenario in SCENARIOS if "replay" in scenario]
ROWS = 146
UNTIL_SECONDS = 30
PAGE = ROOT / "docs/rest-compatibility.md"
BEGIN = "\n## Answers that differ from lakeFS\n"
HEAD = """
<!-- Generated from tests/golden/rest.yaml: `pytest tests/e2e --write-coverage`. -->

Requests whose answer was recorded from a lakeFS (community edition) and that Tarn answers otherwise, on purpose.
Messages differ in wording where no client reads them. `{P}` is the path of a repository.

| request | lakeFS | Tarn | why |
|---|---|---|---|
"""
BOTH_DOORS = """
### Objects written over S3

| what | lakeFS | Tarn | why |
|---|---|---|---|
| metadata `color` of a PUT over S3 | `X-Amz-Meta-color` over REST | `color` | one name for one thing; both keep it in lower case |
| metadata `color` set over REST | not shown over S3 | `x-amz-meta-color` over S3 | as above |
| metadata `X-Amz-Meta-color` set over REST, or in entries that a lakeFS wrote | `x-amz-meta-color` over S3 | the same; REST shows the name as it was set | a lakeFS that is moved here keeps its metadata over S3 |
"""
OTHERS = """
### Details

| what | lakeFS | Tarn | why |
|---|---|---|---|
| `content_type` of a new object whose request has none, or `application/octet-stream` | `application/octet-stream` | that of the path's extension, where it has a known one; over S3 `binary/octet-stream`, as there | clients send this type of files that they do not know; a preview, a search and a browser need the real one |
| `physical_address_expiry` and `presigned_url_expiry`, a local store | absent | when the URL ends | these URLs end like all others, and a client that keeps one has to know |
| source_ref and commit_id of delete-branch events | source_ref is the head | both are | events of tags name both |
| action files that are staged on the source of a new branch | asked | not asked | the branch begins at the commit; looking there would cost every new branch a statement |
"""
PERMISSIONS = """
### Permissions

Requests that need more than lakeFS asks for.

| request | lakeFS | Tarn | why |
|---|---|---|---|
| stageObject, an address outside the repository's namespace | fs:WriteObject | also fs:ImportFromStorage on the address | the server's credentials reach more than a user may read |
| stageObject, an address in the repository's namespace | fs:WriteObject | also fs:ReadObject on `repository/NAME/object/*`, denied nowhere in it | a listing shows addresses of objects that the user may not read |
| linkPhysicalAddress | any address | one that getPhysicalAddress gave this user; 400 for others | as for stageObject |
| linkPhysicalAddress | nothing need be there | 400 until the bytes were sent, and when they have another size or MD5 than the request says; the checksum is of the bytes, or on an S3 store its ETag, also where the request has another | what is linked is what was sent; on an S3 store reads compare its ETag |
| stageObject, an address in the repository's namespace | size and checksum of the request | those of the object there, which is read unless an S3 store states this ETag; 400 where nothing is | a claim would hide changed bytes from diffs, merges and gates |
| getMetaRange, getRange, getMetadataObject | fs:ListObjects, fs:ReadRepository | also fs:ReadObject on `repository/NAME/object/*`, denied nowhere in it, and no denial of fs:ListObjects on a ref | the files name every path of a commit |
| CreateCommitRecord | fs:CreateCommit | also fs:UpdateRepository | the record says who made a commit |
| any that changes a file below `_lakefs_actions/` but a commit of what is staged, over S3 too | as for other files | also fs:WriteHooks on the repository | hooks act as the user who sets them off |
| `lakefs.*` in scripts of hooks | every repository | the hook's own, and those that `hooks.repositories` gives | as above |
| `{{ ENV.LAKEFSACTION_NAME }}` in action files | every repository | those that `hooks.variables` names | a branch's writer could send any secret of the server away |
| `script_path` of a hook | any object | one below `_lakefs_actions/` | the others are not kept by fs:WriteHooks |
| cherryPick of a commit with metadata `metric.*` or `param.*` | kept | dropped | they are measured of another tree |
| importStart, a prefix | fs:WriteObject on the destination's name, fs:CreateCommit, fs:ImportFromStorage | also fs:WriteObject and fs:DeleteObject on all that is below the destination; no denial of a part of it, nor of a part of the source; a source without a slash at its end needs fs:ImportFromStorage on every name that begins so | it replaces and removes what is there, and the keys are known only later |
| createBranch, createTag, setAlias, mergeIntoBranch, mergePullRequest, hardResetBranch, revertBranch, cherryPick, commit with parents or a metarange, createPromotion | nothing on the source | what the caller may list and read at the destination they must be allowed to list and read at the source; only policies that name refs (`repository/NAME/ref/...`) make a difference | else a policy that is limited to refs holds nobody back |
| any request with `force` on a read-only repository | the request's own | also fs:UpdateRepository | writing there is for those who may change the repository |
| createPolicy, updatePolicy with a denial of fs:ReadObject or fs:ListObjects on some refs | - | 400 | the same commits have other names |
"""


def filled(value, known):
    """`value` with {names} replaced, at any depth; a text that is one name alone may become a list."""
    if isinstance(value, str):
        if value == "{THOUSAND_AND_ONE}":
            return [str(number) for number in range(1001)]
        return string.Formatter().vformat(value, (), known) if "{" in value or "}" in value else value
    if isinstance(value, dict):
        return {key: filled(item, known) for key, item in value.items()}
    return [filled(item, known) for item in value] if isinstance(value, list) else value


def agrees(wanted, found, exact=False):
    if isinstance(wanted, dict):
        return (
            isinstance(found, dict)
            and (not exact or found.keys() == wanted.keys())
            and all(key in found and agrees(item, found[key]) for key, item in wanted.items())
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(agrees(a, b) for a, b in zip(wanted, found, strict=True))
        )
    if isinstance(wanted, str) and wanted.startswith("~"):
        kinds = {"~str": str, "~int": int, "~bool": bool}
        if wanted in kinds:
            return type(found) is kinds[wanted]
        return isinstance(found, str) and re.fullmatch(wanted[1:], found) is not None
    return type(wanted) is type(found) and wanted == found


def credentials(auth, known):
    if auth == "none":
        return {}
    if auth in (None, "wrong"):
        pair = f"{known['KEY']}:{known['SECRET'] if auth is None else 'wrong'}"
        auth = "Basic " + base64.b64encode(pair.encode()).decode()
    return {"Authorization": auth}


def send(rest, step, known):
    method, target = step["ask"].split(" ", 1)
    options = {"headers": {**credentials(step.get("auth"), known), **step.get("headers", {})}}
    if "json" in step:
        options["json"] = step["json"]
    if "body" in step:
        options["data"] = step["body"].encode()
    if "files" in step:
        options["files"] = {name: tuple(part) for name, part in step["files"].items()}
    rest.session.cookies.clear()  # only what the step says is sent
    deadline = time.monotonic() + UNTIL_SECONDS
    while True:
        answer = rest(method, target, **options)
        if "until" not in step or answer.json().get(step["until"]):
            return answer
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.02)


def send_bytes(rest, known, path, bytes):
    """Has an address handed out for the path, and sends it the bytes."""
    handed = rest(
        "GET",
        f"{known['P']}/branches/main/staging/backing",
        params={"path": path, "presign": "true"},
        headers=credentials(None, known),
    ).json()
    assert requests.put(handed["presigned_url"], data=bytes.encode(), timeout=60).status_code == 200
    known["address"] = handed["physical_address"]


def run(rest, step, known):
    """Makes one request and holds its answer against the step; returns what is wrong with it."""
    if "sends" in step:
        send_bytes(rest, known, **step["sends"])
    # Known names may hold braces; each text is filled once.
    step = filled({key: value for key, value in step.items() if key != "because"}, known)
    expected = {**step, **step.get("tarn", {})}
    answer = send(rest, step, known)
    wrong = []
    if "status" not in step:
        assert answer.ok, f"{step['ask']}: {answer.status_code} {answer.text}"
    elif answer.status_code != expected["status"]:
        wrong.append(f"status {answer.status_code}, not {expected['status']}")
    replaced = step.get("tarn", {})
    if "answer" in expected and ("answer" in replaced or "status" not in replaced):
        if not answer.content or not agrees(expected["answer"], answer.json(), step.get("exact")):
            wrong.append(f"not {json.dumps(expected['answer'])}")
    if "text" in expected and not agrees(expected["text"], answer.text):
        wrong.append(f"not {expected['text']}")
    if expected.get("empty") and (answer.content or "Content-Type" in answer.headers):
        wrong.append("not empty")
    for name, value in expected.get("headers_out", {}).items():
        found = answer.headers.get(name)
        if not (found is None if value is None else agrees(value, found)):
            wrong.append(f"{name}: {found}, not {value}")
    for name, member in step.get("keep", {}).items():
        if answer.headers.get("Content-Type", "").startswith("application/json"):
            known[name] = answer.json().get(member)
    return [f"row {step.get('row')}: {step['ask']}: {why}: {answer.text[:200]}" for why in wrong]


@pytest.fixture
def known(tarn, rest, name):
    source = tarn.import_root / name
    source.mkdir()
    for file in ("1", "2"):
        (source / file).write_text(file)
    del rest.session.headers["Authorization"]
    return {
        "R": name[-50:].lstrip("-"),
        "P": f"/repositories/{name[-50:].lstrip('-')}",
        "KEY": tarn.access_key,
        "SECRET": tarn.secret_key,
        "IMPORT": str(source),
        "LONG": "x" * 1025,
    }


@pytest.mark.parametrize("scenario", REPLAYED, ids=lambda scenario: scenario["scenario"])
def test_replay(rest, known, scenario):
    if scenario.get("repository", True):
        made = {"ask": "POST /repositories", "json": {"name": "{R}", "storage_namespace": "local://{R}"}}
        run(rest, made, known)
    for step in scenario.get("given", []):
        run(rest, step, known)
    assert [why for step in scenario["replay"] for why in run(rest, step, known)] == []


def test_every_row_is_there():
    replayed = {step["row"] for scenario in REPLAYED for step in scenario["replay"]}
    others = {row for scenario in SCENARIOS for row in scenario.get("rows", [])}
    assert replayed | others == set(range(1, ROWS + 1)) and not replayed & others


def test_every_deviation_has_a_reason():
    for scenario in REPLAYED:
        for step in scenario["replay"]:
            assert ("tarn" in step) == ("because" in step), step


def test_the_table_of_deviations(request):
    rows = []
    for scenario in REPLAYED:
        for step in scenario["replay"]:
            if "tarn" in step:
                ends = (short(step), short({"status": step["status"], **step["tarn"]}))
                rows.append(f"| `{request_of(step)}` | {ends[0]} | {ends[1]} | {step['because']} |")
    table = HEAD + "\n".join(rows) + "\n" + BOTH_DOORS + OTHERS + PERMISSIONS
    operations, begin, written = PAGE.read_text().partition(BEGIN)
    if request.config.getoption("--write-coverage"):
        PAGE.write_text(operations + BEGIN + table)
        begin, written = BEGIN, table
    assert begin and written == table, "pytest tests/e2e/rest/test_rest_golden.py --write-coverage"


def request_of(step):
    words = [step["ask"].replace("golden-{R}", "ann").replace("-{R}", "")]
    words += [f"{name}: {value}" for name, value in step.get("headers", {}).items()]
    if step.get("auth"):
        words.append(f"auth: {step['auth']}")
    if "json" in step:
        words.append(json.dumps(step["json"]))
    return " ".join(words).replace("{{", "{").replace("}}", "}").replace("|", "\\|")


def short(end):
    """Status, and the answer where it is what differs."""
    if "answer" not in end:
        return str(end["status"])
    text = json.dumps(end["answer"]).replace('"~str"', "...").replace('"~int"', "...").replace("golden-{R}", "ann")
    return f"{end['status']} `{text}`"
