#include "core/promotion/metric_rule_reader.h"

#include <algorithm>
#include <utility>

#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/metrics/run.h"
#include "core/promotion/policy_keys.h"

namespace tarn::promotion {
namespace {

/// Whether a blank or a character that is not shown begins at `at`: other blanks, controls, joiners
/// and directions of Unicode.
bool is_unseen(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  const auto third = [&] { return rest.size() > 2 ? static_cast<unsigned char>(rest[2]) : 0; };
  if (rest.starts_with("\xC2")) return rest[1] <= '\xA0' || rest[1] == '\xAD';
  if (rest.starts_with("\xE2\x80")) return third() <= 0x8F || (third() >= 0xA8 && third() <= 0xAF);
  if (rest.starts_with("\xE2\x81")) return third() >= 0x9F && third() <= 0xAF;
  return rest.starts_with("\xE3\x80\x80") || rest.starts_with("\xEF\xBB\xBF");
}

/// Why the text may not name a metric or a split; "" = it may.
std::string_view problem_of_name(std::string_view name) {
  if (name.find('*') != name.npos) return "holds '*', and names are no patterns: write match";
  if (trimmed(name) != name) return "begins or ends with a blank";
  for (size_t i = 0; i < name.size(); ++i) {
    if (is_unseen(name, i)) return "holds a character that is not shown";
  }
  return "";
}

/// A wrong value is reported, and reading continues.
class MetricRuleReader {
 public:
  MetricRuleReader(DocumentReader& in, std::vector<MetricRule>& out) : in_(in), out_(out) {}

  void read(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kList) return in_.expected(node, "metrics", "a list");
    if (node.items.size() > kPolicyMetricsMax) {
      return in_.complain(node, "metrics", str_cat("has more than ", kPolicyMetricsMax, " rules"));
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string path = str_cat("metrics[", i, "]");
      add(node.items[i], path, metric_at(node.items[i], path));
    }
  }

  void read_scores(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kList) return in_.expected(node, "scores", "a list");
    if (node.items.size() > kPolicyScoresMax)
      return in_.complain(node, "scores", str_cat("has more than ", kPolicyScoresMax, " scores"));
    const std::vector<MetricRule> parts = out_;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string path = str_cat("scores[", i, "]");
      add(node.items[i], path, score_at(node.items[i], path, parts));
    }
  }

 private:
  using Members = DocumentReader::Members;

  std::string metric_name_at(const YamlNode& node, const std::string& path) {
    const auto name = in_.text_at(node, path, kMetricNameBytesMax);
    if (!name) return "";
    const std::string_view problem = problem_of_name(*name);
    if (!problem.empty()) in_.complain(node, path, problem);
    return *name;
  }

  void add(const YamlNode& node, const std::string& path, MetricRule rule) {
    for (const MetricRule& other : out_) {
      const bool same = rule.is_score() || other.is_score()
                            ? other.label() == rule.label()
                            : other.name == rule.name && other.split == rule.split;
      if (!rule.name.empty() && same) {
        in_.complain(node, path, str_cat("there is a rule for metric \"", rule.name, "\" already"));
      }
      if (rule.primary && other.primary)
        in_.complain(node, path, "there is a primary metric already");
    }
    out_.push_back(std::move(rule));
  }

  MetricRule score_at(const YamlNode& node, const std::string& path,
                      const std::vector<MetricRule>& parts) {
    MetricRule rule;
    const Members members = in_.members_of(node, path, policy_keys_below("scores[]"));
    if (node.kind != YamlNode::Kind::kMap) return rule;
    const YamlNode* name = find(members, "name");
    const YamlNode* sum = find(members, "sum");
    if (name == nullptr || sum == nullptr) in_.complain(node, path, "needs name and sum");
    if (name != nullptr) rule.name = metric_name_at(*name, path + ".name");
    if (sum != nullptr) read_sum(*sum, path + ".sum", parts, rule);
    read_demands(members, path, rule);
    if (rule.distinction)
      in_.complain(node, path + ".vs_champion.lower_bound", "is for a metric with runs");
    return rule;
  }

  void read_sum(const YamlNode& node, const std::string& path, const std::vector<MetricRule>& parts,
                MetricRule& score) {
    if (node.kind != YamlNode::Kind::kMap || node.members.empty())
      return in_.expected(node, path, "a map of metrics and their weights");
    if (node.members.size() > kScoreTermsMax)
      return in_.complain(node, path, str_cat("has more than ", kScoreTermsMax, " parts"));
    for (const auto& [key, value] : node.members) {
      const std::string key_path = str_cat(path, ".", key.text);
      const auto rules = std::count_if(parts.begin(), parts.end(), [&](const MetricRule& part) {
        return part.label() == key.text && !part.is_each();
      });
      if (key.kind != YamlNode::Kind::kScalar || rules != 1)
        in_.expected(key, path, "one metric of the policy, as NAME or NAME@SPLIT");
      if (std::any_of(score.sum.begin(), score.sum.end(),
                      [&](const ScoreTerm& term) { return term.rule == key.text; }))
        in_.complain(key, key_path, "is given twice");
      const double weight = in_.number_at(value, key_path).value_or(1);
      if (weight == 0) in_.expected(value, key_path, "another number than 0");
      score.sum.push_back({.rule = key.text, .weight = weight});
    }
  }

  MetricRule metric_at(const YamlNode& node, const std::string& path) {
    MetricRule rule;
    const Members members = in_.members_of(node, path, policy_keys_below("metrics[]"));
    if (node.kind != YamlNode::Kind::kMap) return rule;
    const YamlNode* name = find(members, "name");
    const YamlNode* match = find(members, "match");
    if (name != nullptr && match != nullptr) {
      in_.complain(node, path, "give name or match, not both");
    } else if (name != nullptr) {
      rule.name = metric_name_at(*name, path + ".name");
    } else if (match == nullptr) {
      in_.complain(node, path, "name or match is missing");
    }
    read_slices(members, node, path, rule);
    if (const YamlNode* split = find(members, "split")) {
      rule.split = metric_name_at(*split, path + ".split");
    }
    read_demands(members, path, rule);
    read_trusted(members, path, rule);
    if (const YamlNode* runs = find(members, "runs")) read_runs(*runs, path + ".runs", rule);
    check_test(node, path, find(members, "vs_champion"), rule);
    return rule;
  }

  /// Demands on the value, whatever it comes from.
  void read_demands(const Members& members, const std::string& path, MetricRule& rule) {
    if (const YamlNode* goal = find(members, "goal")) {
      rule.goal = parse_metric_goal(goal->text);
      if (!rule.goal) in_.expected(*goal, path + ".goal", "max or min");
    }
    if (const YamlNode* min = find(members, "min")) rule.min = in_.number_at(*min, path + ".min");
    if (const YamlNode* max = find(members, "max")) {
      rule.max = in_.number_at(*max, path + ".max");
      if (rule.min > rule.max && rule.max) in_.complain(*max, path + ".max", "is less than min");
    }
    if (const YamlNode* bounds = find(members, "vs_champion")) {
      read_bounds(*bounds, path + ".vs_champion", find(members, "goal") != nullptr, rule);
    }
    if (const YamlNode* primary = find(members, "primary")) {
      rule.primary = in_.flag_at(*primary, path + ".primary");
      if (rule.primary && find(members, "goal") == nullptr) {
        in_.complain(*primary, path + ".primary", "needs a goal: max or min");
      } else if (rule.primary && rule.is_each()) {
        in_.complain(*primary, path + ".primary", "several values rank nobody: write aggregate");
      }
    }
  }

  /// Replicates are compared by Welch's test, examples by the others.
  void check_test(const YamlNode& node, const std::string& path, const YamlNode* bounds,
                  MetricRule& rule) {
    const bool evaluated = std::any_of(
        rule.trusted.begin(), rule.trusted.end(),
        [](const MetricSource& source) { return source.origin == MetricOrigin::kEvaluation; });
    if (evaluated && rule.trusted.size() > 1) {
      in_.complain(node, path, "an evaluation is the only source, given by from");
    }
    if (!rule.distinction) return;
    if (rule.slices)
      in_.complain(node, path + ".vs_champion.lower_bound", "write a rule for each name");
    const bool is_given =
        std::any_of(bounds->members.begin(), bounds->members.end(),
                    [](const auto& member) { return member.first.text == "test"; });
    if (evaluated && !is_given) rule.distinction->test = DistinctionTest::kPairedBootstrap;
    const bool of_examples = rule.distinction->test != DistinctionTest::kWelch;
    if (of_examples != evaluated) {
      in_.complain(node, path + ".vs_champion.test",
                   evaluated ? "must be paired_bootstrap or mcnemar with an evaluation"
                             : "needs an evaluation: from with evaluation:NAME");
    }
    if (!of_examples && (!rule.runs || rule.runs->min < 2)) {
      in_.complain(node, path + ".vs_champion.lower_bound",
                   "needs several measurements: runs with min of 2 or more, or an evaluation");
    }
    if (rule.distinction->test == DistinctionTest::kMcNemar && rule.distinction->lower_bound != 0) {
      in_.complain(node, path + ".vs_champion.lower_bound",
                   "must be 0 with mcnemar, which says only which of two is better");
    }
  }

  void read_slices(const Members& members, const YamlNode& node, const std::string& path,
                   MetricRule& rule) {
    const YamlNode* match = find(members, "match");
    const YamlNode* how = find(members, "aggregate");
    const YamlNode* min_count = find(members, "min_count");
    if (match == nullptr) {
      if (how != nullptr || min_count != nullptr)
        in_.complain(node, path, "aggregate and min_count need match");
      return;
    }
    const auto glob = in_.glob_at(*match, path + ".match", kPolicyGlobBytesMax);
    if (!glob) return;
    SliceRules& slices = rule.slices.emplace(SliceRules{.match = *glob});
    rule.name = glob->pattern();
    if (how != nullptr) {
      slices.aggregate = parse_aggregate(how->text);
      if (!slices.aggregate) in_.expected(*how, path + ".aggregate", "min, mean or max");
      if (slices.aggregate) rule.name = str_cat(name_of(*slices.aggregate), "(", rule.name, ")");
    }
    if (min_count != nullptr) {
      slices.min_count = in_.count_at(*min_count, path + ".min_count", kSlicesMax).value_or(1);
      if (slices.min_count == 0) in_.expected(*min_count, path + ".min_count", "1 or more");
    }
    if (const YamlNode* runs = find(members, "runs"))
      in_.complain(*runs, path + ".runs", "write a rule for each name");
  }

  void read_runs(const YamlNode& node, const std::string& path, MetricRule& rule) {
    const Members members = in_.members_of(node, path, policy_keys_below("metrics[].runs"));
    if (node.kind != YamlNode::Kind::kMap) return;
    if (!rule.trusted.empty())
      in_.complain(node, path, "counts runs alone: give runs, or trust or from");
    const YamlNode* min = find(members, "min");
    const YamlNode* by = find(members, "by");
    if (min == nullptr || by == nullptr) in_.complain(node, path, "needs min and by");
    ReplicateRules& runs = rule.runs.emplace();
    if (min != nullptr) {
      runs.min = in_.count_at(*min, path + ".min", kReplicatesMax).value_or(1);
      if (runs.min == 0) in_.expected(*min, path + ".min", "1 or more");
    }
    runs.max = runs.min;
    if (const YamlNode* max = find(members, "max")) {
      runs.max = in_.count_at(*max, path + ".max", kReplicatesMax).value_or(runs.min);
      if (runs.max < runs.min) in_.complain(*max, path + ".max", "is less than min");
    }
    if (by != nullptr) {
      const std::string param = in_.text_at(*by, path + ".by", kParamNameBytesMax).value_or("");
      if (param.starts_with(kParamPrefix)) runs.by = param.substr(kParamPrefix.size());
      if (runs.by.empty()) in_.expected(*by, path + ".by", "param.NAME, a parameter of runs");
    }
    if (const YamlNode* how = find(members, "aggregate"); how && how->text != "mean")
      in_.expected(*how, path + ".aggregate", "mean");
    const YamlNode* reporter = find(members, "reporter");
    if (reporter == nullptr) return;
    const auto source = source_at(*reporter, path + ".reporter");
    if (source && source->reporter.name.empty())
      return in_.expected(*reporter, path + ".reporter", "api:USER");
    if (source) runs.reporter = source->reporter;
  }

  void read_bounds(const YamlNode& node, const std::string& path, bool has_goal, MetricRule& rule) {
    const Members members = in_.members_of(node, path, policy_keys_below("metrics[].vs_champion"));
    if (members.empty() && node.kind == YamlNode::Kind::kMap) {
      in_.complain(node, path, "names no bound");
    }
    for (size_t i = 0; i < kChampionBounds; ++i) {
      const std::string_view bound = name_of(static_cast<ChampionBound>(i));
      const YamlNode* value = find(members, bound);
      if (value == nullptr) continue;
      const std::string value_path = str_cat(path, ".", bound);
      rule.vs_champion[i] = in_.number_at(*value, value_path);
      if (static_cast<ChampionBound>(i) >= ChampionBound::kMaxIncrease) {
        if (rule.vs_champion[i].value_or(0) < 0) in_.expected(*value, value_path, "0 or more");
      } else if (!has_goal) {
        in_.complain(*value, value_path, "needs a goal: better is more with max, less with min");
      }
    }
    read_distinction(members, node, path, has_goal, rule);
    if (const YamlNode* floor = find(members, "floor")) {
      read_floor(*floor, path + ".floor", has_goal, rule);
    }
    if (const YamlNode* cap = find(members, "cap")) {
      read_cap(*cap, path + ".cap", has_goal, rule);
    }
    const auto least = rule.vs_champion[static_cast<size_t>(ChampionBound::kMinDelta)];
    const auto most = rule.vs_champion[static_cast<size_t>(ChampionBound::kMaxDelta)];
    if (least && most && *least > *most)
      in_.complain(node, path, "max_delta is less than min_delta");
  }

  void read_distinction(const Members& members, const YamlNode& node, const std::string& path,
                        bool has_goal, MetricRule& rule) {
    const YamlNode* bound = find(members, "lower_bound");
    const YamlNode* confidence = find(members, "confidence");
    const YamlNode* test = find(members, "test");
    DistinctionRule distinction;
    if (test != nullptr) {
      const auto known = parse_distinction_test(test->text);
      if (!known) in_.expected(*test, path + ".test", "welch, paired_bootstrap or mcnemar");
      distinction.test = known.value_or(DistinctionTest::kWelch);
    }
    if (bound != nullptr)
      distinction.lower_bound = in_.number_at(*bound, path + ".lower_bound").value_or(0);
    if (confidence != nullptr) {
      distinction.confidence = in_.number_at(*confidence, path + ".confidence").value_or(0.95);
      if (distinction.confidence < kConfidenceMin || distinction.confidence > kConfidenceMax)
        in_.expected(*confidence, path + ".confidence", "0.5 to 0.9999");
    }
    if (bound == nullptr) {
      if (confidence != nullptr || test != nullptr)
        in_.complain(node, path, "confidence and test need lower_bound");
    } else if (has_goal) {
      rule.distinction = distinction;
    } else {
      in_.complain(*bound, path + ".lower_bound",
                   "needs a goal: better is more with max, less with min");
    }
  }

  void read_cap(const YamlNode& node, const std::string& path, bool has_goal, MetricRule& rule) {
    const Members members =
        in_.members_of(node, path, policy_keys_below("metrics[].vs_champion.cap"));
    if (node.kind != YamlNode::Kind::kMap) return;
    if (!has_goal) in_.complain(node, path, "needs a goal: better is more with max, less with min");
    if (rule.slices) in_.complain(node, path, "write a rule for each name");
    if (rule.is_score()) in_.complain(node, path, "write it at the metrics of the sum");
    const YamlNode* commit = find(members, "commit");
    const YamlNode* value = find(members, "value");
    const YamlNode* reason = find(members, "reason");
    if (commit == nullptr || value == nullptr || reason == nullptr) {
      return in_.complain(node, path, "needs commit, value and reason");
    }
    ChampionCap& cap = rule.cap.emplace();
    if (const auto id = parse_commit_id(commit->text)) {
      cap.commit = *id;
    } else {
      in_.expected(*commit, path + ".commit", "the whole id of a commit");
    }
    cap.value = in_.number_at(*value, path + ".value").value_or(0);
    cap.reason = in_.text_at(*reason, path + ".reason", kCapReasonBytesMax).value_or("");
  }

  void read_floor(const YamlNode& node, const std::string& path, bool has_goal, MetricRule& rule) {
    const Members members =
        in_.members_of(node, path, policy_keys_below("metrics[].vs_champion.floor"));
    if (node.kind != YamlNode::Kind::kMap) return;
    if (!has_goal) in_.complain(node, path, "needs a goal: better is more with max, less with min");
    const YamlNode* of_last = find(members, "of_last");
    const YamlNode* max_drop = find(members, "max_drop");
    if (of_last == nullptr || max_drop == nullptr) {
      return in_.complain(node, path, "needs of_last and max_drop");
    }
    rule.floor.emplace();
    rule.floor->of_last = in_.count_at(*of_last, path + ".of_last", kFloorChampionsMax).value_or(1);
    if (rule.floor->of_last == 0) in_.expected(*of_last, path + ".of_last", "1 or more");
    rule.floor->max_drop = in_.number_at(*max_drop, path + ".max_drop").value_or(0);
    if (rule.floor->max_drop < 0) in_.expected(*max_drop, path + ".max_drop", "0 or more");
  }

  void read_trusted(const Members& members, const std::string& path, MetricRule& rule) {
    const YamlNode* trust = find(members, "trust");
    const YamlNode* from = find(members, "from");
    if (trust != nullptr && from != nullptr) {
      return in_.complain(*from, path + ".from", "give trust or from, not both");
    }
    if (from != nullptr) {
      if (auto source = source_at(*from, path + ".from")) rule.trusted = {*std::move(source)};
    }
    if (trust == nullptr) return;
    in_.read_list(*trust, path + ".trust", rule.trusted,
                  [&](const YamlNode& item, const std::string& item_path) {
                    return source_at(item, item_path);
                  });
    if (trust->kind == YamlNode::Kind::kList && trust->items.empty()) {
      in_.complain(*trust, path + ".trust", "is empty: no value could ever count");
    }
  }

  std::optional<MetricSource> source_at(const YamlNode& node, const std::string& path) {
    const auto text = in_.text_at(node, path, kPolicyGlobBytesMax);
    if (!text) return std::nullopt;
    const size_t colon = std::min(text->find(':'), text->size());
    const std::string detail = text->substr(std::min(colon + 1, text->size()));
    const auto origin = parse_metric_origin(std::string_view(*text).substr(0, colon));
    const bool plain = colon == text->size();
    const bool check = origin == MetricOrigin::kCheck && is_policy_name(detail);
    const bool reporter = origin == MetricOrigin::kApi && !detail.empty();
    const bool file = origin == MetricOrigin::kFile && !detail.empty();
    const bool evaluation = origin == MetricOrigin::kEvaluation && is_policy_name(detail);
    const bool any = plain && origin != MetricOrigin::kEvaluation;
    if (!origin || origin == MetricOrigin::kPolicy ||
        !(any || check || reporter || file || evaluation)) {
      in_.expected(node, path,
                   "api, api:USER, commit-metadata, check, check:NAME, file, file:PATTERN or "
                   "evaluation:NAME");
      return std::nullopt;
    }
    MetricSource source{.origin = *origin};
    if (check || evaluation) source.check = detail;
    if (reporter) source.reporter.name = detail;
    if (file) {
      if (const std::string problem = Glob::problem(detail); !problem.empty()) {
        in_.complain(node, path, str_cat("pattern \"", detail, "\": ", problem));
        return std::nullopt;
      }
      source.file = Glob(detail);
    }
    return source;
  }

  DocumentReader& in_;
  std::vector<MetricRule>& out_;
};

}  // namespace

void read_metric_rules(DocumentReader& in, const YamlNode& node, std::vector<MetricRule>& out) {
  MetricRuleReader(in, out).read(node);
}

void read_scores(DocumentReader& in, const YamlNode& node, std::vector<MetricRule>& out) {
  MetricRuleReader(in, out).read_scores(node);
}

}  // namespace tarn::promotion
