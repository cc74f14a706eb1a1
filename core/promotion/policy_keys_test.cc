#include "core/promotion/policy_keys.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/promotion/policy.h"

namespace tarn::promotion {
namespace {

std::string problem_of(const std::string& document) {
  try {
    parse_gate_policy(document);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

/// Keys without which the reader refuses `path`.
std::string company_of(std::string_view path) {
  if (path == "unchanged_since.ref") return "paths: [\"data/**\"]";
  if (path == "compete") return "candidates: e";
  if (path == "promoted_values") return "objects: {required: [m]}";
  if (path == "evaluations[].budget.period") return "per_author: 5";
  if (path == "unchanged_since.paths") return "ref: main";
  if (path == "metrics[].name" || path == "metrics[].match") return "goal: max";
  if (path == "metrics[].aggregate" || path == "metrics[].min_count") return "match: s";
  if (path == "metrics[].runs.by") return "min: 5";
  if (path == "metrics[].runs.min") return "by: param.seed";
  if (path.starts_with("metrics[].runs.")) return "min: 5, by: param.seed";
  constexpr std::string_view kCommit =
      "1111111111111111111111111111111111111111111111111111111111111111";
  if (path == "metrics[].vs_champion.cap.commit") return "value: 1, reason: r";
  if (path == "metrics[].vs_champion.cap.value") return str_cat("reason: r, commit: ", kCommit);
  if (path == "metrics[].vs_champion.cap.reason") return str_cat("value: 1, commit: ", kCommit);
  if (path == "metrics[].vs_champion.floor.of_last") return "max_drop: 0";
  if (path == "metrics[].vs_champion.floor.max_drop") return "of_last: 1";
  if (path == "metrics[].vs_champion.confidence" || path == "metrics[].vs_champion.test")
    return "lower_bound: 0";
  if (path.starts_with("metrics[].vs_champion.")) return "";
  if (path == "freeze[].from") return "to: \"sat 08:00\"";
  if (path == "freeze[].to") return "from: \"sat 08:00\"";
  if (path.starts_with("freeze[]")) return "from: \"16:00\", to: \"08:00\"";
  if (path == "objects.measured") return "required: [\"artifacts/model.pkl\"]";
  if (path == "any[].of") return "rules: [m]";
  if (path == "any[].rules") return "of: 1";
  if (path == "scores[].name") return "sum: {m: 1}";
  if (path == "scores[].sum") return "name: q";
  if (path == "scores[].goal") return "name: q, sum: {m: 1}";
  if (path.starts_with("scores[]")) return "name: q, sum: {m: 1}, goal: max";
  if (path.starts_with("metrics[]")) return "name: m, goal: max";
  if (path == "approvals.groups[].count") return "name: legal";
  if (path == "rollback.groups") return "approvals: 1";
  if (path == "card.path") return "required: [data]";
  if (path == "card.required") return "path: card.md";
  if (path == "champion.reevaluate") return "expires: 90d";
  return "";
}

/// A document in flow style with `member` in the map `map`.
std::string document_with(std::string_view map, const std::string& member) {
  std::string top = "alias: champion, ";
  if (map.empty()) {
    if (member.starts_with("alias:")) top.clear();
    return str_cat("{", top, member.starts_with("destination:") ? "" : "destination: main, ",
                   member.starts_with("tie_break:") ? "metrics: [{name: m, goal: max}], " : "",
                   member, "}");
  }
  std::string inner = str_cat("{", member, "}");
  if (map == "champion") top += "remeasure: [bench], ";
  if (map == "metrics[].vs_champion.floor") inner = str_cat("{floor: ", inner, "}");
  if (map == "metrics[].vs_champion.cap") inner = str_cat("{cap: ", inner, "}");
  if (map == "metrics[].runs") inner = str_cat("{name: m, runs: ", inner, "}");
  if (map.starts_with("metrics[].vs_champion"))
    inner = str_cat(
        "{name: m, goal: max, vs_champion: ", inner,
        member.find("lower_bound") == member.npos ? "}" : ", runs: {min: 2, by: param.seed}}");
  if (map == "approvals.groups[]") inner = str_cat("{groups: [", inner, "]}");
  if (map == "stages[].approvals") inner = str_cat("{alias: canary, approvals: ", inner, "}");
  if (map == "stages[]" && !member.starts_with("alias:"))
    inner = str_cat("{alias: canary, ", inner.substr(1));
  if (map.starts_with("stages[]")) inner = str_cat("[{alias: a}, ", inner, ", {alias: champion}]");
  if (map == "after.losers") inner = str_cat("{losers: ", inner, "}");
  if (map == "evaluations[].budget") inner = str_cat("{budget: ", inner, "}");
  if (map.starts_with("evaluations[]")) {
    // Flow maps may be merged by their text: the inner one begins with '{'.
    std::string rest;
    for (const auto& [name, value] :
         {std::pair("name", "e"), std::pair("data", "\"tarn://hold/v1/\""),
          std::pair("score", "s.py"), std::pair("reads", "[a]")}) {
      if (member.starts_with(str_cat(name, ":")) && map == "evaluations[]") continue;
      rest += str_cat(name, ": ", value, ", ");
    }
    inner = str_cat("{", rest, inner.substr(1));
  }
  const std::string key(map.substr(0, map.find_first_of("[.")));
  if (key == "metrics" || key == "evaluations" || key == "freeze" || key == "scores" ||
      key == "any")
    inner = str_cat("[", inner, "]");
  if (key == "scores" || key == "any") {
    top +=
        "metrics: [{name: m}, {name: accuracy, split: train}, {name: accuracy, split: "
        "validation}], ";
  }
  return str_cat("{", top, "destination: main, ", key, ": ", inner, "}");
}

std::string_view map_of(std::string_view path) {
  const size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

TEST(PolicyKeys, TheExampleOfEachIsAccepted) {
  for (const PolicyKey& key : policy_keys()) {
    if (key.example.empty()) continue;
    const std::string_view map = map_of(key.path);
    const std::string_view name = map.empty() ? key.path : key.path.substr(map.size() + 1);
    std::string member = str_cat(name, ": ", key.example);
    // `goal` is in its own company.
    std::string company = key.path == "metrics[].goal" ? "name: m" : company_of(key.path);
    if (!company.empty()) member += str_cat(", ", company);
    const std::string document = document_with(map, member);
    EXPECT_EQ(problem_of(document), "") << key.path << ": " << document;
  }
}

TEST(PolicyKeys, OthersAreRefusedInEveryMap) {
  for (const std::string_view map :
       {"", "unchanged_since", "metrics[]", "metrics[].vs_champion", "metrics[].vs_champion.floor",
        "scores[]", "any[]", "objects", "checks", "approvals", "after", "after.losers", "freeze[]",
        "approvals.groups[]", "rollback", "champion", "card"}) {
    const std::string expected =
        str_cat("unknown key \"zzz\", expected some of: ", joined(policy_keys_below(map), ", "));
    EXPECT_NE(problem_of(document_with(map, "zzz: 1")).find(expected), std::string::npos)
        << map << ": " << problem_of(document_with(map, "zzz: 1"));
  }
}

// A key that the reader does not read would be accepted with any value.
TEST(PolicyKeys, EachIsRead) {
  for (const PolicyKey& key : policy_keys()) {
    const std::string_view map = map_of(key.path);
    const std::string_view name = map.empty() ? key.path : key.path.substr(map.size() + 1);
    const std::string document = document_with(map, str_cat(name, ": {zzz: {}}"));
    EXPECT_NE(problem_of(document).find(name), std::string::npos) << document;
  }
}

}  // namespace
}  // namespace tarn::promotion
