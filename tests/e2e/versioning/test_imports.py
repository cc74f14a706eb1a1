"""Imports that are repeated, verified, run beside each other, and interrupted by kill -9."""

import concurrent.futures
import os
import time

import clients
import lakefs
import pytest
import servers
from command import Cli
from import_requests import finished, start
from long_tests import LONG


def files(directory, count, size=3):
    directory.mkdir(parents=True)
    for n in range(count):
        (directory / f"{n:06}").write_bytes(b"x" * size)
    return directory


def test_a_repeated_import_says_when_nothing_changed(tarn, rest, repo, name):
    source = files(tarn.import_root / name, 200)

    def run():
        return finished(rest, name, "main", start(rest, name, "main", source, if_changed=True).json()["id"])

    first = run()
    assert first["changed"] and first["ingested_objects"] == 200
    again = run()
    assert again["completed"] and not again["changed"]
    assert again["commit"]["id"] == first["commit"]["id"] == repo.branch("main").get_commit().id
    (source / "000007").write_bytes(b"longer than before")
    third = run()
    assert third["changed"] and third["commit"]["parents"] == [first["commit"]["id"]]


def test_a_repeated_request_with_its_key_starts_one_import(tarn, rest, repo, name):
    source = files(tarn.import_root / name, 10)
    key = {"Idempotency-Key": f"nightly {name}"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ids = {answer.json()["id"] for answer in pool.map(lambda _: start(rest, name, "main", source, headers=key), range(16))}
    assert len(ids) == 1
    finished(rest, name, "main", ids.pop())
    assert [commit.message for commit in repo.branch("main").log()] == ["lake", "Repository created"]
    other = start(rest, name, "main", source, destination="other/", headers=key)
    assert other.status_code == 409 and other.json()["code"] == "idempotency_key_reused"
    long_key = start(rest, name, "main", source, headers={"Idempotency-Key": "k" * 256})
    assert long_key.status_code == 400 and "Idempotency-Key" in long_key.json()["message"]


def test_verify_names_the_sources_that_changed(tarn, rest, repo, name):
    source = files(tarn.import_root / name, 1200)
    finished(rest, name, "main", start(rest, name, "main", source).json()["id"])
    verify = f"/repositories/{name}/refs/main/import/verify"
    whole = rest("GET", verify).json()
    assert (whole["objects"], whole["sources"], whole["results"]) == (1200, 1200, [])

    os.utime(source / "000003", (1, 1))
    (source / "000500").unlink()
    (source / "001100").write_bytes(b"longer than before")
    found = rest("GET", verify).json()
    assert [(item["path"], item["problem"]) for item in found["results"]] == [
        ("raw/000003", "changed"),
        ("raw/000500", "missing"),
        ("raw/001100", "changed"),
    ]
    assert found["results"][2]["recorded"]["size_bytes"] == 3
    assert found["results"][2]["found"]["size_bytes"] == 18
    page = rest("GET", f"{verify}?amount=2").json()
    assert len(page["results"]) == 2 and page["pagination"]["has_more"]
    rest_of_it = rest("GET", f"{verify}?amount=2&after={page['pagination']['next_offset']}").json()
    assert [item["path"] for item in rest_of_it["results"]] == ["raw/001100"]
    assert not rest_of_it["pagination"]["has_more"]


def test_several_imports_run_at_once(tarn, rest, repo, name):
    """On four branches, and two of one branch: the second follows the first."""
    for branch in "abcd":
        repo.branch(branch).create("main")
    jobs = []
    for n, branch in enumerate(["a", "b", "c", "d", "d"]):
        source = files(tarn.import_root / f"{name}-{n}", 300)
        jobs.append((branch, start(rest, name, branch, source, destination=f"{n}/").json()["id"]))
    for branch, import_id in jobs:
        assert finished(rest, name, branch, import_id)["completed"]
    assert len(list(repo.branch("a").objects(max_amount=1000))) == 300
    assert len(list(repo.branch("d").objects(max_amount=1000))) == 600


def test_s3_sources_are_verified_and_compared_too(tarn_s3, versitygw, name):
    bucket = clients.boto3_client(versitygw)
    for n in range(20):
        bucket.put_object(Bucket="lake", Key=f"{name}/in/{n:02}", Body=b"x" * n)
    rest = clients.Rest(tarn_s3)
    lakefs.repository(name, client=clients.lakefs_client(tarn_s3)).create(storage_namespace=f"s3://lake/{name}/ns")

    def run():
        answer = rest(
            "POST",
            f"/repositories/{name}/branches/main/import",
            json={
                "paths": [{"type": "common_prefix", "path": f"s3://lake/{name}/in/", "destination": ""}],
                "commit": {"message": "lake"},
                "if_changed": True,
            },
        )
        return finished(rest, name, "main", answer.json()["id"])

    assert run()["changed"]
    assert not run()["changed"]
    bucket.put_object(Bucket="lake", Key=f"{name}/in/03", Body=b"yyy")
    bucket.delete_object(Bucket="lake", Key=f"{name}/in/05")
    found = rest("GET", f"/repositories/{name}/refs/main/import/verify").json()
    assert [(item["path"], item["problem"]) for item in found["results"]] == [("03", "changed"), ("05", "missing")]
    assert run()["changed"]
    assert rest("GET", f"/repositories/{name}/refs/main/import/verify").json()["results"] == []


def import_bucket(rest, name, bucket):
    """How importing the whole bucket to photos/ ended."""
    answer = rest(
        "POST",
        f"/repositories/{name}/branches/main/import",
        json={
            "paths": [{"type": "common_prefix", "path": f"s3://{bucket}/", "destination": "photos/"}],
            "commit": {"message": "photos"},
        },
    )
    return finished(rest, name, "main", answer.json()["id"])


def test_a_source_that_is_gone_is_named(tarn_s3, versitygw, name, tmp_path):
    """The bucket: which one, where, and what to do about it, over REST, S3 and in the command."""
    source, where = f"photos-{name[-12:]}", f"at {versitygw.url}"
    bucket = clients.boto3_client(versitygw)
    bucket.create_bucket(Bucket=source)
    bucket.put_object(Bucket=source, Key="a", Body=b"x")
    rest = clients.Rest(tarn_s3)
    lakefs.repository(name, client=clients.lakefs_client(tarn_s3)).create(storage_namespace=f"s3://lake/{name}/ns")
    assert import_bucket(rest, name, source)["completed"]
    bucket.delete_object(Bucket=source, Key="a")
    bucket.delete_bucket(Bucket=source)

    deadline = time.monotonic() + 30  # a bucket that answered is not doubted for a second
    while (found := rest("GET", f"/repositories/{name}/refs/main/import/verify")).status_code == 200:
        assert found.json()["results"][0]["problem"] == "missing" and time.monotonic() < deadline
    assert (found.status_code, found.json()["code"]) == (412, "source_not_readable")
    said = [
        found.json()["message"],
        Cli(tarn_s3, tmp_path).run("import-verify", f"tarn://{name}/main/", status=1).talk,
        import_bucket(rest, name, source)["error"]["message"],
    ]
    for message in said:
        assert f'"{source}" {where}' in message, message
    assert f"s3://{source}/a" in said[0] and f"s3://{source}/a" in said[1]
    read = rest("GET", f"/repositories/{name}/refs/main/objects?path=photos/a")
    assert (read.status_code, read.json()["code"]) == (503, "bucket_not_found") and source in read.json()["message"]
    over_s3 = clients.RawS3(tarn_s3)("GET", f"/{name}/main/photos/a")
    assert over_s3[0] == 503 and b"<Code>ServiceUnavailable</Code>" in over_s3[2] and source.encode() in over_s3[2]
    bucket.create_bucket(Bucket=source)
    bucket.put_object(Bucket=source, Key="a", Body=b"xy")
    found = rest("GET", f"/repositories/{name}/refs/main/import/verify").json()
    assert [item["problem"] for item in found["results"]] == ["changed"]


def test_a_source_that_does_not_let_the_server_in_is_named(tarn_s3, versitygw, name, scratch_dir, initialised_data, tmp_path):
    """A key that was changed at the store: it is the server's, and none of the caller's."""
    bucket = clients.boto3_client(versitygw)
    bucket.put_object(Bucket="lake", Key=f"{name}/in/a", Body=b"x")
    server = (
        servers.Tarnd(scratch_dir / "tarnd", environment=versitygw.tarnd_environment()).copy_data_of(initialised_data).start()
    )
    try:
        rest = clients.Rest(server)
        lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"s3://lake/{name}/ns")
        answer = rest(
            "POST",
            f"/repositories/{name}/branches/main/import",
            json={
                "paths": [{"type": "object", "path": f"s3://lake/{name}/in/a", "destination": "a"}],
                "commit": {"message": "m"},
            },
        )
        assert finished(rest, name, "main", answer.json()["id"])["completed"]
        server.stop()
        server.environment["TARN_STORE_S3_SECRET_ACCESS_KEY"] = "another"
        server.start()
        found = rest("GET", f"/repositories/{name}/refs/main/import/verify")
        assert (found.status_code, found.json()["code"]) == (412, "source_not_readable")
        for message in (
            found.json()["message"],
            Cli(server, tmp_path).run("import-verify", f"tarn://{name}/main/", status=1).talk,
        ):
            assert f"s3://lake/{name}/in/a" in message and versitygw.url in message
        read = rest("GET", f"/repositories/{name}/refs/main/objects?path=a")
        assert (read.status_code, read.json()["code"]) == (503, "store_denied")
        written = rest(
            "POST",
            f"/repositories/{name}/branches/main/objects?path=b",
            data=b"x",
            headers={"Content-Type": "application/octet-stream"},
        )
        assert (written.status_code, written.json()["code"]) == (503, "store_denied")
        for request in [("GET", f"/{name}/main/a"), ("PUT", f"/{name}/main/b", b"x")]:
            status, _, body = clients.RawS3(server)(*request)
            assert status == 503 and b"<Code>ServiceUnavailable</Code>" in body, request
    finally:
        server.stop()


def test_an_import_does_not_read_another_repository(tarn_s3, name):
    """Stores list names that begin alike, so that "vic-1" would bring what "vic-12" keeps."""
    client = clients.lakefs_client(tarn_s3)
    victim = lakefs.repository(f"{name}-v", client=client).create(storage_namespace=f"s3://lake/{name}/vic-12")
    victim.branch("main").object("secret").upload(data=b"secret", mode="wb")
    lakefs.repository(name, client=client).create(storage_namespace=f"s3://lake/{name}/own")
    rest = clients.Rest(tarn_s3)
    for source in ["vic-1", "vic", "v", "", "vic-12", "vic-12/", "vic-12//", "/vic-12/", "vic-12/data"]:
        answer = rest(
            "POST",
            f"/repositories/{name}/branches/main/import",
            json={
                "paths": [{"type": "common_prefix", "path": f"s3://lake/{name}/{source}", "destination": "in/"}],
                "commit": {"message": "m"},
            },
        )
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_import_source"), source
    assert list(lakefs.repository(name, client=client).ref("main").objects()) == []


@pytest.fixture
def own_server(scratch_dir, initialised_data):
    """One that may be killed."""
    server = servers.Tarnd(scratch_dir / "tarnd").copy_data_of(initialised_data).start()
    yield server
    server.stop()


# A new process takes the import over when the lease of the dead one runs out: 30 s that only the long run has.
VICTIMS = ["postgres", "tarnd"] if LONG else ["postgres"]


@pytest.mark.parametrize("victim", VICTIMS)
def test_an_import_outlives_kill_9(own_server, long_tests, victim):
    """10^5 objects here, 10^6 in the long run: killed in the middle, it ends by itself after the restart."""
    server, count = own_server, 1_000_000 if long_tests else 100_000
    source = server.import_root / "many"
    for n in range(count // 1000):
        (source / f"{n:04}").mkdir(parents=True)
        for m in range(1000):
            os.close(os.open(source / f"{n:04}" / f"{m:03}", os.O_CREAT | os.O_WRONLY, 0o644))
    client = clients.lakefs_client(server)
    rest = clients.Rest(server)
    for attempt in range(20):  # a machine may be faster than the killer now and then
        lake = f"lake-{attempt}"
        repo = lakefs.repository(lake, client=client).create(storage_namespace=f"local://{lake}")
        import_id = start(rest, lake, "main", source).json()["id"]
        path = f"/repositories/{lake}/branches/main/import?id={import_id}"
        for _ in range(1000):
            status = rest("GET", path).json()
            if status["ingested_objects"] > 0:
                break
            time.sleep(0.005)
        if not status["completed"]:
            break
    assert not status["completed"], "killed too late: the imports were faster than their killer"
    if victim == "tarnd":
        server.kill()
        server.start()
    else:
        server.kill_postgres()
    rest = clients.Rest(server)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        answer = rest("GET", path)
        if answer.status_code == 200:
            status = answer.json()
            if status["completed"] or "error" in status:
                break
            # Nothing of it may be visible before its commit, which is there a moment before the status says so.
            if rest("GET", f"/repositories/{lake}/refs/main/objects/ls?amount=1").json().get("results"):
                assert len(list(repo.branch("main").log())) == 2
        time.sleep(0.5)
    assert status["completed"] and status["ingested_objects"] == count, status
    log = list(repo.branch("main").log())
    assert [commit.message for commit in log] == ["lake", "Repository created"]
    for _ in range(20):  # connections that the kill broke answer 503 until each was noticed
        verified = rest("GET", f"/repositories/{lake}/refs/main/import/verify?amount=1")
        if verified.status_code != 503:
            break
        time.sleep(0.5)
    assert verified.status_code == 200 and verified.json()["results"] == [], verified.text
