"""Bytes define an object: a client's claim about them hides no change from a diff, a merge or a gate."""

import hashlib

import pytest
import requests
from test_promotion import apply, candidate

# Wang, Feng, Lai, Yu: two texts of 128 bytes with one MD5. It stays so whatever follows both.
ONE = (
    "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f8955ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b"
    "d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70"
)
OTHER = (
    "d131dd02c5e6eec4693d9a0698aff95c2fcab50712467eab4004583eb8fb7f8955ad340609f4b30283e4888325f1415a085125e8f7cdc99fd91dbd7280373c5b"
    "d8823e3156348f5bae6dacd436c919c6dd53e23487da03fd02396306d248cda0e99f33420f577ee8ce54b67080280d1ec69821bcb6a8839396f965ab6ff72a70"
)
PAIR = (bytes.fromhex(ONE), bytes.fromhex(OTHER))
PART = bytes(5 * 1024 * 1024)
POLICY = """name: dogs-champion
destination: main
candidates: "exp-*"
metrics: [{name: accuracy, goal: max, primary: true}]
"""
RULES = {"unchanged": 'objects: {unchanged: ["eval/**"]}\n', "since": 'unchanged_since: {ref: main, paths: ["eval/**"]}\n'}
TRUTH, LIES = b"label,truth\n", b"label,lies!\n"


class Lake:
    def __init__(self, rest, repo):
        self.rest, self.repo, self.here = rest, repo, f"/repositories/{repo.id}"

    def ask(self, method, path, status=(200, 201, 204), **options):
        answer = self.rest(method, self.here + path, **options)
        assert answer.status_code in ((status,) if isinstance(status, int) else status), answer.text
        return answer

    def stat(self, ref, path):
        return self.ask("GET", f"/refs/{ref}/objects/stat", params={"path": path}).json()

    def stage(self, branch, path, address, checksum, size, **options):
        return self.ask(
            "PUT",
            f"/branches/{branch}/objects",
            params={"path": path},
            json={"physical_address": address, "checksum": checksum, "size_bytes": size},
            **options,
        )

    def differing(self, left, right):
        found = self.ask("GET", f"/refs/{left}/diff/{right}", params={"type": "two_dot"}).json()["results"]
        return {one["path"]: one["type"] for one in found}


@pytest.fixture
def lake(rest, repo):
    return Lake(rest, repo)


def forge(lake, branch):
    """Puts LIES in the place of TRUTH, under the digest and size of TRUTH."""
    made = lake.repo.branch(branch)
    made.object("scratch/a").upload(data=LIES)
    made.object("eval/test.csv").delete()
    made.commit("prepare")
    genuine = lake.stat("main", "eval/test.csv")
    staged = lake.stage(
        branch, "eval/test.csv", lake.stat(branch, "scratch/a")["physical_address"], genuine["checksum"], genuine["size_bytes"]
    ).json()
    assert staged["checksum"] == hashlib.md5(LIES).hexdigest()
    made.commit("forged")


@pytest.mark.parametrize("rule", RULES)
def test_a_claimed_digest_hides_no_change(lake, cli, repo, tmp_path, rule):
    repo.branch("main").object("eval/test.csv").upload(data=TRUTH)
    repo.branch("main").commit("truth")
    apply(cli, tmp_path, POLICY + RULES[rule])
    repo.branch("other").create(source_reference="main").object("eval/test.csv").upload(data=b"label,third\n")
    repo.branch("other").commit("third")
    candidate(repo, "exp-1", {"accuracy": 0.9})
    forge(lake, "exp-1")
    repo.branch("exp-1").commit("measured", metadata={"metric.accuracy": "0.9"}, allow_empty=True)
    assert lake.differing("main", "exp-1")["eval/test.csv"] == "changed"
    assert lake.ask("POST", "/refs/exp-1/merge/other", status=409, json={}).status_code == 409
    assert "object_changed" in cli.run("gate", "check", "exp-1", "-o", "json", status=10).text or rule == "since"
    cli.run("promote", "exp-1", "--to", "main", "--wait", "--timeout", "60s", status=10)
    assert lake.ask("GET", "/refs/main/objects", params={"path": "eval/test.csv"}).content == TRUTH


def test_a_claimed_size_hides_nothing_either(lake, repo):
    repo.branch("main").object("a").upload(data=TRUTH + LIES)
    address = lake.stat("main", "a")["physical_address"]
    assert lake.stage("main", "b", address, "abc", len(TRUTH)).json()["size_bytes"] == len(TRUTH + LIES)
    assert lake.ask("GET", "/refs/main/objects", params={"path": "b"}).content == TRUTH + LIES
    handed_out = lake.ask("GET", "/branches/main/staging/backing", params={"path": "c"}).json()["physical_address"]
    refused = lake.stage("main", "c", handed_out.partition(",")[0], "abc", 1, status=400)
    assert refused.headers["X-Tarn-Error"] == "link_address_empty"


def put(lake, s3, branch, path, data):
    s3.put_object(Bucket=lake.repo.id, Key=f"{branch}/{path}", Body=data)


def put_over_rest(lake, s3, branch, path, data):
    lake.repo.branch(branch).object(path).upload(data=data)


def put_in_parts(lake, s3, branch, path, data):
    where = {"Bucket": lake.repo.id, "Key": f"{branch}/{path}"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    parts = [
        {"PartNumber": number, "ETag": s3.upload_part(**where, UploadId=upload, PartNumber=number, Body=body)["ETag"]}
        for number, body in ((1, data + PART), (2, b"end"))
    ]
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": parts})


def put_in_one_part(lake, s3, branch, path, data):
    where = {"Bucket": lake.repo.id, "Key": f"{branch}/{path}"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    part = s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=data)["ETag"]
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]})


def put_by_copied_part(lake, s3, branch, path, data):
    source = f"{branch}/sources/{path}"
    s3.put_object(Bucket=lake.repo.id, Key=source, Body=data + PART)
    where = {"Bucket": lake.repo.id, "Key": f"{branch}/{path}"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    parts = [
        {
            "PartNumber": number,
            "ETag": s3.upload_part_copy(
                **where, UploadId=upload, PartNumber=number, CopySource=f"{lake.repo.id}/{source}", **how
            )["CopyPartResult"]["ETag"],
        }
        for number, how in ((1, {}), (2, {"CopySourceRange": "bytes=0-127"}))
    ]
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": parts})


def put_by_link(lake, s3, branch, path, data):
    here = f"/branches/{branch}/staging/backing"
    given = lake.ask("GET", here, params={"path": path, "presign": True}).json()
    assert requests.put(given["presigned_url"], data=data, timeout=60).status_code == 200
    lake.ask(
        "PUT",
        here,
        params={"path": path},
        json={"staging": given, "checksum": hashlib.md5(data).hexdigest(), "size_bytes": len(data)},
    )


WAYS = [put, put_over_rest, put_in_parts, put_in_one_part, put_by_copied_part, put_by_link]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_same_bytes_twice_are_no_change_and_others_with_one_md5_are(lake, s3, repo, way):
    repo.branch("dev").create(source_reference="main")
    for path, on_main, on_dev in (("a", *PAIR), ("b", PAIR[0], PAIR[0])):
        way(lake, s3, "main", path, on_main)
        way(lake, s3, "dev", path, on_dev)
    for branch in ("main", "dev"):
        repo.branch(branch).commit("written")
    assert lake.stat("main", "a")["checksum"] == lake.stat("dev", "a")["checksum"]
    assert {path for path in lake.differing("main", "dev") if not path.startswith("sources/")} == {"a"}


def test_an_address_that_is_filled_takes_no_other_bytes_with_one_md5(lake):
    given = lake.ask("GET", "/branches/main/staging/backing", params={"path": "a", "presign": True}).json()
    answers = [requests.put(given["presigned_url"], data=data, timeout=60).status_code for data in (PAIR[0], PAIR[0], PAIR[1])]
    assert answers == [200, 200, 409]
