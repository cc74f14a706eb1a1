"""Garbage collection as operators and users see it: `tarn gc`, `tarn hold`, on a local and on an S3 store."""

import json
import shutil

import clients
import lakefs
import pytest
import requests
import servers
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
    attempts = [("GET", "plan", None), ("GET", "plan/objects", None), ("GET", "runs", None), ("POST", "runs", {}),
                ("GET", "holds", None), ("POST", "holds", {"ref": "main", "reason": "x"}), ("DELETE", "holds/x", None)]
    for method, path, body in attempts:
        refused = requests.request(method, f"{repository}/{path}", json=body, auth=other, timeout=10)
        assert refused.status_code == 401, (method, path, refused.text)
    assert requests.get(f"{repository}/runs", auth=login, timeout=10).json()["results"] == []
