"""Hooks through the SDK, the command and real receivers: vetoes, scripts as the user who set them off, runs and kills."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import clients
import command
import lakefs
import lakefs_sdk
import pytest
import requests
import servers
from hook_receiver import AFTER_SECONDS, action
from lakefs_sdk import models
from users import allow, sdk

# Of a run whose server was killed, and until another takes it.
LEASE_SECONDS = 60


@pytest.fixture(scope="module")
def hooked(session_scratch, initialised_data):
    """A server whose hooks may reach this machine and have a secret."""
    server = (
        servers.Tarnd(
            session_scratch / "tarnd-hooks",
            environment={
                "TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1",
                "LAKEFSACTION_TOKEN": "hook-secret",
                "TARN_HOOKS_VARIABLES": "LAKEFSACTION_TOKEN=*",
            },
        )
        .copy_data_of(initialised_data)
        .start()
    )
    yield server
    server.stop()


@pytest.fixture
def lake(hooked, name):
    return lakefs.repository(name, client=clients.lakefs_client(hooked)).create(storage_namespace=f"local://{name}")


def webhook(name, url, **more):
    return {"id": name, "type": "webhook", "properties": {"url": url, **more}}


def script(name, text, **more):
    return {"id": name, "type": "lua", "properties": {"script": text, **more}}


def put(repo, text, branch="main", file="a.yaml"):
    repo.branch(branch).object(f"_lakefs_actions/{file}").upload(data=text.encode())


def refused(call):
    with pytest.raises(lakefs.exceptions.ServerException) as caught:
        call()
    return caught.value


def newest(server, repo):
    return lakefs_sdk.ActionsApi(sdk(server)).list_repository_runs(repo.id).results[0]


def test_a_webhook_refuses_a_commit_and_the_sdk_reads_the_run(hooked, lake, receiver):
    put(
        lake,
        action(
            "check",
            ["pre-commit", "post-commit"],
            webhook("gate", receiver.url("/gate"), headers={"X-Token": "{{ ENV.LAKEFSACTION_TOKEN }}"}),
            webhook("never", receiver.url("/never")),
        ),
    )
    receiver.answers["/gate"] = 418
    failure = refused(lambda: lake.branch("main").commit("no"))
    assert failure.status_code == 412
    api = lakefs_sdk.ActionsApi(sdk(hooked))
    run = newest(hooked, lake)
    assert f"pre-commit hook aborted, run id '{run.run_id}': 1 error occurred:" in failure.body["message"]
    assert (run.status, run.branch, run.event_type, run.commit_id) == ("failed", "main", "pre-commit", "")
    hooks = api.list_run_hooks(lake.id, run.run_id).results
    assert [(h.hook_run_id, h.action, h.hook_id, h.status) for h in hooks] == [
        ("0000_0000", "check", "gate", "failed"),
        ("0000_0001", "check", "never", "failed"),
    ]
    output = bytes(api.get_run_hook_output(lake.id, run.run_id, "0000_0000")).decode()
    assert "< 418" in output and "hook-secret" not in output and "*****" in output
    assert receiver.taken[0][2]["X-Token"] == "hook-secret"
    assert bytes(api.get_run_hook_output(lake.id, run.run_id, "0000_0001")) == b""

    receiver.answers["/gate"] = 200
    made = lake.branch("main").commit("yes")
    assert newest(hooked, lake).commit_id == made.id
    assert receiver.wait_for("post-commit")["commit_id"] == made.id
    runs = [r.event_type for r in api.list_repository_runs(lake.id, commit=made.id).results]
    assert "pre-commit" in runs
    with pytest.raises(lakefs_sdk.exceptions.NotFoundException):
        api.get_run(lake.id, "nosuchrun")
    with pytest.raises(lakefs_sdk.exceptions.BadRequestException):
        api.list_repository_runs(lake.id, branch="main", commit=made.id)


LOOK = """
local lakefs, json = require("lakefs"), require("encoding/json")
local code, page = lakefs.list_objects(action.repository_id, action.source_ref, "", "data/")
print("list", code, #(page.results or {}))
local code, body = lakefs.get_object(action.repository_id, action.source_ref, "data/a.json")
print("get", code, body)
local code, stat = lakefs.stat_object(action.repository_id, action.source_ref, "data/a.json")
print("stat", code, json.unmarshal(stat).size_bytes, username)
local code, changes = lakefs.diff_branch(action.repository_id, action.branch_id)
print("diff", code, #(changes.results or {}))
local code = lakefs.create_tag(action.repository_id, "main", "by-" .. username)
print("tag", code)
"""


def test_a_script_works_with_what_its_user_may(hooked, lake, tmp_path):
    lake.branch("main").object("data/a.json").upload(data=b'{"x": 1}', content_type="application/json")
    put(lake, action("look", ["pre-commit"], script("see", LOOK)))
    lake.branch("main").commit("as admin")
    api = lakefs_sdk.ActionsApi(sdk(hooked))
    output = bytes(api.get_run_hook_output(lake.id, newest(hooked, lake).run_id, "0000_0000")).decode()
    assert output.splitlines() == ["list\t200\t1", 'get\t200\t{"x": 1}', "stat\t200\t8\tadmin", "diff\t200\t2", "tag\t201"]
    assert lake.tag("by-admin").get_commit().id

    # Somebody who may commit and write, and read nothing else.
    admin = lakefs_sdk.AuthApi(sdk(hooked))
    where = f"arn:lakefs:fs:::repository/{lake.id}"
    admin.create_user(user_creation=models.UserCreation(id="poor"))
    admin.create_policy(
        policy=models.Policy(
            id="poor",
            statement=[allow(["fs:CreateCommit", "fs:WriteObject", "fs:ReadRepository", "fs:ReadBranch"], where, f"{where}/*")],
        )
    )
    admin.attach_policy_to_user("poor", "poor")
    key = admin.create_credentials("poor")
    poor = lakefs_sdk.ApiClient(
        lakefs_sdk.Configuration(host=hooked.url + "/api/v1", username=key.access_key_id, password=key.secret_access_key)
    )
    lake.branch("main").object("data/b").upload(data=b"2")
    lakefs_sdk.CommitsApi(poor).commit(lake.id, "main", models.CommitCreation(message="as poor"))
    output = bytes(api.get_run_hook_output(lake.id, newest(hooked, lake).run_id, "0000_0000")).decode()
    assert [line.split("\t")[1] for line in output.splitlines()] == ["401", "401", "401", "401", "401"]
    with pytest.raises(lakefs.exceptions.NotFoundException):
        lake.tag("by-poor").get_commit()

    # The administrator, with a key of which no more is allowed.
    lake.tag("by-admin").delete()
    key = requests.post(
        f"{hooked.url}/api/v1/auth/users/admin/keys",
        json={
            "life_seconds": 600,
            "statement": [
                {"effect": "allow", "action": ["fs:CreateCommit", "fs:ReadRepository", "fs:ReadBranch"], "resource": resource}
                for resource in (where, f"{where}/*")
            ],
        },
        auth=(hooked.access_key, hooked.secret_key),
        timeout=60,
    ).json()
    narrow = lakefs_sdk.ApiClient(
        lakefs_sdk.Configuration(host=hooked.url + "/api/v1", username=key["access_key_id"], password=key["secret_access_key"])
    )
    lake.branch("main").object("data/c").upload(data=b"3")
    lakefs_sdk.CommitsApi(narrow).commit(lake.id, "main", models.CommitCreation(message="by a key with limits"))
    output = bytes(api.get_run_hook_output(lake.id, newest(hooked, lake).run_id, "0000_0000")).decode()
    assert [line.split("\t")[1] for line in output.splitlines()] == ["401", "401", "401", "401", "401"]


def test_a_script_cannot_hurt_the_server(hooked, lake):
    for text, says in (
        ("while true do end", "longer than"),
        ("local s = ('x'):rep(1 << 30)", "memory"),
        ("os.exit(1)", "nil value"),
        ("io.open('/etc/passwd')", "nil value"),
        ("require('aws')", "hooks.lua_http"),
        ("require('databricks')", "is not part of this server"),
    ):
        put(lake, action("bad", ["pre-commit"], script("see", text, timeout="3s")))
        failure = refused(lambda: lake.branch("main").commit("x"))
        assert failure.status_code == 412 and says in failure.body["message"], (text, failure.body)
    assert hooked.alive()


def test_hooks_around_branches_tags_and_merges(hooked, lake, receiver):
    events = [
        "pre-create-branch",
        "post-create-branch",
        "pre-create-tag",
        "post-create-tag",
        "pre-merge",
        "post-merge",
        "pre-delete-branch",
        "post-delete-branch",
        "pre-delete-tag",
        "post-delete-tag",
    ]
    put(lake, action("all", events, webhook("tell", receiver.url("/tell"))))
    lake.branch("main").commit("hooks")
    dev = lake.branch("dev").create("main")
    dev.object("x").upload(data=b"1")
    dev.commit("x")
    dev.merge_into("main")
    lake.tag("v1").create("main")
    lake.tag("v1").delete()
    dev.delete()
    for event in events:
        assert receiver.wait_for(event)["repository_id"] == lake.id
    receiver.answers["/tell"] = 500
    assert refused(lambda: lake.branch("other").create("main")).status_code == 412
    assert refused(lambda: lake.tag("v2").create("main")).status_code == 412


def test_what_is_told_of_branches_names_their_commit(hooked, lake, receiver):
    put(lake, action("all", ["pre-delete-branch", "post-delete-branch"], webhook("tell", receiver.url("/tell"))))
    head = lake.branch("main").commit("hooks").id
    lake.branch("dev").create("main").delete()
    for event in ("pre-delete-branch", "post-delete-branch"):
        told = receiver.wait_for(event)
        assert (told["branch_id"], told["source_ref"]) == ("dev", head)


def test_a_rename_runs_the_hooks_of_a_creation_and_of_a_deletion(hooked, lake, receiver):
    events = [f"{when}-{what}-branch" for what in ("create", "delete") for when in ("pre", "post")]
    put(lake, action("all", events, webhook("tell", receiver.url("/tell"))))
    head = lake.branch("main").commit("hooks").id
    path = f"/repositories/{lake.id}/branches/main/rename"
    receiver.answers["/tell"] = 500
    refusal = clients.Rest(hooked)("POST", path, json={"name": "trunk"})
    assert (refusal.status_code, refusal.json()["code"]) == (412, "hook_failed"), refusal.text
    assert lake.branch("main").get_commit().id == head
    receiver.answers["/tell"] = 200
    assert clients.Rest(hooked)("POST", path, json={"name": "trunk"}).status_code == 200
    for event, branch, source in (
        ("pre-create-branch", "trunk", "main"),
        ("post-create-branch", "trunk", "main"),
        ("pre-delete-branch", "main", head),
        ("post-delete-branch", "main", head),
    ):
        told = receiver.wait_for(event)
        assert (told["branch_id"], told["source_ref"]) == (branch, source)


def test_what_comes_after_is_dated_after_what_came_before(hooked, lake, receiver):
    put(
        lake,
        action(
            "slow",
            ["pre-commit", "post-commit"],
            script("wait", "local n = 0; for i = 1, 2e6 do n = n + i end"),
            webhook("tell", receiver.url("/tell")),
        ),
    )
    lake.branch("main").commit("slow")
    ended = hooked_run_end(hooked, lake, "pre-commit")
    assert datetime.fromisoformat(receiver.wait_for("post-commit")["event_time"]) >= ended


def hooked_run_end(server, repo, event):
    runs = lakefs_sdk.ActionsApi(sdk(server)).list_repository_runs(repo.id).results
    return next(run.end_time for run in runs if run.event_type == event)


def test_hooks_after_a_change_outlive_a_kill(session_scratch, initialised_data, receiver, name):
    server = (
        servers.Tarnd(session_scratch / "tarnd-killed", environment={"TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1"})
        .copy_data_of(initialised_data)
        .start()
    )
    try:
        lake = lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"local://{name}")
        put(lake, action("after", ["post-commit"], webhook("tell", receiver.url("/tell"))))
        made = lake.branch("main").commit("told, whatever happens")
        server.kill()
        server.start()
        assert receiver.wait_for("post-commit")["commit_id"] == made.id
    finally:
        server.stop()


def eventually(seen):
    deadline = time.monotonic() + AFTER_SECONDS
    while not (found := seen()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)
    return found


def test_a_running_hook_shows_its_output_to_those_who_ask(hooked, lake, receiver, tmp_path):
    put(lake, action("slow", ["pre-commit"], script("quick", "print('begun')"), webhook("waits", receiver.url("/waits"))))
    release = receiver.holds["/waits"] = threading.Event()
    runs = f"/repositories/{lake.id}/actions/runs"
    rest, api = clients.Rest(hooked), lakefs_sdk.ActionsApi(sdk(hooked))

    def get(path, **parameters):
        return rest("GET", path, params=parameters).json()

    with ThreadPoolExecutor(1) as pool:
        commit = pool.submit(lake.branch("main").commit, "slow")
        try:
            listed = eventually(lambda: get(runs, running="true")["results"])
            run = listed[0]["run_id"]
            assert listed == [get(f"{runs}/{run}", running="true")]
            assert listed[0]["status"] == "running" and "end_time" not in listed[0]
            steps = eventually(
                lambda: [s for s in get(f"{runs}/{run}/hooks", running="true")["results"] if s["hook_id"] == "waits"]
            )
            assert steps[0]["status"] == "running" and "end_time" not in steps[0]
            output = eventually(lambda: rest("GET", f"{runs}/{run}/hooks/{steps[0]['hook_run_id']}/output").text)
            assert output.startswith("> POST") and "< 200" not in output
            cli = command.Cli(hooked, tmp_path / "home", lake.id)
            assert cli.json("actions", "list")["items"][0]["status"] == "running"
            described = cli.json("actions", "describe", run)
            assert [hook["status"] for hook in described["hooks"]] == ["completed", "running"]
            # Clients of lakeFS refuse the status, so they see ended runs alone.
            assert api.list_repository_runs(lake.id).results == []
            for refused_call in (api.get_run, api.list_run_hooks):
                with pytest.raises(lakefs_sdk.exceptions.NotFoundException):
                    refused_call(lake.id, run)
        finally:
            release.set()
        commit.result()
    assert api.get_run(lake.id, run).status == "completed"
    assert [step.status for step in api.list_run_hooks(lake.id, run).results] == ["completed", "completed"]
    assert "< 200" in bytes(api.get_run_hook_output(lake.id, run, steps[0]["hook_run_id"])).decode()


def test_a_killed_server_leaves_no_steps_twice(session_scratch, initialised_data, receiver, name):
    server = (
        servers.Tarnd(session_scratch / "tarnd-live-killed", environment={"TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1"})
        .copy_data_of(initialised_data)
        .start()
    )
    release = receiver.holds["/waits"] = threading.Event()
    try:
        lake = lakefs.repository(name, client=clients.lakefs_client(server)).create(storage_namespace=f"local://{name}")
        put(lake, action("after", ["post-commit"], script("first", "print('begun')"), webhook("waits", receiver.url("/waits"))))
        lake.branch("main").commit("slow")
        runs = f"/repositories/{lake.id}/actions/runs"

        def steps():
            listed = clients.Rest(server)("GET", runs, params={"running": "true"}).json()["results"]
            path = f"{runs}/{listed[0]['run_id']}/hooks"
            return [
                (s["hook_run_id"], s["status"])
                for s in clients.Rest(server)("GET", path, params={"running": "true"}).json()["results"]
            ]

        eventually(lambda: steps() == [("0000_0000", "completed"), ("0000_0001", "running")])
        server.kill()
        release.set()
        server.start()
        deadline = time.monotonic() + LEASE_SECONDS
        while steps() != [("0000_0000", "completed"), ("0000_0001", "completed")]:
            assert time.monotonic() < deadline, steps()
            time.sleep(0.5)
    finally:
        server.stop()


def test_the_command_runs_lists_describes_and_checks(hooked, lake, receiver, tmp_path):
    cli = command.Cli(hooked, tmp_path / "home", lake.id)
    put(lake, action("gate", ["pre-merge", "pre-commit"], webhook("one", receiver.url("/one")), script("two", "print('seen')")))
    lake.branch("main").commit("hooks")
    plan = cli.json("actions", "run", "main", "pre-commit", "--dry-run")["items"]
    assert [(hook["action"], hook["hook_id"], hook["type"]) for hook in plan] == [
        ("gate", "one", "webhook"),
        ("gate", "two", "lua"),
    ]
    count = len(receiver.taken)
    run = cli.json("actions", "run", "main", "pre-commit")
    assert (run["kind"], run["status"], run["hooks"][1]["output"]) == ("HookRun", "completed", "seen\n")
    assert len(receiver.taken) == count + 1
    receiver.answers["/one"] = 400
    failed = cli.json("actions", "run", "main", "pre-merge", "--on", "main", status=13)
    assert failed["status"] == "failed"
    assert "skipped" in cli.run("actions", "describe", failed["run_id"]).text
    listed = cli.json("actions", "list")["items"]
    assert [item["event_type"] for item in listed[:2]] == ["pre-merge", "pre-commit"]
    cli.run("actions", "run", "main", "post-commit", status=4)
    cli.run("actions", "describe", "absent", status=4)
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(action("fine", ["pre-commit"], script("one", "print(1)")))
    bad.write_text("name: fine\non:\n  pre-push:\n")
    assert cli.json("actions", "validate", str(good))["name"] == "fine"
    assert "line 3" in cli.run("actions", "validate", str(bad), status=1).talk
    # A refusal by a hook differs from other failures.
    lake.branch("main").object("k").upload(data=b"1")
    cli.run("commit", "main", "-m", "no", status=13)
