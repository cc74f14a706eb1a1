"""A branch behind a gate policy changes by promotion and rollback alone.

The operations come from the server's own table of routes: each that writes stands in CHANGES, with a legal request, or
in LEAVES. Every request is made twice, of a branch that a policy guards and of a twin without one: there it succeeds and
changes the twin, here it is refused with the way to go and changes nothing.
"""

import re
import subprocess

import command
import lakefs_sdk
import pytest
import requests
import servers
from botocore.exceptions import ClientError

GATED, FREE = "release", "twin"

# Operations that write, but no existing branch of a repository.
LEAVES = set(
    """
    setupCommPrefs setup login externalPrincipalLogin stsLogin createUser deleteUser createGroup deleteGroup createPolicy
    updatePolicy deletePolicy addGroupMembership deleteGroupMembership createCredentials deleteCredentials
    createInvitation createLimitedKey withdrawInvitation acceptInvitation
    attachPolicyToUser detachPolicyFromUser createUserExternalPrincipal deleteUserExternalPrincipal attachPolicyToGroup
    detachPolicyFromGroup setGroupACL postStatsEvents cancelOperation
    createRepository setRepositoryMetadata deleteRepositoryMetadata setGCRules deleteGCRules setBranchProtectionRules
    setBranchCleanup
    internalSetGarbageCollectionRules internalDeleteGarbageCollectionRules prepareGarbageCollectionCommits
    prepareGarbageCollectionCommitsAsync prepareGarbageCollectionUncommitted internalCreateBranchProtectionRule
    internalDeleteBranchProtectionRule setTagProtectionRules setMetricFiles setPathSettings
    dumpRefs dumpSubmit createTag deleteTag createBranch CreateCommitRecord createSymlinkFile archivePaths
    createPullRequest updatePullRequest approvePullRequest withdrawPullRequestApproval
    setPullRequestReviewers reviewPullRequest withdrawPullRequestReview createPullRequestComment updatePullRequestComment
    deletePullRequestComment
    abortPresignMultipartUpload uploadPart uploadPartCopy importCancel
    compareCandidates recordRun startRun logRunSteps endRun updateExperimentRun
    evaluateGatePolicy reportCheck approvePromotion rejectPromotion cancelPromotion
    putWebhook deleteWebhook pingWebhook redeliverWebhookEvent runHooks
    leaseEvaluation renewEvaluation releaseEvaluation finishEvaluation failEvaluation retryEvaluation
    checkPermissions importPreview setQuota removeQuota recountQuota setUserQuota removeUserQuota recountUserQuota
    requestGarbageCollection cancelGarbageCollection expireCommit undeleteRepository addHold removeHold startVerification cancelVerification warmCache
""".split()
)
# These change it as they should: through the gate, by who may administer it, or with the whole repository.
GATES = {"createPromotion", "rollBackPromotion", "setGatePolicy", "removeGatePolicy", "deleteRepository"}
# Only a bare repository takes dumped refs in, which has no branch.
BARE_ONLY = {"restoreRefs", "restoreSubmit"}
# Refused by the alias' own rule.
OF_ALIASES = {"setAlias", "removeAlias"}


class Place:
    """One repository with both branches, alike: `a` committed twice, `staged` not at all where asked."""

    def __init__(self, tarn, rest, repo, s3):
        self.tarn, self.rest, self.repo, self.s3 = tarn, rest, repo, s3
        self.base = f"/repositories/{repo.id}"
        self.prepared = {}

    def must(self, method, path, **options):
        answer = self.rest(method, self.base + path, **options)
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json() if "json" in answer.headers.get("Content-Type", "") else None

    def branch(self, name):
        return f"/branches/{name}"

    def write(self, branch, path, text):
        self.must("POST", f"/branches/{branch}/objects", params={"path": path}, data=text)

    def commit(self, branch):
        return self.must("POST", f"/branches/{branch}/commits", json={"message": "m"})["id"]

    def seen(self, branch):
        """Head, staged changes and the alias."""
        found = self.rest("GET", f"{self.base}/branches/{branch}")
        if found.status_code != 200:
            return None
        return (
            found.json()["commit_id"],
            self.must("GET", f"/branches/{branch}/diff")["results"],
            self.must("GET", "/aliases")["results"],
        )


def answer_of(place, method, path, **options):
    return place.rest(method, place.base + path, **options)


def on_branch(method, tail, **options):
    """A request that needs nothing prepared."""
    return lambda place, b: answer_of(place, method, f"/branches/{b}{tail}", **options)


def physical(place, branch):
    handed = place.must("GET", f"/branches/{branch}/staging/backing", params={"path": "linked", "presign": "true"})
    assert requests.put(handed["presigned_url"], data=b"hello", timeout=60).status_code == 200
    return handed


def link(place, b):
    return answer_of(
        place,
        "PUT",
        f"/branches/{b}/staging/backing",
        params={"path": "linked"},
        json={"staging": place.prepared[b], "checksum": "abc", "size_bytes": 5},
    )


def stage(place, b):
    stat = place.must("GET", "/refs/main/objects/stat", params={"path": "seed"})
    return answer_of(
        place,
        "PUT",
        f"/branches/{b}/objects",
        params={"path": "b"},
        json={"physical_address": stat["physical_address"], "checksum": stat["checksum"], "size_bytes": stat["size_bytes"]},
    )


def begin_upload(place, branch):
    made = place.must("POST", f"/branches/{branch}/staging/pmpu", params={"path": "big", "parts": 1})
    sent = requests.put(made["presigned_urls"][0], data=b"x", timeout=60)
    assert sent.status_code == 200, sent.text
    return made, sent.headers["ETag"]


def complete_upload(place, b):
    made, etag = place.prepared[b]
    return answer_of(
        place,
        "PUT",
        f"/branches/{b}/staging/pmpu/{made['upload_id']}",
        params={"path": "big"},
        json={"physical_address": made["physical_address"], "parts": [{"part_number": 1, "etag": etag}]},
    )


def begin_import(place, b):
    source = place.tarn.import_root / place.repo.id
    source.mkdir(exist_ok=True)
    (source / "a").write_text("x")
    return answer_of(
        place,
        "POST",
        f"/branches/{b}/import",
        json={
            "paths": [{"type": "common_prefix", "path": f"local://{source}/", "destination": "in/"}],
            "commit": {"message": "m"},
        },
    )


def propose(place, branch):
    return place.must("POST", "/pulls", json={"title": "t", "source_branch": "side", "destination_branch": branch})["id"]


# By operation: the request, and what is done to a branch before its policy is there.
CHANGES = {
    "commit": (on_branch("POST", "/commits", json={"message": "m"}), "stage"),
    "deleteBranch": (on_branch("DELETE", ""), None),
    "setBranchExpiry": (on_branch("PUT", "/expiry", json={"expires": "72h"}), None),
    "renameBranch": (lambda place, b: answer_of(place, "POST", f"/branches/{b}/rename", json={"name": f"{b}-2"}), None),
    "rebaseBranch": (on_branch("POST", "/rebase", json={"onto": "side"}), None),
    "resetBranch": (on_branch("PUT", "", json={"type": "reset"}), "stage"),
    "hardResetBranch": (on_branch("PUT", "/hard_reset", params={"ref": "main"}), None),
    "revertBranch": (
        lambda place, b: answer_of(place, "POST", f"/branches/{b}/revert", json={"ref": b, "parent_number": 0}),
        None,
    ),
    "cherryPick": (on_branch("POST", "/cherry-pick", json={"ref": "side"}), None),
    "mergeIntoBranch": (lambda place, b: answer_of(place, "POST", f"/refs/side/merge/{b}", json={}), None),
    "mergePullRequest": (lambda place, b: answer_of(place, "PUT", f"/pulls/{place.prepared[b]}/merge"), propose),
    "createPresignMultipartUpload": (on_branch("POST", "/staging/pmpu", params={"path": "big", "parts": 1}), None),
    "completePresignMultipartUpload": (complete_upload, begin_upload),
    "linkPhysicalAddress": (link, physical),
    "importStart": (begin_import, None),
    "stageObject": (stage, None),
    "uploadObject": (on_branch("POST", "/objects", params={"path": "b"}, data=b"x"), None),
    "deleteObject": (on_branch("DELETE", "/objects", params={"path": "a"}), None),
    "deleteObjects": (on_branch("POST", "/objects/delete", json={"paths": ["a"]}), None),
    "copyObject": (
        on_branch("POST", "/objects/copy", params={"dest_path": "b"}, json={"src_path": "seed", "src_ref": "main"}),
        None,
    ),
    "updateObjectUserMetadata": (
        on_branch("PUT", "/objects/stat/user_metadata", params={"path": "a"}, json={"set": {"k": "v"}}),
        None,
    ),
    "moveObjects": (on_branch("POST", "/objects/move", json={"src_path": "a", "dest_path": "b"}), None),
    "checkoutPath": (on_branch("POST", "/checkout-path", json={"ref": "side", "paths": ["**"]}), None),
}
# An upload or an import is begun, or an end set, before anything of the branch changes.
CHANGES_LATER = {"createPresignMultipartUpload", "importStart", "setBranchExpiry"}


@pytest.fixture
def place(tarn, rest, repo, s3):
    """main holds `seed`, the branches two commits over it, and `side` one that both could take."""
    made = Place(tarn, rest, repo, s3)
    made.write("main", "seed", "seed")
    made.commit("main")
    for branch in (GATED, FREE):
        made.must("POST", "/branches", json={"name": branch, "source": "main"})
        for text in ("one", "two"):
            made.write(branch, "a", text)
            made.commit(branch)
    made.must("POST", "/branches", json={"name": "side", "source": "main"})
    made.write("side", "of-side", "x")
    made.commit("side")
    made.must("POST", "/aliases/champion:set", json={"to": GATED})
    return made


def prepare(place, how):
    for branch in (GATED, FREE):
        if how == "stage":
            place.write(branch, "staged", "x")
        elif how is not None:
            place.prepared[branch] = how(place, branch)


def guard(place):
    place.must(
        "PUT",
        "/policies/gate",
        data=f"name: gate\ndestination: {GATED}\nalias: champion\n",
        headers={"Content-Type": "application/yaml"},
    )


def writing_operations():
    table = subprocess.run([servers.program("tarnd"), "--print-rest-table"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^\| (\w+) \| (?:PUT|POST|DELETE|PATCH) \|", table.stdout, re.M))


def test_every_writing_operation_is_known():
    known = LEAVES | GATES | BARE_ONLY | OF_ALIASES | CHANGES.keys()
    unknown = writing_operations() - known
    assert unknown == set(), "say in CHANGES or LEAVES whether these change a branch"


@pytest.mark.parametrize("operation", sorted(CHANGES))
def test_rest_refuses(place, operation):
    call, before = CHANGES[operation]
    prepare(place, before)
    guard(place)
    seen = {branch: place.seen(branch) for branch in (GATED, FREE)}
    refused = call(place, GATED)
    text = refused.text
    if operation == "deleteObjects":  # answers with a list of refusals
        assert refused.status_code == 200 and [e["status_code"] for e in refused.json()["errors"]] == [403]
    else:
        assert (refused.status_code, refused.headers["X-Tarn-Error"]) == (403, "protected_branch"), text
        assert "tarn promote" in text and GATED in text
    assert place.seen(GATED) == seen[GATED]
    done = call(place, FREE)
    assert done.status_code < 300, (done.status_code, done.text)
    if operation not in CHANGES_LATER:
        assert place.seen(FREE) != seen[FREE]


@pytest.mark.parametrize("operation", sorted(BARE_ONLY))
def test_rest_takes_dumped_refs_into_bare_repositories_only(place, operation):
    guard(place)
    dump = place.must("PUT", "/refs/dump")
    seen = place.seen(GATED)
    path = "/refs/restore" if operation == "restoreRefs" else "/restore"
    refused = answer_of(place, "PUT" if operation == "restoreRefs" else "POST", path, json={**dump, "force": True})
    assert refused.status_code == 400 and "bare" in refused.text, refused.text
    assert place.seen(GATED) == seen


def test_the_policys_alias_moves_by_promotion_only(place):
    place.must("POST", "/aliases/other:set", json={"to": GATED})
    guard(place)
    seen = place.seen(GATED)
    for refused in (
        answer_of(place, "POST", "/aliases/champion:set", json={"to": "main"}),
        answer_of(place, "DELETE", "/aliases/champion"),
    ):
        assert refused.status_code == 403 and "promot" in refused.text, refused.text
    assert place.seen(GATED) == seen
    place.must("POST", "/aliases/other:set", json={"to": "main"})


def test_a_branch_of_its_name_is_not_made_again(place):
    guard(place)
    seen = place.seen(GATED)
    for body in ({"name": GATED, "source": "main"}, {"name": GATED, "source": "main", "force": True}):
        assert answer_of(place, "POST", "/branches", json=body).status_code == 409
    assert place.seen(GATED) == seen


def multipart(place, branch):
    upload = place.s3.create_multipart_upload(Bucket=place.repo.id, Key=f"{branch}/joined")["UploadId"]
    part = place.s3.upload_part(Bucket=place.repo.id, Key=f"{branch}/joined", UploadId=upload, PartNumber=1, Body=b"x")
    return upload, part["ETag"]


# Writes of the S3 gateway; parts of an upload reach no branch before it completes.
OVER_S3 = {
    "PutObject": (lambda p, b: p.s3.put_object(Bucket=p.repo.id, Key=f"{b}/b", Body=b"x"), None),
    "CopyObject": (lambda p, b: p.s3.copy_object(Bucket=p.repo.id, Key=f"{b}/b", CopySource=f"{p.repo.id}/main/seed"), None),
    "DeleteObject": (lambda p, b: p.s3.delete_object(Bucket=p.repo.id, Key=f"{b}/a"), None),
    "PutObjectTagging": (
        lambda p, b: p.s3.put_object_tagging(Bucket=p.repo.id, Key=f"{b}/a", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]}),
        None,
    ),
    "DeleteObjectTagging": (lambda p, b: p.s3.delete_object_tagging(Bucket=p.repo.id, Key=f"{b}/a"), "tag"),
    "CreateMultipartUpload": (lambda p, b: p.s3.create_multipart_upload(Bucket=p.repo.id, Key=f"{b}/b"), None),
    "CompleteMultipartUpload": (
        lambda p, b: p.s3.complete_multipart_upload(
            Bucket=p.repo.id,
            Key=f"{b}/joined",
            UploadId=p.prepared[b][0],
            MultipartUpload={"Parts": [{"ETag": p.prepared[b][1], "PartNumber": 1}]},
        ),
        multipart,
    ),
}


@pytest.mark.parametrize("operation", sorted(OVER_S3))
def test_s3_refuses(place, operation):
    call, before = OVER_S3[operation]
    if before == "tag":
        for branch in (GATED, FREE):
            OVER_S3["PutObjectTagging"][0](place, branch)
            place.commit(branch)
        before = None
    prepare(place, before)
    guard(place)
    seen = {branch: place.seen(branch) for branch in (GATED, FREE)}
    with pytest.raises(ClientError) as caught:
        call(place, GATED)
    error = caught.value.response
    assert (error["ResponseMetadata"]["HTTPStatusCode"], error["Error"]["Code"]) == (403, "AccessDenied")
    assert "tarn promote" in error["Error"]["Message"]
    assert place.seen(GATED) == seen[GATED]
    call(place, FREE)
    if operation != "CreateMultipartUpload":
        assert place.seen(FREE) != seen[FREE]


def test_s3_refuses_one_of_many(place, s3):
    guard(place)
    seen = place.seen(GATED)
    answer = s3.delete_objects(Bucket=place.repo.id, Delete={"Objects": [{"Key": f"{GATED}/a"}, {"Key": f"{FREE}/a"}]})
    assert [(e["Key"], e["Code"]) for e in answer["Errors"]] == [(f"{GATED}/a", "AccessDenied")]
    assert "tarn promote" in answer["Errors"][0]["Message"]
    assert place.seen(GATED) == seen


def test_the_command_says_the_way(place, cli, repo, tmp_path):
    file = tmp_path / "x"
    file.write_text("x")
    place.write(GATED, "staged", "x")
    guard(place)
    seen = place.seen(GATED)
    here = f"tarn://{repo.id}/{GATED}"
    for words in (
        ["merge", "side", GATED],
        ["commit", GATED, "-m", "m"],
        ["fs", "upload", file, f"{here}/x"],
        ["fs", "rm", f"{here}/a"],
        ["fs", "mv", f"{here}/a", f"{here}/b"],
        ["fs", "cp", f"tarn://{repo.id}/main/seed", f"{here}/b"],
        ["branch", "delete", GATED, "--yes"],
        ["branch", "reset", GATED, "--yes"],
        ["revert", GATED, GATED],
        ["checkout-path", "side", "**", "--branch", GATED],
        ["branch", "create", GATED, "--source", "main", "--reset-if-exists"],
    ):
        refused = cli.run(*words, status=3)
        assert f"tarn promote CANDIDATE --to {GATED}" in refused.talk, (words, refused.talk)
        assert place.seen(GATED) == seen, words


def test_a_removed_policy_lets_the_branch_go(place):
    guard(place)
    place.must("DELETE", "/policies/gate")
    place.write(GATED, "b", "x")
    place.commit(GATED)


def test_who_writes_everything_may_not_get_around_it(place, tarn, tmp_path):
    """The built-in rights of an administrator do not open the gate either."""
    guard(place)
    api = lakefs_sdk.RefsApi(
        lakefs_sdk.ApiClient(
            lakefs_sdk.Configuration(host=f"{tarn.url}/api/v1", username=tarn.access_key, password=tarn.secret_key)
        )
    )
    with pytest.raises(lakefs_sdk.exceptions.ForbiddenException) as caught:
        api.merge_into_branch(place.repo.id, "side", GATED)
    assert "tarn promote" in caught.value.body
    forced = answer_of(place, "POST", f"/refs/side/merge/{GATED}", json={"force": True})
    assert forced.status_code == 403
    assert command.Cli(tarn, tmp_path, place.repo.id).json("policy", "show", "gate")["kind"] == "GatePolicy"
