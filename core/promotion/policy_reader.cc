// Parses a policy document into a GatePolicy, or into a list of all its errors.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/metrics/run.h"
#include "core/model/alias.h"
#include "core/model/ref_expression.h"
#include "core/promotion/document_reader.h"
#include "core/promotion/policy.h"
#include "core/promotion/policy_keys.h"

namespace tarn::promotion {
namespace {

constexpr std::string_view kReason = reason::kPolicyInvalid;
constexpr std::string_view kUnchangedDefault = "_lakefs_actions/**";
constexpr std::chrono::hours kCheckTimeoutDefault{1};
constexpr std::chrono::days kAttemptsPerDefault{7};

[[noreturn]] void throw_policy(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, kReason, str_cat("policy: ", why));
}

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
  if (name.find('*') != name.npos) return "holds '*', and names are no patterns: write a rule each";
  if (trimmed(name) != name) return "begins or ends with a blank";
  for (size_t i = 0; i < name.size(); ++i) {
    if (is_unseen(name, i)) return "holds a character that is not shown";
  }
  return "";
}

/// Reads one document. A wrong value is reported, and reading continues.
class PolicyReader {
 public:
  /// Throws if there is any error.
  GatePolicy read(const YamlNode& root) {
    read_policy(root);
    if (const std::string problems = in_.problems(); !problems.empty()) throw_policy(problems);
    return std::move(policy_);
  }

 private:
  using Members = DocumentReader::Members;

  static const YamlNode* find(const Members& members, std::string_view name) {
    const auto at = members.find(name);
    return at == members.end() ? nullptr : at->second;
  }

  void read_policy(const YamlNode& root) {
    const Members members = in_.members_of(root, "policy", policy_keys_below(""));
    if (root.kind != YamlNode::Kind::kMap) return;
    if (const YamlNode* node = find(members, "name")) {
      policy_.name = name_at(*node, "name").value_or("");
    }
    if (const YamlNode* node = find(members, "destination")) {
      read_destination(*node);
    } else {
      in_.complain(root, "destination", "is missing: the branch that the policy guards");
    }
    if (const YamlNode* node = find(members, "alias")) read_alias(*node);
    if (const YamlNode* node = find(members, "candidates")) {
      policy_.candidates = in_.glob_at(*node, "candidates", kPolicyGlobBytesMax);
    }
    if (const YamlNode* node = find(members, "compete")) read_compete(*node);
    if (const YamlNode* node = find(members, "require_ancestor")) {
      policy_.require_ancestor = commit_ref_at(*node, "require_ancestor");
    }
    if (const YamlNode* node = find(members, "unchanged_since")) read_unchanged_since(*node);
    if (const YamlNode* node = find(members, "require_up_to_date")) {
      policy_.require_up_to_date = in_.flag_at(*node, "require_up_to_date");
    }
    if (const YamlNode* node = find(members, "confirm_changes")) {
      policy_.confirm_changes = in_.flag_at(*node, "confirm_changes");
    }
    if (const YamlNode* node = find(members, "baseline")) read_baseline(*node);
    if (const YamlNode* node = find(members, "remeasure")) read_remeasure(*node);
    if (const YamlNode* node = find(members, "method")) read_methods(*node);
    if (const YamlNode* node = find(members, "paths")) read_paths(*node);
    if (const YamlNode* node = find(members, "metrics")) read_metrics(*node);
    if (const YamlNode* node = find(members, "tie_break")) read_tie_break(*node);
    policy_.objects.unchanged = {Glob(kUnchangedDefault)};
    if (const YamlNode* node = find(members, "objects")) read_objects(*node);
    policy_.checks.timeout = kCheckTimeoutDefault;
    if (const YamlNode* node = find(members, "checks")) read_checks(*node);
    if (const YamlNode* node = find(members, "attempts")) read_attempts(*node);
    if (const YamlNode* node = find(members, "approvals")) read_approvals(*node);
    if (const YamlNode* node = find(members, "after")) read_after(*node);
    check_model_bytes(members);
    check_champion(members);
  }

  std::optional<std::string> name_at(const YamlNode& node, const std::string& path) {
    const auto text = in_.text_at(node, path, kPolicyNameBytesMax);
    if (!text || is_policy_name(*text)) return text;
    in_.expected(node, path,
                 "letters, digits, underscores, hyphens and dots, the first no hyphen or dot");
    return std::nullopt;
  }

  void read_names(const YamlNode& node, const std::string& path, std::vector<std::string>& out) {
    in_.read_list(node, path, out, [&](const YamlNode& item, const std::string& item_path) {
      return name_at(item, item_path);
    });
  }

  void read_destination(const YamlNode& node) {
    const auto text = in_.text_at(node, "destination", kPolicyTextBytesMax);
    if (!text) return;
    if (!is_branch_name(*text)) return in_.expected(node, "destination", "the name of a branch");
    policy_.destination = BranchName(*text);
  }

  void read_alias(const YamlNode& node) {
    const auto text = in_.text_at(node, "alias", kPolicyTextBytesMax);
    if (!text) return;
    policy_.alias = *text;
    if (!is_alias_name(*text)) in_.expected(node, "alias", "the name of an alias, without '@'");
  }

  std::string commit_ref_at(const YamlNode& node, const std::string& path) {
    const auto text = in_.text_at(node, path, kPolicyTextBytesMax);
    if (!text) return "";
    try {
      if (parse_ref(*text).view == RefExpression::View::kStaged) {
        in_.expected(node, path, "a ref that means a commit");
      }
    } catch (const Error& error) {
      in_.complain(node, path, error.message());
    }
    return *text;
  }

  void read_unchanged_since(const YamlNode& node) {
    const Members members =
        in_.members_of(node, "unchanged_since", policy_keys_below("unchanged_since"));
    if (node.kind != YamlNode::Kind::kMap) return;
    const YamlNode* ref = find(members, "ref");
    const YamlNode* paths = find(members, "paths");
    if (ref == nullptr || paths == nullptr) {
      return in_.complain(node, "unchanged_since", "needs ref and paths");
    }
    policy_.unchanged_since.ref = commit_ref_at(*ref, "unchanged_since.ref");
    in_.read_list(*paths, "unchanged_since.paths", policy_.unchanged_since.paths,
                  [&](const YamlNode& item, const std::string& path) {
                    return in_.glob_at(item, path, kPolicyGlobBytesMax);
                  });
    if (paths->kind == YamlNode::Kind::kList && paths->items.empty()) {
      in_.complain(*paths, "unchanged_since.paths", "names no path");
    }
  }

  void read_compete(const YamlNode& node) {
    if (node.text != "named" && node.text != "all") {
      return in_.expected(node, "compete", "named or all");
    }
    policy_.compete_all = node.text == "all";
    if (policy_.compete_all && !policy_.candidates) {
      in_.complain(node, "compete", "all needs candidates: the pattern of the branches");
    }
  }

  void read_baseline(const YamlNode& node) {
    if (const auto baseline = parse_baseline(node.text)) {
      policy_.baseline = *baseline;
    } else {
      in_.expected(node, "baseline", "last, best_ever or none");
    }
  }

  void read_remeasure(const YamlNode& node) {
    in_.read_list(node, "remeasure", policy_.remeasure,
                  [&](const YamlNode& item, const std::string& path) {
                    const auto name = in_.text_at(item, path, kPolicyGlobBytesMax);
                    return name ? std::optional(PolicyUser{*name}) : std::nullopt;
                  });
    if (policy_.alias.empty()) {
      in_.complain(node, "remeasure",
                   "is about the champion, so the policy needs \"alias\", its name");
    }
  }

  /// Keeps the patterns as texts: promotions use the same.
  void read_paths(const YamlNode& node) {
    std::vector<Glob> globs;
    in_.read_list(node, "paths", globs, [&](const YamlNode& item, const std::string& path) {
      return in_.glob_at(item, path, kPolicyGlobBytesMax);
    });
    for (const Glob& glob : globs) policy_.paths.push_back(glob.pattern());
  }

  void read_methods(const YamlNode& node) {
    in_.read_list(node, "method", policy_.methods,
                  [&](const YamlNode& item, const std::string& path) {
                    const auto method = parse_promotion_method(item.text);
                    if (!method) in_.expected(item, path, "merge, squash or replace-paths");
                    return method;
                  });
  }

  void read_metrics(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kList) return in_.expected(node, "metrics", "a list");
    if (node.items.size() > kPolicyMetricsMax) {
      return in_.complain(node, "metrics", str_cat("has more than ", kPolicyMetricsMax, " rules"));
    }
    bool has_primary = false;
    std::set<std::pair<std::string, std::string>> seen;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string path = str_cat("metrics[", i, "]");
      MetricRule rule = metric_at(node.items[i], path);
      if (!rule.name.empty() && !seen.emplace(rule.name, rule.split).second) {
        in_.complain(node.items[i], path,
                     str_cat("there is a rule for metric \"", rule.name, "\" already"));
      }
      if (rule.primary && std::exchange(has_primary, true)) {
        in_.complain(node.items[i], path, "there is a primary metric already");
      }
      policy_.metrics.push_back(std::move(rule));
    }
  }

  std::string metric_name_at(const YamlNode& node, const std::string& path) {
    const auto name = in_.text_at(node, path, kMetricNameBytesMax);
    if (!name) return "";
    const std::string_view problem = problem_of_name(*name);
    if (!problem.empty()) in_.complain(node, path, problem);
    return *name;
  }

  MetricRule metric_at(const YamlNode& node, const std::string& path) {
    MetricRule rule;
    const Members members = in_.members_of(node, path, policy_keys_below("metrics[]"));
    if (node.kind != YamlNode::Kind::kMap) return rule;
    if (const YamlNode* name = find(members, "name")) {
      rule.name = metric_name_at(*name, path + ".name");
    } else {
      in_.complain(node, path, "name is missing");
    }
    if (const YamlNode* split = find(members, "split")) {
      rule.split = metric_name_at(*split, path + ".split");
    }
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
      }
    }
    read_trusted(members, path, rule);
    if (const YamlNode* runs = find(members, "runs")) read_runs(*runs, path + ".runs", rule);
    if (rule.distinction && (!rule.runs || rule.runs->min < 2)) {
      in_.complain(node, path + ".vs_champion.lower_bound",
                   "needs several measurements: runs with min of 2 or more");
    }
    return rule;
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
    if (test != nullptr && test->text != "welch") in_.expected(*test, path + ".test", "welch");
    DistinctionRule distinction;
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
    if (!origin || !(plain || check || reporter || file)) {
      in_.expected(node, path,
                   "api, api:USER, commit-metadata, check, check:NAME, file or file:PATTERN");
      return std::nullopt;
    }
    MetricSource source{.origin = *origin};
    if (check) source.check = detail;
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

  /// Must be called after the metrics were read.
  void read_tie_break(const YamlNode& node) {
    in_.read_list(
        node, "tie_break", policy_.tie_break,
        [&](const YamlNode& item, const std::string& path) { return tie_at(item, path); });
  }

  std::optional<TieBreak> tie_at(const YamlNode& item, const std::string& path) {
    const auto text = in_.text_at(item, path, kMetricNameBytesMax);
    if (!text) return std::nullopt;
    const MetricRule* rule = policy_.find_metric(*text);
    if (rule != nullptr && rule->goal) return TieBreak{TieBreak::Kind::kMetric, *text};
    if (*text == "model_bytes") return TieBreak{TieBreak::Kind::kModelBytes};
    if (*text == "created_at") return TieBreak{TieBreak::Kind::kCreatedAt};
    in_.expected(item, path, "a metric of the policy with a goal, model_bytes or created_at");
    return std::nullopt;
  }

  /// Without an alias the promoter could choose the champion, or that there is none.
  void check_champion(const Members& members) {
    const auto compares = [](const MetricRule& rule) {
      return rule.floor || rule.distinction ||
             std::any_of(rule.vs_champion.begin(), rule.vs_champion.end(),
                         [](const std::optional<double>& bound) { return bound.has_value(); });
    };
    if (policy_.alias.empty() && policy_.baseline != Baseline::kDestination &&
        std::any_of(policy_.metrics.begin(), policy_.metrics.end(), compares)) {
      in_.complain(
          *find(members, "metrics"), "metrics",
          "vs_champion compares with the champion, so the policy needs \"alias\", its name");
    }
  }

  void check_model_bytes(const Members& members) {
    const auto asks = [](const TieBreak& by) { return by.kind == TieBreak::Kind::kModelBytes; };
    if (policy_.objects.required.empty() &&
        std::any_of(policy_.tie_break.begin(), policy_.tie_break.end(), asks)) {
      in_.complain(*find(members, "tie_break"), "tie_break",
                   "model_bytes is the size of what objects.required names, and it names nothing");
    }
  }

  void read_globs(const Members& members, std::string_view name, std::vector<Glob>& out) {
    const YamlNode* list = find(members, name);
    if (list == nullptr) return;
    out.clear();
    in_.read_list(*list, str_cat("objects.", name), out,
                  [&](const YamlNode& item, const std::string& path) {
                    return in_.glob_at(item, path, kPolicyGlobBytesMax);
                  });
  }

  void read_objects(const YamlNode& node) {
    ObjectRules& rules = policy_.objects;
    const Members members = in_.members_of(node, "objects", policy_keys_below("objects"));
    read_globs(members, "required", rules.required);
    read_globs(members, "unchanged", rules.unchanged);
    const bool has_default =
        std::any_of(rules.unchanged.begin(), rules.unchanged.end(),
                    [](const Glob& glob) { return glob.pattern() == kUnchangedDefault; });
    // An empty list means that no object needs to stay.
    if (!has_default && !rules.unchanged.empty()) rules.unchanged.emplace_back(kUnchangedDefault);
    read_globs(members, "forbid", rules.forbid);
    read_globs(members, "keep", rules.keep);
    if (const YamlNode* size = find(members, "min_bytes")) {
      rules.min_bytes = in_.size_at(*size, "objects.min_bytes").value_or(rules.min_bytes);
    }
    if (const YamlNode* size = find(members, "max_total_bytes")) {
      rules.max_total_bytes = in_.size_at(*size, "objects.max_total_bytes");
    }
  }

  void read_checks(const YamlNode& node) {
    const Members members = in_.members_of(node, "checks", policy_keys_below("checks"));
    if (const YamlNode* names = find(members, "required")) {
      read_names(*names, "checks.required", policy_.checks.required);
    }
    if (const YamlNode* timeout = find(members, "timeout")) {
      policy_.checks.timeout =
          in_.time_at(*timeout, "checks.timeout", kPolicyTimeMax).value_or(kCheckTimeoutDefault);
    }
    if (const YamlNode* commit = find(members, "on_commit"); commit && commit->text != "exact") {
      in_.expected(*commit, "checks.on_commit", "exact: a check is of one commit");
    }
  }

  void read_attempts(const YamlNode& node) {
    AttemptRules& rules = policy_.attempts;
    const Members members = in_.members_of(node, "attempts", policy_keys_below("attempts"));
    if (const YamlNode* max = find(members, "max"))
      rules.max = in_.count_at(*max, "attempts.max", kGateAttemptsMax).value_or(0);
    rules.per = kAttemptsPerDefault;
    if (const YamlNode* per = find(members, "per")) {
      rules.per = in_.time_at(*per, "attempts.per", kPolicyTimeMax).value_or(kAttemptsPerDefault);
    }
  }

  void read_approvals(const YamlNode& node) {
    ApprovalRules& rules = policy_.approvals;
    const Members members = in_.members_of(node, "approvals", policy_keys_below("approvals"));
    if (const YamlNode* count = find(members, "count")) {
      rules.count = in_.count_at(*count, "approvals.count", kGateApprovalsMax).value_or(0);
    }
    if (const YamlNode* flag = find(members, "not_author")) {
      rules.not_author = in_.flag_at(*flag, "approvals.not_author");
    }
    if (const YamlNode* flag = find(members, "sticky_reject")) {
      rules.sticky_reject = in_.flag_at(*flag, "approvals.sticky_reject");
    }
    if (const YamlNode* flag = find(members, "not_promoter")) {
      rules.not_promoter = in_.flag_at(*flag, "approvals.not_promoter");
    }
    if (const YamlNode* flag = find(members, "stale_on_new_commit")) {
      rules.stale_on_new_commit = in_.flag_at(*flag, "approvals.stale_on_new_commit");
    }
  }

  void read_after(const YamlNode& node) {
    AfterPromotion& after = policy_.after;
    const Members members = in_.members_of(node, "after", policy_keys_below("after"));
    if (const YamlNode* tag = find(members, "tag")) read_tag(*tag);
    if (const YamlNode* names = find(members, "webhook")) {
      read_names(*names, "after.webhook", after.webhooks);
    }
    if (const YamlNode* losers = find(members, "losers")) {
      const Members of_losers =
          in_.members_of(*losers, "after.losers", policy_keys_below("after.losers"));
      if (const YamlNode* expire = find(of_losers, "expire")) {
        after.losers_expire = in_.time_at(*expire, "after.losers.expire", kPolicyTimeMax);
      }
    }
  }

  void read_tag(const YamlNode& node) {
    const auto text = in_.text_at(node, "after.tag", kPolicyTextBytesMax);
    if (!text) return;
    policy_.after.tag = *text;
    const std::string sample = tag_from(
        *text, {.now = {}, .commit = std::string(64, '0'), .candidate = "c", .policy = "p"});
    if (!is_tag_name(sample) || sample.find_first_of("{}") != std::string::npos) {
      in_.expected(node, "after.tag",
                   "the name of a tag, with {date}, {time}, {short}, {name} or {policy} in it");
    }
  }

  DocumentReader in_;
  GatePolicy policy_;
};

YamlNode tree_of(const std::string& text) {
  if (text.size() > kPolicyBytesMax) {
    throw_policy(str_cat("is larger than ", kPolicyBytesMax, " bytes"));
  }
  if (!is_utf8(text)) throw_policy("is not UTF-8");
  try {
    return parse_yaml(text);
  } catch (const Error& error) {
    throw_policy(error.message());
  }
}

}  // namespace

GatePolicy parse_gate_policy(const std::string& text) { return PolicyReader().read(tree_of(text)); }

}  // namespace tarn::promotion
