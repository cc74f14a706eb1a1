"""A policy's denial holds for every other verb that could reach the same data."""

import uuid

import clients
from import_requests import finished, start
from lakefs_sdk import models
from users import allow, s3_code


def where(repo, rest=""):
    return f"arn:lakefs:fs:::repository/{repo.id}{rest}"


def test_what_may_not_be_read_is_put_onto_no_ref_that_may_be(tarn, repo, s3, rest, make_user):
    for ref in ("main", "secret"):
        if ref != "main":
            repo.branch(ref).create("main")
        s3.put_object(Bucket=repo.id, Key=f"{ref}/a", Body=ref.encode())
    hidden = repo.branch("secret").commit("secret")
    repo.branch("main").commit("open")
    user = make_user(
        allow(["fs:ReadObject", "fs:ListObjects"], where(repo, "/ref/main*")),
        allow(["fs:CreateBranch", "fs:CreateCommit", "fs:RevertBranch", "fs:DeleteBranch"], where(repo, "/branch/*")),
        allow(["fs:CreateTag", "fs:SetAlias"], where(repo, "/tag/*"), where(repo, "/alias/*")),
        allow(["fs:ReadCommit", "pr:*"], where(repo)),
    )
    theirs, reads = clients.Rest(user), clients.boto3_client(user)
    here = f"/repositories/{repo.id}"
    assert theirs("POST", f"{here}/branches", json={"name": "main2", "source": "main"}).status_code == 201
    pull = rest("POST", f"{here}/pulls", json={"title": "t", "source_branch": "secret", "destination_branch": "main2"})
    tree = hidden.get_commit().meta_range_id
    for source in ("secret", "secret~0", hidden.id, hidden.id[:12]):
        tried = [
            theirs("POST", f"{here}/branches", json={"name": "main3", "source": source}),
            theirs("POST", f"{here}/tags", json={"id": "main-1", "ref": source}),
            theirs("POST", f"{here}/refs/{source}/merge/main2"),
            theirs("PUT", f"{here}/branches/main2/hard_reset?ref={source}"),
            theirs("POST", f"{here}/branches/main2/cherry-pick", json={"ref": source}),
            theirs("POST", f"{here}/branches/main2/rebase", json={"onto": source}),
            theirs("POST", f"{here}/branches/main2/revert", json={"ref": source, "parent_number": 0}),
            theirs("POST", f"{here}/branches/main2/commits", json={"message": "m", "parents": ["main2", source]}),
            theirs("POST", f"{here}/branches/main2/commits?source_metarange={tree}", json={"message": "m"}),
            theirs("PUT", f"{here}/pulls/{pull.json()['id']}/merge"),
        ]
        assert [answer.status_code for answer in tried] == [401] * len(tried), [answer.text for answer in tried]
    assert reads.get_object(Bucket=repo.id, Key="main2/a")["Body"].read() == b"main"
    assert theirs("POST", f"{here}/branches/secret/rename", json={"name": "main-2"}).status_code == 401
    # They may branch from it where they cannot read the new branch either.
    assert theirs("POST", f"{here}/branches", json={"name": "other", "source": "secret"}).status_code == 201
    assert s3_code(reads.get_object, Bucket=repo.id, Key="other/a") == "AccessDenied"
    assert theirs("POST", f"{here}/refs/other/merge/main2").status_code == 401


def test_reading_is_not_denied_by_the_name_of_a_ref(rest):
    policy = {
        "id": f"p-{uuid.uuid4().hex[:12]}",
        "statement": [{"effect": "deny", "action": ["fs:*"], "resource": "arn:lakefs:fs:::repository/a/ref/main/*"}],
    }
    answer = rest("POST", "/auth/policies", json=policy)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_policy")
    policy["statement"][0]["action"] = ["fs:WriteObject", "fs:DeleteObject"]
    assert rest("POST", "/auth/policies", json=policy).status_code == 201


def test_an_import_neither_plants_nor_removes_what_a_policy_protects(tarn, repo, s3, rest, make_user):
    lake = tarn.import_root / repo.id
    (lake / "deny").mkdir(parents=True)
    (lake / "deny" / "x").write_bytes(b"planted")
    s3.put_object(Bucket=repo.id, Key="main/in/keep", Body=b"kept")
    repo.branch("main").commit("kept")
    every = allow(["fs:*"], "*")
    careful = make_user(every, allow(["fs:WriteObject"], where(repo, "/object/in/deny/*"), effect="deny"))
    adder = make_user(allow(["fs:WriteObject", "fs:ImportFromStorage", "fs:CreateCommit"], "*"))
    for user in (careful, adder):
        answer = start(clients.Rest(user), repo.id, "main", lake, "in/")
        assert answer.status_code == 401, answer.text
    assert "in/*" in answer.json()["message"]
    assert s3.get_object(Bucket=repo.id, Key="main/in/keep")["Body"].read() == b"kept"
    answer = start(clients.Rest(make_user(every)), repo.id, "main", lake, "in/")
    assert finished(rest, repo.id, "main", answer.json()["id"])["completed"]


def test_force_does_not_open_a_read_only_repository_to_those_who_only_write(rest, make_user, name):
    made = {"name": name, "storage_namespace": f"local://{name}", "default_branch": "main", "read_only": True}
    assert rest("POST", "/repositories", json=made).status_code == 201
    path = f"/repositories/{name}/branches/main/objects?path=a&force=true"
    writes = [allow(["fs:Read*", "fs:List*", "fs:WriteObject", "fs:DeleteObject"], "*")]
    administers = allow(["fs:UpdateRepository"], f"arn:lakefs:fs:::repository/{name}")
    for user, status in [(make_user(*writes), 401), (make_user(*writes, administers), 201)]:
        assert clients.Rest(user)("POST", path, data=b"x").status_code == status


def test_operations_are_not_those_of_a_later_user_of_the_same_name(tarn, repo, s3, auth, make_user):
    user = make_user(allow(["fs:*"], "*"))
    for attempt in range(50):  # a commit may be done before it is deferred
        s3.put_object(Bucket=repo.id, Key="main/a", Body=str(attempt).encode())
        answer = clients.Rest(user)(
            "POST", f"/repositories/{repo.id}/branches/main/commits", json={"message": "m"}, headers={"Prefer": "respond-async"}
        )
        if answer.status_code == 202:
            break
    assert answer.status_code == 202
    operation = answer.json()["id"]
    assert clients.Rest(user)("GET", f"/operations/{operation}").status_code == 200
    auth.delete_user(user.name)
    auth.create_user(user_creation=models.UserCreation(id=user.name))
    key = auth.create_credentials(user.name)
    user.access_key, user.secret_key = key.access_key_id, key.secret_access_key
    assert clients.Rest(user)("GET", f"/operations/{operation}").status_code == 404
    assert clients.Rest(user)("GET", "/operations").json()["results"] == []
