"""The champion is what was judged: these objects, this history, and nothing else."""

from attack import ACCURACY, BETTER, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import (
    CHAMPION,
    approve,
    ask,
    branch,
    commit,
    keep_review,
    link,
    log_run,
    merge,
    must,
    promote,
    refused,
    roll_back,
    send_again,
    train,
    tried,
    wait_until_ended,
    wait_until_settled,
    write,
)

MODEL = {"required": ["artifacts/model.pkl"]}
PLAIN = gate(metrics=[ACCURACY])
REQUIRED = gate(metrics=[ACCURACY], objects=MODEL)
COMPARED = gate(metrics=[BETTER], objects=MODEL)
GOOD_WINS = Seen(state="promoted", winner="exp-good")
NOT_MEASURED = Seen(state=("rejected", "failed"), code=("gate_failed", "not_what_was_measured"))
NOTHING_CAME = Seen(state=("rejected", "failed"), code=("gate_failed", "not_what_was_measured", "no_changes", "metric_missing"))
FORBIDS = gate(metrics=[ACCURACY], objects={"forbid": ["secret/**", "**/*.gpg"]})
KEEPS = gate(metrics=[ACCURACY], objects={"unchanged": ["config/**", "README.md"]})
ACTION = "name: evil\non:\n  post-merge:\nhooks:\n  - id: evil\n    type: lua\n    properties: {script: 'print(1)'}\n"

ELSEWHERE = ACTION.replace("script: 'print(1)'", "script_path: scripts/check.lua")

DATA = (train("exp-data", files={"data/train.csv": "3"}, by="lead"),)
# A file that another promotion brought.
FAIR = (train("exp-fair", 0.8, files={"docs/fair.json": "{}", "notes/b": "b"}, by="dev2"), promote("exp-fair", by="lead"))
OF_THE_BASE = train("exp-bad", 0.95, source="<base>", by="dev")
KEEPS_DOCS = gate(metrics=[ACCURACY], objects={"keep": ["docs/**"]})
PATHS = gate(metrics=[ACCURACY], objects=MODEL, method=["replace-paths"], paths=["artifacts/**", "notes/**"])
REMOVED = Seen(state="rejected", code="gate_failed", rules=(("exp-bad", "object_removed"),))
SINCE = gate(metrics=[ACCURACY], unchanged_since={"ref": "exp-data", "paths": ["data/**"]})


def refusal(code):
    return Seen(state="rejected", code="gate_failed", rules=(("exp-bad", code),))


def brings(path, text="x"):
    return (train("exp-bad", 0.95, files={"artifacts/model.pkl": "bad", path: text}, by="dev"),)


def replaces(*paths):
    return (promote("exp-bad", method="replace-paths", paths=list(paths)),)


NOT_QUITE_FORBIDDEN = {"./secret/x": "path_alias", "/secret/x": "path_alias", "d/x.GPG": "object_forbidden"}
FORBIDDEN = ["secret/x", "secret/a/b/c", "x.gpg", "d/x.gpg", "secret//x", "secret/.hidden", "a/b/.gpg"]
# Paths that no merge of the winner's changes is.
PARTS = {
    "the_readme": ["README.md"],
    "the_data": ["data/**"],
    "nothing_that_is_there": ["absent/**"],
    "one_of_two_files": ["artifacts/model.pkl"],
    "all_but_the_model": ["{README.md,data/**,notes/**}"],
    "a_name_alike": ["artifacts/model.pk"],
    "a_directory": ["artifacts/*/model.pkl"],
}

ATTACKS = (
    [
        # The method and its paths.
        Attack(
            "another_method_than_the_policys",
            "dev",
            replaces("README.md"),
            Seen(state="failed", code="method_refused"),
            gate(metrics=[ACCURACY], method=["merge"]),
            before=brings("notes/a"),
        ),
        Attack(
            "a_squash_where_merging_is_wanted",
            "dev",
            (promote("exp-bad", method="squash"),),
            Seen(state="failed", code="method_refused"),
            gate(metrics=[ACCURACY], method=["merge"]),
            before=brings("notes/a"),
        ),
        Attack(
            "the_readme_with_the_models_metrics",
            "dev",
            replaces("README.md"),
            NOT_MEASURED,
            COMPARED,
            before=CHAMPION + (train("exp-bad", 0.99, files={"artifacts/model.pkl": "new", "README.md": "new"}, by="dev"),),
        ),
        # A file that another promotion brought, and one that a policy lets be replaced.
        Attack(
            "all_paths_without_what_another_brought", "dev", replaces("**"), REMOVED, KEEPS_DOCS, before=FAIR + (OF_THE_BASE,)
        ),
        Attack(
            "paths_without_what_another_brought",
            "dev",
            replaces("artifacts/**", "docs/**"),
            REMOVED,
            KEEPS_DOCS,
            before=FAIR + (OF_THE_BASE,),
        ),
        Attack(
            "a_choice_of_paths_without_what_another_brought",
            "dev",
            replaces("{artifacts,docs}/*"),
            REMOVED,
            KEEPS_DOCS,
            before=FAIR + (OF_THE_BASE,),
        ),
        Attack(
            "all_paths_without_what_another_brought_meanwhile",
            "reviewer",
            (tried(approve()), wait_until_settled()),
            REMOVED,
            gate(metrics=[ACCURACY], objects={"keep": ["docs/**"]}, approvals={"count": 1}),
            before=(
                FAIR[0],
                OF_THE_BASE,
                promote("exp-fair", by="lead"),
                must("GET", "/promotions/<promotion>", keep="fair", member="id", by="lead"),
                keep_review("shown"),
                promote("exp-bad", method="replace-paths", paths=["**"], by="lead"),
                must("POST", "/promotions/<fair>:approve", json={"review_digest": "<shown>"}, by="reviewer"),
                wait_until_ended("<fair>"),
            ),
        ),
        Attack(
            "paths_that_the_policy_does_not_name",
            "dev",
            replaces("**"),
            Seen(state="failed", code="paths_refused"),
            PATHS,
            before=brings("README.md"),
        ),
        Attack(
            "one_more_path_than_the_policy_names",
            "dev",
            replaces("artifacts/**", "README.md"),
            Seen(state="failed", code="paths_refused"),
            PATHS,
            before=brings("README.md"),
        ),
        Attack(
            "a_narrower_path_than_the_policy_names",
            "dev",
            replaces("artifacts/model.pkl"),
            Seen(state="failed", code="paths_refused"),
            PATHS,
            before=brings("artifacts/other"),
        ),
        Attack(
            "a_path_spelt_otherwise_than_in_the_policy",
            "dev",
            replaces("artifacts/**", "./notes/**"),
            Seen(state="failed", code="paths_refused"),
            PATHS,
            before=brings("notes/a"),
        ),
        Attack(
            "a_merge_where_paths_are_wanted",
            "dev",
            (promote("exp-bad"),),
            Seen(state="failed", code="method_refused"),
            PATHS,
            before=brings("README.md"),
        ),
        Attack(
            "a_part_of_the_paths_that_the_policy_names",
            "dev",
            replaces("notes/**"),
            NOT_MEASURED,
            PATHS,
            before=brings("notes/a"),
        ),
        # Candidates that the destination already has.
        Attack(
            "a_branch_from_before_the_champion",
            "dev",
            (promote("exp-bad"),),
            NOT_MEASURED,
            COMPARED,
            before=(train("exp-bad", 0.97, files={"config.json": "{}"}, by="dev"),) + CHAMPION,
        ),
        Attack(
            "a_branch_from_before_the_champion_squashed",
            "dev",
            (promote("exp-bad", method="squash"),),
            NOT_MEASURED,
            COMPARED,
            before=(train("exp-bad", 0.97, files={"config.json": "{}"}, by="dev"),) + CHAMPION,
        ),
        Attack(
            "nothing_trained",
            "dev",
            (tried(log_run("exp-bad", {"accuracy": 0.97})), promote("exp-bad")),
            NOTHING_CAME,
            COMPARED,
            before=(branch("exp-bad", by="dev"),),
        ),
        Attack(
            "nothing_trained_since_the_champion",
            "dev",
            (tried(log_run("exp-bad", {"accuracy": 0.97})), promote("exp-bad")),
            NOTHING_CAME,
            COMPARED,
            before=CHAMPION + (branch("exp-bad", by="dev"),),
        ),
        Attack(
            "an_old_commit_after_a_rollback",
            "dev",
            (tried(log_run("exp-bad", {"accuracy": 0.97})), promote("exp-bad")),
            NOTHING_CAME,
            COMPARED,
            before=CHAMPION + (roll_back(by="lead"), branch("exp-bad", source="<base>", by="dev")),
        ),
        Attack(
            "the_champion_as_it_is",
            "dev",
            (promote("exp-champion"),),
            Seen(state=("failed", "rejected"), code=("no_changes", "gate_failed")),
            COMPARED,
            before=CHAMPION,
        ),
        # Staged, moved and replaced.
        Attack(
            "a_model_that_is_only_staged",
            "dev",
            (write("exp-bad", "artifacts/model.pkl", "staged"), promote("exp-bad")),
            Seen(state="promoted", winner="exp-bad"),
            REQUIRED,
            before=(train("exp-bad", 0.95, by="dev"),),
        ),
        Attack(
            "a_model_removed_after_it_was_measured",
            "dev",
            (
                ask("DELETE", "/branches/exp-bad/objects", params={"path": "artifacts/model.pkl"}),
                commit("exp-bad", {"metric.accuracy": "0.97"}),
                promote("exp-bad"),
            ),
            refusal("object_missing"),
            REQUIRED,
            before=(train("exp-bad", 0.95, by="dev"),),
        ),
        Attack(
            "a_model_swapped_while_it_waits",
            "dev",
            (
                write("exp-bad", "artifacts/model.pkl", "worse"),
                commit("exp-bad"),
                tried(approve(by="reviewer")),
                tried(approve(by="reviewer2")),
                wait_until_ended(),
            ),
            Seen(state=("rejected", "failed"), code=("metric_missing", "gate_failed")),
            gate(metrics=[ACCURACY], objects=MODEL, approvals={"count": 2}),
            before=(train("exp-bad", 0.95, by="dev"), promote("exp-bad", by="lead")),
        ),
        Attack(
            "bytes_sent_again_to_a_linked_address",
            "dev",
            (
                refused(send_again(b"evil"), 403, 404, 409, 412),
                commit("exp-good", {"metric.accuracy": "0.95"}),
                promote("exp-good"),
            ),
            GOOD_WINS,
            REQUIRED,
            before=(branch("exp-good", by="dev"), link("exp-good", "artifacts/model.pkl", b"good", by="dev")),
        ),
        Attack(
            "bytes_sent_again_after_promotion",
            "dev",
            (send_again(b"evil"),),
            Seen(status=(403, 404, 409, 412)),
            REQUIRED,
            before=(
                branch("exp-good", by="dev"),
                link("exp-good", "artifacts/model.pkl", b"good", by="dev"),
                commit("exp-good", {"metric.accuracy": "0.95"}, by="dev"),
                promote("exp-good", by="dev"),
            ),
        ),
        # Objects that must be there.
        Attack(
            "no_model",
            "dev",
            (promote("exp-bad"),),
            refusal("object_missing"),
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new.pkl"]}),
            before=brings("notes/a"),
        ),
        Attack(
            "a_model_of_another_name",
            "dev",
            (promote("exp-bad"),),
            refusal("object_missing"),
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new.pkl"]}),
            before=brings("artifacts/New.pkl"),
        ),
        Attack(
            "a_model_below_its_name",
            "dev",
            (promote("exp-bad"),),
            refusal("object_missing"),
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new.pkl"]}),
            before=brings("artifacts/new.pkl/part"),
        ),
        Attack(
            "one_of_two_that_are_required",
            "dev",
            (promote("exp-bad"),),
            refusal("object_missing"),
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new.pkl", "artifacts/new.json"]}),
            before=brings("artifacts/new.pkl"),
        ),
        Attack(
            "too_many_bytes",
            "dev",
            (promote("exp-bad"),),
            refusal("too_large"),
            gate(metrics=[ACCURACY], objects={"max_total_bytes": 100}),
            before=brings("big", "b" * 100),
        ),
        Attack(
            "a_model_of_no_bytes",
            "dev",
            (promote("exp-bad"),),
            refusal("object_too_small"),
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new.pkl"]}),
            before=brings("artifacts/new.pkl", ""),
        ),
        Attack(
            "a_directory_as_the_model",
            "dev",
            (promote("exp-bad"),),
            refusal("object_too_small"),
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new/**"]}),
            before=brings("artifacts/new/", ""),
        ),
        Attack(
            "two_that_are_too_large_together",
            "dev",
            (promote("exp-bad"),),
            Seen(state=("failed", "rejected"), code=("too_large", "gate_failed")),
            gate(metrics=[ACCURACY], objects={"max_total_bytes": 150}),
            before=(
                train("exp-bad", 0.95, files={"big": "b" * 100}, by="dev"),
                train("exp-first", 0.9, files={"large": "b" * 100}, by="dev2"),
                promote("exp-first", by="lead"),
            ),
        ),
        # Paths that nobody may touch.
        Attack(
            "an_action_file",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            PLAIN,
            before=(
                train("exp-bad", 0.95, files={"_lakefs_actions/evil.yaml": ACTION, "artifacts/model.pkl": "bad"}, by="lead"),
            ),
        ),
        Attack(
            "an_action_file_where_others_must_stay",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            KEEPS,
            before=(
                train("exp-bad", 0.95, files={"_lakefs_actions/evil.yaml": ACTION, "artifacts/model.pkl": "bad"}, by="lead"),
            ),
        ),
        Attack(
            "a_script_of_a_hook",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            KEEPS,
            before=(
                train("exp-bad", 0.95, files={"_lakefs_actions/scripts/check.lua": "x", "artifacts/model.pkl": "bad"}, by="lead"),
            ),
        ),
        Attack(
            "an_action_file_by_replacing_paths",
            "dev",
            (promote("exp-bad", method="replace-paths", paths=["**"]),),
            refusal("object_changed"),
            PLAIN,
            before=(
                train("exp-bad", 0.95, files={"_lakefs_actions/evil.yaml": ACTION, "artifacts/model.pkl": "bad"}, by="lead"),
            ),
        ),
        Attack(
            "an_action_file_of_ones_own",
            "dev",
            (write("exp-bad", "_lakefs_actions/evil.yaml", ACTION),),
            Seen(status=403),
            PLAIN,
            before=(train("exp-bad", 0.95, by="dev"),),
        ),
        Attack(
            "a_script_that_lies_elsewhere",
            "lead",
            (write("exp-bad", "_lakefs_actions/a.yaml", ELSEWHERE), commit("exp-bad")),
            Seen(status=412),
            PLAIN,
            before=(train("exp-bad", 0.95, by="dev"),),
            over=("rest",),
        ),
        Attack(
            "an_action_file_where_all_may_come",
            "dev",
            (promote("exp-bad"),),
            Seen(state=("failed", "rejected"), code=("hooks_forbidden", "gate_failed")),
            gate(metrics=[ACCURACY], objects={"unchanged": []}),
            before=(
                train("exp-bad", 0.95, files={"_lakefs_actions/evil.yaml": ACTION, "artifacts/model.pkl": "bad"}, by="lead"),
            ),
        ),
        Attack(
            "a_file_that_must_stay_is_changed",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            KEEPS,
            before=brings("README.md"),
        ),
        Attack(
            "a_file_that_must_stay_is_added",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            KEEPS,
            before=brings("config/new"),
        ),
        Attack(
            "a_file_that_must_stay_is_removed",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            KEEPS,
            before=(
                train("exp-bad", by="dev"),
                must("DELETE", "/branches/exp-bad/objects", params={"path": "README.md"}, by="dev"),
                commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"),
            ),
        ),
        Attack(
            "the_metadata_of_a_file_that_must_stay",
            "dev",
            (promote("exp-bad"),),
            refusal("object_changed"),
            KEEPS,
            before=(
                train("exp-bad", by="dev"),
                must(
                    "PUT",
                    "/branches/exp-bad/objects/stat/user_metadata",
                    params={"path": "README.md"},
                    json={"set": {"k": "v"}},
                    by="dev",
                ),
                commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"),
            ),
        ),
        Attack(
            "a_file_that_must_stay_by_squash",
            "dev",
            (promote("exp-bad", method="squash"),),
            refusal("object_changed"),
            KEEPS,
            before=brings("README.md"),
        ),
        Attack(
            "a_file_that_must_stay_by_replacing_paths",
            "dev",
            (promote("exp-bad", method="replace-paths", paths=["**"]),),
            refusal("object_changed"),
            KEEPS,
            before=brings("README.md"),
        ),
        # History.
        Attack(
            "an_ancestor_that_is_missing",
            "dev",
            (promote("exp-bad"),),
            refusal("ancestor_missing"),
            gate(metrics=[ACCURACY], require_ancestor="data-v3"),
            early=(
                train("exp-data", files={"data/train.csv": "3"}, by="lead"),
                must("POST", "/tags", by="lead", json={"id": "data-v3", "ref": "exp-data"}),
            ),
            before=brings("notes/a"),
        ),
        Attack(
            "an_ancestor_whose_tag_is_made_again",
            "tagger",
            (must("DELETE", "/tags/data-v3"), must("POST", "/tags", json={"id": "data-v3", "ref": "main"}), promote("exp-bad")),
            refusal("ancestor_missing"),
            gate(metrics=[ACCURACY], require_ancestor="data-v3"),
            early=(
                train("exp-data", files={"data/train.csv": "3"}, by="lead"),
                must("POST", "/tags", by="lead", json={"id": "data-v3", "ref": "exp-data"}),
            ),
            before=brings("notes/a"),
        ),
        Attack(
            "an_ancestor_whose_branch_is_moved",
            "dev",
            (ask("PUT", "/branches/exp-data/hard_reset", params={"ref": "main"}), promote("exp-bad")),
            refusal("ancestor_missing"),
            gate(metrics=[ACCURACY], require_ancestor="exp-data"),
            early=(train("exp-data", files={"data/train.csv": "3"}, by="lead"),),
            before=brings("notes/a"),
        ),
        Attack(
            "data_that_are_not_those_of_the_ancestor",
            "dev",
            (promote("exp-bad"),),
            refusal("differs_from_ancestor"),
            SINCE,
            early=DATA,
            before=(
                train(
                    "exp-bad", 0.95, source="exp-data", files={"data/train.csv": "leaky", "artifacts/model.pkl": "b"}, by="dev"
                ),
            ),
        ),
        Attack(
            "an_ancestor_merged_without_its_data",
            "dev",
            (promote("exp-bad"),),
            refusal("differs_from_ancestor"),
            SINCE,
            early=DATA,
            before=(
                train("exp-bad", 0.1, files={"data/train.csv": "leaky", "artifacts/model.pkl": "b"}, by="dev"),
                merge("exp-data", "exp-bad", strategy="dest-wins", by="dev"),
                commit("exp-bad", {"metric.accuracy": "0.95"}, allow_empty=True, by="dev"),
            ),
        ),
        Attack(
            "a_branch_that_is_not_up_to_date",
            "dev",
            (promote("exp-bad"),),
            Seen(state="rejected", code="gate_failed"),
            gate(metrics=[ACCURACY], require_up_to_date=True),
            before=CHAMPION + (train("exp-bad", 0.95, source="<base>", files={"notes/a": "n"}, by="dev"),),
        ),
        Attack(
            "a_file_that_is_kept_is_removed",
            "dev",
            (promote("exp-bad"),),
            Seen(state=("rejected", "failed"), code="gate_failed"),
            gate(metrics=[ACCURACY], objects={"keep": ["README.md"]}),
            before=(
                train("exp-bad", by="dev"),
                must("DELETE", "/branches/exp-bad/objects", params={"path": "README.md"}, by="dev"),
                commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"),
            ),
        ),
        Attack(
            "files_of_a_branch_that_conflicts",
            "dev",
            (promote("exp-bad"),),
            Seen(state=("failed", "rejected"), code=("merge_conflict", "gate_failed")),
            PLAIN,
            before=(train("exp-bad", 0.95, by="dev"),) + CHAMPION,
        ),
        Attack(
            "an_object_with_a_false_checksum",
            "dev",
            (link("exp-bad", "artifacts/model.pkl", b"bad", checksum="deadbeef", size_bytes=1),),
            Seen(status=(400, 409)),
            PLAIN,
            before=(branch("exp-bad", by="dev"),),
        ),
    ]
    + [
        Attack(
            f"a_forbidden_path_{number}",
            "dev",
            (promote("exp-bad"),),
            refusal("object_forbidden"),
            FORBIDS,
            before=brings(path),
            over=("rest",),
        )
        for number, path in enumerate(FORBIDDEN)
    ]
    + [
        Attack(
            f"a_forbidden_path_spelt_otherwise_{number}",
            "dev",
            (promote("exp-bad"),),
            refusal(code),
            FORBIDS,
            before=brings(path),
            over=("rest",),
        )
        for number, (path, code) in enumerate(NOT_QUITE_FORBIDDEN.items())
    ]
    + [
        Attack(
            f"replaced_paths_of_{name}",
            "dev",
            replaces(*paths),
            NOT_MEASURED,
            PLAIN,
            before=(train("exp-bad", 0.95, files={"artifacts/model.pkl": "new", "notes/a": "n", "README.md": "new"}, by="dev"),),
        )
        for name, paths in PARTS.items()
    ]
)

HONEST = [
    Attack(
        "a_model_and_its_config",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        REQUIRED,
        before=(train("exp-good", 0.95, files={"artifacts/model.pkl": "g", "config.json": "{}"}, by="dev"),),
    ),
    Attack(
        "a_squash",
        "dev",
        (promote("exp-good", method="squash"),),
        Seen(state="promoted", winner="exp-good"),
        REQUIRED,
        before=(train("exp-good", 0.95, by="dev"),),
    ),
    Attack(
        "all_paths_replaced",
        "dev",
        (promote("exp-good", method="replace-paths", paths=["**"]),),
        GOOD_WINS,
        REQUIRED,
        before=(train("exp-good", 0.95, by="dev"),),
    ),
    Attack(
        "the_models_paths_replaced",
        "dev",
        (promote("exp-good", method="replace-paths", paths=["artifacts/**", "notes/**"]),),
        GOOD_WINS,
        REQUIRED,
        before=CHAMPION
        + (train("exp-good", 0.95, source="<base>", files={"artifacts/model.pkl": "g", "notes/a": "n"}, by="dev"),),
    ),
    Attack(
        "the_paths_that_the_policy_names",
        "dev",
        (promote("exp-good", method="replace-paths", paths=["artifacts/**", "notes/**"]),),
        GOOD_WINS,
        PATHS,
        before=(train("exp-good", 0.95, files={"artifacts/model.pkl": "g", "notes/a": "n"}, by="dev"),),
    ),
    Attack(
        "all_paths_where_nothing_is_kept",
        "dev",
        (promote("exp-good", method="replace-paths", paths=["**"]),),
        Seen(state="promoted", winner="exp-good", warns="would remove docs/fair.json"),
        PLAIN,
        before=FAIR + (train("exp-good", 0.95, source="<base>", by="dev"),),
    ),
    Attack(
        "all_paths_with_what_is_kept",
        "dev",
        (promote("exp-good", method="replace-paths", paths=["**"]),),
        Seen(state="promoted", winner="exp-good", warns="would remove notes/b"),
        KEEPS_DOCS,
        before=FAIR
        + (train("exp-good", 0.95, source="<base>", files={"artifacts/model.pkl": "g", "docs/fair.json": "{}"}, by="dev"),),
    ),
    Attack(
        "a_branch_that_merged_main",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        COMPARED,
        before=CHAMPION
        + (branch("exp-good", source="<base>", by="dev"), merge("main", "exp-good", by="dev"), train("exp-good", 0.95, by="dev")),
    ),
    Attack(
        "nothing_forbidden",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        FORBIDS,
        before=(train("exp-good", 0.95, files={"artifacts/model.pkl": "g", "secrets/x": "x", "x.gpg.txt": "x"}, by="dev"),),
    ),
    Attack(
        "nothing_changed_that_must_stay",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        KEEPS,
        before=(train("exp-good", 0.95, files={"artifacts/model.pkl": "g", "configs/x": "x"}, by="dev"),),
    ),
    Attack(
        "an_ancestor_that_is_there",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        gate(metrics=[ACCURACY], require_ancestor="exp-data"),
        early=(train("exp-data", files={"data/train.csv": "3"}, by="lead"),),
        before=(train("exp-good", 0.95, source="exp-data", by="dev"),),
    ),
    Attack(
        "data_of_the_ancestor",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        SINCE,
        early=DATA,
        before=(train("exp-good", 0.95, source="exp-data", by="dev"),),
    ),
    Attack(
        "a_branch_that_is_up_to_date",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        gate(metrics=[ACCURACY], require_up_to_date=True),
        before=CHAMPION + (train("exp-good", 0.95, by="dev"),),
    ),
    Attack(
        "exactly_as_many_bytes",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        gate(metrics=[ACCURACY], objects={"max_total_bytes": 107}),
        before=(train("exp-good", 0.95, files={"artifacts/model.pkl": "m" * 100}, by="dev"),),
    ),
]
