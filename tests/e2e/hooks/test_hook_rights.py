"""Permission to define hooks: files below _lakefs_actions/ over REST, S3 and merges, and how far their scripts reach."""

import types

import boto3
import clients
import lakefs
import lakefs_sdk
import pytest
import requests
import servers
from botocore.exceptions import ClientError
from hook_receiver import action
from lakefs_sdk import models
from test_hooks import newest, put, script
from users import allow, sdk

STEAL = """
local lakefs = require("lakefs")
print(lakefs.get_object("{vault}", "main", "key.txt"))
"""
DEVELOPERS = ["FSReadWriteAll", "RepoManagementReadAll", "PRReadWriteAll", "AuthManageOwnCredentials"]


@pytest.fixture(scope="module")
def hooked(session_scratch, initialised_data):
    server = (
        servers.Tarnd(
            session_scratch / "tarnd-hook-rights",
            environment={"TARN_HOOKS_ALLOWED_TARGETS": "127.0.0.1", "LAKEFSACTION_TOKEN": "hook-secret"},
        )
        .copy_data_of(initialised_data)
        .start()
    )
    yield server
    server.stop()


def make_repository(server, name, who=None):
    lake = lakefs.repository(name, client=clients.lakefs_client(who or server))
    return lake if who else lake.create(storage_namespace=f"local://{name}")


@pytest.fixture
def lake(hooked, name):
    return make_repository(hooked, name)


@pytest.fixture
def vault(hooked, name):
    made = make_repository(hooked, f"{name}-vault")
    made.branch("main").object("key.txt").upload(data=b"TOP-SECRET")
    made.branch("main").commit("a secret")
    return made


@pytest.fixture(params=["a developer", "a key with limits"])
def developer(request, hooked, name, vault):
    """One of the group Developers, who may not read the vault; or an administrator with a key that may do no more."""
    if request.param == "a key with limits":
        return limited_administrator(hooked, name, vault)
    admin = lakefs_sdk.AuthApi(sdk(hooked))
    admin.create_user(user_creation=models.UserCreation(id=name))
    admin.add_group_membership("Developers", name)
    where = f"arn:lakefs:fs:::repository/{vault.id}"
    admin.create_policy(policy=models.Policy(id=name, statement=[allow(["fs:*"], where, f"{where}/*", effect="deny")]))
    admin.attach_policy_to_user(name, name)
    key = admin.create_credentials(name)
    return types.SimpleNamespace(url=hooked.url, access_key=key.access_key_id, secret_key=key.secret_access_key, name=name)


def limited_administrator(server, name, vault):
    where = f"arn:lakefs:fs:::repository/{vault.id}"
    statement = [
        {"effect": "allow", "action": ["*"], "resource": "*"},
        {"effect": "deny", "action": ["fs:WriteHooks"], "resource": "*"},
        {"effect": "deny", "action": ["fs:*"], "resource": f"{where}*"},
    ]
    made = requests.post(
        f"{server.url}/api/v1/auth/users/admin/keys",
        json={"statement": statement},
        auth=(server.access_key, server.secret_key),
        timeout=60,
    )
    assert made.status_code == 201, made.text
    key = made.json()
    return types.SimpleNamespace(url=server.url, access_key=key["access_key_id"], secret_key=key["secret_access_key"], name=name)


def forbidden(call):
    with pytest.raises((lakefs.exceptions.ServerException, lakefs_sdk.ApiException)) as caught:
        call()
    error = caught.value
    status = getattr(error, "status_code", None) or error.status
    assert status == 403 and "fs:WriteHooks" in str(getattr(error, "body", "")), error
    return str(error.body)


def s3_of(who):
    return boto3.client(
        "s3",
        endpoint_url=who.url,
        region_name="us-east-1",
        aws_access_key_id=who.access_key,
        aws_secret_access_key=who.secret_key,
    )


def s3_denied(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    assert caught.value.response["Error"]["Code"] == "AccessDenied"
    assert "fs:WriteHooks" in caught.value.response["Error"]["Message"]


def output_of(server, repo):
    api = lakefs_sdk.ActionsApi(sdk(server))
    return bytes(api.get_run_hook_output(repo.id, newest(server, repo).run_id, "0000_0000")).decode()


def test_a_developers_script_does_not_run_as_who_merges_it(hooked, lake, vault, developer):
    mine = make_repository(hooked, lake.id, developer)
    mine.branch("dev").create("main")
    text = action("steal", ["pre-merge"], script("steal", STEAL.format(vault=vault.id)))
    forbidden(lambda: put(mine, text, branch="dev"))
    mine.branch("dev").object("data").upload(data=b"1")
    mine.branch("dev").commit("work")
    lake.branch("dev").merge_into("main")
    assert lakefs_sdk.ActionsApi(sdk(hooked)).list_repository_runs(lake.id).results == []


def test_a_staged_script_does_not_run_as_who_commits_it(hooked, lake, vault, developer):
    mine = make_repository(hooked, lake.id, developer)
    forbidden(lambda: put(mine, action("steal", ["pre-commit"], script("steal", STEAL.format(vault=vault.id)))))
    s3_denied(s3_of(developer).put_object, Bucket=lake.id, Key="main/_lakefs_actions/a.yaml", Body=b"name: x")


def test_every_way_over_rest_and_s3_is_refused(hooked, lake, developer):
    put(lake, action("kept", ["pre-merge"], script("kept", "print(1)")), file="kept.yaml")
    lake.branch("main").object("data").upload(data=b"1")
    lake.branch("main").commit("hooks")
    api = sdk(developer)
    objects = lakefs_sdk.ObjectsApi(api)
    key = "_lakefs_actions/new.yaml"
    forbidden(lambda: objects.delete_object(lake.id, "main", "_lakefs_actions/kept.yaml"))
    forbidden(lambda: objects.copy_object(lake.id, "main", key, models.ObjectCopyCreation(src_path="data")))
    forbidden(lambda: lakefs_sdk.StagingApi(api).get_physical_address(lake.id, "main", key))
    failures = objects.delete_objects(lake.id, "main", models.PathList(paths=["_lakefs_actions/kept.yaml", "data"])).errors
    assert [(e.path, e.status_code) for e in failures] == [("_lakefs_actions/kept.yaml", 403)]
    assert [o.path for o in lake.branch("main").objects()] == ["_lakefs_actions/kept.yaml"]
    lake.branch("main").reset_changes()

    s3, at = s3_of(developer), {"Bucket": lake.id, "Key": f"main/{key}"}
    s3_denied(s3.put_object, **at, Body=b"name: x")
    s3_denied(s3.copy_object, **at, CopySource=f"{lake.id}/main/data")
    s3_denied(s3.create_multipart_upload, **at)
    s3_denied(s3.delete_object, Bucket=lake.id, Key="main/_lakefs_actions/kept.yaml")
    post = s3.generate_presigned_post(**at)
    answer = requests.post(post["url"], data=post["fields"], files={"file": b"name: x"}, timeout=30)
    assert answer.status_code == 403 and "fs:WriteHooks" in answer.text
    gone = s3.delete_objects(
        Bucket=lake.id, Delete={"Objects": [{"Key": "main/_lakefs_actions/kept.yaml"}, {"Key": "main/data"}]}
    )
    assert [(e["Key"], e["Code"]) for e in gone["Errors"]] == [("main/_lakefs_actions/kept.yaml", "AccessDenied")]
    assert [d["Key"] for d in gone["Deleted"]] == ["main/data"]
    assert [o.path for o in lake.branch("main").objects(prefix="_lakefs_actions/")] == ["_lakefs_actions/kept.yaml"]
    # An administrator has the right, over S3 as well.
    s3 = s3_of(hooked)
    s3.put_object(**at, Body=b"name: new\non: {pre-merge: }\nhooks: []\n")
    gone = s3.delete_objects(Bucket=lake.id, Delete={"Objects": [{"Key": "main/_lakefs_actions/kept.yaml"}]})
    assert "Errors" not in gone
    assert [o.path for o in lake.branch("main").objects(prefix="_lakefs_actions/")] == [key]


def test_merges_imports_and_resets_say_which_files_they_would_change(hooked, lake, developer):
    lake.branch("main").object("data").upload(data=b"1")
    lake.branch("main").commit("data")
    ready = lake.branch("ready").create("main")
    put(lake, action("new", ["pre-merge"], script("one", "print(1)")), branch="ready")
    ready.commit("hooks")
    mine, api = make_repository(hooked, lake.id, developer), sdk(developer)
    said = forbidden(lambda: mine.branch("ready").merge_into("main"))
    assert "_lakefs_actions/a.yaml" in said and lake.id in said
    forbidden(lambda: mine.branch("main").cherry_pick("ready"))
    forbidden(lambda: lakefs_sdk.ExperimentalApi(api).hard_reset_branch(lake.id, "main", "ready"))
    answer = requests.post(
        f"{hooked.url}/api/v1/repositories/{lake.id}/refs/ready/merge/main",
        json={},
        timeout=30,
        auth=(developer.access_key, developer.secret_key),
        headers={"Prefer": "wait=20"},
    )
    assert answer.status_code == 403 and "fs:WriteHooks" in answer.text
    # Merges without hook files are allowed, and so are all merges of users with the right.
    work = mine.branch("work").create("main")
    work.object("more").upload(data=b"2")
    work.commit("work")
    work.merge_into("main")
    lake.branch("ready").merge_into("main")
    assert lake.branch("main").object("_lakefs_actions/a.yaml").exists()


def test_a_script_reaches_no_other_repository(hooked, lake, vault):
    put(lake, action("steal", ["pre-commit"], script("steal", STEAL.format(vault=vault.id))))
    with pytest.raises(lakefs.exceptions.ServerException) as caught:
        lake.branch("main").commit("as admin")
    assert caught.value.status_code == 412 and "hooks.repositories" in caught.value.body["message"]
    assert "TOP-SECRET" not in output_of(hooked, lake)


def test_a_variable_of_no_repository_is_not_given(hooked, lake):
    shows = {"script": "print(string.reverse(args.s))", "args": {"s": "{{ ENV.LAKEFSACTION_TOKEN }}"}}
    put(lake, action("show", ["pre-commit"], {"id": "show", "type": "lua", "properties": shows}))
    with pytest.raises(lakefs.exceptions.ServerException) as caught:
        lake.branch("main").commit("secrets")
    assert caught.value.status_code == 412 and "hooks.variables" in caught.value.body["message"]
    assert "hook-secret"[::-1] not in output_of(hooked, lake)
