"""Nobody keeps the best candidate from winning, and nobody loses a branch by another's promotion."""

from attack import ACCURACY, BETTER, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import approve, ask, branch, cancel, many_branches, must, promote, train, tried, wait_until_settled

PLAIN = gate(metrics=[ACCURACY])
GOOD_WINS = Seen(state="promoted", winner="exp-good")
GOOD = train("exp-good", 0.9, by="dev2")
EXPIRES = gate(metrics=[ACCURACY], after={"losers": {"expire": "1h"}})
TAGS = gate(metrics=[ACCURACY], after={"tag": "model-{policy}"})
APPROVED = gate(metrics=[ACCURACY], approvals={"count": 1})

# Says no to exp-block.
REFUSES = b"""name: refuses
on:
  pre-merge:
hooks:
  - id: refuses
    type: lua
    properties:
      script: |
        local lakefs = require("lakefs")
        local status, model = lakefs.get_object(action.repository_id, action.source_ref, "artifacts/model.pkl")
        if model == "block" then error("no") end
"""


def poisoned(*steps, **metadata):
    """One more candidate of dev's, better by what it says, next to the good one."""
    return (GOOD, train("exp-bad", meta=metadata, by="dev"), *steps)


# Claims of one candidate that must not spoil the comparison of the others.
CLAIMS = {
    "not_a_number": "NaN",
    "infinite": "inf",
    "minus_infinite": "-inf",
    "past_all_numbers": "1e999",
    "above_the_bound": "1.5",
    "nothing": "",
    "a_word": "best",
    "a_long_text": "9" * 2000,
    "many_digits": "0." + "9" * 300 + "e9",
    "a_quote": '0.9"}',
    "a_line": "0.99\n0.99",
    "a_nul_escaped": "0.99\\u0000",
}
# Files that a candidate brings, which are read for all.
FILES = {
    "deep": ("metrics/deep.json", '{"a":' * 5000 + "1" + "}" * 5000),
    "wide": ("metrics/wide.json", "[" + "1," * 50000 + "1]"),
    "no_utf8": ("metrics/bad.json", b"\xff\xfe{}"),
    "yaml_bomb": (
        "metrics/bomb.yaml",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]" for n in range(8))
        + "\n",
    ),
    "torn_events": ("metrics/events.out.tfevents.1.vm.1.0", b"H\0\0\0\0\0\0\0\xfe\x92H"),
    "a_directory": ("mlruns/1/metrics/accuracy/x", "1"),
}

ATTACKS = (
    [
        # Losers.
        Attack(
            "branches_of_others_as_losers",
            "dev",
            (promote("exp-good", "exp-low", "release-1"),),
            Seen(state="promoted", winner="exp-good", lives=("exp-low", "release-1")),
            EXPIRES,
            before=(GOOD, train("exp-low", 0.1, by="dev2"), train("release-1", 0.8, by="lead")),
        ),
        Attack(
            "a_branch_without_metrics_as_loser",
            "dev",
            (promote("exp-*"),),
            Seen(state="promoted", winner="exp-good", lives=("exp-work",)),
            EXPIRES,
            before=(GOOD, train("exp-work", by="dev2")),
        ),
        Attack(
            "the_default_branch_as_loser",
            "dev",
            (promote("exp-good", "main"),),
            Seen(status=(202, 400), state="promoted", winner="exp-good", lives=("main",)),
            EXPIRES,
            before=(GOOD,),
        ),
        Attack(
            "losers_of_a_rejected_promotion",
            "dev",
            (promote("exp-*"),),
            Seen(state="rejected", code="gate_failed", lives=("exp-low", "exp-lower")),
            EXPIRES,
            before=(train("exp-low", 0.2, by="dev2"), train("exp-lower", 0.1, by="dev2")),
        ),
        Attack(
            "losers_of_a_promotion_that_waits",
            "dev",
            (promote("exp-*"),),
            Seen(state="awaiting_approval", code="approval_required", lives=("exp-low", "exp-good")),
            {**APPROVED, "after": {"losers": {"expire": "1h"}}},
            before=(GOOD, train("exp-low", 0.8, by="dev2")),
        ),
        # Attempts that would block every candidate.
        Attack(
            "the_best_conflicts",
            "dev",
            (promote("exp-*", by="lead"),),
            GOOD_WINS,
            gate(metrics=[BETTER]),
            before=(
                train("exp-block", 0.99, files={"README.md": "block"}, by="dev"),
                train("exp-champion", 0.8, files={"README.md": "champion", "artifacts/model.pkl": "champion"}, by="lead"),
                promote("exp-champion", by="lead"),
                train("exp-good", 0.9, by="dev2"),
            ),
        ),
        Attack(
            "the_best_lacks_the_model",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/new.pkl"]}),
            before=(
                train("exp-block", 0.99, by="dev"),
                train("exp-good", 0.9, files={"artifacts/new.pkl": "g", "artifacts/model.pkl": "g"}, by="dev2"),
            ),
        ),
        Attack(
            "the_best_touches_what_must_stay",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            gate(metrics=[ACCURACY], objects={"unchanged": ["README.md"]}),
            before=(GOOD, train("exp-block", 0.99, files={"README.md": "x"}, by="dev")),
        ),
        Attack(
            "the_best_is_too_large",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            gate(metrics=[ACCURACY], objects={"max_total_bytes": 1000}),
            before=(GOOD, train("exp-block", 0.99, files={"big": "b" * 2000}, by="dev")),
        ),
        Attack(
            "the_best_is_no_candidate",
            "lead",
            (promote("exp-good", "other-1"),),
            GOOD_WINS,
            PLAIN,
            before=(GOOD, train("other-1", 0.99, by="brancher")),
        ),
        Attack(
            "the_best_is_of_another_history",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            gate(metrics=[ACCURACY], require_ancestor="exp-data"),
            early=(train("exp-data", files={"data/train.csv": "3"}, by="lead"),),
            before=(train("exp-good", 0.9, source="exp-data", by="dev2"), train("exp-block", 0.99, by="dev")),
        ),
        Attack(
            "an_open_promotion_of_the_same_branch",
            "lead",
            (promote("exp-good"), approve(by="reviewer"), wait_until_settled()),
            GOOD_WINS,
            APPROVED,
            before=(GOOD, train("exp-bad", 0.7, by="dev"), promote("exp-bad", by="dev")),
        ),
        Attack(
            "ten_open_promotions",
            "lead",
            (promote("exp-good"), approve(by="reviewer"), wait_until_settled()),
            GOOD_WINS,
            APPROVED,
            before=(GOOD,) + tuple(promote("exp-good", by="dev", idempotency_key=f"k{number}") for number in range(10)),
        ),
        Attack(
            "the_key_of_another_users_promotion",
            "lead",
            (promote("exp-good", idempotency_key="nightly"),),
            GOOD_WINS,
            PLAIN,
            before=(GOOD, train("exp-bad", 0.1, by="dev"), promote("exp-bad", by="dev", idempotency_key="nightly")),
        ),
        Attack(
            "a_branch_that_goes_while_it_waits",
            "dev2",
            (
                ask("DELETE", "/branches/exp-other", by="dev"),
                approve(by="reviewer"),
                tried(approve(by="reviewer2")),
                wait_until_settled(),
            ),
            GOOD_WINS,
            APPROVED,
            before=(GOOD, train("exp-other", 0.8, by="dev"), promote("exp-*", by="dev2")),
        ),
        Attack(
            "a_cancellation_by_a_viewer",
            "viewer",
            (cancel(),),
            Seen(status=401, state="awaiting_approval", code="approval_required"),
            APPROVED,
            before=(GOOD, promote("exp-good", by="dev2")),
        ),
        Attack(
            "a_thousand_branches_of_nothing",
            "dev",
            (many_branches("exp-j", 900), many_branches("exp-k", 110, by="dev2"), promote("exp-*", by="lead")),
            GOOD_WINS,
            PLAIN,
            before=(GOOD,),
            over=("rest",),
        ),
        Attack(
            "a_thousand_branches_with_the_metric",
            "dev",
            (
                many_branches("exp-j", 900, source="exp-bad"),
                many_branches("exp-k", 110, source="exp-bad", by="dev2"),
                promote("exp-*", by="lead"),
            ),
            GOOD_WINS,
            PLAIN,
            before=(GOOD, train("exp-bad", 0.7, by="dev")),
            over=("rest",),
        ),
        Attack(
            "a_hook_refuses_the_best",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            PLAIN,
            early=(
                must("POST", "/branches/main/objects", params={"path": "_lakefs_actions/no.yaml"}, data=REFUSES, by="lead"),
                must("POST", "/branches/main/commits", json={"message": "a hook"}, by="lead"),
            ),
            before=(GOOD, train("exp-block", 0.99, files={"artifacts/model.pkl": "block"}, by="dev")),
        ),
        # Tags.
        Attack(
            "a_tag_made_before",
            "tagger",
            (must("POST", "/tags", json={"id": "model-gate", "ref": "main"}), promote("exp-good", by="lead")),
            GOOD_WINS,
            TAGS,
            before=(GOOD,),
        ),
        Attack(
            "a_branch_of_the_tags_name",
            "dev",
            (tried(branch("exp-exp-good")), promote("exp-good", by="lead")),
            GOOD_WINS,
            gate(metrics=[ACCURACY], after={"tag": "exp-{name}"}),
            before=(GOOD,),
        ),
        # Ties.
        Attack(
            "a_date_of_long_ago",
            "dev",
            (promote("exp-*", by="lead"),),
            GOOD_WINS,
            PLAIN,
            before=(GOOD, train("exp-bad", 0.9, date=1, by="dev")),
        ),
        Attack(
            "a_date_of_long_ago_where_it_decides",
            "dev",
            (promote("exp-*", by="lead"),),
            GOOD_WINS,
            gate(metrics=[ACCURACY], tie_break=["created_at"]),
            before=(GOOD, train("exp-bad", 0.9, date=1, by="dev")),
        ),
        Attack(
            "a_smaller_model_by_its_metadata",
            "dev",
            (promote("exp-*", by="lead"),),
            GOOD_WINS,
            gate(metrics=[ACCURACY], objects={"required": ["artifacts/model.pkl"]}, tie_break=["model_bytes"]),
            before=(
                train("exp-good", 0.9, files={"artifacts/model.pkl": "g"}, by="dev2"),
                train("exp-bad", 0.9, files={"artifacts/model.pkl": "bigger"}, meta={"model_bytes": "0"}, by="dev"),
            ),
        ),
        # Names that stand for another.
        Attack(
            "a_branch_of_the_full_id",
            "brancher",
            (ask("POST", "/branches", json={"name": "<exp-good>", "source": "main"}),),
            Seen(status=(400, 409)),
            PLAIN,
            before=(GOOD,),
        ),
        Attack(
            "a_tag_of_the_full_id",
            "tagger",
            (ask("POST", "/tags", json={"id": "<exp-good>", "ref": "main"}),),
            Seen(status=(400, 409)),
            PLAIN,
            before=(GOOD,),
        ),
        Attack(
            "a_tag_of_the_branchs_name",
            "tagger",
            (ask("POST", "/tags", json={"id": "exp-good", "ref": "main"}),),
            Seen(status=409),
            PLAIN,
            before=(GOOD,),
        ),
    ]
    + [
        Attack(
            f"a_claim_of_{name}",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            PLAIN,
            before=poisoned(**{"metric.accuracy": value}),
            over=("rest",),
        )
        for name, value in CLAIMS.items()
    ]
    + [
        Attack(
            f"a_metric_file_{name}",
            "lead",
            (promote("exp-*"),),
            GOOD_WINS,
            PLAIN,
            before=(GOOD, train("exp-bad", files={"artifacts/model.pkl": "bad", path: text}, by="dev")),
            over=("rest",),
        )
        for name, (path, text) in FILES.items()
    ]
)

HONEST = [
    Attack(
        "the_best_of_three",
        "lead",
        (promote("exp-*"),),
        GOOD_WINS,
        PLAIN,
        before=(GOOD, train("exp-low", 0.8, by="dev"), train("exp-lower", 0.7, by="dev")),
    ),
    Attack(
        "the_older_of_two_alike", "lead", (promote("exp-*"),), GOOD_WINS, PLAIN, before=(GOOD, train("exp-later", 0.9, by="dev"))
    ),
    Attack(
        "the_smaller_of_two_alike",
        "lead",
        (promote("exp-*"),),
        GOOD_WINS,
        gate(metrics=[ACCURACY], objects={"required": ["artifacts/model.pkl"]}, tie_break=["model_bytes"]),
        before=(
            train("exp-large", 0.9, files={"artifacts/model.pkl": "larger"}, by="dev"),
            train("exp-good", 0.9, files={"artifacts/model.pkl": "g"}, by="dev2"),
        ),
    ),
    Attack("a_tag_of_its_own", "lead", (promote("exp-good"),), GOOD_WINS, TAGS, before=(GOOD,)),
    Attack(
        "the_best_that_passes",
        "lead",
        (promote("exp-*"),),
        GOOD_WINS,
        PLAIN,
        before=(GOOD, train("exp-too-good", 1.2, by="dev"), train("exp-work", by="dev")),
    ),
]
