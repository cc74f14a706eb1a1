// The policies of docs/policies.md, with the verdicts that the page promises.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/gate_candidate_fixture.h"
#include "core/promotion/verdict.h"

namespace tarn::promotion {
namespace {

/// The texts between backquotes.
std::vector<std::string> quoted(const std::string& cell) {
  std::vector<std::string> out;
  for (size_t at = cell.find('`'); at != std::string::npos;) {
    const size_t end = cell.find('`', at + 1);
    out.push_back(cell.substr(at + 1, end - at - 1));
    at = cell.find('`', end + 1);
  }
  return out;
}

/// The metrics of a cell such as "`accuracy=0.9 f1@test=0.8`".
std::vector<Metric> metrics_in(const std::string& cell) {
  std::vector<Metric> out;
  for (const std::string& text : quoted(cell)) {
    std::stringstream words(text);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const size_t at = std::min(word.find('@'), equals);
      out.push_back(metric(word.substr(0, at), parse_number(word.substr(equals + 1)).value(),
                           MetricOrigin::kApi, "",
                           at == equals ? "" : word.substr(at + 1, equals - at - 1)));
    }
  }
  return out;
}

/// "passes", or "`rule` `code`" of what failed, without "metrics." before the rule.
std::string verdict_of(const GatePolicy& policy, const std::string& candidate,
                       const std::string& champion) {
  CommitFacts facts;
  facts.metrics = metrics_in(champion);
  add_computed(policy.metrics, facts.metrics);
  const Verdict verdict = evaluate(policy, candidate_of(metrics_in(candidate)),
                                   facts.metrics.empty() ? nullptr : &facts);
  std::string out;
  for (const RuleResult& rule : verdict.rules) {
    if (rule.outcome != RuleOutcome::kFail) continue;
    std::string name = rule.rule;
    if (name.starts_with("metrics.")) name.erase(0, 8);
    out += str_cat(" `", name, "` `", rule.code, "`");
  }
  return verdict.outcome == GateOutcome::kPassed ? "passes" : "fails:" + out;
}

TEST(PolicyExamples, HaveTheVerdictsThatThePagePromises) {
  std::ifstream page(std::string(TARN_SOURCE_DIRECTORY) + "/docs/policies.md");
  std::string document;
  bool inside = false;
  size_t judged = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = line == "```yaml";
      if (inside) document.clear();
    } else if (inside) {
      document += line + "\n";
    } else if (line.starts_with("| `")) {
      std::vector<std::string> cells;
      std::stringstream parts(line.substr(1));
      for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
      ASSERT_EQ(cells.size(), 3u) << line;
      EXPECT_EQ(str_cat(" ", verdict_of(parse_gate_policy(document), cells[0], cells[1]), " "),
                cells[2])
          << line;
      ++judged;
    }
  }
  EXPECT_GE(judged, 20u);
}

}  // namespace
}  // namespace tarn::promotion
