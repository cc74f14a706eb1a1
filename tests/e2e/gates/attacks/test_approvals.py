"""An approval is of somebody else, of what they saw, and of who still may give it."""

from attack import ACCURACY, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import (
    NO_REVIEW,
    another_key,
    approve,
    ask,
    branch,
    cancel,
    commit,
    keep_review,
    log_run,
    merge,
    must,
    newcomer,
    promote,
    refused,
    reject,
    remove_user,
    set_policy,
    take_rights,
    train,
    tried,
    wait_until_noticed,
    wait_until_settled,
    write,
)


def approved_by(count, **members):
    return gate(metrics=[ACCURACY], approvals={"count": count, **members})


ONE, TWO = approved_by(1), approved_by(2)
LASTING = approved_by(2, stale_on_new_commit=False)
WAITS = Seen(state="awaiting_approval", code="approval_required")
CANDIDATE = (train("exp-bad", 0.95, by="dev"),)
WAITING = CANDIDATE + (promote("exp-bad", by="dev2"),)
GOOD = (train("exp-good", 0.95, by="dev"), promote("exp-good", by="dev2"))
GOOD_WINS = Seen(state="promoted", winner="exp-good")
STICKY = approved_by(1, sticky_reject=True)
REJECTED_BEFORE = Seen(state="rejected", code="gate_failed", rules=(("exp-bad", "rejected_before"),))
NEWER = (write("exp-bad", "artifacts/model.pkl", "worse", by="dev"), commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"))


def not_taken(*status):
    return Seen(status=status, state="awaiting_approval", code="approval_required")


ATTACKS = [
    Attack("nobody_approved", "dev", (promote("exp-bad"),), WAITS, ONE, before=CANDIDATE),
    Attack("one_of_two", "reviewer", (approve(),), WAITS, TWO, before=WAITING),
    Attack("the_same_reviewer_twice", "reviewer", (approve(), approve()), WAITS, TWO, before=WAITING),
    Attack(
        "two_keys_of_one_reviewer", "reviewer", (approve(), another_key("twin"), approve(by="twin")), WAITS, TWO, before=WAITING
    ),
    Attack(
        "the_authors_own",
        "lead",
        (approve(),),
        WAITS,
        ONE,
        before=(train("exp-bad", 0.95, by="lead"), promote("exp-bad", by="dev")),
    ),
    Attack("the_promoters_own", "lead", (promote("exp-bad"), approve()), WAITS, ONE, before=CANDIDATE),
    Attack(
        "the_authors_own_below_the_head",
        "lead",
        (approve(),),
        WAITS,
        ONE,
        before=(
            train("exp-bad", 0.5, by="lead"),
            write("exp-bad", "x", "x", by="dev"),
            commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"),
            promote("exp-bad", by="dev"),
        ),
    ),
    Attack(
        "the_authors_own_by_a_merge",
        "lead",
        (approve(),),
        WAITS,
        ONE,
        before=(
            train("exp-part", 0.5, files={"part": "x"}, by="lead"),
            train("exp-bad", 0.9, by="dev"),
            merge("exp-part", "exp-bad", by="dev"),
            log_run("exp-bad", {"accuracy": 0.95}, by="dev"),
            promote("exp-bad", by="dev"),
        ),
    ),
    Attack(
        "the_authors_own_by_a_squash",
        "lead",
        (approve(),),
        WAITS,
        ONE,
        before=(
            train("exp-part", 0.5, files={"part": "x"}, by="dev"),
            branch("exp-bad", by="lead"),
            merge("exp-part", "exp-bad", squash_merge=True, by="lead"),
            log_run("exp-bad", {"accuracy": 0.95}, by="ci"),
            promote("exp-bad", by="dev"),
        ),
    ),
    Attack(
        "the_authors_own_by_a_cherry_pick",
        "lead",
        (approve(),),
        WAITS,
        ONE,
        before=(
            train("exp-part", 0.5, files={"part": "x"}, by="dev"),
            branch("exp-bad", by="dev"),
            must("POST", "/branches/exp-bad/cherry-pick", json={"ref": "<exp-part>"}, by="lead"),
            log_run("exp-bad", {"accuracy": 0.95}, by="lead"),
            promote("exp-bad", by="dev"),
        ),
    ),
    Attack(
        "the_promoters_own_by_a_second_key",
        "lead",
        (promote("exp-bad"), another_key("twin"), approve(by="twin")),
        WAITS,
        ONE,
        before=CANDIDATE,
    ),
    # The approved values or commits have changed since.
    Attack(
        "approvals_of_two_commits",
        "dev",
        (approve(by="reviewer"), *NEWER, tried(approve(by="reviewer2"))),
        WAITS,
        TWO,
        before=WAITING,
    ),
    Attack(
        "approvals_of_two_commits_after_a_hard_reset",
        "dev",
        (
            approve(by="reviewer"),
            ask("PUT", "/branches/exp-bad/hard_reset", params={"ref": "<exp-worse>"}),
            tried(approve(by="reviewer2")),
        ),
        WAITS,
        TWO,
        before=(train("exp-worse", 0.9, by="dev"),) + WAITING,
    ),
    Attack(
        "approvals_of_a_branch_that_is_made_again",
        "dev",
        (
            approve(by="reviewer"),
            ask("DELETE", "/branches/exp-bad"),
            train("exp-bad", 0.95, files={"artifacts/model.pkl": "worse"}),
            tried(approve(by="reviewer2")),
        ),
        Seen(state=("awaiting_approval", "rejected"), code=("approval_required", "gate_failed")),
        TWO,
        before=WAITING,
    ),
    Attack(
        "an_approval_of_nothing_that_was_shown", "reviewer", (approve(review=NO_REVIEW),), not_taken(409), ONE, before=WAITING
    ),
    Attack("an_approval_without_looking", "reviewer", (approve(review=""),), not_taken(400), ONE, before=WAITING),
    Attack(
        "a_loser_that_overtakes_after_the_look",
        "dev",
        (
            write("exp-b", "artifacts/model.pkl", "worse"),
            commit("exp-b", {"metric.accuracy": "0.99"}),
            wait_until_noticed("exp-b"),
            approve(review="<shown>", by="reviewer"),
        ),
        not_taken(409),
        ONE,
        before=(
            train("exp-a", 0.9, by="dev"),
            train("exp-b", 0.8, by="dev"),
            promote("exp-*", by="dev2"),
            keep_review("shown"),
        ),
    ),
    Attack(
        "an_approval_of_the_commit_before",
        "reviewer",
        (*NEWER, approve(review="<seen>")),
        Seen(status=409, state="awaiting_approval", code="approval_required"),
        TWO,
        before=WAITING + (keep_review("seen"),),
    ),
    Attack(
        "both_approvals_were_of_another_candidate",
        "dev",
        (approve(by="reviewer"), log_run("<exp-a>", {"accuracy": 0.1}), approve(by="reviewer2")),
        Seen(state=("awaiting_approval", "rejected"), code=("approval_required", "gate_failed")),
        LASTING,
        before=(train("exp-a", 0.9, by="dev"), train("exp-b", 0.8, by="dev"), promote("exp-*", by="dev2")),
    ),
    Attack(
        "an_approval_of_another_candidate",
        "dev",
        (approve(by="reviewer"), log_run("<exp-a>", {"accuracy": 0.1}), approve(by="reviewer2")),
        Seen(state=("awaiting_approval", "rejected"), code=("approval_required", "gate_failed")),
        TWO,
        before=(train("exp-a", 0.9, by="dev"), train("exp-b", 0.8, by="dev"), promote("exp-*", by="dev2")),
    ),
    Attack(
        "approvals_of_another_value",
        "dev",
        (approve(by="reviewer"), log_run("<exp-bad>", {"accuracy": 0.51}), approve(by="reviewer2")),
        Seen(state=("awaiting_approval", "rejected"), code=("approval_required", "gate_failed")),
        TWO,
        before=WAITING,
    ),
    Attack(
        "an_approval_of_a_lasting_kind_of_two_commits",
        "dev",
        (approve(by="reviewer"), *NEWER, approve(by="reviewer2")),
        Seen(state="promoted", winner="seen"),
        LASTING,
        before=CANDIDATE
        + (must("GET", "/branches/exp-bad", keep="seen", member="commit_id", by="dev"), promote("exp-bad", by="dev2")),
    ),
    Attack(
        "an_approval_of_an_earlier_promotion",
        "reviewer2",
        (promote("exp-bad", by="dev"), approve()),
        WAITS,
        TWO,
        before=WAITING + (approve(by="reviewer"), cancel(by="dev2")),
    ),
    Attack(
        "an_approval_under_an_earlier_policy",
        "lead",
        (set_policy(approved_by(3)), approve(by="reviewer2")),
        Seen(state="awaiting_approval", code="approval_required", policies=False),
        TWO,
        before=WAITING + (approve(by="reviewer"),),
    ),
    Attack(
        "an_approval_of_a_pull_request",
        "reviewer",
        (ask("POST", "/pulls/<pull>/approvals", json={"commit_id": "<exp-bad>"}), wait_until_settled()),
        WAITS,
        ONE,
        before=WAITING
        + (
            must(
                "POST",
                "/pulls",
                keep="pull",
                member="id",
                by="dev",
                json={"title": "t", "source_branch": "exp-bad", "destination_branch": "main"},
            ),
        ),
    ),
    # Permission to approve.
    Attack(
        "a_reviewer_whose_right_is_gone",
        "reviewer",
        (approve(by="past"), take_rights("past"), approve()),
        WAITS,
        TWO,
        before=(newcomer("past", "reviewer"),) + WAITING,
    ),
    Attack(
        "a_reviewer_who_is_gone",
        "reviewer",
        (approve(by="past"), remove_user("past"), approve()),
        WAITS,
        TWO,
        before=(newcomer("past", "reviewer"),) + WAITING,
    ),
    Attack(
        "a_promoter_who_is_gone",
        "reviewer",
        (remove_user("past"), tried(approve()), wait_until_settled()),
        Seen(
            state=("awaiting_approval", "failed", "rejected", "cancelled"),
            code=("approval_required", "gate_failed", "promoter_lost_right"),
        ),
        ONE,
        before=(newcomer("past", "dev"),) + CANDIDATE + (promote("exp-bad", by="past"),),
    ),
    Attack(
        "a_promoter_whose_right_is_gone",
        "reviewer",
        (take_rights("past"), tried(approve()), wait_until_settled()),
        Seen(
            state=("awaiting_approval", "failed", "rejected", "cancelled"),
            code=("approval_required", "gate_failed", "promoter_lost_right"),
        ),
        ONE,
        before=(newcomer("past", "dev"),) + CANDIDATE + (promote("exp-bad", by="past"),),
    ),
    Attack("a_rejection_by_a_viewer", "viewer", (reject(),), not_taken(401), ONE, before=WAITING),
    Attack("a_rejection_by_who_promotes", "dev", (reject(),), not_taken(401), ONE, before=WAITING),
    Attack("a_cancellation_by_a_rival", "dev", (cancel(),), not_taken(401), ONE, before=WAITING),
    Attack(
        "an_approval_after_a_rejection",
        "reviewer2",
        (approve(),),
        Seen(status=409, state="rejected", code="rejected"),
        ONE,
        before=WAITING + (reject(by="reviewer"),),
    ),
    Attack(
        "an_approval_after_a_cancellation",
        "reviewer",
        (approve(),),
        Seen(status=409, state="cancelled", code="cancelled"),
        ONE,
        before=WAITING + (cancel(by="dev2"),),
    ),
    Attack(
        "an_approval_of_a_refused_candidate",
        "reviewer",
        (promote("exp-bad", by="dev"), refused(approve(), 409), wait_until_settled()),
        Seen(state="rejected", code="gate_failed"),
        ONE,
        before=(train("exp-bad", 0.1, by="dev"),),
    ),
    Attack(
        "a_commit_that_was_rejected_for_good",
        "dev2",
        (promote("exp-bad"),),
        REJECTED_BEFORE,
        STICKY,
        before=WAITING + (reject(by="reviewer"),),
    ),
    Attack(
        "a_rejected_commit_for_another_reviewer",
        "dev2",
        (promote("exp-bad"), refused(approve(by="reviewer2"), 409), wait_until_settled()),
        REJECTED_BEFORE,
        STICKY,
        before=WAITING + (reject(by="reviewer"),),
    ),
    Attack(
        "a_rejected_commit_under_another_name",
        "dev",
        (branch("exp-again", source="<exp-bad>"), promote("exp-again")),
        Seen(state="rejected", code="gate_failed", rules=(("exp-again", "rejected_before"),)),
        STICKY,
        before=WAITING + (reject(by="reviewer"),),
    ),
    Attack(
        "a_rejected_commit_of_a_branch_made_again",
        "dev",
        (ask("DELETE", "/branches/exp-bad"), branch("exp-bad", source="<seen>"), promote("exp-bad")),
        REJECTED_BEFORE,
        STICKY,
        before=CANDIDATE
        + (
            must("GET", "/branches/exp-bad", keep="seen", member="commit_id", by="dev"),
            promote("exp-bad", by="dev2"),
            reject(by="reviewer"),
        ),
    ),
    Attack(
        "a_rejected_commit_after_a_later_one_was_tried",
        "dev",
        (
            promote("exp-bad"),
            ask("PUT", "/branches/exp-bad/hard_reset", params={"ref": "<seen>"}),
            tried(approve(by="reviewer2")),
            wait_until_settled(),
        ),
        Seen(state=("rejected", "awaiting_approval"), code=("gate_failed", "approval_required")),
        STICKY,
        before=CANDIDATE
        + (
            must("GET", "/branches/exp-bad", keep="seen", member="commit_id", by="dev"),
            promote("exp-bad", by="dev2"),
            reject(by="reviewer"),
            *NEWER,
        ),
    ),
    Attack(
        "a_rejected_commit_after_its_rejecter_is_gone",
        "dev2",
        (remove_user("past"), promote("exp-bad")),
        REJECTED_BEFORE,
        STICKY,
        before=(newcomer("past", "reviewer"),) + WAITING + (reject(by="past"),),
    ),
    Attack(
        "a_rejected_commit_after_the_policy_is_set_again",
        "dev2",
        (promote("exp-bad"),),
        REJECTED_BEFORE,
        STICKY,
        before=WAITING + (reject(by="reviewer"), set_policy(approved_by(1, sticky_reject=True, not_author=False), by="lead")),
    ),
    Attack(
        "a_rejection_that_nobody_sees",
        "dev2",
        (promote("exp-bad"),),
        Seen(state="awaiting_approval", code="approval_required", warns="<user:reviewer>"),
        ONE,
        before=WAITING + (reject(by="reviewer", reason="biased"),),
    ),
    Attack(
        "an_approval_of_no_promotion",
        "reviewer",
        (ask("POST", "/promotions/00000000000000000000:approve", json={"review_digest": NO_REVIEW}),),
        not_taken(404),
        ONE,
        before=WAITING,
    ),
] + [
    Attack(f"an_approval_by_{who}", who, (approve(),), not_taken(401), ONE, before=WAITING)
    for who in ("dev", "dev2", "ci", "viewer", "tagger", "stager")
]

HONEST = [
    Attack("one_approves", "reviewer", (approve(), wait_until_settled()), GOOD_WINS, ONE, before=GOOD),
    Attack(
        "one_approves_the_review_seen",
        "reviewer",
        (approve(review="<seen>"), wait_until_settled()),
        GOOD_WINS,
        ONE,
        before=GOOD + (keep_review("seen"),),
    ),
    Attack("two_approve", "reviewer", (approve(), approve(by="reviewer2")), GOOD_WINS, TWO, before=GOOD),
    Attack(
        "an_approver_who_is_deleted_later",
        "reviewer",
        (approve(by="past"), wait_until_settled(), remove_user("past")),
        Seen(state="promoted", winner="exp-good", approvers=("past",)),
        ONE,
        before=(newcomer("past", "reviewer"),) + GOOD,
    ),
    Attack(
        "an_approver_of_two_who_is_deleted_later",
        "reviewer2",
        (approve(by="past"), approve(), wait_until_settled(), remove_user("past")),
        Seen(state="promoted", winner="exp-good", approvers=("past", "reviewer2")),
        TWO,
        before=(newcomer("past", "reviewer"),) + GOOD,
    ),
    Attack(
        "a_new_commit_after_a_rejection",
        "reviewer2",
        (promote("exp-good", by="dev2"), approve(), wait_until_settled()),
        GOOD_WINS,
        STICKY,
        before=GOOD
        + (
            reject(by="reviewer"),
            write("exp-good", "x", "x", by="dev"),
            commit("exp-good", {"metric.accuracy": "0.96"}, by="dev"),
        ),
    ),
    Attack(
        "the_next_best_where_the_best_was_rejected",
        "reviewer2",
        (promote("exp-*", by="dev2"), approve(), wait_until_settled()),
        GOOD_WINS,
        STICKY,
        before=(
            train("exp-best", 0.99, by="dev"),
            promote("exp-best", by="dev2"),
            reject(by="reviewer"),
            train("exp-good", 0.95, by="dev"),
        ),
    ),
    Attack(
        "both_approve_the_newer_commit",
        "reviewer",
        (wait_until_noticed("exp-good", by="dev"), approve(), approve(by="reviewer2")),
        GOOD_WINS,
        TWO,
        before=GOOD
        + (
            approve(by="reviewer"),
            write("exp-good", "x", "x", by="dev"),
            commit("exp-good", {"metric.accuracy": "0.96"}, by="dev"),
            tried(approve(by="reviewer2")),
        ),
    ),
    Attack("the_lead_approves_what_others_made", "lead", (approve(),), GOOD_WINS, ONE, before=GOOD),
    Attack(
        "approved_after_an_earlier_no",
        "reviewer2",
        (promote("exp-good", by="dev2"), approve()),
        GOOD_WINS,
        ONE,
        before=GOOD + (reject(by="reviewer"),),
    ),
    Attack(
        "two_approve_the_best_of_several",
        "reviewer",
        (approve(), approve(by="reviewer2")),
        GOOD_WINS,
        TWO,
        before=(train("exp-good", 0.95, by="dev"), train("exp-other", 0.9, by="dev2"), promote("exp-*", by="dev2")),
    ),
]
