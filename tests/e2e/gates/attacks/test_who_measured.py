"""Measurements are those of the people who measured, of the exact commit that they measured."""

from attack import ACCURACY, Attack, Seen, gate, test_attack, test_honest  # noqa: F401
from steps import ask, commit, log_run, merge, promote, refused, train, write

PLAIN = gate(metrics=[ACCURACY])
MISSING = Seen(state="rejected", code="metric_missing", rules=(("exp-bad", "metric_missing"),))
GOOD_WINS = Seen(state="promoted", winner="exp-good")


def refused_by(code):
    missing = "metric_missing" if code == "untrusted_origin" else "gate_failed"
    return Seen(state="rejected", code=missing, rules=(("exp-bad", code),))


def trusting(*sources):
    return gate(metrics=[{**ACCURACY, "trust": list(sources)}])


def measured_in(path, text, **metadata):
    return train("exp-bad", files={"artifacts/model.pkl": "bad", path: text}, meta=metadata, by="dev")


# How a key of the metadata is written, that is not the metric's.
NAMES = {
    "capital": "metric.Accuracy",
    "cyrillic": "metric.\u0430ccuracy",
    "zero_width": "metric.accuracy\u200b",
    "blank_behind": "metric.accuracy ",
    "tab_in_front": "metric.\taccuracy",
    "dot_behind": "metric.accuracy.",
    "capital_key": "Metric.accuracy",
    "two_dots": "metric..accuracy",
    "split_in_the_name": "metric.accuracy@val",
    "bare_capital": "Accuracy",
    "bare_blank": " accuracy",
    "parameter": "param.accuracy",
    "no_name": "metric.",
}
# Values that are no number, or no good one.
VALUES = {
    "comma": ("0,97", ""),
    "percent": ("97%", ""),
    "hexadecimal": ("0x1p-1", ""),
    "empty": ("", ""),
    "word_behind": ("0.97abc", ""),
    "truth": ("true", ""),
    "digits_of_another_script": ("\u0660.\u0669\u0667", ""),
    "underscores": ("0_97", ""),
    "a_list": ("[0.97]", ""),
    "two_numbers": ("0.97 0.98", ""),
    "not_a_number": ("NaN", "not_finite"),
    "minus_not_a_number": ("-nan", "not_finite"),
    "infinite": ("inf", "not_finite"),
    "past_all_numbers": ("1e400", "not_finite"),
    "four_hundred_digits": ("9" * 400, "not_finite"),
    "too_good": ("1.0000001", "above_max"),
    "negative": ("-0.97", "below_min"),
    "minus_nought": ("-0", "below_min"),
    "nearly_nought": ("1e-400", "below_min"),
}
# Files that say nothing that counts, and how their text reads.
FILES = {
    "outside_of_the_globs": ("notes/accuracy.json", '{"accuracy": 0.97}'),
    "packed": ("metrics/a.json.gz", '{"accuracy": 0.97}'),
    "text": ("metrics/a.txt", "accuracy 0.97"),
    "nested": ("metrics/a.json", '{"best": {"accuracy": 0.97}}'),
    "with_the_prefix_of_metadata": ("metrics/a.json", '{"metric.accuracy": 0.97}'),
    "with_a_capital": ("metrics/a.json", '{"Accuracy": 0.97}'),
    "cut_in_the_number": ("metrics/a.json", '{"accuracy": 0.97'),
    "no_json": ("metrics/a.json", "accuracy = 0.97"),
    "with_a_leading_dot": ("metrics/a.json", '{"accuracy": .97}'),
    "a_word": ("metrics/a.json", '{"accuracy": "best"}'),
    "empty": ("metrics/a.json", ""),
    "directory_alike": ("metrics.json/accuracy", "0.97"),
}
FILES_THAT_ARE_REFUSED = {
    "of_duplicate_keys": ("metrics/a.json", '{"accuracy": 0.1, "accuracy": 0.97}'),
    "of_lines_out_of_order": ("metrics/a.csv", "step,accuracy\n100,0.4\n10,0.97\n"),
    "of_json_lines_out_of_order": ("metrics/a.jsonl", '{"step": 100, "accuracy": 0.4}\n{"step": 10, "accuracy": 0.97}\n'),
    "of_mlflow_out_of_order": ("mlruns/1/r/metrics/accuracy", "1795302512050 0.4 100\n1795302512051 0.97 10\n"),
}
RUN_VALUES = {"hexadecimal": "0x1p-1", "comma": "0,9", "word": "good", "empty": "", "underscores": "0_9"}
RUN_VALUES_OF_JSON = {"truth": True, "nothing": None, "a_list": [0.97], "an_object": {"value": 0.97}}

ATTACKS = (
    [
        # Other people's commits.
        Attack(
            "a_low_run_of_somebody_elses_commit",
            "dev",
            (refused(log_run("<exp-good>", {"accuracy": 0.1}), 401, 403), promote("exp-good", by="lead")),
            GOOD_WINS,
            PLAIN,
            before=(train("exp-good", 0.95, by="dev2"),),
        ),
        Attack(
            "a_low_run_of_somebody_elses_branch",
            "dev",
            (refused(log_run("exp-good", {"accuracy": 0.1}), 401, 403), promote("exp-good", by="lead")),
            GOOD_WINS,
            PLAIN,
            before=(train("exp-good", 0.95, by="dev2"),),
        ),
        Attack(
            "a_run_without_a_number_of_somebody_elses_commit",
            "dev",
            (refused(log_run("<exp-good>", {"accuracy": "NaN"}), 401, 403), promote("exp-good", by="lead")),
            GOOD_WINS,
            PLAIN,
            before=(train("exp-good", 0.95, by="dev2"),),
        ),
        Attack(
            "a_low_run_over_somebody_elses_run",
            "dev",
            (refused(log_run("<exp-good>", {"accuracy": 0.1}), 401, 403), promote("exp-*", by="lead")),
            GOOD_WINS,
            PLAIN,
            before=(
                train("exp-good", by="dev2"),
                log_run("<exp-good>", {"accuracy": 0.95}, by="dev2"),
                train("exp-bad", 0.8, by="dev"),
            ),
        ),
        Attack(
            "a_run_by_a_viewer",
            "viewer",
            (log_run("<exp-bad>", {"accuracy": 0.97}),),
            Seen(status=401),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_by_a_reviewer",
            "reviewer",
            (log_run("exp-bad", {"accuracy": 0.97}),),
            Seen(status=401),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_of_a_commit_that_is_not_there",
            "dev",
            (log_run("<nowhere>", {"accuracy": 0.97}),),
            Seen(status=(400, 404)),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        # Another commit than the one that was measured.
        Attack(
            "a_metric_of_the_commit_before",
            "dev",
            (write("exp-bad", "artifacts/model.pkl", "worse"), commit("exp-bad"), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-bad", 0.97, by="dev"),),
        ),
        Attack(
            "a_run_of_the_commit_before",
            "dev",
            (
                log_run("<exp-bad>", {"accuracy": 0.97}),
                write("exp-bad", "artifacts/model.pkl", "worse"),
                commit("exp-bad"),
                promote("exp-bad"),
            ),
            MISSING,
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_file_that_is_not_committed",
            "dev",
            (write("exp-bad", "metrics/a.json", '{"accuracy": 0.97}'), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_of_a_parent_by_its_expression",
            "dev",
            (log_run("exp-bad~1", {"accuracy": 0.97}), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-bad", 0.1, by="dev"), write("exp-bad", "x", "x", by="dev"), commit("exp-bad", by="dev")),
        ),
        Attack(
            "metrics_by_a_cherry_pick",
            "dev",
            (ask("POST", "/branches/exp-bad/cherry-pick", json={"ref": "<exp-lucky>"}), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-lucky", 0.97, files={"notes.txt": "n"}, by="dev"), train("exp-bad", by="dev")),
        ),
        Attack(
            "a_bare_metric_by_a_cherry_pick",
            "dev",
            (ask("POST", "/branches/exp-bad/cherry-pick", json={"ref": "<exp-lucky>"}), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(
                train("exp-lucky", files={"notes.txt": "n"}, meta={"accuracy": "0.97"}, by="dev"),
                train("exp-bad", by="dev"),
            ),
        ),
        Attack(
            "metrics_by_the_merge_of_another",
            "dev",
            (merge("exp-lucky", "exp-bad"), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-lucky", 0.97, files={"notes.txt": "n"}, by="dev"), train("exp-bad", by="dev")),
        ),
        Attack(
            "a_run_that_claims_another_branch",
            "dev",
            (log_run("<exp-bad>", {"accuracy": 0.97}, branch="main"),),
            Seen(status=400),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
            over=("rest",),
        ),
        Attack(
            "a_metric_file_by_the_merge_of_another",
            "dev",
            (merge("exp-lucky", "exp-bad"), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-lucky", files={"metrics/a.json": '{"accuracy": 0.97}'}, by="dev"), train("exp-bad", by="dev")),
        ),
        Attack(
            "metrics_in_the_metadata_of_a_merge",
            "dev",
            (merge("exp-lucky", "exp-bad", metadata={"metric.accuracy": "0.97"}), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-lucky", files={"notes.txt": "n"}, by="dev"), train("exp-bad", by="dev")),
        ),
        Attack(
            "the_metric_file_of_the_champion",
            "dev",
            (promote("exp-bad"),),
            MISSING,
            PLAIN,
            before=(
                train("exp-champion", files={"metrics/a.json": '{"accuracy": 0.97}', "artifacts/model.pkl": "9"}, by="dev2"),
                promote("exp-champion", by="lead"),
                train("exp-bad", by="dev"),
            ),
        ),
        Attack(
            "metrics_by_a_revert",
            "dev",
            (ask("POST", "/branches/exp-bad/revert", json={"ref": "exp-bad", "parent_number": 1}), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(
                train("exp-bad", 0.97, by="dev"),
                write("exp-bad", "artifacts/model.pkl", "worse", by="dev"),
                commit("exp-bad", by="dev"),
            ),
        ),
        # Origins that the policy does not trust.
        Attack(
            "a_run_where_metadata_is_trusted",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            refused_by("untrusted_origin"),
            trusting("commit-metadata"),
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_file_where_metadata_is_trusted",
            "dev",
            (promote("exp-bad"),),
            refused_by("untrusted_origin"),
            trusting("commit-metadata"),
            before=(measured_in("metrics/a.json", '{"accuracy": 0.97}'),),
        ),
        Attack(
            "metadata_where_runs_are_trusted",
            "dev",
            (promote("exp-bad"),),
            refused_by("untrusted_origin"),
            trusting("api"),
            before=(train("exp-bad", 0.97, by="dev"),),
        ),
        Attack(
            "metadata_where_files_are_trusted",
            "dev",
            (promote("exp-bad"),),
            refused_by("untrusted_origin"),
            trusting("file"),
            before=(train("exp-bad", 0.97, by="dev"),),
        ),
        Attack(
            "another_file_than_the_trusted",
            "dev",
            (promote("exp-bad"),),
            refused_by("untrusted_origin"),
            trusting("file:metrics/official.json"),
            before=(measured_in("metrics/a.json", '{"accuracy": 0.97}'),),
        ),
        Attack(
            "another_file_next_to_the_trusted",
            "dev",
            (promote("exp-bad"),),
            refused_by("below_min"),
            trusting("file:metrics/official.json"),
            before=(
                train(
                    "exp-bad",
                    files={
                        "metrics/a.json": '{"accuracy": 0.97}',
                        "artifacts/model.pkl": "bad",
                        "metrics/official.json": '{"accuracy": 0.3}',
                    },
                    by="dev",
                ),
            ),
        ),
        Attack(
            "a_run_of_another_user_than_the_trusted",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            refused_by("untrusted_origin"),
            trusting("api:<user:ci>"),
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_over_that_of_the_trusted_user",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            refused_by("below_min"),
            trusting("api:<user:ci>"),
            before=(train("exp-bad", by="dev"), log_run("exp-bad", {"accuracy": 0.3}, by="ci")),
        ),
        Attack(
            "a_run_where_a_check_is_trusted",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            refused_by("untrusted_origin"),
            gate(metrics=[{**ACCURACY, "from": "check:bench"}]),
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "metadata_where_a_check_is_trusted",
            "dev",
            (promote("exp-bad"),),
            refused_by("untrusted_origin"),
            gate(metrics=[{**ACCURACY, "from": "check:bench"}]),
            before=(train("exp-bad", 0.97, by="dev"),),
        ),
        # Values that differ.
        Attack(
            "a_high_run_over_low_metadata",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            refused_by("ambiguous"),
            PLAIN,
            before=(train("exp-bad", 0.3, by="dev"),),
        ),
        Attack(
            "a_high_run_over_a_low_run",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            refused_by("ambiguous"),
            PLAIN,
            before=(train("exp-bad", by="dev"), log_run("exp-bad", {"accuracy": 0.3}, by="dev")),
        ),
        Attack(
            "a_bare_metric_over_the_metric",
            "dev",
            (promote("exp-bad"),),
            refused_by("ambiguous"),
            PLAIN,
            before=(train("exp-bad", 0.3, meta={"accuracy": "0.98"}, by="dev"),),
        ),
        Attack(
            "a_file_of_ones_own_over_the_official",
            "dev",
            (promote("exp-bad"),),
            refused_by("ambiguous"),
            trusting("file"),
            before=(
                train("exp-bad", files={"metrics/official.json": '{"accuracy": 0.3}', "artifacts/model.pkl": "bad"}, by="dev"),
                write("exp-bad", "metrics/mine.json", '{"accuracy": 0.97}', by="dev"),
                commit("exp-bad", by="dev"),
            ),
        ),
        Attack(
            "a_file_over_metadata",
            "dev",
            (promote("exp-bad"),),
            refused_by("ambiguous"),
            PLAIN,
            before=(measured_in("metrics/a.json", '{"accuracy": 0.97}', **{"metric.accuracy": "0.3"}),),
        ),
        # Splits.
        Attack(
            "a_run_of_another_split",
            "dev",
            (log_run("exp-bad", {"accuracy@val": 0.97}), promote("exp-bad")),
            MISSING,
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_without_the_split",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}), promote("exp-bad")),
            MISSING,
            gate(metrics=[{**ACCURACY, "split": "test"}]),
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_of_a_split_alike",
            "dev",
            (log_run("exp-bad", {"accuracy@Test": 0.97}), promote("exp-bad")),
            MISSING,
            gate(metrics=[{**ACCURACY, "split": "test"}]),
            before=(train("exp-bad", by="dev"),),
        ),
        # Runs that say more than they may.
        Attack(
            "a_run_key_used_again",
            "dev",
            (log_run("exp-bad", {"accuracy": 0.97}, idempotency_key="k"),),
            Seen(status=409),
            PLAIN,
            before=(
                train("exp-bad", by="dev"),
                ask(
                    "POST",
                    "/experiments/e/runs",
                    by="dev",
                    json={"commit": "<exp-bad>", "metrics": {"accuracy": 0.3}, "idempotency_key": "k"},
                ),
            ),
            over=("rest",),
        ),
        Attack(
            "a_metric_twice_in_a_run",
            "dev",
            (
                ask(
                    "POST",
                    "/experiments/e/runs",
                    json={
                        "commit": "<exp-bad>",
                        "metrics": [{"name": "accuracy", "value": 0.1}, {"name": "accuracy", "value": 0.97}],
                    },
                ),
            ),
            Seen(status=400),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_of_a_short_id_as_commit",
            "dev",
            (ask("POST", "/experiments/e/runs", json={"commit": "abc", "metrics": {"accuracy": 0.97}}),),
            Seen(status=400),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_run_of_a_commit_and_a_ref",
            "dev",
            (ask("POST", "/experiments/e/runs", json={"commit": "<exp-bad>", "ref": "main", "metrics": {"accuracy": 0.97}}),),
            Seen(status=400),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        ),
        Attack(
            "a_commit_that_looks_like_a_promotion",
            "dev",
            (commit("exp-bad", {".tarn.promotion": "<promotion>", ".tarn.policy": "gate@1"}, allow_empty=True),),
            Seen(status=400),
            PLAIN,
            before=(train("exp-champion", 0.9, by="dev2"), promote("exp-champion", by="lead"), train("exp-bad", by="dev")),
        ),
    ]
    + [
        Attack(
            f"metadata_named_with_{name}",
            "dev",
            (promote("exp-bad"),),
            MISSING,
            PLAIN,
            before=(train("exp-bad", meta={key: "0.97"}, by="dev"),),
            over=("rest",),
        )
        for name, key in NAMES.items()
    ]
    + [
        Attack(
            f"metadata_of_{name}",
            "dev",
            (promote("exp-bad"),),
            refused_by(code) if code else MISSING,
            PLAIN,
            before=(train("exp-bad", value, by="dev"),),
            over=("rest",),
        )
        for name, (value, code) in VALUES.items()
    ]
    + [
        Attack(f"a_file_{name}", "dev", (promote("exp-bad"),), MISSING, PLAIN, before=(measured_in(path, text),), over=("rest",))
        for name, (path, text) in FILES.items()
    ]
    + [
        Attack(
            f"a_file_{name}",
            "dev",
            (promote("exp-bad"),),
            Seen(state="rejected", code=("gate_failed", "metric_missing")),
            PLAIN,
            before=(measured_in(path, text),),
            over=("rest",),
        )
        for name, (path, text) in FILES_THAT_ARE_REFUSED.items()
    ]
    + [
        Attack(
            f"a_run_of_{name}",
            "dev",
            (log_run("exp-bad", {"accuracy": value}),),
            Seen(status=400),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        )
        for name, value in RUN_VALUES.items()
    ]
    + [
        Attack(
            f"a_run_of_{name}_in_json",
            "dev",
            (ask("POST", "/experiments/e/runs", json={"commit": "<exp-bad>", "metrics": {"accuracy": value}}),),
            Seen(status=400),
            PLAIN,
            before=(train("exp-bad", by="dev"),),
        )
        for name, value in RUN_VALUES_OF_JSON.items()
    ]
)

HONEST = [
    Attack("measured_by_metadata", "dev", (promote("exp-good"),), GOOD_WINS, PLAIN, before=(train("exp-good", 0.95, by="dev"),)),
    Attack(
        "measured_by_bare_metadata",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        PLAIN,
        before=(train("exp-good", meta={"accuracy": "0.95"}, by="dev"),),
    ),
    Attack(
        "measured_by_a_run",
        "dev",
        (log_run("exp-good", {"accuracy": 0.95}), promote("exp-good")),
        GOOD_WINS,
        PLAIN,
        before=(train("exp-good", by="dev"),),
    ),
    Attack(
        "measured_by_somebody_who_may",
        "ci",
        (log_run("exp-good", {"accuracy": 0.95}), promote("exp-good", by="dev")),
        GOOD_WINS,
        PLAIN,
        before=(train("exp-good", by="dev"),),
    ),
    Attack(
        "measured_by_the_trusted_user",
        "ci",
        (log_run("exp-good", {"accuracy": 0.95}), promote("exp-good", by="dev")),
        GOOD_WINS,
        trusting("api:<user:ci>"),
        before=(train("exp-good", by="dev"),),
    ),
    Attack(
        "measured_by_a_file",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        PLAIN,
        before=(train("exp-good", files={"metrics/a.json": '{"accuracy": 0.95}', "artifacts/model.pkl": "g"}, by="dev"),),
    ),
    Attack(
        "measured_alike_by_all",
        "dev",
        (log_run("exp-good", {"accuracy": 0.95}), promote("exp-good")),
        GOOD_WINS,
        PLAIN,
        before=(train("exp-good", 0.95, files={"metrics/a.json": '{"accuracy": 0.95}', "artifacts/model.pkl": "g"}, by="dev"),),
    ),
    Attack(
        "measured_by_a_curve",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        PLAIN,
        before=(
            train("exp-good", files={"metrics/a.csv": "step,accuracy\n1,0.4\n2,0.95\n", "artifacts/model.pkl": "g"}, by="dev"),
        ),
    ),
    Attack(
        "measured_of_a_split",
        "dev",
        (log_run("exp-good", {"accuracy@test": 0.95}), promote("exp-good")),
        GOOD_WINS,
        gate(metrics=[{**ACCURACY, "split": "test"}]),
        before=(train("exp-good", by="dev"),),
    ),
    Attack(
        "measured_by_the_trusted_file",
        "dev",
        (promote("exp-good"),),
        GOOD_WINS,
        trusting("file:metrics/official.json"),
        before=(train("exp-good", files={"metrics/official.json": '{"accuracy": 0.95}', "artifacts/model.pkl": "g"}, by="dev"),),
    ),
]
