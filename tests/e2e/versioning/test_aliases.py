"""Aliases as serving jobs and people meet them: S3 clients, the command, and whom a policy lets in."""

import subprocess

import clients
import pytest
import s3_requests
import servers
from botocore.exceptions import ClientError
from users import allow, s3_code


@pytest.fixture
def commits(tarn, repo, s3):
    """Three commits of main, the newest last; @champion is the second, and main has staged changes."""
    made = []
    for text in [b"one", b"two", b"three"]:
        s3.put_object(Bucket=repo.id, Key="main/artifacts/model.pkl", Body=text)
        made.append(s3_requests.commit(tarn, repo.id))
    set_alias(tarn, repo.id, "champion", made[1])
    s3.put_object(Bucket=repo.id, Key="main/artifacts/model.pkl", Body=b"staged")
    return made


def set_alias(tarn, repo, name, to, **more):
    return s3_requests.rest(tarn, "POST", f"/repositories/{repo}/aliases/{name}:set", json={"to": to, **more})


def test_boto3_reads_through_an_alias_and_pins_what_it_read(tarn, repo, s3, commits):
    model = {"Bucket": repo.id, "Key": "@champion/artifacts/model.pkl"}
    got = s3.get_object(**model)
    assert (got["Body"].read(), got["VersionId"]) == (b"two", commits[1])
    assert s3.head_object(**model)["VersionId"] == commits[1]
    listed = s3.list_objects_v2(Bucket=repo.id, Prefix="@champion/")
    assert [o["Key"] for o in listed["Contents"]] == [model["Key"]]
    listed = s3.list_objects_v2(Bucket=repo.id, Prefix="@champion/", Delimiter="/")
    assert [p["Prefix"] for p in listed["CommonPrefixes"]] == ["@champion/artifacts/"]
    assert s3.get_object(Bucket=repo.id, Key="@champion~1/artifacts/model.pkl")["Body"].read() == b"one"
    # The root lists branches alone.
    root = s3.list_objects_v2(Bucket=repo.id, Delimiter="/")
    assert [p["Prefix"] for p in root["CommonPrefixes"]] == ["main/"]
    # The alias moves on; what was pinned stays.
    set_alias(tarn, repo.id, "champion", "main", expect=commits[1])
    assert s3.get_object(**model)["Body"].read() == b"three"
    assert s3.get_object(**model, VersionId=commits[1])["Body"].read() == b"two"
    s3.copy_object(Bucket=repo.id, Key="main/copy", CopySource=model)
    assert s3.get_object(Bucket=repo.id, Key="main/copy")["Body"].read() == b"three"
    s3_requests.rest(tarn, "DELETE", f"/repositories/{repo.id}/aliases/champion")
    assert s3_code(s3.get_object, **model) == "NoSuchKey"
    assert s3.list_objects_v2(Bucket=repo.id, Prefix="@champion/")["KeyCount"] == 0


def test_nothing_is_written_through_an_alias(repo, s3, commits):
    for name, status, code in [("@champion", 405, "MethodNotAllowed"), ("@absent", 404, "NoSuchBucket")]:
        key = {"Bucket": repo.id, "Key": f"{name}/artifacts/model.pkl"}
        for write in [
            lambda key: s3.put_object(**key, Body=b"x"),
            lambda key: s3.delete_object(**key),
            lambda key: s3.create_multipart_upload(**key),
            lambda key: s3.copy_object(**key, CopySource=f"{repo.id}/main/artifacts/model.pkl"),
        ]:
            with pytest.raises(ClientError) as caught:
                write(key)
            answer = caught.value.response
            assert (answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Code"]) == (status, code)
            assert name in answer["Error"]["Message"]
    with pytest.raises(ClientError):
        s3.get_object(Bucket=repo.id, Key="@champion@/artifacts/model.pkl")
    assert s3.get_object(Bucket=repo.id, Key="@champion/artifacts/model.pkl")["Body"].read() == b"two"


def test_s3fs_and_the_aws_command_read_through_an_alias(tarn, repo, commits, tmp_path):
    fs = clients.s3fs_filesystem(tarn)
    base = f"{repo.id}/@champion"
    assert fs.cat(f"{base}/artifacts/model.pkl") == b"two"
    assert fs.isdir(base) and fs.ls(base) == [f"{base}/artifacts"]
    assert fs.find(base) == [f"{base}/artifacts/model.pkl"]
    with pytest.raises(PermissionError, match="read-only"):
        fs.pipe(f"{base}/artifacts/other.pkl", b"x")

    def aws(*words):
        return subprocess.run(
            ["aws", "--endpoint-url", tarn.url, "s3", *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=servers.clean_environment(
                {
                    "HOME": str(tmp_path),
                    "AWS_ACCESS_KEY_ID": tarn.access_key,
                    "AWS_SECRET_ACCESS_KEY": tarn.secret_key,
                    "AWS_DEFAULT_REGION": "us-east-1",
                    "AWS_EC2_METADATA_DISABLED": "true",
                }
            ),
        )

    assert aws("ls", f"s3://{repo.id}/@champion/artifacts/").stdout.split()[-1] == "model.pkl"
    ended = aws("cp", f"s3://{repo.id}/@champion/", str(tmp_path / "model"), "--recursive")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "model" / "artifacts" / "model.pkl").read_bytes() == b"two"
    refused = aws("cp", str(tmp_path / "model" / "artifacts" / "model.pkl"), f"s3://{repo.id}/@champion/x")
    assert refused.returncode == 1 and "MethodNotAllowed" in refused.stderr


def test_the_python_client_reads_through_an_alias(client, repo, commits):
    ref = repo.ref("@champion")
    assert ref.get_commit().id == commits[1]
    assert ref.object("artifacts/model.pkl").reader(mode="rb").read() == b"two"
    assert [o.path for o in ref.objects()] == ["artifacts/model.pkl"]
    assert repo.branch("dev").create("@champion").head.id == commits[1]
    assert [change.path for change in ref.diff("@champion~1", type="two_dot")] == ["artifacts/model.pkl"]


def test_a_policy_on_a_ref_is_not_bypassed_by_an_alias(tarn, repo, s3, commits, make_user):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    s3_requests.create_branch(tarn, repo.id, "public", "main~2")
    set_alias(tarn, repo.id, "open", "public")
    reading = ["fs:ReadObject", "fs:ListObjects"]

    def reads(user, ref):
        """The answers to boto3 and REST."""
        theirs, key = clients.boto3_client(user), f"{ref}/artifacts/model.pkl"
        over_rest = clients.Rest(user)(
            "GET", f"/repositories/{repo.id}/refs/{ref.replace('@', '%40')}/objects", params={"path": "artifacts/model.pkl"}
        )
        try:
            body = theirs.get_object(Bucket=repo.id, Key=key)["Body"].read()
            theirs.list_objects_v2(Bucket=repo.id, Prefix=f"{ref}/")
        except ClientError as error:
            assert (error.response["Error"]["Code"], over_rest.status_code) == ("AccessDenied", 401)
            return False
        assert over_rest.content == body
        return True

    of_branch = make_user(allow([*reading, "fs:SetAlias"], f"{where}/ref/public/object/*", f"{where}/ref/public"))
    assert reads(of_branch, "public")
    assert not any(reads(of_branch, ref) for ref in ["main", "@champion", "@open", "@open~0"])
    of_alias = make_user(allow(reading, f"{where}/ref/@champion/object/*", f"{where}/ref/@champion"))
    assert reads(of_alias, "@champion")
    assert not any(reads(of_alias, ref) for ref in ["main", "public", "@open", "@champion~1", commits[1]])
    # An alias is moved by who may, and only to commits that they may read.
    setter = clients.Rest(make_user(allow(["fs:SetAlias"], f"{where}/alias/mine")))
    path = f"/repositories/{repo.id}/aliases"
    assert setter("POST", f"{path}/mine:set", json={"to": "main"}).status_code == 401
    setter = clients.Rest(make_user(allow(["fs:SetAlias", "fs:ReadCommit"], where, f"{where}/alias/mine")))
    assert setter("POST", f"{path}/mine:set", json={"to": "main"}).status_code == 200
    assert setter("POST", f"{path}/champion:set", json={"to": "main"}).status_code == 401
    assert setter("DELETE", f"{path}/champion").status_code == 401
    assert setter("DELETE", f"{path}/mine").status_code == 204


def test_developers_move_aliases_and_viewers_read_them(repo, commits, make_user, auth):
    members = {}
    for group in ["Developers", "Viewers"]:
        user = make_user()
        auth.add_group_membership(group, user.name)
        members[group] = clients.Rest(user)
    path = f"/repositories/{repo.id}/aliases"
    assert members["Developers"]("POST", f"{path}/champion:set", json={"to": "main"}).status_code == 200
    for rest in members.values():
        assert rest("GET", f"{path}/champion").json()["commit_id"] == commits[2]
        assert [a["id"] for a in rest("GET", path).json()["results"]] == ["champion"]
        assert len(rest("GET", f"{path}/champion/history").json()["results"]) == 2
    assert members["Viewers"]("POST", f"{path}/champion:set", json={"to": "main~1"}).status_code == 401
    assert members["Viewers"]("DELETE", f"{path}/champion").status_code == 401
    assert members["Developers"]("DELETE", f"{path}/champion").status_code == 204


def test_the_command(cli, repo, commits):
    made = cli.json("alias", "set", "next", "main", "--create", "-m", "try it")
    assert (made["kind"], made["id"], made["commit_id"], made["version"], made["changed"]) == (
        "Alias",
        "next",
        commits[2],
        1,
        True,
    )
    assert cli.json("alias", "set", "@next", "main")["changed"] is False
    cli.run("alias", "set", "next", "main~1", "--create", status=7)
    cli.run("alias", "set", "next", "main~1", "--expect", commits[0], status=7)
    cli.run("alias", "set", "next", "main~1", "--expect", "main", "--create", status=2)
    moved = cli.json("alias", "set", f"tarn://{repo.id}/@next", "@champion~1", "--expect", "@next", "--reason", "back")
    assert (moved["commit_id"], moved["version"]) == (commits[0], 2)
    cli.run("alias", "set", "next", "nope", status=4)
    cli.run("alias", "set", "a.b~", "main", status=1)
    assert cli.json("alias", "show", "next")["commit_id"] == commits[0]
    assert [item["id"] for item in cli.json("alias", "ls")["items"]] == ["champion", "next"]
    assert cli.run("alias", "ls", "--prefix", "n", "-o", "csv").text == (f"alias,commit,version,policy\nnext,{commits[0]},2,\n")
    log = cli.json("alias", "log", "@next")
    assert log["kind"] == "AliasHistory"
    assert [(item["version"], item["actor"], item["reason"]) for item in log["items"]] == [
        (2, "admin", "back"),
        (1, "admin", "try it"),
    ]
    assert log["items"][0]["from_commit_id"] == log["items"][1]["to_commit_id"] == commits[2]
    row = cli.run("alias", "log", "next", "-o", "csv").text.splitlines()[2].split(",")
    assert row[0] == "1" and row[2:6] == ["admin", "-", commits[2], "try it"]

    # Wherever a ref is meant.
    assert cli.run("fs", "cat", f"tarn://{repo.id}/@champion/artifacts/model.pkl").text == "two"
    assert cli.json("show", "@champion")["id"] == commits[1]
    assert cli.json("log", "@next")["items"][0]["id"] == commits[0]
    assert cli.json("tag", "create", "v1", "@champion")["commit_id"] == commits[1]
    assert cli.json("branch", "create", "dev", "--source", "@champion")["commit_id"] == commits[1]
    assert cli.json("diff", "@next", "@champion", "--two-dot")["items"][0]["path"] == "artifacts/model.pkl"
    cli.run("commit", "@champion", "-m", "m", status=1)

    refused = cli.run("alias", "rm", "next", status=2)
    assert "--yes" in refused.talk
    cli.run("alias", "rm", "next", "--yes", "--expect", "main", status=7)
    assert "--expect: is empty" in cli.run("alias", "rm", "next", "--yes", "--expect", "", status=2).talk
    cli.run("alias", "rm", "next", "--yes", "-m", "over")
    cli.run("alias", "rm", "next", "--yes", status=4)
    cli.run("alias", "show", "next", status=4)
    assert cli.json("alias", "log", "next")["items"][0]["reason"] == "over"
