#include "core/promotion/policy_keys.h"

#include <array>

#include "core/base/str_cat.h"

namespace tarn::promotion {
namespace {

constexpr std::array<PolicyKey, 132> kKeys{{
    {"name", "name", "", "The name of the policy; `tarn policy apply` takes it from here.",
     "dogs-champion"},
    {"destination", "branch", "",
     "**Required.** The branch that changes by promotion and rollback only.", "main"},
    {"alias", "alias, without `@`", "",
     "Its commit is the champion. Only promotions under this policy and rollbacks move it.",
     "champion"},
    {"candidates", "pattern of branches", "every branch", "The branches that may be promoted.",
     "\"exp-*\""},
    {"compete", "`named` or `all`", "named",
     "`all`: every branch that `candidates` matches is compared, also one that the promotion does "
     "not name; if such a branch ranks first, the promotion is rejected (`outranked`).",
     "all"},
    {"require_ancestor", "ref", "",
     "Must be in the history of each candidate. Resolved when the policy is set.", "dataset-v3"},
    {"unchanged_since", "map", "",
     "The paths of a candidate that must equal those of another commit.", ""},
    {"unchanged_since.ref", "ref", "",
     "**Required** in its map. The other commit, resolved when the policy is set.", "dataset-v3"},
    {"unchanged_since.paths", "list of patterns", "", "**Required** in its map. The paths.",
     "[\"data/**\"]"},
    {"require_up_to_date", "true or false", "false",
     "The head of the destination must be in the history of the candidate.", "true"},
    {"confirm_changes", "true or false", "false",
     "A change of this policy, and its removal, waits until a second user asks for the same.",
     "true"},
    {"baseline", "`last`, `best_ever` or `none`", "last",
     "What candidates are compared with when a rollback left no champion, or a worse one: the last "
     "champion, the best value ever promoted, or nothing.",
     "best_ever"},
    {"remeasure", "list of users", "[]",
     "Users whose newer runs of the champion's commit replace the values that it was promoted "
     "with. Needs `alias`. Do not name users who train. Resolved when the policy is set, as in "
     "`api:USER`.",
     "[bench]"},
    {"method", "list of `merge`, `squash`, `replace-paths`", "all",
     "The methods by which a promotion may change the destination.", "[merge]"},
    {"paths", "list of patterns", "any", "The paths that `replace-paths` may name.",
     "[\"artifacts/**\"]"},
    {"evaluations", "list of maps", "[]",
     "Measurements that the server has made by runners ([evaluations.md](evaluations.md)); at most "
     "8. Setting one needs permission to read its data.",
     ""},
    {"evaluations[].name", "name", "",
     "**Required** in its map. `from: \"evaluation:NAME\"` of a "
     "metric uses it.",
     "digits"},
    {"evaluations[].data", "URI", "",
     "**Required** in its map. The folder with the programs and the data, of any repository; its "
     "commit is the one of the time when the policy is set.",
     "\"tarn://holdout/v3/digits/\""},
    {"evaluations[].inputs", "path", "inputs/", "The part of the folder that `predict` sees.",
     "\"inputs/\""},
    {"evaluations[].predict", "path", "",
     "The program that sees the inputs and the candidate's objects, and writes predictions. "
     "Without it `score` sees the candidate's objects, and must not execute them.",
     "predict.py"},
    {"evaluations[].score", "path", "",
     "**Required** in its map. The program that sees the folder and the predictions, and writes "
     "the values of each example.",
     "score.py"},
    {"evaluations[].reads", "list of patterns", "",
     "**Required** in its map. The objects of the candidate that are measured.",
     "[\"artifacts/model.pkl\"]"},
    {"evaluations[].digits", "number, 0 to 12", "3",
     "Decimals of a value: it is shown, and counts, as rounded.", "3"},
    {"evaluations[].timeout", "time", "10m",
     "The longest time of both programs together; at most 24 h.", "30m"},
    {"evaluations[].memory", "size", "2GiB", "The most memory of each program.", "8GiB"},
    {"evaluations[].labels", "list of names", "[]", "Labels that the runner must have.", "[gpu]"},
    {"evaluations[].runners", "list of users", "any with `fs:RunEvaluation`",
     "Users whose results count. Resolved when the policy is set, as in `api:USER`.", "[runner]"},
    {"evaluations[].budget", "map", "", "How often somebody's work is measured.", ""},
    {"evaluations[].budget.per_author", "number, 1 to 1000", "",
     "**Required** in its map. Measurements in `period` that each author of a candidate may cause; "
     "then `evaluation_budget_spent`. What was measured before is free.",
     "5"},
    {"evaluations[].budget.period", "time", "7d",
     "The time that counts, up to now; at most 365 days.", "7d"},
    {"evaluations[].wait", "time", "1d",
     "How long a promotion waits for results; at most 365 days.", "2h"},
    {"metrics", "list of maps", "[]", "Rules for metrics; at most 64, one per name and split.", ""},
    {"metrics[].name", "text", "", "**Required** in its map, or `match`. The metric.", "accuracy"},
    {"metrics[].match", "pattern of metrics", "",
     "All metrics whose names match, instead of `name`; at most 256 in all patterns. What the "
     "champion has must be there. Excludes `runs`, `cap` and `lower_bound`.",
     "\"slice.*\""},
    {"metrics[].aggregate", "`min`, `mean` or `max`", "",
     "Of `match`: the rule is about this value of all of them, which is called `min(slice.*)` and "
     "ranks like a metric. Without it the rule holds for each of them.",
     "min"},
    {"metrics[].min_count", "number, 1 to 256", "1",
     "Of `match`: how many metrics must match; fewer fail with `slices_missing`.", "10"},
    {"metrics[].goal", "`max` or `min`", "",
     "Which direction is better. Needed for ranking and for `vs_champion` with `delta`.", "max"},
    {"metrics[].min", "number", "", "The least value, inclusive.", "0.6"},
    {"metrics[].max", "number", "", "The greatest value, inclusive.", "1.0"},
    {"metrics[].vs_champion", "map", "",
     "The distance from the champion; at least one bound. Needs `alias`.", ""},
    {"metrics[].vs_champion.min_delta", "number", "",
     "Better than the champion by at least this; negative: worse by at most.", "0.005"},
    {"metrics[].vs_champion.max_delta", "number", "",
     "Better by at most this: a larger step is suspicious.", "0.5"},
    {"metrics[].vs_champion.min_relative_delta", "number", "",
     "Better by at least this share of the champion's value.", "0.01"},
    {"metrics[].vs_champion.max_increase", "number, 0 or more", "",
     "Greater than the champion's value by at most this.", "5"},
    {"metrics[].vs_champion.max_decrease", "number, 0 or more", "",
     "Less than the champion's value by at most this.", "0.01"},
    {"metrics[].vs_champion.max_relative_increase", "number, 0 or more", "",
     "Greater by at most this share of the champion's value.", "0.02"},
    {"metrics[].vs_champion.max_relative_decrease", "number, 0 or more", "",
     "Less by at most this share of the champion's value.", "0.02"},
    {"metrics[].vs_champion.lower_bound", "number", "",
     "The improvement over the champion is above this, beyond chance: its lower confidence bound, "
     "corrected for the candidates and tries that were compared. Needs `runs`, or an evaluation. "
     "Else `not_distinguishable`.",
     "0"},
    {"metrics[].vs_champion.confidence", "number, 0.5 to 0.9999", "0.95",
     "The confidence of `lower_bound`, and of the order of candidates by the primary metric.",
     "0.99"},
    {"metrics[].vs_champion.test", "`welch`, `paired_bootstrap` or `mcnemar`", "welch",
     "How `lower_bound` is computed ([statistics.md](statistics.md)): `welch` of `runs`, the "
     "others "
     "of the examples of an evaluation, `paired_bootstrap` unless said; `mcnemar` for values of 0 "
     "and 1, with a `lower_bound` of 0.",
     "welch"},
    {"metrics[].vs_champion.cap", "map", "",
     "A bound on the value of one champion that claimed too much, so that nobody could follow it. "
     "Needs `goal`.",
     ""},
    {"metrics[].vs_champion.cap.commit", "id of a commit", "",
     "**Required** in its map. The champion's whole commit id, or that of the promoted candidate; "
     "the cap has no effect on others.",
     "1111111111111111111111111111111111111111111111111111111111111111"},
    {"metrics[].vs_champion.cap.value", "number", "",
     "**Required** in its map. The champion's value counts as no better than this.", "0.93"},
    {"metrics[].vs_champion.cap.reason", "text", "",
     "**Required** in its map. Why; evidence and verdicts say it.", "measured on five images"},
    {"metrics[].vs_champion.floor", "map", "",
     "A bound on drift, over several promotions. Promotions that were rolled back do not count.",
     "{of_last: 10, max_drop: 0.01}"},
    {"metrics[].vs_champion.floor.of_last", "number, 1 to 200", "",
     "**Required** in its map. How many champions are compared with, the last that were promoted.",
     "10"},
    {"metrics[].vs_champion.floor.max_drop", "number, 0 or more", "",
     "**Required** in its map. Worse than the best of them by at most this.", "0.01"},
    {"metrics[].primary", "true or false", "false",
     "Ranks the candidates that pass; of one metric at most, which needs `goal`.", "true"},
    {"metrics[].trust", "list of sources", "runs, metadata and files, which must agree",
     "The sources of values, the first that has one counts: `api`, `api:USER`, `commit-metadata`, "
     "`file`, `file:PATTERN`, `check`, `check:NAME`. The user of `api:USER` is the one of the time "
     "when the policy is set: who is created later under the name is another. Excludes `from`.",
     "[\"api:bench\", file]"},
    {"metrics[].from", "source", "",
     "One source alone; also `evaluation:NAME`, whose metrics are the names of its values, and "
     "`slice.SLICE.NAME`. Excludes `trust`.",
     "\"check:bench\""},
    {"metrics[].runs", "map", "",
     "Repeated measurements: the mean of several runs of one commit counts, and no value of "
     "another "
     "source. Excludes `trust` and `from`.",
     ""},
    {"metrics[].runs.min", "number, 1 to 100", "",
     "**Required** in its map. How many measurements a candidate needs; fewer fail with "
     "`replicates_missing`.",
     "5"},
    {"metrics[].runs.max", "number, `min` to 100", "as `min`",
     "The first so many count; later ones are listed. More than `min` lets who measures stop when "
     "the mean is good.",
     "10"},
    {"metrics[].runs.by", "`param.NAME`", "",
     "**Required** in its map. The parameter that tells the runs apart. The first run of a value "
     "counts; later ones are listed.",
     "param.seed"},
    {"metrics[].runs.aggregate", "`mean`", "mean", "The mean counts; there is no other value.",
     "mean"},
    {"metrics[].runs.reporter", "`api:USER`", "any user",
     "The user whose runs count, as in `trust`.", "\"api:bench\""},
    {"metrics[].split", "text", "", "The split of the data on which the metric was measured.",
     "validation"},
    {"promoted_values", "true or false", "false",
     "Where a metric has no value of a commit that another gate's promotion made, that of the "
     "promoted "
     "candidate counts, from runs and metadata, if the objects that `objects.required` names are "
     "the "
     "same byte for byte. Needs `objects.required`.",
     "true"},
    {"scores", "list of maps", "[]",
     "Weighted sums of metrics, which rank, are compared and shown like metrics; at most 16.", ""},
    {"scores[].name", "text", "", "**Required** in its map. No metric of the policy has it.",
     "quality"},
    {"scores[].sum", "map of metrics and weights", "",
     "**Required** in its map. At most 16 metrics of the policy, as `NAME` or `NAME@SPLIT`, and "
     "their weights; a negative one subtracts.",
     "{\"accuracy@train\": 1, \"accuracy@validation\": -1}"},
    {"scores[].goal", "`max` or `min`", "", "As in `metrics`.", "max"},
    {"scores[].min", "number", "", "The least value, inclusive.", "0.8"},
    {"scores[].max", "number", "", "The greatest value, inclusive.", "0.05"},
    {"scores[].vs_champion", "map", "",
     "As in `metrics`, without `lower_bound` and `cap`. Needs `alias`.", "{min_delta: 0.01}"},
    {"scores[].primary", "true or false", "false", "As in `metrics`; of one of both at most.",
     "true"},
    {"any", "list of maps", "[]",
     "Rules of which only some must hold; at most 16. A metric or score that is named here does "
     "not "
     "fail by itself, and does not rank.",
     ""},
    {"any[].of", "number", "", "**Required** in its map. How many of them must hold.", "1"},
    {"any[].rules", "list of metrics and scores", "",
     "**Required** in its map. Their names, as `NAME` or `NAME@SPLIT`.", "[accuracy@train, m]"},
    {"tie_break", "list", "[]",
     "Ranks candidates with equal primary metrics: metrics of the policy with a goal, "
     "`model_bytes` (smaller; needs `objects.required`), `created_at` (the commit was stored, and "
     "the "
     "runs that count were recorded, first by the server's clock).",
     "[created_at]"},
    {"objects", "map", "", "Rules for the objects of candidates and of the result.", ""},
    {"objects.required", "list of patterns", "[]",
     "Each must match an object of the candidate, which the result must have byte for byte.",
     "[\"artifacts/model.pkl\"]"},
    {"objects.measured", "list of patterns", "`objects.required`",
     "Patterns of `objects.required` that values of files depend on. A change of another required "
     "object, such as a README, makes no value old.",
     "[\"artifacts/model.pkl\"]"},
    {"objects.min_bytes", "size", "1", "The least size of each required object.", "1KiB"},
    {"objects.unchanged", "list of patterns", "[\"_lakefs_actions/**\"]",
     "Paths that a promotion may not touch. A list adds to the preset; an empty list permits "
     "changes of action files, for which the promoter needs `fs:WriteHooks`.",
     "[\"conf/**\"]"},
    {"objects.forbid", "list of patterns", "[]",
     "Paths that a promotion may not add or change, without regard to case.", "[\"**/*.csv.gpg\"]"},
    {"objects.keep", "list of patterns", "[]", "Paths that a promotion may not remove.",
     "[\"docs/**\"]"},
    {"objects.max_total_bytes", "size", "", "The most bytes of the candidate, and of the result.",
     "2GiB"},
    {"checks", "map", "", "Checks that others report.", ""},
    {"checks.required", "list of names", "[]",
     "Checks that must report success of the winner's commit (`tarn promote check`).", "[bench]"},
    {"checks.timeout", "time", "1h", "How long a promotion waits for them; at most 365 days.",
     "2h"},
    {"checks.on_commit", "`exact`", "exact", "A check is of one commit; there is no other value.",
     "exact"},
    {"attempts", "map", "",
     "Promotions of one candidate that may end without success; see `attempts.max`.", ""},
    {"attempts.max", "number, 0 to 100", "0",
     "How many promotions of the candidate's branch, of commits in its history, or of the same "
     "required objects may have failed, been rejected or cancelled in `attempts.per`; 0: any.",
     "3"},
    {"attempts.per", "time", "7d", "The time that counts, up to now; at most 365 days.", "7d"},
    {"approvals", "map", "", "Approvals by people (`tarn promote approve`).", ""},
    {"approvals.count", "number, 0 to 100", "0", "How many users must approve the winner.", "1"},
    {"approvals.not_author", "true or false", "true",
     "Users who made or recorded the candidate's commits do not count.", "true"},
    {"approvals.not_promoter", "true or false", "true",
     "The user who began the promotion does not count.", "true"},
    {"approvals.sticky_reject", "true or false", "false",
     "A commit that was rejected cannot be promoted later either.", "true"},
    {"approvals.stale_on_new_commit", "true or false", "true",
     "A new commit of the candidate voids approvals.", "false"},
    {"approvals.groups", "list of maps", "[]",
     "Groups whose members must be among those who approve. One user counts for one group only.",
     "[{name: legal, count: 1}, {name: ml-leads, count: 1}]"},
    {"approvals.groups[].name", "name of a group", "",
     "**Required** in its map. The group of the time when the policy is set: one that is created "
     "later under the name is another.",
     "legal"},
    {"approvals.groups[].count", "number, 1 to 100", "1", "How many of its members must approve.",
     "2"},
    {"card", "map", "",
     "The model card that a candidate needs, which the result must have byte for byte.", ""},
    {"card.path", "path", "",
     "**Required** in its map. A YAML or JSON object, or a Markdown object with front matter.",
     "MODEL_CARD.md"},
    {"card.required", "list of fields", "",
     "**Required** in its map. Fields that must be there and not empty; `limits.age` is a field "
     "of the map `limits`.",
     "[intended_use, data, limits]"},
    {"rollback", "map", "as `approvals`",
     "Approvals of rollbacks. Who may count is as `approvals` says.", ""},
    {"rollback.approvals", "number, 0 to 100", "",
     "**Required** in its map. How many users must approve a rollback.", "1"},
    {"rollback.groups", "list of maps", "[]",
     "Groups whose members must be among them, as in `approvals.groups`.",
     "[{name: on-call, count: 1}]"},
    {"stages", "list of maps", "[]",
     "Aliases that the winner has one after the other before it is promoted; at most 8. The last "
     "is "
     "`alias`, and to enter it is the promotion.",
     ""},
    {"stages[].alias", "alias, without `@`", "",
     "**Required** in its map. Only promotions under this policy and rollbacks move it.", "canary"},
    {"stages[].soak", "time", "0",
     "How long the winner has the alias at least before it goes on; at most 365 days. Of the last "
     "stage: how long after the promotion its checks take it back.",
     "24h"},
    {"stages[].checks", "list of names", "[]",
     "Checks that must report success while the winner has the alias (`tarn promote check`). A "
     "failure takes all aliases back; of the last stage, it rolls the promotion back.",
     "[canary-errors]"},
    {"stages[].approvals", "map", "",
     "Approvals to enter the stage, given after the winner entered the stage before. Not of the "
     "first, which is entered with `approvals`. Who may count is as `approvals` says.",
     ""},
    {"stages[].approvals.count", "number, 0 to 100", "0", "How many users must approve.", "1"},
    {"stages[].approvals.groups", "list of maps", "[]",
     "Groups whose members must be among them, as in `approvals.groups`.",
     "[{name: risk, count: 1}]"},
    {"after", "map", "", "What happens in the transaction of the promotion.", ""},
    {"after.tag", "template", "",
     "A tag for the new commit, with `{date}`, `{time}`, `{short}`, `{name}` and `{policy}`.",
     "\"model-{date}-{short}\""},
    {"after.webhook", "list of webhooks", "[]",
     "Webhooks that are told of the promotion whatever events they want.", "[deploy]"},
    {"after.losers", "map", "", "The candidates that passed and lost.", ""},
    {"after.losers.expire", "time", "",
     "Their branches expire after this time, if the promoter may delete them; at most 365 days.",
     "14d"},
    {"champion", "map", "", "How long the values of a champion are a bar. Needs `remeasure`.", ""},
    {"champion.expires", "time", "",
     "**Required** in its map. How long after its promotion a champion is compared with as it is; "
     "at "
     "most 365 days. Then promotions that compare with it wait (`champion_stale`) until a user of "
     "`remeasure` measures it again.",
     "90d"},
    {"champion.reevaluate", "time", "7d", "How long such a measurement counts; at most 365 days.",
     "7d"},
    {"freeze", "list of maps", "[]",
     "Windows in which nothing is promoted: a promotion waits (`frozen`). Rollbacks are permitted.",
     ""},
    {"freeze[].days", "list of `mon` to `sun`", "every day",
     "The days on which a daily window begins; each is a window of its own.", "[sat, sun]"},
    {"freeze[].from", "time of day, time of week or moment", "",
     "**Required** in its map. The begin: `\"16:00\"` on each day, `\"fri 16:00\"` each week, or "
     "`\"2026-12-20T00:00:00Z\"` once.",
     "\"fri 16:00\""},
    {"freeze[].to", "as `from`", "",
     "**Required** in its map. The end, exclusive; a time of day that is not after `from` is that "
     "of "
     "the next day.",
     "\"mon 08:00\""},
    {"freeze[].zone", "`UTC` or an offset", "UTC",
     "How far the times of day or week are ahead of UTC. Names of zones are not known, so there is "
     "no daylight saving time.",
     "\"+01:00\""},
    {"freeze[].reason", "text", "", "Why; the promotion that waits says it.", "holidays"},
    {"cooldown", "time", "none",
     "How long after the last promotion that was not rolled back the next one may be; at most 365 "
     "days. Until then it waits (`cooling_down`).",
     "24h"},
}};

constexpr std::string_view kHead =
    "# Keys of a gate policy\n\n"
    "<!-- Generated by `tarnd --print-policy-docs` from core/promotion/policy_keys.cc. -->\n\n"
    "Look up what a gate can demand. [promotion.md](promotion.md) explains gates; `tarn policy "
    "apply -f FILE` sets one; a promotion without a policy needs none (`tarn promote CANDIDATE "
    "--to "
    "BRANCH --metric NAME:max`).\n\n"
    "A policy is YAML or JSON of at most 64 KiB. Unknown keys, repeated keys and values of another "
    "type are refused, with line and column; lists have at most 64 items. Sizes are bytes or "
    "`2GiB`, times `90s`, `30m`, `2h` or `14d`. Patterns are globs of whole paths or names: `*` "
    "stays within a segment, `**` does not.\n\n"
    "| key | value | if absent | meaning | example |\n|---|---|---|---|---|\n";

}  // namespace

std::span<const PolicyKey> policy_keys() { return kKeys; }

std::vector<std::string_view> policy_keys_below(std::string_view map) {
  std::vector<std::string_view> names;
  for (const PolicyKey& key : policy_keys()) {
    const size_t dot = key.path.rfind('.');
    const std::string_view parent =
        dot == std::string_view::npos ? std::string_view() : key.path.substr(0, dot);
    if (parent == map) names.push_back(parent.empty() ? key.path : key.path.substr(dot + 1));
  }
  return names;
}

std::string policy_reference_page() {
  std::string page(kHead);
  for (const PolicyKey& key : policy_keys()) {
    page += str_cat("| `", key.path, "` | ", key.type, " | ",
                    key.preset.empty() ? "" : str_cat("`", key.preset, "`"), " | ", key.meaning,
                    " | ", key.example.empty() ? "" : str_cat("`", key.example, "`"), " |\n");
  }
  return page;
}

}  // namespace tarn::promotion
