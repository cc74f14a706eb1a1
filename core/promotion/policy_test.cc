#include "core/promotion/policy.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/promotion/document_reader.h"

namespace tarn::promotion {
namespace {

constexpr const char* kWhole = R"(name: dogs-champion
destination: main
alias: champion
candidates: "experiment-*"
require_ancestor: dataset-v3
method: [merge, replace-paths]
metrics:
  - {name: accuracy, goal: max, min: 0.60, max: 1.0, vs_champion: {min_delta: 0.005}, primary: true, trust: [check, api]}
  - {name: loss, goal: min, vs_champion: {max_relative_increase: 0.02}}
  - {name: p95_latency_ms, goal: min, max: 100, from: "check:bench"}
  - {name: f1, split: validation, from: "file:metrics/**/*.json"}
tie_break: [loss, model_bytes, created_at]
objects: {required: ["artifacts/model.pkl","config/config.json"],
          forbid: ["**/*.csv.gpg"], max_total_bytes: 2GiB}
checks: {required: ["bench","fairness"], timeout: 2h, on_commit: exact}
approvals: {count: 1, not_author: true, stale_on_new_commit: false}
after: {tag: "model-{date}-{short}", webhook: [deploy], losers: {expire: 14d}}
)";

std::string failure(const std::string& text) {
  try {
    parse_gate_policy(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.reason(), "policy_invalid");
    return error.message();
  }
  return "";
}

TEST(GatePolicy, IsReadWhole) {
  const GatePolicy policy = parse_gate_policy(kWhole);
  EXPECT_EQ(policy.name, "dogs-champion");
  EXPECT_EQ(policy.destination.str(), "main");
  EXPECT_EQ(policy.alias, "champion");
  EXPECT_EQ(policy.candidates, Glob("experiment-*"));
  EXPECT_EQ(policy.require_ancestor, "dataset-v3");
  EXPECT_TRUE(policy.permits(PromotionMethod::kReplacePaths));
  EXPECT_FALSE(policy.permits(PromotionMethod::kSquash));

  ASSERT_EQ(policy.metrics.size(), 4u);
  MetricRule accuracy{
      .name = "accuracy",
      .goal = MetricGoal::kMax,
      .min = 0.6,
      .max = 1.0,
      .primary = true,
      .trusted = {{.origin = MetricOrigin::kCheck}, {.origin = MetricOrigin::kApi}}};
  accuracy.vs_champion[static_cast<size_t>(ChampionBound::kMinDelta)] = 0.005;
  EXPECT_EQ(policy.metrics[0], accuracy);
  MetricRule loss{.name = "loss", .goal = MetricGoal::kMin};
  loss.vs_champion[static_cast<size_t>(ChampionBound::kMaxRelativeIncrease)] = 0.02;
  EXPECT_EQ(policy.metrics[1], loss);
  EXPECT_EQ(policy.metrics[2],
            (MetricRule{.name = "p95_latency_ms",
                        .goal = MetricGoal::kMin,
                        .max = 100,
                        .trusted = {{.origin = MetricOrigin::kCheck, .check = "bench"}}}));
  EXPECT_EQ(policy.metrics[3], (MetricRule{.name = "f1",
                                           .split = "validation",
                                           .trusted = {{.origin = MetricOrigin::kFile,
                                                        .file = Glob("metrics/**/*.json")}}}));

  EXPECT_EQ(policy.tie_break, (std::vector<TieBreak>{{TieBreak::Kind::kMetric, "loss"},
                                                     {TieBreak::Kind::kModelBytes},
                                                     {TieBreak::Kind::kCreatedAt}}));
  EXPECT_EQ(policy.objects,
            (ObjectRules{.required = {Glob("artifacts/model.pkl"), Glob("config/config.json")},
                         .unchanged = {Glob("_lakefs_actions/**")},
                         .forbid = {Glob("**/*.csv.gpg")},
                         .max_total_bytes = uint64_t{2} << 30}));
  EXPECT_EQ(policy.checks,
            (CheckRules{.required = {"bench", "fairness"}, .timeout = std::chrono::hours{2}}));
  EXPECT_EQ(policy.approvals,
            (ApprovalRules{.count = 1, .not_author = true, .stale_on_new_commit = false}));
  EXPECT_EQ(policy.after, (AfterPromotion{.tag = "model-{date}-{short}",
                                          .webhooks = {"deploy"},
                                          .losers_expire = std::chrono::hours{14 * 24}}));
}

TEST(GatePolicy, JsonIsYaml) {
  const GatePolicy yaml = parse_gate_policy(
      "name: p\ndestination: main\nmetrics: [{name: a, goal: max, min: 0.5, primary: true}]\n");
  EXPECT_EQ(parse_gate_policy("{\n\t\"name\": \"p\",\n\t\"destination\": \"main\",\n\t\"metrics\": "
                              "[{\"name\":\"a\",\"goal\":\"max\",\"min\":5e-1,\"primary\":true}]}"),
            yaml);
}

TEST(GatePolicy, RequiresUnchangedHooksByDefault) {
  const GatePolicy policy = parse_gate_policy("destination: main");
  EXPECT_EQ(policy.name, "");
  EXPECT_EQ(policy.objects.unchanged, std::vector<Glob>{Glob("_lakefs_actions/**")});
  EXPECT_TRUE(policy.approvals.not_author);
  EXPECT_TRUE(policy.approvals.stale_on_new_commit);
  EXPECT_EQ(policy.checks.timeout, std::chrono::hours{1});
  EXPECT_TRUE(policy.permits(PromotionMethod::kMerge));
  EXPECT_EQ(parse_gate_policy("destination: main\nobjects: {unchanged: [\"_lakefs_actions/**\"]}")
                .objects.unchanged,
            policy.objects.unchanged);
  EXPECT_TRUE(
      parse_gate_policy("destination: main\nobjects: {unchanged: []}").objects.unchanged.empty());
  EXPECT_EQ(parse_gate_policy("destination: main\nobjects: {unchanged: [a]}").objects.unchanged,
            (std::vector<Glob>{Glob("a"), Glob("_lakefs_actions/**")}));
}

TEST(GatePolicy, WarnsOfRulesThatDecideNothing) {
  const auto warnings = [](const std::string& rules) {
    return warnings_of(parse_gate_policy("destination: main\n" + rules));
  };
  for (const char* nothing :
       {"", "alias: c\n", "tie_break: [created_at]\n", "objects: {unchanged: []}\n",
        "method: [merge]\n", "approvals: {count: 0}\n", "metrics: [{name: a}]\n",
        "metrics: [{name: a, goal: max, primary: true}, {name: b, goal: max}]\n",
        "metrics: [{name: \u0430ccuracy, min: 0.5}]\n",
        "metrics: [{name: a, min: 0.5, split: t\u0435st}]\n",
        "metrics: [{name: a, min: 1, trust: ['api:nobody']}]\n",
        "metrics: [{name: a, min: 1, runs: {min: 2, by: param.s, reporter: 'api:nobody'}}]\n",
        "alias: c\nmetrics: [{name: a, goal: max, runs: {min: 2, by: param.s}, vs_champion: "
        "{lower_bound: 0}}]\n"}) {
    EXPECT_EQ(warnings(nothing).size(), 1u) << nothing;
  }
  for (const char* something :
       {"metrics: [{name: a, min: 0}]\n", "metrics: [{name: a, max: 0}]\n",
        "metrics: [{name: a, goal: max}]\n", "metrics: [{name: a, goal: max, primary: true}]\n",
        "metrics: [{name: a, goal: max}, {name: b, goal: max}]\ntie_break: [b]\n",
        "candidates: 'exp-*'\n", "require_ancestor: v1\n", "require_up_to_date: true\n",
        "unchanged_since: {ref: v1, paths: [a]}\n", "approvals: {count: 1}\n",
        "checks: {required: [bench]}\n", "objects: {required: [m]}\n", "objects: {forbid: [m]}\n",
        "objects: {keep: [m]}\n", "objects: {unchanged: [m]}\n",
        "objects: {max_total_bytes: 1GiB}\n"}) {
    EXPECT_EQ(warnings(something).size(), 0u) << something;
  }
}

TEST(GatePolicy, WarnsOfBoundsThatPermitDrift) {
  const auto count = [](const std::string& goal, const std::string& bounds) {
    return warnings_of(
               parse_gate_policy(str_cat("destination: main\nalias: c\nmetrics: [{name: a, ", goal,
                                         "vs_champion: {", bounds, "}}]\n")))
        .size();
  };
  for (const char* drifts : {"min_delta: -0.01", "min_relative_delta: -0.01", "max_decrease: 0.01",
                             "max_relative_decrease: 0.01", "min_delta: -0.01, max_delta: 1"}) {
    EXPECT_EQ(count("goal: max, ", drifts), 1u) << drifts;
    EXPECT_EQ(count("goal: max, ", str_cat(drifts, ", floor: {of_last: 3, max_drop: 0.02}")), 0u)
        << drifts;
  }
  for (const char* drifts : {"max_increase: 0.01", "max_relative_increase: 0.01"}) {
    EXPECT_EQ(count("goal: min, ", drifts), 1u) << drifts;
    EXPECT_EQ(count("goal: max, ", drifts), 0u) << drifts;
    EXPECT_EQ(count("", drifts), 0u) << drifts;
  }
  for (const char* holds : {"min_delta: 0", "min_delta: 0.01", "max_decrease: 0", "max_delta: 1",
                            "min_delta: -0.01, max_decrease: 0"}) {
    EXPECT_EQ(count("goal: max, ", holds), 0u) << holds;
  }
}

TEST(GatePolicy, NamesWhoMayMeasureAChampionAgain) {
  EXPECT_TRUE(parse_gate_policy("destination: main\n").remeasure.empty());
  EXPECT_EQ(parse_gate_policy("destination: main\nalias: a\nremeasure: [bench, \"2\"]\n").remeasure,
            (std::vector<PolicyUser>{{"bench"}, {"2"}}));
}

struct Refused {
  const char* text;  ///< follows "destination: main\n", so it begins in line 2
  const char* expected;
};

constexpr Refused kRefused[] = {
    {"metricss: []", "2:1: policy: unknown key \"metricss\", expected some of: name, "},
    {"name: a\nname: a", "3:1: policy: key \"name\" is given twice"},
    {"name: ''", "2:7: name: expected text"},
    {"name: 12", "2:7: name: expected text: write \"12\" in quotes"},
    {"name: true", "2:7: name: expected text: write"},
    {"name: a/b", "2:7: name: expected letters, digits"},
    {"name: [a]", "2:7: name: expected text, found a list"},
    {"alias: -x", "2:8: alias: expected the name of an alias"},
    {"candidates: '[a'", "2:13: candidates: pattern \"[a\": '[' without ']'"},
    {"alias: '@champion'", "2:8: alias: expected the name of an alias, without '@'"},
    {"require_ancestor: '@a$'", "2:19: require_ancestor: "},
    {"require_ancestor: 'a b'", "2:19: require_ancestor: "},
    {"require_ancestor: main$", "2:19: require_ancestor: expected a ref that means a commit"},
    {"method: [rebase]", "2:10: method[0]: expected merge, squash or replace-paths"},
    {"method: merge", "2:9: method: expected a list"},
    {"metrics: {}", "2:10: metrics: expected a list"},
    {"metrics: [5]", "2:11: metrics[0]: expected a map"},
    {"metrics: [{goal: max}]", "2:11: metrics[0]: name or match is missing"},
    {"metrics: [{name: a, goal: up}]", "2:27: metrics[0].goal: expected max or min, found \"up\""},
    {"metrics: [{name: a, min: high}]", "2:26: metrics[0].min: expected a finite number"},
    {"metrics: [{name: a, min: '1'}]", "2:26: metrics[0].min: expected a finite number"},
    {"metrics: [{name: a, min: nan}]", "2:26: metrics[0].min: expected a finite number"},
    {"metrics: [{name: a, max: 1e999}]", "2:26: metrics[0].max: expected a finite number"},
    {"metrics: [{name: a, max: 0x10}]", "2:26: metrics[0].max: expected a finite number"},
    {"metrics: [{name: a, min: 2, max: 1}]", "2:34: metrics[0].max: is less than min"},
    {"metrics: [{name: a}, {name: a}]", "2:22: metrics[1]: there is a rule for metric \"a\""},
    {"metrics: [{name: a, primary: true}]", "2:30: metrics[0].primary: needs a goal"},
    {"metrics: [{name: a, goal: max, primary: yes}]", "metrics[0].primary: expected true or false"},
    {"metrics: [{name: a, goal: max, primary: true}, {name: b, goal: max, primary: true}]",
     "metrics[1]: there is a primary metric already"},
    {"metrics: [{name: a, match: 's.*'}]", "metrics[0]: give name or match, not both"},
    {"metrics: [{match: 's.['}]", "metrics[0].match: pattern \"s.[\""},
    {"metrics: [{match: 's.*'}, {match: 's.*'}]", "metrics[1]: there is a rule for metric \"s.*\""},
    {"metrics: [{match: 's.*', aggregate: sum}]", "aggregate: expected min, mean or max"},
    {"metrics: [{name: a, aggregate: min}]", "metrics[0]: aggregate and min_count need match"},
    {"metrics: [{name: a, min_count: 2}]", "metrics[0]: aggregate and min_count need match"},
    {"metrics: [{match: 's.*', min_count: 0}]", "min_count: expected 1 or more"},
    {"metrics: [{match: 's.*', min_count: 257}]", "min_count: expected a whole number from 0 to"},
    {"metrics: [{match: 's.*', goal: max, primary: true}]", "primary: several values rank nobody"},
    {"metrics: [{match: 's.*', goal: max}]\ntie_break: ['s.*']", "tie_break[0]: expected a metric"},
    {"metrics: [{match: 's.*', runs: {min: 2, by: param.s}}]", "runs: write a rule for each name"},
    {"metrics:\n  - {match: 's.*', goal: max, vs_champion: {lower_bound: 0}}",
     "lower_bound: write a rule for each name"},
    {"metrics:\n  - {match: 's.*', goal: max, vs_champion: {cap: {commit: 12ab, value: 1, reason: "
     "r}}}",
     "cap: write a rule for each name"},
    {"metrics: [{name: 'slice.*', min: 1}]", "2:18: metrics[0].name: holds '*'"},
    {"metrics: [{name: 'a ', min: 1}]", "metrics[0].name: begins or ends with a blank"},
    {"metrics: [{name: ' a', min: 1}]", "metrics[0].name: begins or ends with a blank"},
    {"metrics: [{name: \"a\\t\", min: 1}]", "metrics[0].name: holds control characters"},
    {"metrics: [{name: \"a\u00a0\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: \"a\u00adb\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: \"a\u200bb\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: \"a\u202eb\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: \"a\u2060b\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: \"a\u3000\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: \"a\ufeff\", min: 1}]", "metrics[0].name: holds a character that is not"},
    {"metrics: [{name: a, min: 1, split: 'test '}]", "metrics[0].split: begins or ends with"},
    {"metrics: [{name: a, vs_champion: {}}]", "vs_champion: names no bound"},
    {"metrics: [{name: a, goal: max, vs_champion: {lower_bound: 0}}]",
     "vs_champion.lower_bound: needs several measurements"},
    {"metrics: [{name: a, goal: max, runs: {min: 1, by: param.s}, vs_champion: {lower_bound: 0}}]",
     "vs_champion.lower_bound: needs several measurements"},
    {"metrics: [{name: a, runs: {min: 5, by: param.s}, vs_champion: {lower_bound: 0}}]",
     "lower_bound: needs a goal"},
    {"metrics: [{name: a, goal: max, vs_champion: {confidence: 0.9}}]",
     "confidence and test need lower_bound"},
    {"metrics: [{name: a, goal: max, vs_champion: {lower_bound: 0, confidence: 1}}]",
     "confidence: expected 0.5 to 0.9999"},
    {"metrics: [{name: a, goal: max, vs_champion: {lower_bound: 0, confidence: 0.4}}]",
     "confidence: expected 0.5 to 0.9999"},
    {"metrics: [{name: a, goal: max, vs_champion: {lower_bound: 0, test: student}}]",
     "test: expected welch"},
    {"metrics: [{name: a, goal: max, runs: {min: 2, by: param.s}, vs_champion: {lower_bound: 0}}]",
     "the policy needs \"alias\""},
    {"metrics: [{name: a, runs: {min: 5}}]", "runs: needs min and by"},
    {"metrics: [{name: a, runs: {min: 0, by: param.s}}]", "runs.min: expected 1 or more"},
    {"metrics: [{name: a, runs: {min: 101, by: param.s}}]", "runs.min: expected"},
    {"metrics: [{name: a, runs: {min: 5, max: 4, by: param.s}}]", "runs.max: is less than min"},
    {"metrics: [{name: a, runs: {min: 5, by: seed}}]", "runs.by: expected param.NAME"},
    {"metrics: [{name: a, runs: {min: 5, by: param.}}]", "runs.by: expected param.NAME"},
    {"metrics: [{name: a, runs: {min: 5, by: param.s, aggregate: max}}]", "expected mean"},
    {"metrics: [{name: a, runs: {min: 5, by: param.s, reporter: bench}}]", "runs.reporter: "},
    {"metrics: [{name: a, runs: {min: 5, by: param.s, reporter: api}}]", "expected api:USER"},
    {"metrics: [{name: a, from: api, runs: {min: 5, by: param.s}}]", "give runs, or trust or from"},
    {"metrics: [{name: a, vs_champion: {floor: {of_last: 1, max_drop: 0}}}]",
     "floor: needs a goal"},
    {"metrics: [{name: a, goal: max, vs_champion: {floor: {of_last: 1}}}]",
     "floor: needs of_last and max_drop"},
    {"metrics: [{name: a, goal: max, vs_champion: {floor: {of_last: 0, max_drop: 1}}}]",
     "floor.of_last: expected 1 or more"},
    {"metrics: [{name: a, goal: max, vs_champion: {floor: {of_last: 201, max_drop: 1}}}]",
     "floor.of_last: expected a whole number from 0 to 200"},
    {"metrics: [{name: a, goal: max, vs_champion: {floor: {of_last: 1, max_drop: -1}}}]",
     "floor.max_drop: expected 0 or more"},
    {"metrics: [{name: a, goal: max, vs_champion: {floor: {of_last: 1, max_drop: 0}}}]",
     "so the policy needs \"alias\""},
    {"metrics: [{name: a, vs_champion: {max_delte: 1}}]", "unknown key \"max_delte\""},
    {"metrics: [{name: a, vs_champion: {min_delta: 1}}]", "vs_champion.min_delta: needs a goal"},
    {"metrics: [{name: a, vs_champion: {max_increase: -1}}]", "max_increase: expected 0 or more"},
    {"metrics: [{name: a, goal: max, vs_champion: {min_delta: 2, max_delta: 1}}]",
     "max_delta is less than min_delta"},
    {"metrics: [{name: a, trust: []}]", "metrics[0].trust: is empty"},
    {"metrics: [{name: a, trust: [api, api]}]", "metrics[0].trust[1]: is given twice"},
    {"metrics: [{name: a, trust: [me]}]",
     "metrics[0].trust[0]: expected api, api:USER, commit-metadata"},
    {"metrics: [{name: a, trust: [api], from: api}]", "metrics[0].from: give trust or from"},
    {"metrics: [{name: a, from: 'check:'}]", "metrics[0].from: expected api"},
    {"metrics: [{name: a, from: 'commit-metadata:x'}]", "metrics[0].from: expected api"},
    {"metrics: [{name: a, from: 'file:{'}]", "metrics[0].from: pattern \"{\""},
    {"metrics: [{name: a, goal: max, vs_champion: {min_delta: 1}}]",
     "2:10: metrics: vs_champion compares with the champion, so the policy needs \"alias\""},
    {"alias: a\nremeasure: bench", "3:12: remeasure: expected a list, found \"bench\""},
    {"alias: a\nremeasure: [bench, bench]", "3:20: remeasure[1]: is given twice"},
    {"alias: a\nremeasure: ['']", "remeasure[0]: expected text"},
    {"metrics:\n  - {name: a, from: \"evaluation:e\"}", "is none of `evaluations`"},
    {"metrics:\n  - {name: a, from: evaluation}", "metrics[0].from: expected"},
    {"evaluations: [{name: e, data: \"tarn://hold/v1/d\", score: s.py, reads: [m]}]\nmetrics:\n  - "
     "{name: a, trust: [\"evaluation:e\", api]}",
     "an evaluation is the only source"},
    {"evaluations: [{name: e, data: \"tarn://hold/v1/d\", score: s.py, reads: [m]}]\nmetrics:\n  - "
     "{name: a, goal: max, from: \"evaluation:e\", vs_champion: {lower_bound: 0, test: "
     "welch}}",
     "must be paired_bootstrap or mcnemar"},
    {"metrics:\n  - {name: a, goal: max, runs: {min: 2, by: param.s}, vs_champion: {lower_bound: "
     "0, test: "
     "mcnemar}}",
     "needs an evaluation"},
    {"evaluations: [{name: e, data: \"tarn://hold/v1/d\", score: s.py, reads: [m]}]\nmetrics:\n  - "
     "{name: a, goal: max, from: \"evaluation:e\", vs_champion: {lower_bound: 0.1, test: "
     "mcnemar}}",
     "must be 0 with mcnemar"},
    {"evaluations: [{name: e, data: \"s3://bucket/d\", score: s.py, reads: [m]}]",
     "evaluations[0].data"},
    {"evaluations: [{name: e, data: \"tarn://hold\", score: s.py, reads: [m]}]",
     "evaluations[0].data"},
    {"evaluations: [{name: e, data: \"tarn://hold/v1\", reads: [m]}]", "score is missing"},
    {"evaluations: [{name: e, data: \"tarn://hold/v1\", score: s.py, reads: []}]",
     "nothing would be measured"},
    {"evaluations: [{name: e, data: \"tarn://hold/v1\", score: s.py, reads: [m], budget: "
     "{per_author: 0}}]",
     "budget.per_author: expected 1 or more"},
    {"metrics:\n  - {name: a, goal: max, vs_champion: {cap: {value: 1, reason: r}}}",
     "vs_champion.cap: needs commit, value and reason"},
    {"metrics:\n  - {name: a, goal: max, vs_champion: {cap: {commit: 12ab, value: 1, reason: r}}}",
     "vs_champion.cap.commit: expected the whole id of a commit"},
    {"compete: all", "2:10: compete: all needs candidates: the pattern of the branches"},
    {"candidates: 'e*'\ncompete: some", "3:10: compete: expected named or all"},
    {"remeasure: [bench]", "2:12: remeasure: is about the champion, so the policy needs \"alias\""},
    {"any: {}", "2:6: any: expected a list"},
    {"metrics: [{name: a}]\nany: [{of: 1}]", "any[0]: needs of and rules"},
    {"any: [{of: 1, rules: [a]}]", "any[0].rules[0]: expected one metric or score of the policy"},
    {"metrics: [{name: a}]\nany: [{of: 0, rules: [a]}]", "any[0].of: expected 1 to the number"},
    {"metrics: [{name: a}]\nany: [{of: 2, rules: [a]}]", "any[0].of: expected 1 to the number"},
    {"metrics: [{name: a}]\nany: [{of: 1, rules: [a, a]}]", "any[0].rules[1]: is given twice"},
    {"metrics: [{name: a, goal: max, primary: true}]\nany: [{of: 1, rules: [a]}]",
     "any[0].rules[0]: ranks the candidates"},
    {"metrics: [{name: a, goal: max}]\nany: [{of: 1, rules: [a]}]\ntie_break: [a]",
     "tie_break[0]: expected a metric"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1}}]\nany: [{of: 1, rules: [a]}]",
     "any[0].rules[0]: is part of a score"},
    {"scores: {}", "2:9: scores: expected a list"},
    {"scores: [{name: q}]", "2:10: scores[0]: needs name and sum"},
    {"scores: [{name: q, sum: {a: 1}}]", "scores[0].sum: expected one metric of the policy"},
    {"metrics: [{name: a}]\nscores: [{name: a, sum: {a: 1}}]", "rule for metric \"a\" already"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {}}]", "expected a map of metrics"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 0}}]", "sum.a: expected another number"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: inf}}]", "sum.a: expected a finite number"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1, a: 2}}]", "sum.a: is given twice"},
    {"metrics: [{match: 'a*'}]\nscores: [{name: q, sum: {'a*': 1}}]", "expected one metric"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1}}, {name: r, sum: {q: 1}}]",
     "scores[1].sum: expected one metric of the policy"},
    {"metrics: [{name: a, split: s}, {name: a@s}]\nscores: [{name: q, sum: {a@s: 1}}]",
     "scores[0].sum: expected one metric of the policy"},
    {"metrics: [{name: a, goal: max, primary: true}]\n"
     "scores: [{name: q, sum: {a: 1}, goal: max, primary: true}]",
     "scores[0]: there is a primary metric already"},
    {"scores: [{name: q, sum: {a: 1}, goal: max, vs_champion: {min_delta: 0}}]",
     "so the policy needs \"alias\""},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1}, goal: max, vs_champion: {lower_bound: "
     "0}}]",
     "lower_bound: is for a metric with runs"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1}, goal: max, vs_champion: {cap: {commit: "
     "12ab, value: 1, reason: r}}}]",
     "cap: write it at the metrics of the sum"},
    {"metrics: [{name: a}]\nscores: [{name: q, sum: {a: 1}, trust: [api]}]",
     "unknown key \"trust\""},
    {"tie_break: [loss]", "2:13: tie_break[0]: expected a metric of the policy with a goal"},
    {"metrics: [{name: a}]\ntie_break: [a]", "3:13: tie_break[0]: expected a metric"},
    {"tie_break: [created_at, created_at]", "2:25: tie_break[1]: is given twice"},
    {"tie_break: [model_bytes]", "2:12: tie_break: model_bytes is the size of"},
    {"objects: []", "2:10: objects: expected a map"},
    {"objects: {measured: [a]}", "2:21: objects.measured: expected patterns of objects.required"},
    {"objects: {required: [a], measured: ['a*']}", "and a* is none"},
    {"objects: {required: a}", "2:21: objects.required: expected a list, found \"a\""},
    {"objects: {required: [~]}", "objects.required[0]: expected text, found nothing"},
    {"objects: {max_total_bytes: 2GB}",
     "objects.max_total_bytes: expected a whole number of bytes"},
    {"objects: {max_total_bytes: -1}", "objects.max_total_bytes: expected a whole number of bytes"},
    {"objects: {max_total_bytes: 99999999TiB}", "objects.max_total_bytes: expected"},
    {"checks: {timeout: 2}", "2:19: checks.timeout: expected a time such as 30m"},
    {"checks: {timeout: 366d}", "checks.timeout: expected a time such as 30m"},
    {"checks: {timeout: 0s}", "checks.timeout: expected a time such as 30m"},
    {"checks: {on_commit: any}", "checks.on_commit: expected exact"},
    {"checks: {required: [a, a]}", "checks.required[1]: is given twice"},
    {"approvals: {count: 101}", "approvals.count: expected a whole number from 0 to 100"},
    {"approvals: {count: 1.5}", "approvals.count: expected a whole number from 0 to 100"},
    {"approvals: {not_author: 'true'}", "approvals.not_author: expected true or false"},
    {"after: {tag: 'a b'}", "after.tag: expected the name of a tag"},
    {"after: {tag: 'x-{branch}'}", "after.tag: expected the name of a tag"},
    {"after: {losers: {expire: never}}", "after.losers.expire: expected a time"},
    {"after: {losers: 14d}", "after.losers: expected a map"},
    {"after: {webhook: deploy}", "after.webhook: expected a list"},
    {"name: &a x\nalias: *a", "2:7: anchors (&name) are not accepted"},
    {"? [a]\n: b", "2:3: policy: unknown key a list"},
    {"metrics: [", "end of sequence flow not found"},
    {"---\nname: b", "a second document"},
};

TEST(GatePolicy, InvalidDocumentsAreRefusedWithLineAndColumn) {
  for (const Refused& row : kRefused) {
    const std::string message = failure(str_cat("destination: main\n", row.text, "\n"));
    EXPECT_NE(message.find(row.expected), std::string::npos)
        << row.text << "\n  says: " << message << "\n  wanted: " << row.expected;
  }
}

TEST(GatePolicy, ADocumentOfAnotherKindIsRefused) {
  EXPECT_NE(failure("").find("expected a map"), std::string::npos);
  EXPECT_NE(failure("[]").find("1:1: policy: expected a map"), std::string::npos);
  EXPECT_NE(failure("name: a").find("1:1: destination: is missing"), std::string::npos);
  EXPECT_NE(failure("destination: a/b").find("expected the name of a branch"), std::string::npos);
  EXPECT_NE(failure("destination: \xff").find("is not UTF-8"), std::string::npos);
  EXPECT_NE(failure(std::string("destination: a\0b", 16)), "");
}

TEST(GatePolicy, AllProblemsAreReportedAtOnce) {
  const std::string message = failure("destination: main\nfoo: 1\napprovals: {count: x}\nbar: 2\n");
  for (const char* part : {"2:1: ", "3:20: ", "4:1: "}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  std::string many = "destination: main\n";
  for (int i = 0; i < 50; ++i) many += str_cat("key", i, ": 1\n");
  EXPECT_NE(failure(many).find("; and 30 more"), std::string::npos);
}

TEST(GatePolicy, IsBounded) {
  EXPECT_NE(failure("destination: main\n# " + std::string(kPolicyBytesMax, 'x')).find("is larger"),
            std::string::npos);
  std::string rules = "destination: main\nmetrics:\n";
  for (size_t i = 0; i <= kPolicyMetricsMax; ++i) rules += str_cat("- {name: m", i, "}\n");
  EXPECT_NE(failure(rules).find("has more than 64 rules"), std::string::npos);
  std::string names = "destination: main\nchecks: {required: [a";
  for (size_t i = 0; i < kDocumentListMax; ++i) names += str_cat(", c", i);
  EXPECT_NE(failure(names + "]}").find("has more than 64 items"), std::string::npos);
  EXPECT_NE(failure("destination: main\nname: " + std::string(30'000, '[')), "");
  EXPECT_NE(failure("destination: main\nname: " + std::string(17, '[') + std::string(17, ']'))
                .find("is nested deeper than 16"),
            std::string::npos);
  std::string values = "destination: main\nname: [";
  for (size_t i = 0; i <= kYamlNodesMax; ++i) values += "1,";
  EXPECT_NE(failure(values + "]").find("there are more than 10000 values"), std::string::npos);
  EXPECT_NE(failure("destination: main\ncandidates: " + std::string(256, 'a')).find("is longer"),
            std::string::npos);
}

TEST(GatePolicy, YamlAliasesAreRefused) {
  std::string bomb = "destination: main\na: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += str_cat(c, ": &", c, " [*", static_cast<char>(c - 1), ", *", static_cast<char>(c - 1),
                    "]\n");
  }
  EXPECT_NE(failure(bomb).find("anchors"), std::string::npos);
}

TEST(GatePolicy, ATagIsMadeFromItsTemplate) {
  const TagFacts facts{.now = *parse_rfc3339("2026-11-20T08:15:42Z"),
                       .commit = "0123456789abcdef0123456789abcdef",
                       .candidate = "exp-{short}",
                       .policy = "dogs"};
  EXPECT_EQ(tag_from("model-{date}-{time}-{short}", facts), "model-20261120-081542-0123456789ab");
  EXPECT_EQ(tag_from("{policy}.{name}", facts), "dogs.exp-{short}");
}

}  // namespace
}  // namespace tarn::promotion
