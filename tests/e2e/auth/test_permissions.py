"""Users, groups and policies through the SDK; what they allow over REST and S3; how soon a revocation holds."""

import json
import time

import clients
import lakefs_sdk
import pytest
import requests
from lakefs_sdk import models
from users import allow, s3_code, sdk


def test_every_account_operation_works_with_the_sdk(auth, name):
    user, group, policy = f"u-{name}", f"g-{name}", f"p-{name}"
    assert auth.create_user(user_creation=models.UserCreation(id=user)).id == user
    with pytest.raises(lakefs_sdk.ApiException) as caught:
        auth.create_user(user_creation=models.UserCreation(id=user))
    assert caught.value.status == 409 and json.loads(caught.value.body)["message"] == "Already exists"
    assert auth.get_user(user).id == user
    assert user in [u.id for u in auth.list_users(prefix="u-", amount=1000).results]

    auth.create_group(group_creation=models.GroupCreation(id=group, description="a team"))
    assert auth.get_group(group).description == "a team"
    assert group in [g.id for g in auth.list_groups(prefix="g-", amount=1000).results]
    auth.add_group_membership(group, user)
    assert [u.id for u in auth.list_group_members(group).results] == [user]
    assert [g.id for g in auth.list_user_groups(user).results] == [group]

    statement = models.Statement(
        effect="deny",
        resource='["arn:lakefs:fs:::repository/a","arn:lakefs:fs:::repository/b"]',
        action=["fs:*"],
        condition={"IpAddress": {"SourceIp": ["10.0.0.0/8"]}},
    )
    made = auth.create_policy(policy=models.Policy(id=policy, statement=[statement]))
    assert made.statement == [statement] and auth.get_policy(policy).statement == [statement]
    changed = models.Policy(id=policy, statement=[allow(["fs:Read*"], "*")])
    assert auth.update_policy(policy, policy=changed).statement == changed.statement
    assert policy in [p.id for p in auth.list_policies(prefix="p-", amount=1000).results]
    auth.attach_policy_to_group(group, policy)
    assert [p.id for p in auth.list_group_policies(group).results] == [policy]
    assert auth.list_user_policies(user).results == []
    assert [p.id for p in auth.list_user_policies(user, effective=True).results] == [policy]
    auth.attach_policy_to_user(user, policy)
    assert [p.id for p in auth.list_user_policies(user).results] == [policy]

    key = auth.create_credentials(user)
    assert len(key.access_key_id) == 20 and len(key.secret_access_key) == 40
    assert [k.access_key_id for k in auth.list_user_credentials(user).results] == [key.access_key_id]
    assert auth.get_credentials(user, key.access_key_id).access_key_id == key.access_key_id

    principal = f"arn:aws:sts::1:role/{name}"
    settings = models.ExternalPrincipalCreation(settings=[{"team": "vision"}])
    auth.create_user_external_principal(user, principal, external_principal_creation=settings)
    found = auth.get_external_principal(principal)
    assert found.user_id == user and found.settings == settings.settings
    assert [p.id for p in auth.list_user_external_principals(user).results] == [principal]
    auth.delete_user_external_principal(user, principal)

    auth.detach_policy_from_user(user, policy)
    auth.detach_policy_from_group(group, policy)
    auth.delete_credentials(user, key.access_key_id)
    auth.delete_group_membership(group, user)
    for delete, thing in ((auth.delete_policy, policy), (auth.delete_group, group), (auth.delete_user, user)):
        delete(thing)
        with pytest.raises(lakefs_sdk.exceptions.NotFoundException):
            delete(thing)


def test_access_levels_are_built_in_policies(rest, auth, name):
    auth.create_group(group_creation=models.GroupCreation(id=name))
    acl = f"/auth/groups/{name}/acl"
    assert rest("GET", acl).json() == {"permission": ""}
    for level in ("Read", "Write", "Super", "Admin"):
        assert rest("POST", acl, json={"permission": level}).status_code == 201
        assert rest("GET", acl).json() == {"permission": level}
    assert rest("POST", acl, json={"permission": "Root"}).status_code == 400
    auth.detach_policy_from_group(name, "FSFullAccess")
    answer = rest("GET", acl)
    assert answer.status_code == 404 and answer.json()["no_acl"] is True


def test_a_policy_on_a_prefix_holds_over_s3(repo, s3, make_user):
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    user = make_user(
        allow(["fs:ListRepositories"], "*"),
        allow(["fs:ReadRepository", "fs:ListObjects"], where),
        allow(["fs:ReadObject", "fs:WriteObject", "fs:DeleteObject"], f"{where}/object/mine/*"),
        allow(["fs:ReadObject"], f"{where}/object/shared/*"),
    )
    theirs = clients.boto3_client(user)
    for key in ("mine/a", "shared/a", "secret/a"):
        s3.put_object(Bucket=repo.id, Key=f"main/{key}", Body=key.encode())

    def read(key):
        return theirs.get_object(Bucket=repo.id, Key=f"main/{key}")["Body"].read()

    assert read("mine/a") == b"mine/a" and read("shared/a") == b"shared/a"
    assert s3_code(theirs.get_object, Bucket=repo.id, Key="main/secret/a") == "AccessDenied"
    assert s3_code(theirs.put_object, Bucket=repo.id, Key="main/shared/b", Body=b"x") == "AccessDenied"
    assert s3_code(theirs.delete_object, Bucket=repo.id, Key="main/shared/a") == "AccessDenied"
    assert s3_code(theirs.create_multipart_upload, Bucket=repo.id, Key="main/shared/b") == "AccessDenied"
    for key, status in [("shared/form", 403), ("mine/form", 204)]:
        form = theirs.generate_presigned_post(repo.id, f"main/{key}")
        assert requests.post(form["url"], data=form["fields"], files={"file": b"x"}, timeout=60).status_code == status
    copy = {"Bucket": repo.id, "Key": "main/mine/copy"}
    assert s3_code(theirs.copy_object, **copy, CopySource=f"{repo.id}/main/secret/a") == "AccessDenied"
    theirs.copy_object(**copy, CopySource=f"{repo.id}/main/shared/a")
    assert read("mine/copy") == b"shared/a"

    answer = theirs.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": "main/mine/copy"}, {"Key": "main/secret/a"}]})
    assert [d["Key"] for d in answer["Deleted"]] == ["main/mine/copy"]
    assert [(e["Key"], e["Code"]) for e in answer["Errors"]] == [("main/secret/a", "AccessDenied")]
    assert s3.get_object(Bucket=repo.id, Key="main/secret/a")["Body"].read() == b"secret/a"
    # Over REST the same names decide.
    plain = clients.Rest(user)
    here = f"/repositories/{repo.id}"
    assert plain("GET", f"{here}/refs/main/objects?path=secret/a").status_code == 401
    assert plain("GET", f"{here}/refs/main/objects?path=mine/a").status_code == 200
    partly = plain("POST", f"{here}/branches/main/objects/delete", json={"paths": ["mine/a", "secret/a"]})
    assert partly.status_code == 200
    assert [(failed["path"], failed["status_code"]) for failed in partly.json()["errors"]] == [("secret/a", 403)]
    assert plain("GET", f"{here}/refs/main/objects?path=mine/a").status_code == 404
    denied = plain("POST", f"{here}/branches/main/objects/delete", json={"paths": ["secret/a"]})
    assert denied.status_code == 401 and denied.headers["X-Tarn-Error"] == "insufficient_permissions"
    assert s3.get_object(Bucket=repo.id, Key="main/secret/a")["Body"].read() == b"secret/a"


def test_an_address_gives_nothing_that_its_user_may_not_read(tarn, repo, s3, make_user, name):
    """A listing shows addresses of objects that are not to be read, and the server reaches files of others."""
    s3.put_object(Bucket=repo.id, Key="main/secret/a", Body=b"secret")
    others = tarn.import_root / name
    others.mkdir()
    (others / "secret.csv").write_text("of others")
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    mine = [allow(["fs:ListObjects"], where), allow(["fs:ReadObject", "fs:WriteObject"], f"{where}/object/mine/*")]

    def stage(user, address):
        given = models.ObjectStageCreation(physical_address=address, checksum="c", size_bytes=6)
        api = lakefs_sdk.InternalApi(sdk(user))
        return api.stage_object_with_http_info(repo.id, "main", "mine/a", given).status_code

    def refused(call, *arguments):
        with pytest.raises(lakefs_sdk.ApiException) as caught:
            call(*arguments)
        return caught.value.status

    user = make_user(*mine)
    [listed] = lakefs_sdk.ObjectsApi(sdk(user)).list_objects(repo.id, "main", prefix="secret/").results
    external = f"local://{others}/secret.csv"
    assert [refused(stage, user, address) for address in (listed.physical_address, external)] == [401, 401]
    assert stage(make_user(*mine, allow(["fs:ReadObject"], f"{where}/object/*")), listed.physical_address) == 201
    importer = make_user(*mine, allow(["fs:ImportFromStorage"], f"arn:lakefs:fs:::namespace/local://{others}/*"))
    assert stage(importer, external) == 201

    def link(user, staging):
        given = models.StagingMetadata(staging=staging, checksum="c", size_bytes=6)
        api = lakefs_sdk.StagingApi(sdk(user))
        return api.link_physical_address_with_http_info(repo.id, "main", "mine/b", given).status_code

    handed = lakefs_sdk.StagingApi(sdk(user)).get_physical_address(repo.id, "main", "mine/b", presign=True)
    assert requests.put(handed.presigned_url, data=b"123456", timeout=60).status_code == 200
    assert refused(link, importer, handed) == 400
    for address in (external, listed.physical_address):
        assert refused(link, importer, models.StagingLocation(physical_address=address)) == 400
    assert link(user, handed) == 200


def test_a_preview_of_an_import_names_objects_of_the_branch_to_who_may_list_it(tarn, repo, make_user, name):
    folder = tarn.import_root / name
    folder.mkdir()
    (folder / "new").write_text("new")
    repo.branch("main").object("in/old").upload(b"old")
    repo.branch("main").commit("before")
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    mine = [
        allow(["fs:WriteObject", "fs:DeleteObject"], f"{where}/object/in/*"),
        allow(["fs:CreateCommit"], f"{where}/branch/main"),
        allow(["fs:ImportFromStorage"], f"arn:lakefs:fs:::namespace/local://{folder}/*"),
    ]
    source = {"type": "common_prefix", "path": f"local://{folder}/", "destination": "in/"}
    body = {"paths": [source], "commit": {"message": "m"}}
    for more, names in (([], None), ([allow(["fs:ListObjects"], where)], ["in/old"])):
        ask = clients.Rest(make_user(*mine, *more))
        preview = ask("POST", f"/repositories/{repo.id}/branches/main/import/preview", json=body)
        assert preview.status_code == 200, preview.text
        assert (preview.json()["removed"], preview.json().get("removed_paths")) == (1, names)


def test_who_may_nothing_learns_nothing_over_s3(repo, s3, make_user):
    """Neither which repositories, branches and objects there are nor, by a condition, what an object holds."""
    etag = s3.put_object(Bucket=repo.id, Key="main/a", Body=b"secret")["ETag"]
    upload = s3.create_multipart_upload(Bucket=repo.id, Key="main/u")["UploadId"]
    theirs = clients.boto3_client(make_user())
    part = {"MultipartUpload": {"Parts": [{"PartNumber": 1, "ETag": etag}]}}
    for call, more in [
        ("get_object", {}),
        ("get_object", {"IfMatch": etag}),
        ("get_object", {"IfNoneMatch": etag}),
        ("get_object", {"Range": "bytes=99-"}),
        ("get_object", {"VersionId": "null"}),
        ("get_object_tagging", {}),
        ("put_object", {"Body": b"x", "IfNoneMatch": "*"}),
        ("put_object", {"Body": b"x", "IfMatch": etag}),
        ("delete_object", {"IfMatch": etag}),
        ("list_parts", {"UploadId": upload}),
        ("abort_multipart_upload", {"UploadId": upload}),
        ("complete_multipart_upload", {"UploadId": upload, **part}),
        ("copy_object", {"CopySource": f"{repo.id}/main/a"}),
    ]:
        seen = {
            s3_code(getattr(theirs, call), Bucket=bucket, Key=key, **more)
            for bucket, key in [
                (repo.id, "main/a"),
                (repo.id, "main/u"),
                (repo.id, "main/absent"),
                (repo.id, "none/a"),
                ("absent-" + repo.id, "main/a"),
                (repo.id + ".main", "a"),
                (repo.id + ".none", "a"),
            ]
        }
        assert seen == {"AccessDenied"}, (call, more)
    for call in (
        "head_bucket",
        "list_objects",
        "list_objects_v2",
        "list_object_versions",
        "list_multipart_uploads",
        "get_bucket_location",
        "get_bucket_versioning",
        "delete_bucket",
    ):
        seen = {
            s3_code(getattr(theirs, call), Bucket=bucket)
            for bucket in (repo.id, "absent-" + repo.id, repo.id + ".main", repo.id + ".none")
        }
        assert seen == {"403" if call == "head_bucket" else "AccessDenied"}, call
    assert s3.get_object(Bucket=repo.id, Key="main/a")["Body"].read() == b"secret"
    s3.abort_multipart_upload(Bucket=repo.id, Key="main/u", UploadId=upload)


def test_a_policy_limited_to_one_branch(tarn, repo, s3, make_user):
    branch = repo.branch("dev").create("main")
    for ref in ("main", "dev"):
        s3.put_object(Bucket=repo.id, Key=f"{ref}/a", Body=ref.encode(), Tagging="t=1")
    hidden, shown = branch.commit("secret").id, repo.branch("main").commit("open").id
    s3.put_object(Bucket=repo.id, Key="main/a", Body=b"main")
    where = f"arn:lakefs:fs:::repository/{repo.id}"
    objects = ["fs:ReadObject", "fs:WriteObject", "fs:DeleteObject"]
    user = make_user(
        allow(["fs:ReadRepository"], where),
        allow(["fs:ListObjects"], f"{where}/ref/main"),
        allow(objects, f"{where}/ref/main/object/*"),
    )
    theirs = clients.boto3_client(user)

    allowed = {"Bucket": repo.id, "Key": "main/a"}
    assert theirs.get_object(**allowed)["Body"].read() == b"main"
    assert theirs.get_object(**allowed, VersionId="null")["Body"].read() == b"main"
    assert theirs.get_object(Bucket=repo.id + ".main", Key="a")["Body"].read() == b"main"
    theirs.put_object(Bucket=repo.id, Key="main/b", Body=b"x")
    theirs.copy_object(Bucket=repo.id, Key="main/c", CopySource=f"{repo.id}/main/b")
    listed = theirs.list_objects_v2(Bucket=repo.id, Prefix="main/")
    assert [o["Key"] for o in listed["Contents"]] == ["main/a", "main/b", "main/c"]

    # Neither by the key nor by a version is another branch to be read, and a commit is one of its own.
    for target in [
        {"Key": "dev/a"},
        {"Key": f"{hidden}/a"},
        {"Key": f"{hidden[:12]}/a"},
        {"Key": "dev~0/a"},
        {"Key": "main/a", "VersionId": hidden},
        {"Key": "main/a", "VersionId": shown},
        {"Key": "main~0/a"},
    ]:
        assert s3_code(theirs.get_object, Bucket=repo.id, **target) == "AccessDenied", target
        assert s3_code(theirs.head_object, Bucket=repo.id, **target) == "403", target
        assert s3_code(theirs.get_object_tagging, Bucket=repo.id, **target) == "AccessDenied", target
        assert s3_code(theirs.get_object_attributes, Bucket=repo.id, ObjectAttributes=["ETag"], **target) == "AccessDenied"
        assert (
            s3_code(theirs.copy_object, Bucket=repo.id, Key="main/d", CopySource={"Bucket": repo.id, **target}) == "AccessDenied"
        ), target
    assert s3_code(theirs.get_object, Bucket=repo.id + ".dev", Key="a") == "AccessDenied"
    assert s3_code(theirs.put_object, Bucket=repo.id, Key="dev/b", Body=b"x") == "AccessDenied"
    assert s3_code(theirs.list_objects_v2, Bucket=repo.id, Prefix="dev/") == "AccessDenied"
    assert s3_code(theirs.list_objects_v2, Bucket=repo.id) == "AccessDenied"
    assert s3_code(theirs.list_object_versions, Bucket=repo.id + ".dev") == "AccessDenied"
    answer = theirs.delete_objects(Bucket=repo.id, Delete={"Objects": [{"Key": "main/c"}, {"Key": "dev/a"}]})
    assert [e["Key"] for e in answer["Errors"]] == ["dev/a"]
    # Over REST likewise.
    plain = clients.Rest(user)
    here = f"/repositories/{repo.id}"
    for path, status in [
        ("refs/main/objects?path=a", 200),
        ("refs/main/objects/ls", 200),
        ("refs/dev/objects?path=a", 401),
        (f"refs/{hidden}/objects/stat?path=a", 401),
        ("refs/dev/objects/ls", 401),
    ]:
        assert plain("GET", f"{here}/{path}").status_code == status, path
    copied = plain("POST", f"{here}/branches/main/objects/copy?dest_path=d", json={"src_path": "a", "src_ref": "dev"})
    assert copied.status_code == 401
    given = plain("GET", f"{here}/refs/main/objects/stat?path=a&presign=true").json()["physical_address"]
    assert requests.get(given, timeout=60).content == b"main"
    # Operations that compare refs read each of them.
    for path, status in [
        ("refs/main/diff/main", 200),
        ("refs/main/diff/dev", 401),
        ("refs/dev/diff/main", 401),
        ("refs/main/diff/dev/summary", 401),
        ("refs/main/diff/main/summary", 200),
        ("branches/main/diff", 200),
        ("branches/dev/diff", 401),
        ("refs/dev/merge/main/conflicts", 401),
        ("refs/main/merge/main/conflicts", 200),
        ("refs/main/import/verify", 200),
        ("refs/dev/import/verify", 401),
    ]:
        answer = plain("GET", f"{here}/{path}")
        assert answer.status_code == status, (path, answer.text)
    lister = clients.Rest(make_user(allow(["fs:ListObjects"], where), allow(objects, f"{where}/ref/main/object/*")))
    for ref, status in [("dev", 401), ("main", 200)]:
        restored = lister("POST", f"{here}/branches/main/checkout-path", json={"ref": ref, "paths": ["a"]})
        assert restored.status_code == status, restored.text
    # A commit can be granted by its id, and a deny of writing can name a branch.
    pinned = clients.boto3_client(make_user(allow(["fs:ReadObject"], f"{where}/ref/{hidden}/object/*")))
    assert pinned.get_object(**allowed, VersionId=hidden)["Body"].read() == b"dev"
    assert s3_code(pinned.get_object, **allowed) == "AccessDenied"
    careful = clients.boto3_client(make_user(allow(["fs:*"], "*"), allow(objects[1:], f"{where}/ref/main/*", effect="deny")))
    careful.put_object(Bucket=repo.id, Key="dev/b", Body=b"x")
    assert s3_code(careful.put_object, Bucket=repo.id, Key="main/b", Body=b"x") == "AccessDenied"


def test_buckets_and_repositories_are_listed_to_those_who_may_read_them(repo, make_user, name):
    nobody = make_user()
    assert s3_code(clients.boto3_client(nobody).list_buckets) == "AccessDenied"
    user = make_user(allow(["fs:ListRepositories"], "*"), allow(["fs:Read*"], f"arn:lakefs:fs:::repository/{repo.id}"))
    assert [b["Name"] for b in clients.boto3_client(user).list_buckets()["Buckets"]] == [repo.id]
    listed = lakefs_sdk.RepositoriesApi(sdk(user)).list_repositories()
    assert [r.id for r in listed.results] == [repo.id] and not listed.pagination.has_more


def test_conditions_look_at_the_caller_s_own_address(tarn, make_user):
    statement = allow(["fs:ListRepositories"], "*")
    statement.condition = {"IpAddress": {"SourceIp": ["10.0.0.0/8"]}}
    user = make_user(statement)
    rest = clients.Rest(user)
    assert rest("GET", "/repositories").status_code == 401
    # This peer is not configured as a proxy.
    assert rest("GET", "/repositories", headers={"X-Forwarded-For": "10.1.1.1"}).status_code == 401


def test_a_revoked_key_and_a_detached_policy_end_on_every_server_within_a_second(two_tarnds):
    first, second = two_tarnds
    second.access_key, second.secret_key = first.access_key, first.secret_key
    auth = lakefs_sdk.AuthApi(sdk(first))
    auth.create_user(user_creation=models.UserCreation(id="ann"))
    auth.add_group_membership("Viewers", "ann")
    key = auth.create_credentials("ann")

    def answer(server):
        return requests.get(
            f"{server.url}/api/v1/repositories", auth=(key.access_key_id, key.secret_access_key), timeout=10
        ).status_code

    def seconds_until(status):
        """Until the last request was sent that was not answered so; how long answers take on a busy machine does not count."""
        began = asked = time.monotonic()
        last = 0.0
        while answer(second) != status:
            last = asked - began
            assert last < 5
            time.sleep(0.02)
            asked = time.monotonic()
        return last

    assert answer(first) == 200 and answer(second) == 200
    auth.delete_group_membership("Viewers", "ann")
    assert answer(first) == 401
    assert seconds_until(401) <= 1.2
    auth.add_group_membership("Viewers", "ann")
    assert seconds_until(200) <= 1.2
    auth.delete_credentials("ann", key.access_key_id)
    assert answer(first) == 401
    assert seconds_until(401) <= 1.2


def test_setup_over_http_makes_the_first_user_once(scratch_dir):
    import servers

    server = servers.Tarnd(scratch_dir / "tarnd", environment={"TARN_AUTH_SETUP": "http"})
    server.start()
    try:
        token_file = server.data_dir / "setup-token"
        assert token_file.stat().st_mode & 0o777 == 0o600
        token = {"Authorization": f"Bearer {token_file.read_text().strip()}"}
        base = f"{server.url}/api/v1"
        assert requests.get(f"{base}/setup_lakefs", timeout=10).json()["state"] == "not_initialized"
        preferences = {"featureUpdates": False, "securityUpdates": False}
        assert requests.post(f"{base}/setup_comm_prefs", json=preferences, timeout=10).status_code == 412
        for wrong in [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}]:
            refused = requests.post(f"{base}/setup_lakefs", json={"username": "root"}, headers=wrong, timeout=10)
            assert (refused.status_code, refused.headers["X-Tarn-Error"]) == (401, "setup_token_needed")
        assert requests.post(f"{base}/setup_lakefs", json={"username": ""}, headers=token, timeout=10).status_code == 400
        made = requests.post(f"{base}/setup_lakefs", json={"username": "root"}, headers=token, timeout=10)
        assert made.status_code == 200
        pair = (made.json()["access_key_id"], made.json()["secret_access_key"])
        assert requests.get(f"{base}/auth/users", auth=pair, timeout=10).json()["results"][0]["id"] == "root"
        assert requests.post(f"{base}/setup_lakefs", json={"username": "two"}, headers=token, timeout=10).status_code == 409
        assert requests.get(f"{base}/setup_lakefs", timeout=10).json()["state"] == "initialized"
    finally:
        server.stop()
