"""Every place of a request or an answer that carries a key, with keys that a wrong decoding mistakes for each other.

Each place is a row of the table of docs/s3-compatibility.md; a row without a test fails, and so does a test without a row."""

import base64
import hmac
import time
import urllib.parse
from pathlib import Path

import clients
import pytest
import requests
from s3_requests import send, sign, signed, with_md5

PAGE = Path(__file__).resolve().parents[3] / "docs/s3-compatibility.md"
# Decoded once too often, or with a plus for a blank and back, each is another one.
KEYS = ["both x", "both+x", "both%20x", "both%2Bx", "both%2520x"]
# Ways to write a key: with %20 and %2B, with a plus for a blank, and with a blank as it is.
PERCENT = urllib.parse.quote
FORM = urllib.parse.quote_plus


def bare(key):
    return urllib.parse.quote(key, safe=" ")


PLACES = {}


def place(title):
    def register(function):
        PLACES[title] = function
        return function

    return register


class Box:
    """A repository whose branch main has all KEYS, each with its name as its bytes."""

    def __init__(self, tarn, s3, repo, cli):
        self.tarn, self.s3, self.repo, self.cli = tarn, s3, repo, cli
        self.rest = clients.Rest(tarn)
        self.fill()

    def fill(self):
        for key in KEYS:
            self.s3.put_object(Bucket=self.repo, Key="main/" + key, Body=key.encode())

    def read(self, key):
        return self.s3.get_object(Bucket=self.repo, Key="main/" + key)["Body"].read()

    def keys(self, prefix="both"):
        page = self.s3.list_objects_v2(Bucket=self.repo, Prefix="main/" + prefix)
        return [entry["Key"].removeprefix("main/") for entry in page.get("Contents", [])]

    def only_gone(self, key):
        """Whether that one is deleted and no other; it is there again afterwards."""
        left = self.keys()
        self.fill()
        return left == sorted(set(KEYS) - {key})

    def target(self, text):
        return f"/{self.repo}/{text}"

    def get(self, target):
        """A plus in the query is signed as the blank that it stands for."""
        return send(self.tarn, "GET", target, sign(self.tarn, "GET", target.replace("+", "%20")))

    def v2_url(self, method, path, header=("", "")):
        """A URL of version 2 whose query carries a header."""
        expires, (name, value) = int(time.time()) + 60, header
        text = f"{method}\n\n\n{expires}\n{name and f'{name}:{value}' + chr(10)}{path}"
        signature = base64.b64encode(hmac.digest(self.tarn.secret_key.encode(), text.encode(), "sha1")).decode()
        return (
            f"{path}?{name}={PERCENT(value, safe='')}&AWSAccessKeyId={self.tarn.access_key}&Expires={expires}"
            f"&Signature={PERCENT(signature, safe='')}"
        )


@pytest.fixture
def box(tarn, s3, repo, cli):
    return Box(tarn, s3, repo.id, cli)


@place("S3: path of the request")
def path(box):
    for key in KEYS:
        assert signed(box.tarn, "GET", box.target("main/" + PERCENT(key))).body == key.encode()
    assert signed(box.tarn, "GET", box.target("main/both+x")).body == b"both+x"
    assert signed(box.tarn, "DELETE", box.target("main/both%20x")).status == 204
    assert box.only_gone("both x")


@place("S3: path of a signed URL")
def path_of_a_url(box):
    for version in ("s3", "s3v4"):
        signer = clients.boto3_client(box.tarn, signature_version=version)
        for key in KEYS:
            url = signer.generate_presigned_url("get_object", {"Bucket": box.repo, "Key": "main/" + key})
            assert requests.get(url, timeout=60).content == key.encode(), (version, key)
    assert send(box.tarn, "GET", box.v2_url("GET", box.target("main/both+x"))).body == b"both+x"


def copies(box, put):
    """`put(header)` copies; the outcome is in main/copy."""
    for encode in (PERCENT, FORM, bare):
        for key in KEYS:
            for source in (
                f"{box.repo}/main/{encode(key)}",
                f"/{box.repo}/main/{encode(key)}",
                encode(f"{box.repo}/main/{key}").replace("/", "%2F"),
            ):
                put(source)
                assert box.read("copy") == key.encode(), (encode, key, source)
    # Only what is named, as with S3: the other reading is no second guess.
    box.s3.delete_object(Bucket=box.repo, Key="main/both x")
    with pytest.raises(AssertionError):
        put(f"{box.repo}/main/both+x")
    assert box.read("both+x") == b"both+x"


@place("S3: `x-amz-copy-source` of CopyObject")
def copy_source(box):
    def put(source):
        answer = signed(box.tarn, "PUT", box.target("main/copy"), {"x-amz-copy-source": source})
        assert answer.status == 200, answer.body

    copies(box, put)


@place("S3: `x-amz-copy-source` of UploadPartCopy")
def part_source(box):
    def put(source):
        at = {"Bucket": box.repo, "Key": "main/copy"}
        upload = box.s3.create_multipart_upload(**at)["UploadId"]
        answer = signed(box.tarn, "PUT", box.target(f"main/copy?partNumber=1&uploadId={upload}"), {"x-amz-copy-source": source})
        assert answer.status == 200, answer.body
        box.s3.complete_multipart_upload(
            **at, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": answer.xml.findtext("ETag")}]}
        )

    copies(box, put)


@place("S3: `x-amz-copy-source` in the query of a signed URL")
def source_in_a_url(box):
    for key in KEYS:
        for encode in (PERCENT, FORM):
            url = box.v2_url("PUT", box.target("main/copy"), ("x-amz-copy-source", f"{box.repo}/main/{encode(key)}"))
            assert send(box.tarn, "PUT", url).status == 200
            assert box.read("copy") == key.encode(), (encode, key)


def queries(box, query, found):
    """`found(answer)` of the request with `query`, into which each key goes in each encoding that clients use."""
    for encode in (PERCENT, FORM):
        for key in KEYS:
            text = query.replace("KEY", encode("main/" + key, safe=""))
            answer = box.get(f"/{box.repo}?{text}")
            assert answer.status == 200, answer.body
            assert found(answer) == expected_of(query, key), (encode, key)


def expected_of(query, key):
    return [key] if "prefix=KEY" in query else [name for name in sorted(KEYS) if name > key]


def listed(answer):
    return [
        element.findtext("Key").removeprefix("main/")
        for element in answer.xml.iter()
        if element.tag in ("Contents", "Version", "Upload")
    ]


@place("S3: `prefix` and `delimiter` of listings")
def prefixes(box):
    for query in ("prefix=KEY", "list-type=2&prefix=KEY", "versions&prefix=KEY"):
        queries(box, query, listed)
    for delimiter, common in (("%20", "main/both "), ("+", "main/both "), ("%2B", "main/both+"), ("%2520", "main/both%20")):
        answer = box.get(f"/{box.repo}?delimiter={delimiter}&list-type=2&prefix=main%2F")
        assert [e.findtext("Prefix") for e in answer.xml.iter("CommonPrefixes")] == [common], delimiter
    uploads = {key: box.s3.create_multipart_upload(Bucket=box.repo, Key="main/" + key)["UploadId"] for key in KEYS}
    queries(box, "uploads&prefix=KEY", listed)
    for key, upload in uploads.items():
        box.s3.abort_multipart_upload(Bucket=box.repo, Key="main/" + key, UploadId=upload)


@place("S3: `marker`, `start-after` and `key-marker` of listings")
def markers(box):
    for query in (
        "prefix=main%2F&marker=KEY",
        "list-type=2&prefix=main%2F&start-after=KEY",
        "versions&prefix=main%2F&key-marker=KEY",
    ):
        queries(box, query, listed)


@place("S3: names in listings")
def names_in_listings(box):
    for query in ("prefix=main%2F", "list-type=2&prefix=main%2F", "versions&prefix=main%2F"):
        plain = signed(box.tarn, "GET", f"/{box.repo}?{query}")
        assert listed(plain) == sorted(KEYS)
        encoded = listed(signed(box.tarn, "GET", f"/{box.repo}?{query}&encoding-type=url"))
        # A client may take a plus for a blank or not: there is none.
        assert encoded == [PERCENT(key) for key in sorted(KEYS)]
        assert [urllib.parse.unquote_plus(name) for name in encoded] == sorted(KEYS)


@place("S3: pages of listings")
def pages(box):
    for operation in ("list_objects", "list_objects_v2", "list_object_versions"):
        found = []
        for page in box.s3.get_paginator(operation).paginate(Bucket=box.repo, Prefix="main/", PaginationConfig={"PageSize": 1}):
            found += [entry["Key"].removeprefix("main/") for entry in page.get("Contents", page.get("Versions", []))]
        assert found == sorted(KEYS), operation


@place("S3: `<Key>` of DeleteObjects and its answer")
def deleted_keys(box):
    for key in KEYS:
        body = f"<Delete><Object><Key>main/{key}</Key></Object></Delete>".encode()
        answer = signed(box.tarn, "POST", f"/{box.repo}?delete", with_md5(body), body)
        assert answer.xml.findtext("Deleted/Key") == "main/" + key
        assert box.only_gone(key), key
    body = b"<Delete><Object><Key>main/both&#43;x</Key></Object></Delete>"
    signed(box.tarn, "POST", f"/{box.repo}?delete", with_md5(body), body)
    assert box.only_gone("both+x")


@place("S3: answers of multipart uploads")
def completed(box):
    for key in KEYS:
        at = {"Bucket": box.repo, "Key": "main/" + key}
        begun = box.s3.create_multipart_upload(**at)
        assert begun["Key"] == at["Key"]
        part = box.s3.upload_part(**at, UploadId=begun["UploadId"], PartNumber=1, Body=b"part of " + key.encode())
        done = box.s3.complete_multipart_upload(
            **at, UploadId=begun["UploadId"], MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
        )
        assert done["Key"] == at["Key"] and done["Location"].endswith("/main/" + PERCENT(key))
        assert box.read(key) == b"part of " + key.encode()


@place("S3: `key` of an upload form and its answer")
def forms(box):
    signer = clients.boto3_client(box.tarn, signature_version="s3v4")
    for key in KEYS:
        form = signer.generate_presigned_post(
            box.repo, "main/" + key, {"success_action_status": "201"}, [{"success_action_status": "201"}]
        )
        answer = requests.post(form["url"], data=form["fields"], files={"file": b"form of " + key.encode()}, timeout=60)
        assert f"<Key>main/{key}</Key>" in answer.text
        assert answer.headers["Location"].endswith("/main/" + PERCENT(key))
        assert box.read(key) == b"form of " + key.encode()
        redirect = {"success_action_redirect": "http://app.test/done"}
        form = signer.generate_presigned_post(box.repo, "main/" + key, redirect, [redirect])
        answer = requests.post(form["url"], data=form["fields"], files={"file": b"x"}, timeout=60, allow_redirects=False)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)
        assert query["key"] == ["main/" + key]


@place("S3: `x-amz-tagging`")
def tags(box):
    for encode in (PERCENT, FORM):
        for key in KEYS:
            if "%" in key:
                continue  # no character of a tag
            at = {"Bucket": box.repo, "Key": "main/tagged"}
            box.s3.put_object(**at, Tagging=f"{encode('a b')}={encode(key)}")
            assert box.s3.get_object_tagging(**at)["TagSet"] == [{"Key": "a b", "Value": key}], (encode, key)


@place("S3: `response-content-disposition`")
def file_names(box):
    for encode in (PERCENT, FORM):
        for key in KEYS:
            wanted = f'attachment; filename="{key}"'
            answer = box.get(box.target(f"main/{PERCENT(key)}?response-content-disposition={encode(wanted, safe='')}"))
            assert answer.headers["content-disposition"] == wanted, (encode, key)


@place("S3: `Resource` of errors")
def resources(box):
    for key in KEYS:
        answer = signed(box.tarn, "GET", box.target("main/no" + PERCENT(key)))
        assert answer.xml.findtext("Resource") == box.target("main/no" + PERCENT(key))


@place("REST: `path`, `prefix`, `after` and `delimiter` of queries")
def rest_queries(box):
    def get(what, query):
        answer = box.rest("GET", f"/repositories/{box.repo}/refs/main/objects{what}?{query}")
        assert answer.status_code == 200, answer.text
        return answer

    for encode in (PERCENT, FORM):
        for key in KEYS:
            assert get("", f"path={encode(key)}").content == key.encode(), (encode, key)
            assert get("/stat", f"path={encode(key)}").json()["path"] == key
            assert [e["path"] for e in get("/ls", f"prefix={encode(key)}").json()["results"]] == [key]
            after = get("/ls", f"prefix=both&after={encode(key)}").json()["results"]
            assert [e["path"] for e in after] == [name for name in sorted(KEYS) if name > key]
            gone = box.rest("DELETE", f"/repositories/{box.repo}/branches/main/objects?path={encode(key)}")
            assert gone.status_code == 204 and box.only_gone(key), (encode, key)
    for delimiter, common in (("%20", "both "), ("+", "both "), ("%2B", "both+")):
        found = get("/ls", f"delimiter={delimiter}").json()["results"]
        assert [e["path"] for e in found if e["path_type"] == "common_prefix"] == [common]


@place("REST: paths in JSON")
def rest_documents(box):
    for key in KEYS:
        gone = box.rest("POST", f"/repositories/{box.repo}/branches/main/objects/delete", json={"paths": [key]})
        assert gone.status_code == 200 and box.only_gone(key), key
        copied = box.rest(
            "POST",
            f"/repositories/{box.repo}/branches/main/objects/copy?dest_path=copy",
            json={"src_path": key, "src_ref": "main"},
        )
        assert copied.status_code == 201 and box.read("copy") == key.encode(), key


@place("REST: signed URLs of a local store")
def block_urls(box):
    for key in KEYS:
        stat = box.rest("GET", f"/repositories/{box.repo}/refs/main/objects/stat", params={"path": key, "presign": "true"}).json()
        assert requests.get(stat["physical_address"], timeout=60).content == key.encode(), key


@place("`tarn://` arguments of the command")
def command(box):
    for key in KEYS:
        assert box.cli.run("fs", "cat", f"tarn://{box.repo}/main/{key}").text == key
        box.cli.run("fs", "cp", f"tarn://{box.repo}/main/{key}", f"tarn://{box.repo}/main/copy")
        assert box.read("copy") == key.encode(), key
        box.cli.run("fs", "rm", f"tarn://{box.repo}/main/{key}")
        assert box.only_gone(key), key


@pytest.mark.parametrize("title", PLACES)
def test_a_key_is_read_and_written_as_the_table_says(box, title):
    PLACES[title](box)


def test_the_table_has_a_row_for_each_place():
    text = PAGE.read_text().partition("<!-- keys: begin -->\n")[2].partition("<!-- keys: end -->")[0]
    rows = [line.split("|")[1].strip() for line in text.splitlines()[2:]]
    assert rows == list(PLACES)
