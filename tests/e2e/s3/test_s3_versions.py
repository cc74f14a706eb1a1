"""Versions over S3: clients that track them, rights, races, kills."""

import threading

import clients
import pytest
import requests
import s3_requests
import s3fs
from botocore.exceptions import BotoCoreError, ClientError
from users import allow

KEY = {"Key": "main/a"}
DIE_SECONDS_MAX = 30


def keep(s3, repo):
    s3.put_bucket_versioning(Bucket=repo, VersioningConfiguration={"Status": "Enabled"})


def where(repo, rest=""):
    return f"arn:lakefs:fs:::repository/{repo.id}{rest}"


def code(call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"]
    return 200


def test_s3fs_that_is_aware_of_versions(tarn, s3, repo):
    keep(s3, repo.id)
    fs = s3fs.S3FileSystem(
        key=tarn.access_key,
        secret=tarn.secret_key,
        version_aware=True,
        skip_instance_cache=True,
        use_listings_cache=False,
        client_kwargs={"endpoint_url": tarn.url, "region_name": "us-east-1"},
    )
    path = f"{repo.id}/main/data.csv"
    seen = []
    for body in [b"one", b"two", b"three"]:
        with fs.open(path, "wb") as file:
            file.write(body)
        seen.append((fs.info(path)["VersionId"], body))
    repo.branch("main").commit("three")
    with fs.open(path, "rb") as file:
        # A file that was opened goes on to read its version.
        fs.pipe_file(path, b"four")
        assert file.read() == b"three"
    for version, body in seen:
        assert fs.cat_file(path, version_id=version) == body
        with fs.open(path, "rb", version_id=version) as file:
            assert file.read() == body
        assert fs.info(f"{path}?versionId={version}")["size"] == len(body)
    assert [v["VersionId"] for v in fs.object_version_info(path)][1:] == [version for version, _ in reversed(seen)]
    fs.rm_file(path)
    assert not fs.exists(path)
    with fs.open(path, "rb", version_id=seen[0][0]) as file:
        assert file.read() == b"one"


def test_boto3_removes_all_versions_of_a_bucket(tarn, s3, repo):
    keep(s3, repo.id)
    for n in range(30):
        s3.put_object(Bucket=repo.id, Key=f"main/k{n % 7}", Body=str(n).encode())
    s3.delete_object(Bucket=repo.id, Key="main/k0")
    bucket = clients.boto3_resource(tarn).Bucket(repo.id)
    assert len(list(bucket.object_versions.all())) == 31
    bucket.object_versions.delete()
    assert list(bucket.object_versions.all()) == [] and list(bucket.objects.all()) == []


def test_a_write_over_rest_is_a_version(tarn, s3, repo):
    keep(s3, repo.id)
    main = repo.branch("main")
    main.object("a").upload(b"rest")
    version = s3.head_object(Bucket=repo.id, **KEY)["VersionId"]
    main.object("a").upload(b"again")
    main.object("a").delete()
    assert s3.get_object(Bucket=repo.id, **KEY, VersionId=version)["Body"].read() == b"rest"
    page = s3.list_object_versions(Bucket=repo.id, Prefix="main/")
    assert len(page["Versions"]) == 2 and page["DeleteMarkers"][0]["IsLatest"]


def test_versions_of_a_branch_are_read_by_a_right_of_their_own(tarn, repo, s3, make_user):
    keep(s3, repo.id)
    first = s3.put_object(Bucket=repo.id, **KEY, Body=b"secret")["VersionId"]
    second = s3.put_object(Bucket=repo.id, **KEY, Body=b"open")["VersionId"]
    branch_only = clients.boto3_client(
        make_user(allow(["fs:ReadObject", "fs:ListObjects", "fs:WriteObject"], where(repo, "/ref/main*")))
    )
    here = {"Bucket": repo.id, **KEY}
    assert branch_only.get_object(**here)["Body"].read() == b"open"
    for version in (first, second):
        for call in (branch_only.get_object, branch_only.head_object, branch_only.get_object_tagging):
            assert code(call, **here, VersionId=version) == 403
        assert code(branch_only.get_object_attributes, **here, VersionId=version, ObjectAttributes=["ETag"]) == 403
        assert code(branch_only.copy_object, Bucket=repo.id, Key="main/b", CopySource={**here, "VersionId": version}) == 403
        assert code(branch_only.delete_object, **here, VersionId=version) == 403
    assert code(branch_only.list_object_versions, Bucket=repo.id, Prefix="main/") == 403
    assert code(branch_only.put_bucket_versioning, Bucket=repo.id, VersioningConfiguration={"Status": "Suspended"}) == 403
    one_version = clients.boto3_client(make_user(allow(["fs:ReadObject"], where(repo, f"/ref/{first}/object/*"))))
    assert one_version.get_object(**here, VersionId=first)["Body"].read() == b"secret"
    assert code(one_version.get_object, **here, VersionId=second) == 403 and code(one_version.get_object, **here) == 403
    everything = clients.boto3_client(
        make_user(allow(["fs:ReadObject"], where(repo, "/object/*")), allow(["fs:ListObjects"], where(repo)))
    )
    assert everything.get_object(**here, VersionId=first)["Body"].read() == b"secret"
    assert len(everything.list_object_versions(Bucket=repo.id, Prefix="main/")["Versions"]) == 2
    assert code(everything.delete_object, **here, VersionId=first) == 403
    remover = clients.boto3_client(make_user(allow(["fs:DeleteObject"], where(repo, "/ref/main/object/*"))))
    assert code(remover.get_object, **here, VersionId=first) == 403
    assert code(remover.delete_object, **here, VersionId=first) == 200
    assert code(s3.get_object, **here, VersionId=first) == 404
    refused = remover.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": "other/a", "VersionId": second}]})
    assert refused["Errors"][0]["Code"] == "AccessDenied"


def test_versions_are_of_one_key_of_one_branch(tarn, repo, s3):
    keep(s3, repo.id)
    version = s3.put_object(Bucket=repo.id, **KEY, Body=b"1")["VersionId"]
    repo.branch("main").commit("one")
    repo.branch("dev").create("main")
    repo.tag("v1").create("main")
    for key in ["main/b", "dev/a", "v1/a"]:
        assert code(s3.get_object, Bucket=repo.id, Key=key, VersionId=version) == 404
    assert code(s3.delete_object, Bucket=repo.id, Key="v1/a", VersionId=version) == 405
    s3.delete_object(Bucket=repo.id, Key="dev/a", VersionId=version)
    assert s3.get_object(Bucket=repo.id, **KEY, VersionId=version)["Body"].read() == b"1"
    assert s3.head_object(Bucket=repo.id, Key="dev/a")["VersionId"] == "null"


def test_protected_branches_make_no_version(tarn, repo, s3, rest):
    keep(s3, repo.id)
    version = s3.put_object(Bucket=repo.id, **KEY, Body=b"1")["VersionId"]
    rules = f"/repositories/{repo.id}/settings/branch_protection"
    assert rest("PUT", rules, json=[{"pattern": "main"}]).status_code == 204
    assert code(s3.put_object, Bucket=repo.id, **KEY, Body=b"2") == 403
    assert code(s3.delete_object, Bucket=repo.id, **KEY) == 403
    assert code(s3.delete_object, Bucket=repo.id, **KEY, VersionId=version) == 403
    assert [v["VersionId"] for v in s3.list_object_versions(Bucket=repo.id, Prefix="main/")["Versions"]] == [version]


def test_writers_on_two_servers(two_tarnds):
    servers = two_tarnds
    first = clients.boto3_client(servers[0])
    s3_requests.rest(
        servers[0],
        "POST",
        "/repositories",
        json={"name": "versions-two", "storage_namespace": "local://versions-two", "default_branch": "main"},
    )
    keep(first, "versions-two")
    here = {"Bucket": "versions-two", **KEY}
    written, lock = {}, threading.Lock()

    def write(number):
        s3 = clients.boto3_client(servers[number % 2])
        for n in range(15):
            body = f"{number}.{n}".encode()
            version = s3.put_object(**here, Body=body)["VersionId"]
            with lock:
                written[version] = body

    def commit(stop):
        while not stop.is_set():
            s3_requests.requests.post(
                f"{servers[0].url}/api/v1/repositories/versions-two/branches/main/commits",
                auth=(servers[0].access_key, servers[0].secret_key),
                json={"message": "m"},
                timeout=60,
            )

    stop = threading.Event()
    committer = threading.Thread(target=commit, args=(stop,))
    committer.start()
    writers = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    committer.join()
    second = clients.boto3_client(servers[1])
    listed = second.list_object_versions(Bucket="versions-two", Prefix="main/")["Versions"]
    assert len(written) == 60 and {v["VersionId"] for v in listed} == set(written)
    for version, body in written.items():
        assert second.get_object(**here, VersionId=version)["Body"].read() == body
    assert (
        [v["VersionId"] for v in listed if v["IsLatest"]] == [second.head_object(**here)["VersionId"]] == [listed[0]["VersionId"]]
    )


@pytest.mark.parametrize(
    "point",
    [
        "sql.staging_insert_row_if.after",
        "sql.object_versions_record.before",
        "sql.object_versions_record.after",
        "sql.branches_publish_commit.before",
        "sql.branches_publish_commit.after",
    ],
)
def test_versions_live_through_kills(start_tarnd, name, point):
    server = start_tarnd()
    s3_requests.rest(
        server, "POST", "/repositories", json={"name": name, "storage_namespace": f"local://{name}", "default_branch": "main"}
    )
    s3 = clients.boto3_client(server)
    keep(s3, name)
    here = {"Bucket": name, **KEY}
    acknowledged = {s3.put_object(**here, Body=body)["VersionId"]: body for body in (b"1", b"2")}
    server.stop()
    dying = start_tarnd(f"{point}=kill")
    dying_s3 = clients.boto3_client(dying)
    with pytest.raises((BotoCoreError, ClientError, requests.ConnectionError)):  # noqa: PT012 - the fault is in one of both
        acknowledged[dying_s3.put_object(**here, Body=b"3")["VersionId"]] = b"3"
        s3_requests.commit(dying, name)
    assert dying.process.child.wait(DIE_SECONDS_MAX) == -9
    after = start_tarnd()
    s3 = clients.boto3_client(after)
    for version, body in acknowledged.items():
        assert s3.get_object(**here, VersionId=version)["Body"].read() == body
    listed = s3.list_object_versions(Bucket=name, Prefix="main/")["Versions"]
    assert {v["VersionId"] for v in listed} == set(acknowledged)
    assert s3.head_object(**here)["VersionId"] == listed[0]["VersionId"]
    assert listed[0]["IsLatest"] and acknowledged[listed[0]["VersionId"]] == s3.get_object(**here)["Body"].read()
