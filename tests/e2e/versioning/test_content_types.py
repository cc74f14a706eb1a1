"""Content types of new objects: every way in, over each extension of the server's table."""

import re
import shutil
from pathlib import Path

import pytest

TABLE = Path(__file__).resolve().parents[3] / "core/model/content_type.cc"
TYPES = dict(re.findall(r'Row\{"(\w+)", "([^"]+)"\}', TABLE.read_text()))
# Without a row, and one whose extension has another case.
EXPECTED = {
    **{f"rows/one.{extension}": type for extension, type in TYPES.items()},
    "rows/model.pkl": "application/octet-stream",
    "rows/README": "application/octet-stream",
    "rows/SCAN.PNG": "image/png",
}


def over_rest(given):
    def send(rest, repository, path):
        headers = {"Content-Type": given} if given else {}
        answer = rest("POST", f"{repository}/branches/main/objects", params={"path": path}, data=b"x", headers=headers)
        assert answer.status_code == 201, answer.text

    return send


def by_form(rest, repository, path):
    part = {"content": ("name", b"x", "application/octet-stream")}
    answer = rest("POST", f"{repository}/branches/main/objects", params={"path": path}, files=part)
    assert answer.status_code == 201, answer.text


def types(rest, repo):
    listed = rest("GET", f"/repositories/{repo.id}/refs/main/objects/ls", params={"amount": 1000}).json()["results"]
    return {item["path"]: item["content_type"] for item in listed}


@pytest.mark.parametrize(
    "send",
    [over_rest(""), over_rest("application/octet-stream"), by_form],
    ids=["no type", "the type of unknown bytes", "a form"],
)
def test_an_upload_over_rest_has_the_type_of_its_extension(rest, repo, send):
    for path in EXPECTED:
        send(rest, f"/repositories/{repo.id}", path)
    assert types(rest, repo) == EXPECTED


def test_an_upload_over_rest_keeps_the_type_that_it_states(rest, repo):
    over_rest("text/x-mine")(rest, f"/repositories/{repo.id}", "a.csv")
    assert types(rest, repo) == {"a.csv": "text/x-mine"}


@pytest.fixture
def files(tmp_path):
    for path in EXPECTED:
        file = tmp_path / "files" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    return tmp_path / "files"


@pytest.mark.parametrize("way", [(), ("--presign",)], ids=["through the server", "presigned"])
def test_the_command_uploads_with_the_types_of_extensions(cli, rest, repo, files, way):
    upload = ("fs", "upload", "-r", *way, files, f"tarn://{repo.id}/main/")
    cli.run(*upload)
    assert types(rest, repo) == EXPECTED
    # An object never lacks the type of unknown bytes, which the server replaced.
    again = cli.json(*upload, "--content-type", "application/octet-stream")
    assert again["skipped"] == len(EXPECTED), again


def test_an_import_has_the_types_of_extensions(cli, rest, repo, files, tarn):
    source = shutil.copytree(files, tarn.import_root / repo.id)
    cli.run("import", f"local://{source}/", f"tarn://{repo.id}/main/")
    assert types(rest, repo) == EXPECTED


def test_s3_has_the_type_that_aws_has(rest, repo, s3):
    for path in EXPECTED:
        s3.put_object(Bucket=repo.id, Key=f"main/{path}", Body=b"x")
    assert types(rest, repo) == dict.fromkeys(EXPECTED, "binary/octet-stream")
