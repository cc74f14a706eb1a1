"""No other verb changes a branch behind a gate, over any interface, for any user."""

from attack import Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import (
    ask,
    begin_multipart,
    command,
    commit,
    link_later,
    must,
    over_s3,
    promote,
    ran_a_hook,
    send_multipart,
    train,
    wait_until_settled,
    write,
)

PLAIN = gate("metrics")
SIDE = (train("exp-side", 0.9, by="dev"),)
SAYS = "tarn promote"
PROTECTED = Seen(status=403, says=SAYS)

# By name: what is asked of REST.
CHANGES = {
    "put": ("POST", "/branches/main/objects", {"params": {"path": "artifacts/model.pkl"}, "data": b"evil"}),
    "put_a_new_one": ("POST", "/branches/main/objects", {"params": {"path": "new"}, "data": b"evil"}),
    "put_with_force": ("POST", "/branches/main/objects", {"params": {"path": "new", "force": "true"}, "data": b"evil"}),
    "put_of_a_condition": (
        "POST",
        "/branches/main/objects",
        {"params": {"path": "new"}, "data": b"x", "headers": {"If-None-Match": "*"}},
    ),
    "delete": ("DELETE", "/branches/main/objects", {"params": {"path": "artifacts/model.pkl"}}),
    "delete_without_a_trace": ("DELETE", "/branches/main/objects", {"params": {"path": "README.md", "no_tombstone": "true"}}),
    "copy": (
        "POST",
        "/branches/main/objects/copy",
        {"params": {"dest_path": "artifacts/model.pkl"}, "json": {"src_path": "artifacts/model.pkl", "src_ref": "exp-side"}},
    ),
    "move": ("POST", "/branches/main/objects/move", {"json": {"src_path": "README.md", "dest_path": "readme"}}),
    "user_metadata": (
        "PUT",
        "/branches/main/objects/stat/user_metadata",
        {"params": {"path": "README.md"}, "json": {"set": {"k": "v"}}},
    ),
    "checkout_of_paths": ("POST", "/branches/main/checkout-path", {"json": {"ref": "exp-side", "paths": ["artifacts/**"]}}),
    "commit": ("POST", "/branches/main/commits", {"json": {"message": "m", "allow_empty": True}}),
    "commit_of_a_tree": ("POST", "/branches/main/commits", {"json": {"message": "m", "allow_empty": True, "force": True}}),
    "reset": ("PUT", "/branches/main", {"json": {"type": "reset"}}),
    "hard_reset": ("PUT", "/branches/main/hard_reset", {"params": {"ref": "exp-side"}}),
    "hard_reset_with_force": ("PUT", "/branches/main/hard_reset", {"params": {"ref": "exp-side", "force": "true"}}),
    "revert": ("POST", "/branches/main/revert", {"json": {"ref": "main", "parent_number": 0, "allow_empty": True}}),
    "cherry_pick": ("POST", "/branches/main/cherry-pick", {"json": {"ref": "exp-side"}}),
    "merge": ("POST", "/refs/exp-side/merge/main", {"json": {}}),
    "merge_with_force": ("POST", "/refs/exp-side/merge/main", {"json": {"force": True, "strategy": "source-wins"}}),
    "squash": ("POST", "/refs/exp-side/merge/main", {"json": {"squash_merge": True}}),
    "merge_of_paths": ("POST", "/refs/exp-side/merge/main", {"json": {"paths": ["artifacts/**"]}}),
    "merge_of_a_commit": ("POST", "/refs/<exp-side>/merge/main", {"json": {}}),
    "pull_request": ("PUT", "/pulls/<pull>/merge", {}),
    "link_asked_for": (
        "PUT",
        "/branches/main/staging/backing",
        {"params": {"path": "new"}, "json": {"staging": {"physical_address": "<address>"}, "checksum": "x", "size_bytes": 1}},
    ),
    "stage": (
        "PUT",
        "/branches/main/objects",
        {"params": {"path": "new"}, "json": {"physical_address": "<object>", "checksum": "x", "size_bytes": 1}},
    ),
    "multipart": ("POST", "/branches/main/staging/pmpu", {"params": {"path": "new", "parts": 1}}),
    "deletion_of_the_branch": ("DELETE", "/branches/main", {}),
    "deletion_of_the_branch_with_force": ("DELETE", "/branches/main", {"params": {"force": "true"}}),
    "import": (
        "POST",
        "/branches/main/import",
        {
            "json": {
                "paths": [{"type": "common_prefix", "path": "local:///nowhere/", "destination": "in/"}],
                "commit": {"message": "m"},
            }
        },
    ),
}
OTHER = {
    "deletion_by_the_lead": ("DELETE", "/branches/main", {}, 403),
    "deletion_with_force_by_the_lead": ("DELETE", "/branches/main", {"params": {"force": "true"}}, 403),
    "a_branch_of_its_name": ("POST", "/branches", {"json": {"name": "main", "source": "exp-side", "force": True}}, 409),
    "refs_of_another_state": (
        "PUT",
        "/refs/restore",
        {"json": {"commits_meta_range_id": "x", "tags_meta_range_id": "x", "branches_meta_range_id": "x", "force": True}},
        400,
    ),
    "a_tag_of_its_name": ("POST", "/tags", {"json": {"id": "main", "ref": "exp-side"}}, 409),
}
OVER_S3 = {
    "put": ("put_object", {"Key": "main/artifacts/model.pkl", "Body": b"evil"}),
    "put_to_the_alias": ("put_object", {"Key": "@champion/artifacts/model.pkl", "Body": b"evil"}),
    "put_to_a_commit": ("put_object", {"Key": "<main>/artifacts/model.pkl", "Body": b"evil"}),
    "put_to_a_short_id": ("put_object", {"Key": "<short>/artifacts/model.pkl", "Body": b"evil"}),
    "put_with_a_condition": ("put_object", {"Key": "main/new", "Body": b"evil", "IfNoneMatch": "*"}),
    "copy": ("copy_object", {"Key": "main/artifacts/model.pkl", "CopySource": "<repo>/exp-side/artifacts/model.pkl"}),
    "delete": ("delete_object", {"Key": "main/artifacts/model.pkl"}),
    "tags": ("put_object_tagging", {"Key": "main/README.md", "Tagging": {"TagSet": [{"Key": "k", "Value": "v"}]}}),
    "multipart": ("create_multipart_upload", {"Key": "main/new"}),
}
COMMANDS = {
    "merge": ("merge", "exp-side", "main"),
    "commit": ("commit", "main", "-m", "m", "--allow-empty"),
    "revert": ("revert", "main", "main"),
    "deletion": ("branch", "delete", "main", "--yes"),
    "reset": ("branch", "reset", "main", "--yes"),
    "removal": ("fs", "rm", "tarn://<repo>/main/README.md"),
    "move": ("fs", "mv", "tarn://<repo>/main/README.md", "tarn://<repo>/main/readme"),
    "copy": ("fs", "cp", "tarn://<repo>/exp-side/artifacts/model.pkl", "tarn://<repo>/main/artifacts/model.pkl"),
    "checkout": ("checkout-path", "exp-side", "**", "--branch", "main"),
    "a_branch_made_again": ("branch", "create", "main", "--source", "exp-side", "--reset-if-exists"),
}
EARLY = SIDE + (
    must(
        "POST",
        "/pulls",
        keep="pull",
        member="id",
        by="dev",
        json={"title": "t", "source_branch": "exp-side", "destination_branch": "main"},
    ),
    must("GET", "/branches/main/staging/backing", keep="address", member="physical_address", params={"path": "new"}, by="lead"),
    must("GET", "/refs/main/objects/stat", keep="object", member="physical_address", params={"path": "README.md"}, by="lead"),
)

# A script that sets metadata of an object on a branch, with the rights of who sets it off.
SETS = """name: sets
on:
  EVENT:
hooks:
  - id: sets
    type: lua
    properties:
      script: |
        local lakefs = require("lakefs")
        local status, answer = lakefs.update_object_user_metadata(action.repository_id, "BRANCH", "README.md", {k = "v"})
        print("answered " .. tostring(status))
"""


def hooked(event, branch="main"):
    """Every branch has the script from its source."""
    text = SETS.replace("EVENT", event).replace("BRANCH", branch)
    return (
        must("POST", "/branches/main/objects", params={"path": "_lakefs_actions/sets.yaml"}, data=text.encode(), by="lead"),
        must("POST", "/branches/main/commits", json={"message": "a script"}, by="lead"),
    ) + SIDE


ATTACKS = (
    [
        Attack(f"{name}_by_the_lead", "lead", (ask(method, path, **options),), PROTECTED, PLAIN, early=EARLY)
        for name, (method, path, options) in CHANGES.items()
        if name != "import" and not name.startswith("deletion")
    ]
    + [
        Attack(f"{name}_by_dev", "dev", (ask(method, path, **options),), Seen(status=(401, 403)), PLAIN, early=EARLY)
        for name, (method, path, options) in CHANGES.items()
    ]
    + [
        Attack(name, "lead", (ask(method, path, **options),), Seen(status=status), PLAIN, early=SIDE)
        for name, (method, path, options, status) in OTHER.items()
    ]
    + [
        Attack(
            f"{name}_over_s3",
            "lead",
            (over_s3(operation, **options),),
            Seen(status=(400, 403, 404, 405)),
            PLAIN,
            before=SIDE + (promote("exp-side", by="lead"), must("GET", "/commits/main", keep="short", member="id", by="lead")),
        )
        for name, (operation, options) in OVER_S3.items()
    ]
    + [
        Attack(f"{name}_by_command", "lead", (command(*words),), Seen(status=(403, 409)), PLAIN, before=SIDE)
        for name, words in COMMANDS.items()
    ]
    + [
        Attack(
            "a_multipart_upload_begun_before",
            "lead",
            (send_multipart(),),
            Seen(status=403),
            PLAIN,
            early=SIDE + (begin_multipart("main/new"),),
        ),
        Attack(
            "a_link_begun_before",
            "lead",
            (link_later("main", "new"),),
            PROTECTED,
            PLAIN,
            early=SIDE
            + (
                must(
                    "GET",
                    "/branches/main/staging/backing",
                    keep="address",
                    member="physical_address",
                    params={"path": "new"},
                    by="lead",
                ),
            ),
        ),
        Attack(
            "several_deleted_at_once",
            "lead",
            (ask("POST", "/branches/main/objects/delete", json={"paths": ["README.md"]}),),
            Seen(status=200, says='"status_code":403'),
            PLAIN,
            before=SIDE,
        ),
        Attack("a_write_by_dev", "dev", (write("main", "new", "evil"),), Seen(status=(401, 403)), PLAIN, before=SIDE),
        Attack("a_write_by_the_lead", "lead", (write("main", "new", "evil"),), Seen(status=403), PLAIN, before=SIDE),
        Attack(
            "a_write_to_the_alias",
            "lead",
            (write("@champion", "new", "evil"),),
            Seen(status=(400, 403, 404, 405)),
            PLAIN,
            before=SIDE + (promote("exp-side", by="lead"),),
        ),
        Attack(
            "user_metadata_by_a_script_of_a_commit",
            "lead",
            (commit("exp-side", allow_empty=True), ran_a_hook("answered 403"), ask("GET", "/branches/main")),
            Seen(status=200),
            PLAIN,
            early=hooked("pre-commit"),
        ),
        Attack(
            "user_metadata_by_a_script_of_a_tag",
            "lead",
            (
                must("POST", "/tags", json={"id": "v1", "ref": "exp-side"}),
                ran_a_hook("answered 403"),
                ask("GET", "/branches/main"),
            ),
            Seen(status=200),
            PLAIN,
            early=hooked("pre-create-tag"),
        ),
        Attack(
            "user_metadata_by_a_script_of_a_branch",
            "dev",
            (
                must("POST", "/branches", json={"name": "exp-new", "source": "exp-side"}),
                ran_a_hook("answered 403"),
                ask("GET", "/branches/main"),
            ),
            Seen(status=200),
            PLAIN,
            early=hooked("pre-create-branch"),
        ),
        Attack(
            "user_metadata_by_the_script_of_its_promotion",
            "lead",
            (promote("exp-side"), ran_a_hook("answered 403"), wait_until_settled()),
            Seen(state="promoted", winner="exp-side"),
            PLAIN,
            early=hooked("pre-merge"),
        ),
        Attack(
            "an_end_of_the_branch",
            "lead",
            (ask("PUT", "/branches/main/expiry", json={"expires": "1h"}),),
            Seen(status=(400, 403), lives=("main",)),
            PLAIN,
            before=SIDE,
        ),
    ]
)

HONEST = [
    Attack(
        "user_metadata_of_a_candidate_by_a_script",
        "lead",
        (commit("exp-side", allow_empty=True), ran_a_hook("answered 20"), promote("exp-side")),
        Seen(state="promoted", winner="exp-side"),
        PLAIN,
        early=hooked("pre-commit", "exp-side"),
    ),
    Attack(
        "work_on_a_candidate",
        "dev",
        (write("exp-side", "new", "x"), commit("exp-side"), promote("exp-side")),
        Seen(state="promoted", winner="exp-side"),
        PLAIN,
        before=SIDE,
    ),
]
