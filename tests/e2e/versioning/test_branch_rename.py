"""Branches that get another name or another base, over REST, the command and S3."""

import clients
import pytest
from botocore.exceptions import ClientError
from users import allow


def where(repo, rest=""):
    return f"arn:lakefs:fs:::repository/{repo.id}{rest}"


def rename(rest, repo, branch, name):
    return rest("POST", f"/repositories/{repo.id}/branches/{branch}/rename", json={"name": name})


def test_the_default_branch_gets_another_name(cli, rest, repo):
    repo.branch("main").object("a").upload(b"a")
    cli.run("commit", "main", "-m", "one")
    repo.branch("main").object("b").upload(b"b")
    renamed = cli.json("branch", "rename", "main", "trunk")
    assert (renamed["kind"], renamed["id"], renamed["outcome"], renamed["changed"]) == ("Branch", "trunk", "renamed", True)
    assert rest("GET", f"/repositories/{repo.id}").json()["default_branch"] == "trunk"
    # A command without a branch means the new one; the uncommitted object is there.
    assert cli.json("branch", "show")["id"] == "trunk"
    assert cli.run("fs", "cat", f"tarn://{repo.id}/trunk/b").out == b"b"
    assert rest("GET", f"/repositories/{repo.id}/branches/main").json()["code"] == "branch_not_found"
    cli.run("branch", "rename", "main", "other", status=4)
    cli.run("branch", "delete", "trunk", "--yes", status=3)


def test_an_upload_over_s3_goes_on_under_the_new_name(rest, repo, s3):
    repo.branch("dev").create("main")
    begun = s3.create_multipart_upload(Bucket=repo.id, Key="dev/big")["UploadId"]
    part = s3.upload_part(Bucket=repo.id, Key="dev/big", UploadId=begun, PartNumber=1, Body=b"part")
    assert rename(rest, repo, "dev", "next").status_code == 200
    parts = {"Parts": [{"ETag": part["ETag"], "PartNumber": 1}]}
    with pytest.raises(ClientError) as caught:
        s3.complete_multipart_upload(Bucket=repo.id, Key="dev/big", UploadId=begun, MultipartUpload=parts)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    listed = s3.list_multipart_uploads(Bucket=repo.id)["Uploads"]
    assert [upload["Key"] for upload in listed] == ["next/big"]
    s3.complete_multipart_upload(Bucket=repo.id, Key="next/big", UploadId=begun, MultipartUpload=parts)
    assert s3.get_object(Bucket=repo.id, Key="next/big")["Body"].read() == b"part"


def test_who_may_rename(rest, repo, make_user):
    repo.branch("dev").create("main")
    branches = where(repo, "/branch/*")
    reads = allow(["fs:Read*", "fs:List*"], "*")
    some = clients.Rest(make_user(reads, allow(["fs:DeleteBranch"], branches)))
    assert rename(some, repo, "dev", "next").status_code == 401
    most = clients.Rest(make_user(reads, allow(["fs:DeleteBranch", "fs:CreateBranch"], branches)))
    assert rename(most, repo, "dev", "next").status_code == 200
    refused = rename(most, repo, "main", "trunk")
    assert (refused.status_code, refused.json()["code"]) == (403, "default_branch"), refused.text
    assert "fs:UpdateRepository" in refused.text
    narrow = clients.Rest(make_user(reads, allow(["fs:DeleteBranch", "fs:CreateBranch"], where(repo, "/branch/next*"))))
    assert rename(narrow, repo, "next", "free").status_code == 401
    assert rename(narrow, repo, "next", "next-2").status_code == 200


def test_a_branch_is_rebased(cli, repo):
    repo.branch("dev").create("main")
    for branch, path in (("dev", "own-1"), ("dev", "own-2"), ("main", "upstream")):
        repo.branch(branch).object(path).upload(path.encode())
        cli.run("commit", branch, "-m", path)
    done = cli.json("branch", "rebase", "dev", "--onto", "main")
    assert (done["kind"], done["changed"], len(done["commits"]), done["left_out"]) == ("Rebase", True, 2, [])
    assert [item["message"] for item in cli.json("log", f"tarn://{repo.id}/dev")["items"]] == [
        "own-2",
        "own-1",
        "upstream",
        "Repository created",
    ]
    assert cli.json("branch", "rebase", "dev")["changed"] is False
    # And back.
    cli.run("branch", "reset", "dev", "--to", done["before"], "--yes")
    for branch in ("dev", "main"):
        repo.branch(branch).object("both").upload(branch.encode())
        cli.run("commit", branch, "-m", f"both on {branch}")
    refused = cli.run("branch", "rebase", "dev", status=6)
    assert "changed 1 path differently" in refused.talk and '"both"' in refused.talk
    cli.run("branch", "rebase", "dev", "--strategy", "dest-wins")
    assert cli.run("fs", "cat", f"tarn://{repo.id}/dev/both").out == b"main"
