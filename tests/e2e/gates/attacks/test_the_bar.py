"""The bar that a candidate must pass stays where the champion put it."""

from attack import ACCURACY, BETTER, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import (
    CHAMPION,
    approve,
    ask,
    branch,
    commit,
    log_run,
    must,
    promote,
    refused,
    remove_policy,
    roll_back,
    set_policy,
    train,
    tried,
    wait_until_settled,
)

LOW = Seen(state="rejected", code="gate_failed", rules=(("exp-bad", "worse_than_champion"),))
WORSE = CHAMPION + (train("exp-bad", 0.51, by="dev"),)
MISSING = Seen(state="rejected", code="gate_failed", rules=(("exp-bad", "champion_metric_missing"),))
BETTER_WINS = Seen(state="promoted", winner="exp-better")

STAGING = {"name": "weak", "destination": "staging", "candidates": "exp-*"}
WEAK = (branch("staging", by="lead"), set_policy(STAGING, name="weak", by="lead"))
TWO_METRICS = gate(metrics=[BETTER, {"name": "loss", "goal": "min", "vs_champion": {"max_relative_increase": 0.02}}])
APPROVED = gate(approvals={"count": 1})
APPROVED_CHAMPION = (
    train("exp-champion", 0.9, by="dev2"),
    promote("exp-champion", by="lead"),
    approve(by="reviewer"),
    wait_until_settled(),
)


def other_value(value):
    return log_run("<exp-champion>", {"accuracy": value})


def baseline(which):
    return gate(baseline=which)


# The champion of 0.9, then one of 0.95, which was taken back.
PEAK = CHAMPION + (train("exp-peak", 0.95, by="dev2"), promote("exp-peak", by="lead"), roll_back(by="lead"))
PEAK_AND_BAD = PEAK + (train("exp-bad", 0.92, source="<main>", by="dev"),)
TAKEN_BACK = CHAMPION + (roll_back(by="lead"), train("exp-bad", 0.51, by="dev"))

ATTACKS = [
    Attack("a_worse_candidate", "dev", (promote("exp-bad"),), LOW, before=WORSE),
    Attack("just_not_better_enough", "dev", (promote("exp-bad"),), LOW, before=CHAMPION + (train("exp-bad", 0.9049),)),
    Attack("the_same_again", "dev", (promote("exp-bad"),), LOW, before=CHAMPION + (train("exp-bad", 0.9),)),
    Attack("a_low_run_of_the_winner", "dev", (tried(other_value(0.1)), promote("exp-bad")), LOW, before=WORSE),
    Attack("a_run_without_a_number_of_the_winner", "dev", (tried(other_value("NaN")), promote("exp-bad")), LOW, before=WORSE),
    Attack(
        "a_run_of_minus_infinity_of_the_winner", "dev", (tried(other_value("-Infinity")), promote("exp-bad")), LOW, before=WORSE
    ),
    Attack(
        "a_low_run_of_the_winners_branch",
        "dev",
        (tried(log_run("exp-champion", {"accuracy": 0.1})), promote("exp-bad")),
        LOW,
        before=WORSE,
    ),
    Attack(
        "a_low_run_of_the_promoted_commit",
        "dev",
        (tried(log_run("<result>", {"accuracy": 0.1})), promote("exp-bad")),
        LOW,
        before=WORSE,
    ),
    Attack("a_low_run_of_main", "dev", (tried(log_run("main", {"accuracy": 0.1})), promote("exp-bad")), LOW, before=WORSE),
    Attack(
        "a_low_run_of_the_alias", "dev", (tried(log_run("@champion", {"accuracy": 0.1})), promote("exp-bad")), LOW, before=WORSE
    ),
    Attack("a_low_run_by_who_may_measure_everything", "ci", (other_value(0.1), promote("exp-bad", by="dev")), LOW, before=WORSE),
    Attack("a_low_run_by_the_lead", "lead", (other_value(0.1), promote("exp-bad")), LOW, before=WORSE),
    Attack(
        "a_hundred_low_runs_of_the_winner",
        "dev2",
        tuple(tried(other_value(n / 1000)) for n in range(100)) + (promote("exp-bad", by="dev"),),
        LOW,
        before=WORSE,
        over=("rest",),
    ),
    Attack(
        "low_runs_of_another_experiment",
        "dev2",
        (
            tried(ask("POST", "/experiments/zzz/runs", json={"commit": "<exp-champion>", "metrics": {"accuracy": 0.1}})),
            promote("exp-bad", by="dev"),
        ),
        LOW,
        before=WORSE,
    ),
    Attack(
        "a_low_run_of_an_earlier_promotion_while_it_waits",
        "dev",
        (tried(other_value(0.1)), promote("exp-bad", by="lead"), tried(approve(by="reviewer")), wait_until_settled()),
        LOW,
        policy=APPROVED,
        before=APPROVED_CHAMPION + (train("exp-bad", 0.51),),
    ),
    Attack(
        "a_low_run_where_runs_alone_are_trusted",
        "dev2",
        (tried(other_value(0.1)), promote("exp-bad", by="dev")),
        LOW,
        policy=gate(metrics=[{**BETTER, "trust": ["api"]}]),
        before=(
            train("exp-champion", by="dev2"),
            log_run("<exp-champion>", {"accuracy": 0.9}, by="dev2"),
            promote("exp-champion", by="lead"),
            train("exp-bad"),
            log_run("exp-bad", {"accuracy": 0.51}),
        ),
    ),
    Attack(
        "a_second_metric_that_got_worse",
        "dev",
        (promote("exp-bad"),),
        LOW,
        policy=TWO_METRICS,
        before=(
            train("exp-champion", 0.9, meta={"metric.loss": "0.1"}, by="dev2"),
            promote("exp-champion", by="lead"),
            train("exp-bad", 0.95, meta={"metric.loss": "0.2"}),
        ),
    ),
    Attack(
        "the_winners_branch_moved_to_a_worse_commit",
        "dev2",
        (commit("exp-champion", {"metric.accuracy": "0.1"}, allow_empty=True), promote("exp-bad", by="dev")),
        LOW,
        before=WORSE,
    ),
    Attack(
        "the_winners_branch_deleted",
        "dev2",
        (ask("DELETE", "/branches/exp-champion"), promote("exp-bad", by="dev")),
        LOW,
        before=WORSE,
    ),
    Attack(
        "the_winners_branch_made_again",
        "dev2",
        (ask("DELETE", "/branches/exp-champion"), train("exp-champion", 0.1, source="<base>"), promote("exp-bad", by="dev")),
        LOW,
        before=WORSE,
    ),
    Attack(
        "no_champion_expected",
        "dev",
        (promote("exp-bad", expect={"alias": "none"}),),
        Seen(state="failed", code="destination_moved"),
        before=WORSE,
    ),
    Attack(
        "another_champion_expected",
        "dev",
        (promote("exp-bad", expect={"alias": "<base>"}),),
        Seen(state="failed", code="destination_moved"),
        before=WORSE,
    ),
    Attack(
        "judged_against_something_weaker",
        "dev",
        (must("POST", "/policies/gate:evaluate", json={"candidates": ["exp-bad"], "champion": "main~1"}), promote("exp-bad")),
        LOW,
        before=WORSE,
    ),
    # The alias.
    Attack(
        "another_policy_moves_the_alias",
        "stager",
        (promote("exp-bad", to="staging", alias="champion"),),
        Seen(status=(400, 401, 403)),
        before=WORSE + WEAK,
    ),
    Attack(
        "another_policy_moves_the_alias_for_the_lead",
        "lead",
        (promote("exp-bad", to="staging", alias="champion"),),
        Seen(state="failed", code="protected_alias"),
        before=WORSE + WEAK,
    ),
    Attack(
        "another_alias_by_a_weak_policy",
        "stager",
        (promote("exp-bad", to="staging", alias="prod"),),
        Seen(status=401),
        before=WORSE + WEAK,
    ),
    Attack(
        "another_alias_with_its_mark",
        "stager",
        (promote("exp-bad", to="staging", alias="@champion"),),
        Seen(status=(400, 401, 403)),
        before=WORSE + WEAK,
    ),
    Attack("another_alias_than_that_of_the_policy", "dev", (promote("exp-bad", alias="other"),), Seen(status=400), before=WORSE),
    Attack(
        "the_alias_set_by_hand",
        "dev",
        (ask("POST", "/aliases/champion:set", json={"to": "exp-bad"}),),
        Seen(status=401),
        before=WORSE,
    ),
    Attack(
        "the_alias_set_by_hand_of_the_lead",
        "lead",
        (ask("POST", "/aliases/champion:set", json={"to": "exp-bad"}),),
        Seen(status=403, says="promot"),
        before=WORSE,
    ),
    Attack(
        "the_alias_set_with_an_expectation",
        "lead",
        (ask("POST", "/aliases/champion:set", json={"to": "exp-bad", "expect": "<main>"}),),
        Seen(status=403, says="promot"),
        before=WORSE,
    ),
    Attack("the_alias_removed", "dev", (ask("DELETE", "/aliases/champion"),), Seen(status=401), before=WORSE),
    Attack(
        "the_alias_removed_by_the_lead",
        "lead",
        (ask("DELETE", "/aliases/champion"),),
        Seen(status=403, says="promot"),
        before=WORSE,
    ),
    Attack(
        "a_tag_of_the_aliass_name",
        "tagger",
        (tried(ask("POST", "/tags", json={"id": "champion", "ref": "exp-bad"})), promote("exp-bad")),
        LOW,
        before=WORSE,
    ),
    Attack(
        "the_alias_without_a_policy_that_had_it",
        "dev",
        (roll_back("<promotion>"),),
        Seen(status=(401, 403, 409)),
        before=CHAMPION
        + (
            remove_policy(by="lead"),
            branch("staging", by="lead"),
            set_policy({**STAGING, "alias": "champion"}, name="weak", by="lead"),
        ),
    ),
    # The policy.
    Attack("a_policy_set_by_who_may_promote", "dev", (set_policy(gate("metrics")),), Seen(status=401), before=WORSE),
    Attack("a_policy_removed_by_who_may_promote", "dev", (remove_policy(),), Seen(status=401), before=WORSE),
    Attack(
        "a_second_policy_for_the_branch",
        "lead",
        (set_policy({**gate("metrics", "alias"), "name": "weak"}, name="weak"),),
        Seen(status=409),
        before=WORSE,
    ),
    Attack(
        "a_second_policy_for_the_alias",
        "lead",
        (set_policy({**STAGING, "alias": "champion"}, name="weak"),),
        Seen(status=409),
        before=WORSE + (branch("staging", by="lead"),),
    ),
    Attack("a_comparison_without_a_champion", "lead", (set_policy(gate("alias")),), Seen(status=400, says="vs_champion")),
    Attack(
        "a_trust_that_the_champion_does_not_meet",
        "dev",
        (promote("exp-bad"),),
        MISSING,
        before=WORSE
        + (set_policy(gate(metrics=[{**BETTER, "trust": ["api"]}]), by="lead"), log_run("exp-bad", {"accuracy": 0.51})),
    ),
    Attack(
        "a_metric_that_the_champion_lacks",
        "dev",
        (promote("exp-bad"),),
        MISSING,
        before=WORSE
        + (set_policy(TWO_METRICS, by="lead"), train("exp-bad", 0.95, meta={"metric.loss": "0.1"}, allow_empty=True, by="dev")),
    ),
    Attack(
        "metric_files_that_are_no_longer_read",
        "dev",
        (refused(ask("PUT", "/settings/metric_files", json={"globs": ["nothing/**"]}), 401), promote("exp-bad")),
        LOW,
        before=(
            train("exp-champion", files={"metrics/a.json": '{"accuracy": 0.9}', "artifacts/model.pkl": "9"}, by="dev2"),
            promote("exp-champion", by="lead"),
            train("exp-bad", 0.51),
        ),
    ),
    Attack(
        "metric_files_that_the_lead_no_longer_reads",
        "dev",
        (promote("exp-bad"),),
        Seen(state="rejected", code="gate_failed"),
        before=(
            train("exp-champion", files={"metrics/a.json": '{"accuracy": 0.9}', "artifacts/model.pkl": "9"}, by="dev2"),
            promote("exp-champion", by="lead"),
            train("exp-bad", 0.51),
            must("PUT", "/settings/metric_files", json={"globs": ["nothing/**"]}, by="lead"),
        ),
    ),
    Attack(
        "a_policy_removed_while_it_waits",
        "lead",
        (
            promote("exp-bad", by="dev"),
            remove_policy(),
            tried(approve(by="reviewer")),
            set_policy(APPROVED),
            wait_until_settled(),
        ),
        Seen(state=("failed", "rejected"), code=("policy_not_found", "gate_failed"), policies=False),
        policy=APPROVED,
        before=APPROVED_CHAMPION + (train("exp-bad", 0.51, by="dev"),),
    ),
    # Taking back.
    Attack("a_rollback_by_who_may_promote", "dev", (roll_back(),), Seen(status=401), before=CHAMPION),
    Attack(
        "a_rollback_where_promotions_need_approvals",
        "lead",
        (tried(roll_back()),),
        Seen(status=(200, 202, 403, 409)),
        policy=APPROVED,
        before=APPROVED_CHAMPION,
    ),
    Attack("worse_after_a_rollback_to_nothing", "dev", (promote("exp-bad"),), LOW, before=WORSE + (roll_back(by="lead"),)),
    Attack(
        "worse_than_the_best_ever_after_a_rollback", "dev", (promote("exp-bad"),), LOW, baseline("best_ever"), before=PEAK_AND_BAD
    ),
    Attack(
        "the_same_as_the_best_ever",
        "dev",
        (promote("exp-bad"),),
        LOW,
        baseline("best_ever"),
        before=PEAK + (train("exp-bad", 0.95, source="<main>", by="dev"),),
    ),
    Attack(
        "worse_than_the_best_ever_of_a_branch_that_is_gone",
        "dev",
        (ask("DELETE", "/branches/exp-peak", by="dev2"), promote("exp-bad")),
        LOW,
        baseline("best_ever"),
        before=PEAK_AND_BAD,
    ),
    Attack(
        "low_runs_of_the_best_ever",
        "dev",
        (log_run("<exp-peak>", {"accuracy": 0.1}, by="ci"), promote("exp-bad")),
        LOW,
        baseline("best_ever"),
        before=PEAK_AND_BAD,
    ),
    Attack(
        "worse_than_the_best_ever_under_a_policy_set_again",
        "dev",
        (promote("exp-bad"),),
        LOW,
        baseline("best_ever"),
        before=PEAK_AND_BAD + (set_policy(gate(baseline="best_ever", approvals={"count": 0}), by="lead"),),
    ),
    Attack(
        "worse_than_the_best_ever_after_all_was_taken_back",
        "dev",
        (promote("exp-bad"),),
        LOW,
        baseline("best_ever"),
        before=TAKEN_BACK,
    ),
    Attack("worse_than_the_last_that_was_taken_back", "dev", (promote("exp-bad"),), LOW, baseline("last"), before=TAKEN_BACK),
    Attack(
        "worse_than_the_champion_where_nothing_is_the_baseline", "dev", (promote("exp-bad"),), LOW, baseline("none"), before=WORSE
    ),
    Attack(
        "worse_than_the_champion_before_where_nothing_is_the_baseline",
        "dev",
        (promote("exp-bad"),),
        LOW,
        baseline("none"),
        before=PEAK + (train("exp-bad", 0.51, source="<main>", by="dev"),),
    ),
    Attack("a_baseline_that_nobody_knows", "lead", (set_policy(baseline("first")),), Seen(status=400, says="baseline")),
    Attack("a_baseline_set_by_who_may_promote", "dev", (set_policy(baseline("none")),), Seen(status=401), before=TAKEN_BACK),
    Attack(
        "a_rollback_of_an_older_one",
        "lead",
        (roll_back("<older>"),),
        Seen(status=409),
        before=CHAMPION
        + (
            must("GET", "/promotions/<promotion>", keep="older", member="id", by="lead"),
            train("exp-better", 0.95),
            promote("exp-better", by="lead"),
        ),
    ),
    Attack(
        "a_rollback_of_a_rollback",
        "lead",
        (roll_back("<back>"),),
        Seen(status=409),
        before=CHAMPION + (must("POST", "/promotions/<promotion>:rollback", keep="back", member="id", by="lead"),),
    ),
    Attack("a_rollback_twice", "lead", (roll_back(),), Seen(status=409), before=CHAMPION + (roll_back(by="lead"),)),
    Attack("a_rollback_of_one_that_was_rejected", "lead", (roll_back(),), Seen(status=409), before=WORSE + (promote("exp-bad"),)),
    Attack("a_rollback_by_a_viewer", "viewer", (roll_back(),), Seen(status=401), before=CHAMPION),
    Attack("a_rollback_by_a_reviewer", "reviewer", (roll_back(),), Seen(status=401), before=CHAMPION),
]

HONEST = [
    Attack(
        "the_first_champion",
        "lead",
        (promote("exp-champion"),),
        Seen(state="promoted", winner="exp-champion"),
        before=(train("exp-champion", 0.9, by="dev2"),),
    ),
    Attack("a_better_one", "dev", (promote("exp-better"),), BETTER_WINS, before=CHAMPION + (train("exp-better", 0.95),)),
    Attack("just_better_enough", "dev", (promote("exp-better"),), BETTER_WINS, before=CHAMPION + (train("exp-better", 0.905),)),
    Attack(
        "better_by_a_run",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        before=CHAMPION + (train("exp-better"), log_run("exp-better", {"accuracy": 0.95})),
    ),
    Attack(
        "better_after_runs_of_the_champion",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        before=CHAMPION + (log_run("<exp-champion>", {"accuracy": 0.99}, by="ci"), train("exp-better", 0.95)),
    ),
    Attack(
        "the_same_again_after_a_rollback",
        "lead",
        (promote("exp-champion"),),
        Seen(state="promoted", winner="exp-champion"),
        policy=gate(metrics=[ACCURACY]),
        before=CHAMPION + (roll_back(by="lead"),),
    ),
    Attack(
        "better_after_a_rollback",
        "lead",
        (promote("exp-better"),),
        BETTER_WINS,
        before=CHAMPION + (roll_back(by="lead"), train("exp-better", 0.95)),
    ),
    Attack(
        "better_than_the_champion_but_not_than_the_best_ever",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        baseline("last"),
        before=PEAK + (train("exp-better", 0.92, source="<main>", by="dev"),),
    ),
    Attack(
        "better_than_the_best_ever",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        baseline("best_ever"),
        before=PEAK + (train("exp-better", 0.96, source="<main>", by="dev"),),
    ),
    Attack(
        "nothing_to_compare_with_after_a_rollback",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        baseline("none"),
        before=CHAMPION + (roll_back(by="lead"), train("exp-better", 0.51, source="<main>", by="dev")),
    ),
    Attack(
        "a_champion_of_a_policy_without_metrics",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        policy=gate("metrics"),
        before=(train("exp-better"),),
    ),
    Attack(
        "a_policy_that_no_longer_compares",
        "dev",
        (promote("exp-better"),),
        BETTER_WINS,
        before=CHAMPION + (set_policy(gate(metrics=[ACCURACY]), by="lead"), train("exp-better", 0.6)),
    ),
]
