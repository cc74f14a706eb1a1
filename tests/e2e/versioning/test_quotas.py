"""Quotas: what clients see at a soft and at a hard limit, and the command."""

import http.client
from urllib.parse import urlsplit

import boto3
import clients
import pytest
import requests
import servers
from botocore.config import Config
from botocore.exceptions import ClientError
from lakefs.exceptions import ServerException


def limits(**given):
    return {"limits": {what: {"hard": hard} for what, hard in given.items()}}


@pytest.fixture
def limited(rest, repo):
    """A repository that may store 1000 bytes."""
    answer = rest("PUT", f"/repositories/{repo.id}/quotas", json=limits(bytes=1000))
    assert answer.status_code == 200, answer.text
    return repo


def quota_of(rest, repo):
    (quota,) = rest("GET", f"/repositories/{repo.id}/quotas").json()["results"]
    return quota


def test_boto3_gets_quota_exceeded_and_goes_on_with_its_connection(tarn, limited, s3):
    one = boto3.client(
        "s3",
        endpoint_url=tarn.url,
        aws_access_key_id=tarn.access_key,
        aws_secret_access_key=tarn.secret_key,
        region_name="us-east-1",
        config=Config(max_pool_connections=1, retries={"max_attempts": 0}),
    )
    one.put_object(Bucket=limited.id, Key="main/a", Body=b"x" * 900)
    for body in (b"x" * 101, b"x" * 3_000_000):
        with pytest.raises(ClientError) as refused:
            one.put_object(Bucket=limited.id, Key="main/b", Body=body)
        error = refused.value.response
        assert error["ResponseMetadata"]["HTTPStatusCode"] == 403
        assert error["Error"]["Code"] == "QuotaExceeded"
        for words in (f'"{limited.id}"', "900 of 1000 bytes"):
            assert words in error["Error"]["Message"]
        one.put_object(Bucket=limited.id, Key="main/empty", Body=b"")
    one.put_object(Bucket=limited.id, Key="main/c", Body=b"x" * 100)
    one.delete_object(Bucket=limited.id, Key="main/a")
    assert [item["Key"] for item in one.list_objects_v2(Bucket=limited.id, Prefix="main/")["Contents"]] == [
        "main/c",
        "main/empty",
    ]


def test_the_command_says_which_quota_is_full_and_how_to_free_some(cli, limited, tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 900)
    (tmp_path / "many").mkdir()
    for number in range(20):
        (tmp_path / "many" / f"{number}").write_bytes(b"x" * 200)
    cli.run("fs", "upload", tmp_path / "a", f"tarn://{limited.id}/main/a")
    for words in (
        (tmp_path / "a", f"tarn://{limited.id}/main/b"),
        (tmp_path / "a", f"tarn://{limited.id}/main/b", "--presign"),
        ("-r", tmp_path / "many", f"tarn://{limited.id}/main/many/"),
    ):
        refused = cli.run("fs", "upload", *words, status=14)
        for said in (
            f'"{limited.id}"',
            "900 of 1000 bytes",
            f"tarn quota set tarn://{limited.id}",
        ):
            assert said in refused.talk, (words, refused.talk)
    cli.run("fs", "rm", f"tarn://{limited.id}/main/a")
    cli.run("quota", "recount", f"tarn://{limited.id}")
    cli.run("fs", "upload", tmp_path / "a", f"tarn://{limited.id}/main/b", status=14)  # it is stored until it is collected
    cli.run("quota", "set", f"tarn://{limited.id}", "--bytes", "2000")
    cli.run("fs", "upload", tmp_path / "a", f"tarn://{limited.id}/main/b")


def test_parts_are_refused_and_the_upload_can_be_aborted(limited, s3):
    where = {"Bucket": limited.id, "Key": "main/big"}
    upload = s3.create_multipart_upload(**where)["UploadId"]
    with pytest.raises(ClientError) as refused:
        s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=b"x" * 1001)
    assert refused.value.response["Error"]["Code"] == "QuotaExceeded"
    part = s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=b"x" * 1000)["ETag"]
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]})
    other = s3.create_multipart_upload(**where)["UploadId"]
    s3.abort_multipart_upload(**where, UploadId=other)


def test_the_lakefs_client_gets_507_and_can_still_delete_and_commit(limited):
    main = limited.branch("main")
    main.object("a").upload(data=b"x" * 1000, mode="wb")
    for _ in range(3):
        with pytest.raises(ServerException) as refused:
            main.object("b").upload(data=b"x", mode="wb")
        assert refused.value.status_code == 507
        assert "1000 of 1000 bytes are used" in str(refused.value)
    main.commit("full")
    main.object("a").delete()
    main.commit("deleted")
    assert list(main.objects()) == []


def test_a_client_that_waits_for_100_continue_sends_no_body(tarn, limited, rest):
    at = urlsplit(tarn.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=20)
    connection.putrequest("POST", f"/api/v1/repositories/{limited.id}/branches/main/objects?path=big")
    connection.putheader("Authorization", rest.session.headers["Authorization"])
    connection.putheader("Content-Type", "application/octet-stream")
    connection.putheader("Content-Length", "5000000")
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 507, "before a byte was sent"
    assert b"quota_exceeded" in answer.read()
    connection.close()


def test_past_a_soft_limit_uploads_have_a_warning(rest, repo, s3):
    url = f"/repositories/{repo.id}/quotas"
    assert rest("PUT", url, json={"limits": {"bytes": {"soft": 10, "hard": 100}}}).status_code == 200

    def put(key, size):
        return s3.put_object(Bucket=repo.id, Key=f"main/{key}", Body=b"x" * size)

    def header(answer):
        return answer["ResponseMetadata"]["HTTPHeaders"].get("x-tarn-quota-warning")

    assert header(put("a", 10)) is None
    assert "11 bytes used, the soft limit is 10, the hard limit 100" in header(put("b", 1))
    branch = f"/repositories/{repo.id}/branches/main"
    over_rest = rest("POST", f"{branch}/objects", params={"path": "c"}, data=b"x")
    assert "12 bytes used" in over_rest.headers["X-Tarn-Quota-Warning"]
    # Every other request that stages an object or a part says so too.
    copied = rest("POST", f"{branch}/objects/copy", params={"dest_path": "d"}, json={"src_path": "c"})
    assert copied.status_code == 201 and "bytes used" in copied.headers["X-Tarn-Quota-Warning"]
    place = rest("GET", f"{branch}/staging/backing", params={"path": "e", "presign": "true"}).json()
    assert header(s3.copy_object(Bucket=repo.id, Key="main/f", CopySource=f"{repo.id}/main/c"))
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="main/g")["UploadId"]
    named = {"Bucket": repo.id, "Key": "main/g", "UploadId": upload}
    part = s3.upload_part(PartNumber=1, Body=b"x", **named)
    assert header(part)
    assert header(s3.upload_part_copy(PartNumber=2, CopySource=f"{repo.id}/main/c", **named))
    etag = part["ETag"]
    assert header(s3.complete_multipart_upload(MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": etag}]}, **named))
    assert requests.put(place["presigned_url"], data=b"hello", timeout=60).status_code == 200
    linked = rest(
        "PUT", f"{branch}/staging/backing", params={"path": "e"}, json={"staging": place, "checksum": "abc", "size_bytes": 5}
    )
    assert linked.status_code == 200 and "bytes used" in linked.headers["X-Tarn-Quota-Warning"]


def test_the_command_sets_lists_recounts_and_removes(cli, repo, rest):
    lake = f"tarn://{repo.id}"
    cli.run("quota", "set", lake, "--bytes", "1KiB", "--soft-bytes", "512", "--branches", "20")
    main = repo.branch("main")
    main.object("a").upload(data=b"x" * 600, mode="wb")
    (item,) = cli.json("quota", "list", lake)["items"]
    assert item["usage"]["bytes"] == 600 and item["limits"]["bytes"] == {"soft": 512, "hard": 1024}
    assert item["usage"]["branches"] == 1
    assert "600 B of 1.0 KiB (warning from 512 B)" in cli.run("quota", "show", lake).text
    assert cli.reason("fs", "upload", "-", f"{lake}/main/b", stdin=b"x" * 600, status=14) == "quota_exceeded"
    main.object("a").delete()
    assert cli.json("quota", "recount", lake)["usage"]["bytes"] == 600, "it is stored until it is collected"
    cli.run("quota", "set", lake, "--bytes", "2KiB", "--metadata-bytes", "1MiB")
    assert cli.json("quota", "recount", lake)["usage"]["metadata_bytes"] > 0
    cli.run("fs", "upload", "-", f"{lake}/main/b", stdin=b"x" * 600)
    cli.run("quota", "set", lake, "--user", "ann", "--on", "exp-*", "--objects", "5")
    assert len(cli.json("quota", "list", lake)["items"]) == 2
    cli.run("quota", "remove", lake, "--user", "ann", "--on", "exp-*")
    cli.run("quota", "remove", lake)
    assert cli.json("quota", "list", lake)["items"] == []
    cli.run("quota", "show", lake, status=4)
    assert cli.reason("quota", "set", lake, status=1) == "invalid_argument"
    assert '"many"' in cli.run("quota", "set", lake, "--bytes", "many", status=2).talk


def test_a_quota_of_a_user_holds_in_all_repositories(cli, tarn, repo, rest):
    user = f"u-{repo.id}"
    assert rest("POST", "/auth/users", json={"id": user}).status_code == 201
    key = rest("POST", f"/auth/users/{user}/credentials").json()
    rest("PUT", f"/auth/groups/Developers/members/{user}")
    cli.run("quota", "set", "--all-repositories", "--user", user, "--bytes", "100")
    theirs = boto3.client(
        "s3",
        endpoint_url=tarn.url,
        aws_access_key_id=key["access_key_id"],
        aws_secret_access_key=key["secret_access_key"],
        region_name="us-east-1",
    )
    theirs.put_object(Bucket=repo.id, Key="main/a", Body=b"x" * 100)
    with pytest.raises(ClientError) as refused:
        theirs.put_object(Bucket=repo.id, Key="main/b", Body=b"x")
    assert f'user "{user}"' in refused.value.response["Error"]["Message"]
    repo.branch("main").object("b").upload(data=b"x" * 500, mode="wb")
    theirs.delete_object(Bucket=repo.id, Key="main/a")
    with pytest.raises(ClientError) as denied:
        theirs.put_object(Bucket=repo.id, Key="main/b", Body=b"x")
    assert denied.value.response["Error"]["Code"] == "QuotaExceeded", "until it is collected"
    answer = requests.put(
        f"{tarn.url}/api/v1/quotas",
        json={"user": user, **limits(bytes=10**12)},
        auth=(key["access_key_id"], key["secret_access_key"]),
        timeout=60,
    )
    assert answer.status_code == 401, "nobody raises their own quota"
    cli.run("quota", "recount", "--all-repositories", "--user", user)
    with pytest.raises(ClientError):
        theirs.put_object(Bucket=repo.id, Key="main/b", Body=b"x")
    cli.run("quota", "set", "--all-repositories", "--user", user, "--bytes", "101")
    theirs.put_object(Bucket=repo.id, Key="main/b", Body=b"x")
    cli.run("quota", "remove", "--all-repositories", "--user", user)


def test_a_restart_forgets_nothing(scratch_dir, initialised_data):
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    rest = clients.Rest(server)

    def upload(path, size):
        return rest("POST", "/repositories/lake/branches/main/objects", params={"path": path}, data=b"x" * size).status_code

    rest("POST", "/repositories", json={"name": "lake", "storage_namespace": "local://lake"})
    rest("PUT", "/repositories/lake/quotas", json=limits(bytes=1000))
    assert upload("a", 700) == 201
    server.kill()
    server.start()
    rest = clients.Rest(server)
    assert (upload("b", 301), upload("b", 300), upload("c", 1)) == (507, 201, 507)
    server.stop()
