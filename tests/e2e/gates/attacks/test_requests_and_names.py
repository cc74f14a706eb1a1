"""A request means what it says: no name stands for another, no member that is not understood is passed over."""

from attack import ACCURACY, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import (
    CHAMPION,
    approve,
    ask,
    branch,
    command,
    commit,
    must,
    promote,
    set_policy,
    train,
    tried,
    wait_until_settled,
    within,
)

PLAIN = gate(metrics=[ACCURACY])
ANSWER_SECONDS = 20
# It would pass if it came by its own name.
GOOD = (
    train("exp-good", 0.95, by="dev"),
    must("POST", "/tags", json={"id": "exp-tag", "ref": "exp-good"}, by="lead"),
    must("POST", "/aliases/exp-alias:set", json={"to": "exp-good"}, by="lead"),
)
GOOD_WINS = Seen(state="promoted", winner="exp-good")
REFUSED = Seen(state="rejected", code="gate_failed")

# Words that are no branch which matches `candidates`: judged, and rejected by that rule.
REFS = {
    "a_tag": "exp-tag",
    "an_alias": "@exp-alias",
    "a_full_id": "<exp-good>",
    "a_parent": "exp-good~1",
    "another_branch": "other",
    "a_glob_of_another": "oth*",
    "the_destination_as_its_id": "<main>",
}
# Words that name nothing that could be judged.
NAMES = {
    "a_staging_area": "exp-good$",
    "two_words": "exp-good,main",
    "a_path": "../exp-good",
    "capitals": "EXP-GOOD",
    "nothing": "",
    "a_slash_behind": "exp-good/",
    "an_escape": "exp%2Dgood",
    "a_full_ref": "refs/heads/exp-good",
    "a_nul": "exp-good\u0000",
    "an_absent_branch": "exp-absent",
    "a_glob_of_nothing": "exp-z*",
    "a_broken_glob": "exp-[",
    "another_repository": "tarn://other/exp-good",
}
BODY = {"candidates": ["exp-good"], "destination": "main"}
# Members of a request for a promotion that are not what they should be.
BODIES = {
    "an_expected_alias_of_no_text": {"expect": {"alias": ""}},
    "dry_run_as_text": {"dry_run": "true"},
    "dry_run_as_a_number": {"dry_run": 1},
    "select_in_capitals": {"select": "ONLY"},
    "method_in_capitals": {"method": "Merge"},
    "unknown_method": {"method": "overwrite"},
    "expectation_as_text": {"expect": "main"},
    "expectation_as_a_list": {"expect": []},
    "paths_without_their_method": {"paths": ["**"]},
    "replacing_no_paths": {"method": "replace-paths"},
    "replacing_an_empty_list": {"method": "replace-paths", "paths": []},
    "candidates_as_text": {"candidates": "exp-good"},
    "no_candidates": {"candidates": []},
    "candidates_of_numbers": {"candidates": [1]},
    "a_broken_glob_of_paths": {"method": "replace-paths", "paths": ["["]},
    "destination_as_an_id": {"destination": "<main>"},
    "destination_with_an_expression": {"destination": "main~1"},
    "destination_as_its_stage": {"destination": "main$"},
    "destination_as_an_alias": {"destination": "@exp-alias"},
    "destination_as_a_list": {"destination": ["main"]},
    "no_destination": {"destination": ""},
    "an_alias_of_no_name": {"alias": "a b"},
    "a_key_of_300_bytes": {"idempotency_key": "k" * 300},
    "reason_of_a_megabyte": {"reason": "r" * 20000},
}
MISSES = {
    "a_policy_that_is_not_there": {"policy": "absent"},
    "a_destination_that_is_not_there": {"destination": "absent"},
    "an_expected_ref_that_is_not_there": {"expect": {"destination": "absent"}},
    "an_expected_alias_that_is_not_there": {"expect": {"alias": "@absent"}},
    "a_destination_without_a_gate": {"destination": "exp-tag"},
}
UNKNOWN = {
    "dry_run_in_capitals": {"dryRun": True},
    "expect_alias_at_the_top": {"expect_alias": "<base>"},
    "expected_champion": {"expect": {"champion": "<base>"}},
    "no_approvals": {"approvals": 0},
    "force": {"force": True},
    "actor": {"actor": "<user:lead>"},
    "winner": {"winner": "exp-good"},
    "evidence": {"evidence": {}},
}
TEXTS = {
    "no_json": "candidates=exp-good",
    "a_list": '["exp-good"]',
    "a_text": '"exp-good"',
    "nothing": "",
    "a_cut_document": '{"candidates": ["exp-good"',
    "words_behind": '{"candidates": ["exp-good"], "destination": "main"} {}',
    "a_name_twice": '{"candidates": ["exp-good"], "candidates": ["exp-good"], "destination": "main"}',
}
JSON = {"Content-Type": "application/json"}
COMMANDS = {
    "dryrun_as_one_word": ("--dryrun",),
    "to_twice": ("--to", "exp-good"),
    "a_method_in_capitals": ("--method", "MERGE"),
    "an_unknown_option": ("--force",),
    "an_alias_of_no_name": ("--alias", "a b"),
    "a_path_without_its_method": ("--path", "**"),
    "a_timeout_without_wait": ("--timeout", "1s"),
}
POLICIES = {
    "of_an_unknown_rule": {"minimum": 1},
    "of_a_goal_unknown": {"metrics": [{**ACCURACY, "goal": "up"}]},
    "of_a_bound_as_text": {"metrics": [{**ACCURACY, "min": "low"}]},
    "of_a_min_above_the_max": {"metrics": [{**ACCURACY, "min": 2}]},
    "of_no_number": {"metrics": [{**ACCURACY, "min": ".nan"}]},
    "of_an_empty_trust": {"metrics": [{**ACCURACY, "trust": []}]},
    "of_an_unknown_trust": {"metrics": [{**ACCURACY, "trust": ["me"]}]},
    "of_trust_and_from": {"metrics": [{**ACCURACY, "trust": ["api"], "from": "api"}]},
    "of_two_primary_metrics": {"metrics": [ACCURACY, {**ACCURACY, "name": "loss"}]},
    "of_one_metric_twice": {"metrics": [ACCURACY, {**ACCURACY, "primary": False}]},
    "of_a_negative_count": {"approvals": {"count": -1}},
    "of_a_broken_glob": {"candidates": "exp-["},
    "of_a_tie_break_unknown": {"tie_break": ["luck"]},
    "of_a_timeout_of_ten_years": {"checks": {"timeout": "3650d"}},
    "of_another_name": {"name": "other"},
    "of_a_tag_as_destination": {"destination": "@exp-alias"},
}

# Patterns that a matcher which goes back would try in more ways than there are seconds, and what they do not match.
A_LONG_NAME = "exp-" + "a" * 200
EXPLODING = {
    "stars": "exp-" + "a*" * 25 + "b",
    "double_stars": "exp-" + "**a" * 25 + "b",
    "choices": "exp-" + "{a,aa}" * 12 + "b",
    "questions": "exp-" + "*?" * 25 + "b",
    "classes": "exp-" + "[a-z]*" * 25 + "!",
    "segments": "**/" * 25 + "b",
}
LONG = (train(A_LONG_NAME, 0.9, files={"a" * 200 + "/" + "a" * 200: "x", "artifacts/model.pkl": "l"}, by="dev"),)

ATTACKS = (
    [
        Attack(
            "a_key_with_another_request",
            "dev",
            (promote("exp-good", idempotency_key="k", reason="other"),),
            Seen(status=409),
            before=CHAMPION + GOOD + (promote("exp-good", by="dev", idempotency_key="k", select="only"),),
            policy=PLAIN,
        ),
        Attack(
            "a_key_again_makes_no_second",
            "dev",
            (promote("exp-good", idempotency_key="k"),),
            Seen(status=200),
            PLAIN,
            before=GOOD + (promote("exp-good", by="dev", idempotency_key="k"),),
        ),
        Attack(
            "a_policy_of_another_branch",
            "stager",
            (promote("exp-good", policy="weak"),),
            Seen(status=400),
            PLAIN,
            before=GOOD
            + (branch("staging", by="lead"), set_policy({"name": "weak", "destination": "staging"}, name="weak", by="lead")),
        ),
        Attack(
            "several_where_one_may_be",
            "dev",
            (promote("exp-*", select="only"),),
            Seen(state="failed", code="several_candidates"),
            PLAIN,
            before=GOOD + (train("exp-other", 0.9, by="dev2"),),
        ),
        Attack("a_glob_that_holds_main", "dev", (promote("**"),), Seen(state="promoted", winner="exp-good"), PLAIN, before=GOOD),
        Attack(
            "a_choice_that_holds_main",
            "dev",
            (promote("{main,exp-good}"),),
            Seen(state="promoted", winner="exp-good"),
            PLAIN,
            before=GOOD,
        ),
        Attack(
            "the_destination_alone",
            "dev",
            (promote("main"),),
            Seen(state=("failed", "rejected"), code=("no_candidates", "gate_failed")),
            PLAIN,
            before=GOOD,
        ),
        Attack("promoting_without_the_right", "viewer", (promote("exp-good"),), Seen(status=401), PLAIN, before=GOOD),
        Attack("promoting_as_a_reviewer", "reviewer", (promote("exp-good"),), Seen(status=401), PLAIN, before=GOOD),
        Attack("promoting_as_ci", "ci", (promote("exp-good"),), Seen(status=401), PLAIN, before=GOOD),
        Attack("a_dry_run", "dev", (promote("exp-good", dry_run=True),), Seen(status=200), PLAIN, before=GOOD),
        Attack(
            "a_check_of_the_gate",
            "viewer",
            (ask("POST", "/policies/gate:evaluate", json={"candidates": ["exp-good"]}),),
            Seen(status=200, says='"passed"'),
            PLAIN,
            before=GOOD,
        ),
        Attack(
            "an_expected_alias_of_no_text",
            "dev",
            (command("promote", "exp-good", "--to", "main", "--expect-alias", ""),),
            Seen(status=400),
            PLAIN,
            before=CHAMPION + GOOD,
        ),
        Attack(
            "a_metric_twice_in_the_command",
            "ci",
            (command("exp", "log", "--ref", "<exp-good>", "--metric", "accuracy=0.1", "--metric", "accuracy=0.97"),),
            Seen(status=400),
            PLAIN,
            before=GOOD,
        ),
        Attack(
            "a_check_without_its_commit",
            "ci",
            (command("promote", "check", "<promotion>", "bench"),),
            Seen(status=400),
            gate(metrics=[ACCURACY], checks={"required": ["bench"]}),
            before=GOOD + (promote("exp-good", by="dev"),),
        ),
        Attack(
            "a_hexadecimal_metric_in_the_command",
            "ci",
            (command("promote", "check", "<promotion>", "bench", "--commit", "<exp-good>", "--metric", "accuracy=0x1p-1"),),
            Seen(status=400),
            gate(metrics=[{**ACCURACY, "from": "check:bench"}], checks={"required": ["bench"]}),
            before=GOOD + (promote("exp-good", by="dev"),),
        ),
        Attack(
            "a_metric_twice_in_a_check_of_the_command",
            "ci",
            (
                command(
                    "promote",
                    "check",
                    "<promotion>",
                    "bench",
                    "--commit",
                    "<exp-good>",
                    "--metric",
                    "accuracy=0.1",
                    "--metric",
                    "accuracy=0.9",
                ),
            ),
            Seen(status=400),
            gate(metrics=[{**ACCURACY, "from": "check:bench"}], checks={"required": ["bench"]}),
            before=GOOD + (promote("exp-good", by="dev"),),
        ),
        Attack(
            "a_policy_of_a_branch_that_is_not_there",
            "lead",
            (set_policy({**PLAIN, "name": "weak", "destination": "absent"}, name="weak"),),
            Seen(status=404),
            PLAIN,
            before=GOOD,
        ),
        Attack(
            "a_date_out_of_range",
            "dev",
            (commit("exp-good", {"metric.accuracy": "0.97"}, date=10**17, allow_empty=True),),
            Seen(status=400),
            PLAIN,
            before=GOOD,
        ),
        Attack(
            "a_branch_of_the_short_id",
            "brancher",
            (
                tried(ask("POST", "/branches", json={"name": "<short:exp-good>", "source": "exp-evil"})),
                approve(by="reviewer"),
                wait_until_settled(),
            ),
            GOOD_WINS,
            gate("candidates", metrics=[ACCURACY], approvals={"count": 1}),
            before=GOOD + (train("exp-evil", 0.96, by="dev"), promote("<short:exp-good>", by="lead")),
        ),
        Attack(
            "a_branch_of_the_name_of_the_alias",
            "brancher",
            (ask("POST", "/branches", json={"name": "champion", "source": "exp-good"}),),
            Seen(status=(400, 409)),
            PLAIN,
            before=CHAMPION + GOOD,
        ),
    ]
    + [
        Attack(
            f"a_candidate_as_{name}",
            "dev",
            (promote(word),),
            REFUSED,
            PLAIN,
            before=GOOD + (train("other", 0.97, by="brancher"),),
        )
        for name, word in REFS.items()
    ]
    + [
        Attack(
            f"a_candidate_as_{name}", "dev", (promote(word),), Seen(status=(202, 400, 404)), PLAIN, before=GOOD, over=("rest",)
        )
        for name, word in NAMES.items()
    ]
    + [
        Attack(
            f"a_request_of_{name}",
            "dev",
            (ask("POST", "/promotions", json={**BODY, **body}),),
            Seen(status=(400, 401, 404)),
            PLAIN,
            before=GOOD,
        )
        for name, body in BODIES.items()
    ]
    + [
        Attack(
            f"a_request_of_{name}",
            "lead",
            (ask("POST", "/promotions", json={**BODY, **body}),),
            Seen(status=404),
            PLAIN,
            before=GOOD,
        )
        for name, body in MISSES.items()
    ]
    + [
        Attack(
            f"an_unknown_member_{name}",
            "dev",
            (ask("POST", "/promotions", json={**BODY, **body}),),
            Seen(status=400),
            PLAIN,
            before=GOOD,
        )
        for name, body in UNKNOWN.items()
    ]
    + [
        Attack(
            f"a_body_of_{name}",
            "dev",
            (ask("POST", "/promotions", data=text, headers=JSON),),
            Seen(status=400),
            PLAIN,
            before=GOOD,
        )
        for name, text in TEXTS.items()
    ]
    + [
        Attack(
            f"a_command_with_{name}",
            "dev",
            (command("promote", "exp-good", "--to", "main", *words),),
            Seen(status=(400, 404)),
            PLAIN,
            before=GOOD,
        )
        for name, words in COMMANDS.items()
    ]
    + [
        Attack(
            f"candidates_of_exploding_{name}",
            "dev",
            (
                within(
                    ANSWER_SECONDS,
                    ask("POST", "/promotions", json={"candidates": [text, A_LONG_NAME], "destination": "main", "dry_run": True}),
                ),
            ),
            Seen(status=(200, 400, 404)),
            PLAIN,
            before=GOOD + LONG,
        )
        for name, text in EXPLODING.items()
    ]
    + [
        Attack(
            f"paths_of_exploding_{name}",
            "dev",
            (within(ANSWER_SECONDS, promote(A_LONG_NAME, method="replace-paths", paths=[text.removeprefix("exp-"), "nothing"])),),
            Seen(status=(202, 400), state=("failed", "rejected"), code=("gate_failed", "no_changes", "not_what_was_measured")),
            PLAIN,
            before=GOOD + LONG,
            over=("rest",),
        )
        for name, text in EXPLODING.items()
    ]
    + [
        Attack(
            f"a_policy_of_exploding_{name}",
            "lead",
            (
                set_policy(
                    {
                        **PLAIN,
                        "candidates": text,
                        "objects": {"forbid": [text.removeprefix("exp-")], "keep": [text.removeprefix("exp-")]},
                    }
                ),
                within(ANSWER_SECONDS, promote(A_LONG_NAME, by="dev")),
            ),
            Seen(state="rejected", code="gate_failed", rules=((A_LONG_NAME, "candidate_refused"),), policies=False),
            PLAIN,
            before=GOOD + LONG,
            over=("rest",),
        )
        for name, text in EXPLODING.items()
    ]
    + [
        Attack(f"a_policy_{name}", "lead", (set_policy({**PLAIN, **members}),), Seen(status=400), PLAIN, before=GOOD)
        for name, members in POLICIES.items()
    ]
)

HONEST = [
    Attack("by_its_name", "dev", (promote("exp-good"),), GOOD_WINS, PLAIN, before=GOOD),
    Attack("by_a_glob", "dev", (promote("exp-g*"),), GOOD_WINS, PLAIN, before=GOOD),
    Attack("by_a_choice", "dev", (promote("exp-{good,absent}"),), GOOD_WINS, PLAIN, before=GOOD),
    Attack(
        "with_all_that_is_expected",
        "dev",
        (promote("exp-good", expect={"destination": "<main>", "alias": "none"}),),
        GOOD_WINS,
        PLAIN,
        before=GOOD,
    ),
    Attack(
        "with_the_champion_that_is_expected",
        "dev",
        (promote("exp-good", expect={"destination": "main", "alias": "@champion"}),),
        GOOD_WINS,
        PLAIN,
        before=CHAMPION + GOOD,
    ),
    Attack("alone", "dev", (promote("exp-good", select="only"),), GOOD_WINS, PLAIN, before=GOOD),
    Attack(
        "by_a_full_id_without_candidates",
        "dev",
        (promote("<exp-good>"),),
        GOOD_WINS,
        gate("candidates", metrics=[ACCURACY]),
        before=GOOD,
    ),
]
