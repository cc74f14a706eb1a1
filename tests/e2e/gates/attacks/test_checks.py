"""A check counts when it is required, of the exact commit, in time, and reported by who may."""

from attack import ACCURACY, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import (
    ask,
    check,
    commit,
    must,
    newcomer,
    promote,
    refused,
    supersede,
    train,
    wait_until_ended,
    wait_until_settled,
    write,
)

CHECKED = gate(metrics=[ACCURACY], checks={"required": ["bench"], "timeout": "1h"})
TWO_CHECKS = gate(metrics=[ACCURACY], checks={"required": ["bench", "lint"], "timeout": "1h"})
BY_BENCH = gate(metrics=[{**ACCURACY, "from": "check:bench"}], checks={"required": ["bench"], "timeout": "1h"})
BY_ANY_CHECK = gate(metrics=[{**ACCURACY, "trust": ["check"]}], checks={"required": ["bench"], "timeout": "1h"})
LATENCY = gate(
    metrics=[ACCURACY, {"name": "p95", "goal": "min", "max": 100, "from": "check:bench"}],
    checks={"required": ["bench"], "timeout": "1h"},
)
WAITS = Seen(state="gates_running", code="check_pending")
CANDIDATE = (train("exp-bad", 0.95, by="dev"),)
WAITING = CANDIDATE + (promote("exp-bad", by="dev"),)
GOOD_WINS = Seen(state="promoted", winner="exp-good")
GOOD = (train("exp-good", 0.95, by="dev"), promote("exp-good", by="dev"))
# Two candidates, the better of which has failed: the promotion waits for the other's check.
FAILED = (
    train("exp-bad", 0.95, by="dev"),
    train("exp-low", 0.6, by="dev2"),
    newcomer("ci2", "ci"),
    promote("exp-*", by="dev"),
    check("bench", "exp-bad", "failure", by="ci"),
)
LOW_WAITS = Seen(status=409, state="gates_running", code="check_pending", rules=(("exp-bad", "check_failed"),))


def not_taken(*status):
    """Refused, and the promotion waits as before."""
    return Seen(status=status, state="gates_running", code="check_pending")


def report(name="bench", **body):
    return ask("POST", f"/promotions/<promotion>/checks/{name}", json={"commit": "<exp-bad>", "status": "success", **body})


def refusal(code):
    return Seen(state="rejected", code="gate_failed", rules=(("exp-bad", code),))


WRONG_NAMES = {
    "a_capital": "Bench",
    "a_blank_behind": "bench%20",
    "a_suffix": "bench2",
    "a_dot": "bench.",
    "another_name": "lint",
    "a_path": "..%2Fbench",
    "a_path_behind": "bench%2F",
}
BAD_NAMES = {"of_300_bytes": "b" * 300, "with_a_nul": "ben%00ch", "of_one_dot": "."}
BAD_REPORTS = {
    "of_a_status_in_capitals": {"status": "SUCCESS"},
    "without_a_status": {"status": ""},
    "of_a_true_status": {"status": True},
    "of_a_branch": {"commit": "exp-bad"},
    "of_a_short_id": {"commit": "0123abcd"},
    "of_a_metric_without_a_number": {"metrics": {"p95": "NaN"}},
    "of_a_metric_as_text": {"metrics": {"p95": "80"}},
    "of_a_metric_as_a_list": {"metrics": [{"name": "p95", "value": 80}]},
}
REPORTERS = ("dev", "dev2", "reviewer", "viewer", "tagger")

ATTACKS = (
    [
        Attack("a_check_that_nobody_reported", "dev", (promote("exp-bad"),), WAITS, CHECKED, before=CANDIDATE),
        Attack("a_check_of_another_commit", "ci", (check("bench", "base"),), WAITS, CHECKED, before=WAITING),
        Attack(
            "a_check_of_the_commit_before",
            "ci",
            (check("bench", "older"),),
            WAITS,
            CHECKED,
            before=(
                train("exp-bad", 0.9, by="dev"),
                must("GET", "/branches/exp-bad", keep="older", member="commit_id", by="dev"),
                write("exp-bad", "x", "x", by="dev"),
                commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"),
                promote("exp-bad", by="dev"),
            ),
        ),
        Attack("a_check_that_is_pending", "ci", (check("bench", "exp-bad", "pending"),), WAITS, CHECKED, before=WAITING),
        Attack(
            "a_check_that_is_pending_again",
            "ci",
            (check("bench", "exp-bad", "pending"), check("bench", "exp-bad", "pending")),
            WAITS,
            CHECKED,
            before=WAITING,
        ),
        Attack(
            "metrics_of_a_pending_check",
            "ci",
            (check("bench", "exp-bad", "pending", {"accuracy": 0.99}),),
            WAITS,
            BY_BENCH,
            before=WAITING,
        ),
        Attack("one_check_of_two", "ci", (check("bench", "exp-bad"),), WAITS, TWO_CHECKS, before=WAITING),
        Attack(
            "one_check_twice", "ci", (check("bench", "exp-bad"), check("bench", "exp-bad")), WAITS, TWO_CHECKS, before=WAITING
        ),
        Attack(
            "a_check_that_failed", "ci", (check("bench", "exp-bad", "failure"),), refusal("check_failed"), CHECKED, before=WAITING
        ),
        Attack(
            "a_success_after_the_failure",
            "ci",
            (check("bench", "exp-bad", "failure"), refused(check("bench", "exp-bad"), 409), wait_until_settled()),
            refusal("check_failed"),
            CHECKED,
            before=WAITING,
        ),
        Attack(
            "a_failure_among_two",
            "ci",
            (check("lint", "exp-bad"), check("bench", "exp-bad", "failure")),
            refusal("check_failed"),
            TWO_CHECKS,
            before=WAITING,
        ),
        Attack(
            "checks_of_two_commits",
            "ci",
            (
                check("bench", "exp-bad"),
                write("exp-bad", "artifacts/model.pkl", "worse", by="dev"),
                commit("exp-bad", {"metric.accuracy": "0.95"}, by="dev"),
                check("lint", "exp-bad"),
            ),
            WAITS,
            TWO_CHECKS,
            before=WAITING,
        ),
        Attack(
            "a_check_before_a_new_commit",
            "dev",
            (
                check("lint", "exp-bad", by="ci"),
                write("exp-bad", "artifacts/model.pkl", "worse"),
                commit("exp-bad", {"metric.accuracy": "0.95"}),
                check("bench", "exp-bad", "pending", by="ci"),
            ),
            WAITS,
            TWO_CHECKS,
            before=WAITING,
        ),
        Attack(
            "a_check_for_another_promotion",
            "ci",
            (promote("exp-bad", by="lead"),),
            WAITS,
            TWO_CHECKS,
            before=WAITING + (check("bench", "exp-bad", by="ci"), ask("POST", "/promotions/<promotion>:cancel", by="lead")),
        ),
        Attack(
            "a_check_of_another_repositorys_promotion",
            "ci",
            (ask("POST", "/promotions/00000000000000000000/checks/bench", json={"commit": "<exp-bad>", "status": "success"}),),
            not_taken(404),
            CHECKED,
            before=WAITING,
        ),
        Attack(
            "a_check_after_the_end",
            "ci",
            (check("bench", "exp-bad"),),
            Seen(status=409, state="cancelled", code="cancelled"),
            CHECKED,
            before=WAITING + (ask("POST", "/promotions/<promotion>:cancel", by="dev"),),
        ),
        Attack(
            "a_check_after_promotion",
            "ci",
            (check("bench", "exp-good", "failure"),),
            Seen(status=409),
            CHECKED,
            before=GOOD + (check("bench", "exp-good", by="ci"),),
        ),
        # Metrics of checks.
        Attack(
            "a_success_without_its_metric",
            "ci",
            (check("bench", "exp-bad"),),
            Seen(state="rejected", code="metric_missing", rules=(("exp-bad", "metric_missing"),)),
            LATENCY,
            before=WAITING,
        ),
        Attack(
            "a_success_with_a_bad_metric",
            "ci",
            (check("bench", "exp-bad", metrics={"p95": 180}),),
            refusal("above_max"),
            LATENCY,
            before=WAITING,
        ),
        Attack(
            "a_failure_with_a_good_metric",
            "ci",
            (check("bench", "exp-bad", "failure", {"p95": 80}),),
            refusal("check_failed"),
            LATENCY,
            before=WAITING,
        ),
        Attack(
            "a_check_that_the_policy_does_not_ask",
            "dev",
            (promote("exp-bad"),),
            Seen(state="rejected", code="metric_missing", rules=(("exp-bad", "metric_missing"),)),
            CHECKED,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_metric_of_an_unrequired_check",
            "ci",
            (check("AAA", "exp-bad", metrics={"accuracy": 0.9}), check("bench", "exp-bad", metrics={"accuracy": 0.3})),
            refusal("below_min"),
            BY_ANY_CHECK,
            before=WAITING,
        ),
        Attack(
            "a_metric_of_a_check_alike",
            "ci",
            (check("Bench", "exp-bad", metrics={"accuracy": 0.9}), check("bench", "exp-bad", metrics={"accuracy": 0.3})),
            refusal("below_min"),
            BY_ANY_CHECK,
            before=WAITING,
        ),
        Attack(
            "a_metric_of_an_unrequired_check_alone",
            "ci",
            (check("lint", "exp-bad", metrics={"accuracy": 0.9}), check("bench", "exp-bad")),
            Seen(state="rejected", code=("metric_missing", "gate_failed")),
            BY_ANY_CHECK,
            before=WAITING,
        ),
        Attack(
            "a_metric_of_a_check_from_another_name",
            "ci",
            (check("lint", "exp-bad", metrics={"accuracy": 0.9}), check("bench", "exp-bad", metrics={"accuracy": 0.3})),
            refusal("below_min"),
            BY_BENCH,
            before=WAITING,
        ),
        Attack(
            "the_one_that_is_measured_is_chosen_by_its_date",
            "dev",
            (promote("exp-*"), check("bench", "exp-bad", metrics={"accuracy": 0.55}, by="ci")),
            WAITS,
            BY_BENCH,
            before=(train("exp-good", by="dev2"), train("exp-bad", date=1, by="dev")),
        ),
        Attack(
            "a_value_that_its_check_corrected",
            "ci",
            (
                check("bench", "exp-bad", metrics={"p95": 80}),
                check("bench", "exp-bad", metrics={"p95": 180}),
                check("lint", "exp-bad"),
            ),
            refusal("above_max"),
            {**LATENCY, "checks": TWO_CHECKS["checks"]},
            before=WAITING,
        ),
        # A failure that somebody says does not stand.
        Attack(
            "a_success_after_the_failure_of_one_of_two", "ci", (check("bench", "exp-bad"),), LOW_WAITS, CHECKED, before=FAILED
        ),
        Attack(
            "a_failure_superseded_without_a_reason", "ci", (supersede("bench", "exp-bad", ""),), LOW_WAITS, CHECKED, before=FAILED
        ),
        Attack(
            "a_failure_superseded_by_another", "ci2", (supersede("bench", "exp-bad", "mine"),), LOW_WAITS, CHECKED, before=FAILED
        ),
        Attack(
            "a_failure_superseded_by_the_author",
            "dev",
            (supersede("bench", "exp-bad", "mine"),),
            Seen(status=401, state="gates_running", code="check_pending"),
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_failure_superseded_by_who_failed_it_too",
            "ci2",
            (check("bench", "exp-bad", "failure"), supersede("bench", "exp-bad", "mine"), wait_until_settled()),
            Seen(state="gates_running", code="check_pending", rules=(("exp-bad", "check_failed"),)),
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_failure_superseded_while_another_stands",
            "ci",
            (supersede("bench", "exp-bad", "memory"), wait_until_settled()),
            Seen(state="gates_running", code="check_pending", rules=(("exp-bad", "check_failed"),)),
            CHECKED,
            before=FAILED + (check("bench", "exp-bad", "failure", by="ci2"),),
        ),
        Attack(
            "a_failure_that_becomes_pending", "ci", (check("bench", "exp-bad", "pending"),), LOW_WAITS, CHECKED, before=FAILED
        ),
        Attack(
            "a_failure_that_another_calls_pending",
            "ci2",
            (supersede("bench", "exp-bad", "again", status="pending"),),
            LOW_WAITS,
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_failure_of_another_commit_superseded",
            "ci",
            (supersede("bench", "base", "memory"), wait_until_settled()),
            Seen(state="gates_running", code="check_pending", rules=(("exp-bad", "check_failed"),)),
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_failure_of_another_check_superseded",
            "ci",
            (supersede("Bench", "exp-bad", "memory"), wait_until_settled()),
            Seen(state="gates_running", code="check_pending", rules=(("exp-bad", "check_failed"),)),
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_reason_of_20000_bytes",
            "ci",
            (supersede("bench", "exp-bad", "m" * 20000),),
            Seen(status=400, state="gates_running", code="check_pending"),
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_reason_that_is_no_text",
            "ci",
            (
                ask(
                    "POST",
                    "/promotions/<promotion>/checks/bench",
                    json={"commit": "<exp-bad>", "status": "success", "supersedes": True},
                ),
            ),
            Seen(status=400, state="gates_running", code="check_pending"),
            CHECKED,
            before=FAILED,
        ),
        Attack(
            "a_failure_superseded_after_the_end",
            "ci",
            (supersede("bench", "exp-bad", "memory"),),
            Seen(state="rejected", code="gate_failed"),
            CHECKED,
            before=WAITING + (check("bench", "exp-bad", "failure", by="ci"), wait_until_ended()),
        ),
        Attack(
            "a_failed_check_and_the_commit_again",
            "dev2",
            (promote("exp-bad"), wait_until_settled()),
            Seen(state="rejected", code="gate_failed"),
            CHECKED,
            before=WAITING + (check("bench", "exp-bad", "failure", by="ci"), wait_until_ended()),
        ),
        # Time.
        Attack(
            "a_date_that_delays_the_timeout",
            "dev",
            (promote("exp-bad"), wait_until_ended(), refused(check("bench", "exp-bad", by="ci"), 409)),
            Seen(state="rejected", code="check_timeout"),
            gate(metrics=[ACCURACY], checks={"required": ["bench"], "timeout": "1s"}),
            before=(train("exp-bad", 0.95, date=4102444800, by="dev"),),
        ),
        Attack(
            "a_check_after_its_time",
            "dev",
            (promote("exp-bad"), wait_until_ended(), refused(check("bench", "exp-bad", by="ci"), 409)),
            Seen(state="rejected", code="check_timeout"),
            gate(metrics=[ACCURACY], checks={"required": ["bench"], "timeout": "1s"}),
            before=CANDIDATE,
        ),
    ]
    + [
        Attack(f"a_check_by_{who}", who, (check("bench", "exp-bad"),), not_taken(401), CHECKED, before=WAITING)
        for who in REPORTERS
    ]
    + [
        Attack(f"a_check_named_with_{name}", "ci", (report(text), wait_until_settled()), WAITS, CHECKED, before=WAITING)
        for name, text in WRONG_NAMES.items()
    ]
    + [
        Attack(f"a_check_{name}", "ci", (report(text),), not_taken(400, 404), CHECKED, before=WAITING)
        for name, text in BAD_NAMES.items()
    ]
    + [
        Attack(f"a_report_{name}", "ci", (report(**body),), not_taken(400), CHECKED, before=WAITING)
        for name, body in BAD_REPORTS.items()
    ]
)

HONEST = [
    Attack("a_check_succeeds", "ci", (check("bench", "exp-good"),), GOOD_WINS, CHECKED, before=GOOD),
    Attack(
        "two_checks_succeed", "ci", (check("lint", "exp-good"), check("bench", "exp-good")), GOOD_WINS, TWO_CHECKS, before=GOOD
    ),
    Attack(
        "a_check_is_pending_and_succeeds",
        "ci",
        (check("bench", "exp-good", "pending"), check("bench", "exp-good")),
        GOOD_WINS,
        CHECKED,
        before=GOOD,
    ),
    Attack(
        "a_check_brings_its_metric", "ci", (check("bench", "exp-good", metrics={"p95": 80}),), GOOD_WINS, LATENCY, before=GOOD
    ),
    Attack(
        "checks_bring_what_is_ranked",
        "ci",
        (check("bench", "exp-good", metrics={"accuracy": 0.9}), check("bench", "exp-other", metrics={"accuracy": 0.8})),
        GOOD_WINS,
        BY_BENCH,
        before=(train("exp-other", by="dev2"), train("exp-good", by="dev"), promote("exp-*", by="dev")),
    ),
    Attack(
        "a_failure_that_its_reporter_supersedes",
        "ci",
        (supersede("bench", "exp-good", "out of memory"),),
        GOOD_WINS,
        CHECKED,
        before=(
            train("exp-good", 0.95, by="dev"),
            train("exp-low", 0.6, by="dev2"),
            promote("exp-*", by="dev"),
            check("bench", "exp-good", "failure", by="ci"),
        ),
    ),
    Attack(
        "two_failures_that_their_reporters_supersede",
        "ci",
        (supersede("bench", "exp-good", "out of memory"), supersede("bench", "exp-good", "out of disk", by="ci2")),
        GOOD_WINS,
        CHECKED,
        before=(
            newcomer("ci2", "ci"),
            train("exp-good", 0.95, by="dev"),
            train("exp-low", 0.6, by="dev2"),
            promote("exp-*", by="dev"),
            check("bench", "exp-good", "failure", by="ci"),
            check("bench", "exp-good", "failure", by="ci2"),
        ),
    ),
    Attack(
        "a_check_of_the_new_commit",
        "ci",
        (check("bench", "exp-good"),),
        GOOD_WINS,
        CHECKED,
        before=GOOD + (write("exp-good", "x", "x", by="dev"), commit("exp-good", {"metric.accuracy": "0.96"}, by="dev")),
    ),
]
