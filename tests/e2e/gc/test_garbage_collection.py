"""Garbage collection as operators and users see it: `tarn gc`, `tarn hold`, on a local and on an S3 store."""

import json
import shutil

import clients
import lakefs
import pytest
import requests
import servers
from botocore.exceptions import ClientError
from command import Cli

WITHOUT_GRACE = {"TARN_GC_INTERVAL_HOURS": "0", "TARN_GC_GRACE_HOURS": "0", "TARN_GC_UNREACHABLE_DAYS": "0"}


@pytest.fixture(scope="module", params=["local", "s3"])
def store(request, initialised_data, versitygw):
    environment = dict(WITHOUT_GRACE)
    if request.param == "s3":
        clients.boto3_client(versitygw).create_bucket(Bucket="gc-store")
        environment.update(versitygw.tarnd_environment())
    directory = servers.scratch_directory("gc")
    server = servers.Tarnd(directory, environment=environment).copy_data_of(initialised_data).start()
    server.kind = request.param
    server.objects = (lambda: versitygw.stored("gc-store")) if request.param == "s3" else server.stored
    yield server
    server.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def lake(store, name, tmp_path):
    space = f"s3://gc-store/{name}" if store.kind == "s3" else f"local://{name}"
    lakefs.repository(name, client=clients.lakefs_client(store)).create(storage_namespace=space)
    store.s3 = clients.boto3_client(store)
    store.cli = Cli(store, tmp_path / "home", name)
    return store


def data_of(store, name):
    return {path for path in store.objects() if path.startswith(f"{name}/data/")}


def put(store, name, key, body):
    store.s3.put_object(Bucket=name, Key=key, Body=body)


def test_what_nothing_refers_to_goes_and_the_rest_stays(lake, name):
    put(lake, name, "main/a", b"first")
    put(lake, name, "main/a", b"second")
    put(lake, name, "main/b", b"committed")
    lake.cli.run("commit", "main", "-m", "base")
    lake.cli.run("branch", "create", "exp")
    put(lake, name, "exp/c", b"of a branch")
    lake.cli.run("commit", "exp", "-m", "experiment")
    lake.cli.run("branch", "delete", "exp", "-y")
    put(lake, name, "main/d", b"staged")
    before = data_of(lake, name)
    assert len(before) == 5

    plan = lake.cli.json("gc", "plan")
    assert (plan["stored_objects"], plan["live_objects"], plan["commits"]) == (5, 3, 1)
    listed = [json.loads(line) for line in lake.cli.run("gc", "plan", "--objects").text.splitlines()]
    planned = {f"{name}/{item['path']}" for item in listed}
    assert len(planned) == 2 and planned < before
    assert data_of(lake, name) == before, "a plan changes nothing"

    found = lake.cli.json("gc", "run", "--wait")
    assert (found["state"], found["found_objects"], found["removed_objects"]) == ("done", 2, 0)
    removed = lake.cli.json("gc", "run", "--wait")
    assert (removed["state"], removed["removed_objects"], removed["actor"]) == ("done", 2, "admin")
    assert data_of(lake, name) == before - planned
    for key, body in {"main/a": b"second", "main/b": b"committed", "main/d": b"staged"}.items():
        assert lake.s3.get_object(Bucket=name, Key=key)["Body"].read() == body
    table = lake.cli.run("gc", "log", "-o", "csv").text.splitlines()
    assert table[0] == "run,state,started,stored,found,removed,size,commits"
    assert [line.split(",")[0:2] for line in table[1:]] == [["2", "done"], ["1", "done"]]
    assert lake.cli.json("gc", "status")["run"] == 2


def test_a_hold_keeps_what_no_branch_leads_to(lake, name):
    lake.cli.run("branch", "create", "exp")
    put(lake, name, "exp/a", b"held")
    lake.cli.run("commit", "exp", "-m", "experiment")
    lake.cli.run("hold", "add", "exp", status=1)
    lake.cli.run("hold", "add", "exp", "--reason", "audit", "--until", "2001-01-01T00:00:00Z", status=1)
    lake.cli.run("hold", "add", "absent", "--reason", "audit", status=4)
    hold = lake.cli.json("hold", "add", "exp", "--reason", "audit", "--until", "30d")
    lake.cli.run("branch", "delete", "exp", "-y")
    for _ in range(3):
        assert lake.cli.json("gc", "run", "--wait")["removed_objects"] == 0
    read = lakefs.repository(name, client=clients.lakefs_client(lake)).ref(hold["commit_id"])
    assert read.object("a").reader("rb").read() == b"held"
    [listed] = lake.cli.json("hold", "ls")["items"]
    assert (listed["id"], listed["reason"], listed["actor"]) == (hold["id"], "audit", "admin")
    lake.cli.run("hold", "rm", hold["id"])
    lake.cli.run("hold", "rm", hold["id"], status=4)
    assert sum(lake.cli.json("gc", "run", "--wait")["removed_objects"] for _ in range(3)) == 1
    assert not data_of(lake, name)


def commit(lake, name, key, body):
    put(lake, name, f"main/{key}", body)
    return lake.cli.json("commit", "main", "-m", f"{key} {body.decode()}")["id"]


def test_history_expires_by_rules_and_stays_in_the_log(lake, name):
    first = commit(lake, name, "a", b"first")
    second = commit(lake, name, "a", b"second")
    third = commit(lake, name, "a", b"third")
    lake.cli.run("tag", "create", "v2", second)
    assert lake.cli.json("gc", "plan")["expiring_commits"] == 0
    lake.cli.run("gc", "set-config", "--days", "0")
    assert lake.cli.json("gc", "plan")["expiring_commits"] == 1
    assert "commits whose data expires" in lake.cli.run("gc", "plan").text
    assert lake.cli.json("gc", "run", "--wait")["expired_commits"] == 1
    assert lake.cli.json("gc", "run", "--wait")["removed_objects"] == 1
    assert len(data_of(lake, name)) == 2

    repository = lakefs.repository(name, client=clients.lakefs_client(lake))
    assert [entry.id for entry in repository.branch("main").log()][:3] == [third, second, first]
    assert repository.ref("v2").object("a").reader("rb").read() == b"second"
    rows = {item["id"]: item for item in lake.cli.json("log", "main")["items"]}
    assert [rows[id].get("expired", False) for id in (first, second, third)] == [True, False, False]
    assert "(expired) a first" in lake.cli.run("log", "main").text
    with pytest.raises(ClientError) as refused:
        lake.s3.get_object(Bucket=name, Key=f"{first}/a")
    assert refused.value.response["Error"]["Code"] == "CommitExpired"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 410
    assert "history is kept for 0 days" in refused.value.response["Error"]["Message"]
    answer = requests.get(
        f"{lake.url}/api/v1/repositories/{name}/refs/{first}/objects",
        params={"path": "a"},
        auth=(lake.access_key, lake.secret_key),
        timeout=10,
    )
    assert (answer.status_code, answer.json()["code"]) == (410, "expired")
    for verb in (
        ("branch", "create", "old", "--source", first),
        ("tag", "create", "v1", first),
        ("diff", first, "main"),
        ("hold", "add", first, "--reason", "audit"),
        ("exp", "log", "--ref", first, "--experiment", "e"),
        ("du", f"tarn://{name}/{first}"),
        ("du", f"tarn://{name}/{first}", "--exact"),
        ("verify", "--ref", first),
        ("search", f"tarn://{name}/{first}/", "--glob", "*"),
    ):
        assert "expired" in lake.cli.run(*verb, status=1).talk, verb
    assert lake.cli.json("verify")["findings"] == []
    lake.cli.run("du", f"tarn://{name}/main", "--exact")
    lake.cli.run("du", f"tarn://{name}/main", "--free")
    [expiry] = lake.cli.json("gc", "expired")["items"]
    assert (expiry["commit_id"], expiry["rule"]) == (first, "history is kept for 0 days")


def test_a_commit_expires_early(lake, name):
    personal = commit(lake, name, "person", b"name and address")
    lake.s3.delete_object(Bucket=name, Key="main/person")
    put(lake, name, "main/b", b"other")
    lake.cli.run("commit", "main", "-m", "without")
    lake.cli.run("gc", "expire", personal, status=1)
    lake.cli.run("tag", "create", "v1", personal)
    refused = lake.cli.run("gc", "expire", personal, "--reason", "request 17", status=6)
    assert 'in use by tag "v1"' in refused.talk
    lake.cli.run("tag", "delete", "v1", "-y")
    outcome = lake.cli.json("gc", "expire", personal, "--reason", "request 17")
    assert (outcome["freed_objects"], outcome["freed_bytes"], outcome["shown_by"]) == (1, 16, [])
    for _ in range(2):
        lake.cli.run("gc", "run", "--wait")
    assert len(data_of(lake, name)) == 1
    [expiry] = lake.cli.json("gc", "expired")["items"]
    assert (expiry["actor"], expiry["reason"]) == ("admin", "request 17")


def test_a_deleted_repository_comes_back_until_its_grace_is_over(lake, name):
    put(lake, name, "main/a", b"committed")
    lake.cli.run("commit", "main", "-m", "base")
    put(lake, name, "main/b", b"staged")
    lake.cli.run("repo", "delete", name, "-y", "--grace", "soon", status=1)
    lake.cli.run("repo", "delete", name, "-y", "--grace", "7d")
    lake.cli.run("branch", "list", status=4)
    [deleted] = [item for item in lake.cli.json("repo", "list", "--deleted")["items"] if item["name"] == name]
    space = f"s3://gc-store/{name}-2" if lake.kind == "s3" else f"local://{name}-2"
    lake.cli.run("repo", "create", name, space)
    lake.cli.run("repo", "undelete", name, status=5)
    lake.cli.run("repo", "undelete", f"{name}-x", status=4)
    restored = lake.cli.json("repo", "undelete", name, "--as", f"{name}-old", "--id", deleted["id"])
    assert restored["id"] == f"{name}-old"
    for key, body in {"main/a": b"committed", "main/b": b"staged"}.items():
        assert lake.s3.get_object(Bucket=f"{name}-old", Key=key)["Body"].read() == body
    lake.cli.run("repo", "delete", f"{name}-old", "-y", "--grace", "0s")
    lake.cli.run("repo", "undelete", f"{name}-old", status=4)


def test_it_refuses_to_remove_most_of_a_repository(lake, name):
    for number in range(110):
        put(lake, name, f"main/{number}", b"x")
    for number in range(105):
        lake.s3.delete_object(Bucket=name, Key=f"main/{number}")
    lake.cli.run("gc", "run", "--wait")
    refused = lake.cli.run("gc", "run", "--wait", "-o", "json", status=1)
    assert "--yes-delete" in json.loads(refused.text)["error"]
    assert len(data_of(lake, name)) == 110
    lake.cli.run("gc", "run", "--yes-delete", "101", status=1)
    assert lake.cli.json("gc", "run", "--yes-delete", "96", "--wait")["removed_objects"] == 105
    assert len(data_of(lake, name)) == 5


def test_who_may(store, name):
    login = (store.access_key, store.secret_key)
    base = f"{store.url}/api/v1"
    space = f"s3://gc-store/{name}" if store.kind == "s3" else f"local://{name}"
    lakefs.repository(name, client=clients.lakefs_client(store)).create(storage_namespace=space)
    assert requests.post(f"{base}/auth/users", json={"id": f"user-{name}"}, auth=login, timeout=10).ok
    keys = requests.post(f"{base}/auth/users/user-{name}/credentials", auth=login, timeout=10).json()
    other = (keys["access_key_id"], keys["secret_access_key"])
    repository = f"{base}/repositories/{name}/gc"
    attempts = [
        ("GET", "plan", None),
        ("GET", "plan/objects", None),
        ("GET", "runs", None),
        ("POST", "runs", {}),
        ("GET", "expiries", None),
        ("POST", "expiries", {"ref": "main", "reason": "x"}),
        ("GET", "holds", None),
        ("POST", "holds", {"ref": "main", "reason": "x"}),
        ("DELETE", "holds/x", None),
    ]
    for method, path, body in attempts:
        refused = requests.request(method, f"{repository}/{path}", json=body, auth=other, timeout=10)
        assert refused.status_code == 401, (method, path, refused.text)
    assert requests.get(f"{repository}/runs", auth=login, timeout=10).json()["results"] == []
