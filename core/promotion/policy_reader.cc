// Parses a policy document into a GatePolicy, or into a list of all its errors.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/model/alias.h"
#include "core/model/ref_expression.h"
#include "core/promotion/document_reader.h"
#include "core/promotion/evaluation_rule_reader.h"
#include "core/promotion/metric_rule_reader.h"
#include "core/promotion/policy.h"
#include "core/promotion/policy_keys.h"

namespace tarn::promotion {
namespace {

constexpr std::string_view kReason = reason::kPolicyInvalid;
constexpr std::string_view kUnchangedDefault = "_lakefs_actions/**";
using std::chrono::milliseconds;

constexpr std::chrono::hours kCheckTimeoutDefault{1};
constexpr std::chrono::days kAttemptsPerDefault{7};
constexpr std::chrono::days kReevaluateDefault{7};

[[noreturn]] void throw_policy(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, kReason, str_cat("policy: ", why));
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
    if (const YamlNode* node = find(members, "evaluations"))
      read_evaluations(in_, *node, policy_.evaluations);
    if (const YamlNode* node = find(members, "metrics")) {
      read_metric_rules(in_, *node, policy_.metrics);
    }
    if (const YamlNode* node = find(members, "scores")) read_scores(in_, *node, policy_.metrics);
    if (const YamlNode* node = find(members, "any")) read_any(*node);
    if (const YamlNode* node = find(members, "tie_break")) read_tie_break(*node);
    policy_.objects.unchanged = {Glob(kUnchangedDefault)};
    if (const YamlNode* node = find(members, "objects")) read_objects(*node);
    if (const YamlNode* node = find(members, "card")) read_card(*node);
    if (const YamlNode* node = find(members, "promoted_values")) {
      policy_.promoted_values = in_.flag_at(*node, "promoted_values");
      if (policy_.promoted_values && policy_.objects.required.empty())
        in_.complain(*node, "promoted_values", "compares what objects.required names: name it");
    }
    policy_.checks.timeout = kCheckTimeoutDefault;
    if (const YamlNode* node = find(members, "checks")) read_checks(*node);
    if (const YamlNode* node = find(members, "attempts")) read_attempts(*node);
    if (const YamlNode* node = find(members, "approvals")) read_approvals(*node);
    if (const YamlNode* node = find(members, "rollback")) read_rollback(*node);
    if (const YamlNode* node = find(members, "stages")) read_stages(*node);
    if (const YamlNode* node = find(members, "after")) read_after(*node);
    if (const YamlNode* node = find(members, "freeze")) {
      in_.read_list(*node, "freeze", policy_.freeze,
                    [&](const YamlNode& item, const std::string& path) {
                      return freeze_window_at(in_, item, path);
                    });
    }
    if (const YamlNode* node = find(members, "champion")) read_champion(*node);
    if (const YamlNode* node = find(members, "cooldown")) {
      policy_.cooldown = in_.time_at(*node, "cooldown", kPolicyTimeMax).value_or(milliseconds{});
    }
    check_model_bytes(members);
    check_champion(members);
    check_evaluations(members);
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

  /// Must be called after the metrics were read.
  void read_any(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::kList) return in_.expected(node, "any", "a list");
    if (node.items.size() > kPolicyAnyMax)
      return in_.complain(node, "any", str_cat("has more than ", kPolicyAnyMax, " items"));
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::string path = str_cat("any[", i, "]");
      const Members members = in_.members_of(node.items[i], path, policy_keys_below("any[]"));
      const YamlNode* of = find(members, "of");
      const YamlNode* rules = find(members, "rules");
      if (of == nullptr || rules == nullptr) {
        if (node.items[i].kind == YamlNode::Kind::kMap)
          in_.complain(node.items[i], path, "needs of and rules");
        continue;
      }
      AnyRules any;
      in_.read_list(*rules, path + ".rules", any.rules,
                    [&](const YamlNode& item, const std::string& item_path) {
                      return optional_rule_at(item, item_path);
                    });
      any.of = in_.count_at(*of, path + ".of", kDocumentListMax).value_or(1);
      if (any.of == 0 || any.of > any.rules.size())
        in_.expected(*of, path + ".of", "1 to the number of rules");
      policy_.any.push_back(std::move(any));
    }
  }

  std::optional<std::string> optional_rule_at(const YamlNode& item, const std::string& path) {
    const auto text = in_.text_at(item, path, 2 * kMetricNameBytesMax);
    if (!text) return std::nullopt;
    std::vector<MetricRule*> found;
    for (MetricRule& rule : policy_.metrics) {
      if (rule.label() == *text) found.push_back(&rule);
    }
    if (found.size() != 1) {
      in_.expected(item, path, "one metric or score of the policy, as NAME or NAME@SPLIT");
      return std::nullopt;
    }
    const MetricRule& rule = *found.front();
    if (rule.primary) in_.complain(item, path, "ranks the candidates, so it must hold");
    if (std::any_of(policy_.metrics.begin(), policy_.metrics.end(),
                    [&](const MetricRule& score) { return score.sums(rule); }))
      in_.complain(item, path, "is part of a score, so it must hold");
    found.front()->optional = true;
    return text;
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
    if (rule != nullptr && rule->ranks()) return TieBreak{TieBreak::Kind::kMetric, *text};
    if (*text == "model_bytes") return TieBreak{TieBreak::Kind::kModelBytes};
    if (*text == "created_at") return TieBreak{TieBreak::Kind::kCreatedAt};
    in_.expected(item, path, "a metric of the policy with a goal, model_bytes or created_at");
    return std::nullopt;
  }

  /// Without an alias the promoter could choose the champion, or that there is none.
  void check_champion(const Members& members) {
    const auto compares = [](const MetricRule& rule) { return rule.compares(); };
    if (policy_.alias.empty() && policy_.baseline != Baseline::kDestination &&
        std::any_of(policy_.metrics.begin(), policy_.metrics.end(), compares)) {
      const YamlNode* const metrics = find(members, "metrics");
      in_.complain(
          metrics == nullptr ? *find(members, "scores") : *metrics, "metrics",
          "vs_champion compares with the champion, so the policy needs \"alias\", its name");
    }
  }

  void check_evaluations(const Members& members) {
    for (const MetricRule& rule : policy_.metrics) {
      for (const MetricSource& source : rule.trusted) {
        if (source.origin != MetricOrigin::kEvaluation || policy_.find_evaluation(source.check))
          continue;
        in_.complain(*find(members, "metrics"), "metrics",
                     str_cat("\"evaluation:", source.check, "\" is none of `evaluations`"));
      }
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
    read_globs(members, "measured", rules.measured);
    for (const Glob& pattern : rules.measured) {
      if (std::find(rules.required.begin(), rules.required.end(), pattern) == rules.required.end())
        in_.expected(*find(members, "measured"), "objects.measured",
                     str_cat("patterns of objects.required, and ", pattern.pattern(), " is none"));
    }
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
    if (const YamlNode* groups = find(members, "groups"))
      read_groups(*groups, "approvals.groups", rules);
  }

  void read_champion(const YamlNode& node) {
    const Members members = in_.members_of(node, "champion", policy_keys_below("champion"));
    if (node.kind != YamlNode::Kind::kMap) return;
    ChampionRules& rules = policy_.champion;
    const auto time_of = [&](std::string_view name) {
      const YamlNode* time = find(members, name);
      if (time == nullptr) return milliseconds{};
      return in_.time_at(*time, str_cat("champion.", name), kPolicyTimeMax)
          .value_or(milliseconds{});
    };
    rules.expires = time_of("expires");
    rules.reevaluate = time_of("reevaluate");
    if (find(members, "expires") == nullptr) in_.complain(node, "champion", "needs expires");
    if (find(members, "reevaluate") == nullptr) rules.reevaluate = kReevaluateDefault;
    if (policy_.remeasure.empty()) {
      in_.complain(node, "champion",
                   "needs remeasure: the users who measure the champion again when it has expired");
    }
  }

  /// Must be called after the approvals were read, whose flags it has.
  void read_card(const YamlNode& node) {
    const Members members = in_.members_of(node, "card", policy_keys_below("card"));
    if (node.kind != YamlNode::Kind::kMap) return;
    const YamlNode* path = find(members, "path");
    const YamlNode* required = find(members, "required");
    if (path == nullptr || required == nullptr)
      in_.complain(node, "card", "needs path and required");
    if (path != nullptr) {
      policy_.card.path = in_.text_at(*path, "card.path", kKeyBytesMax).value_or("");
      if (!is_plain_path(policy_.card.path)) in_.expected(*path, "card.path", "a plain path");
    }
    if (required == nullptr) return;
    in_.read_list(*required, "card.required", policy_.card.required,
                  [&](const YamlNode& item, const std::string& at) {
                    return in_.text_at(item, at, kCardFieldBytesMax);
                  });
  }

  void read_rollback(const YamlNode& node) {
    const Members members = in_.members_of(node, "rollback", policy_keys_below("rollback"));
    if (node.kind != YamlNode::Kind::kMap) return;
    ApprovalRules& rules = policy_.rollback.emplace(policy_.approvals);
    rules.count = 0;
    rules.groups.clear();
    if (const YamlNode* count = find(members, "approvals")) {
      rules.count = in_.count_at(*count, "rollback.approvals", kGateApprovalsMax).value_or(0);
    } else {
      in_.complain(node, "rollback", "needs approvals: how many, or 0");
    }
    if (const YamlNode* groups = find(members, "groups"))
      read_groups(*groups, "rollback.groups", rules);
  }

  /// Must be called after the alias and the approvals were read.
  void read_stages(const YamlNode& node) {
    in_.read_list(node, "stages", policy_.stages,
                  [&](const YamlNode& item, const std::string& path) {
                    return std::optional(stage_at(item, path));
                  });
    std::vector<StageRules>& stages = policy_.stages;
    if (stages.empty()) return;
    if (stages.size() > kPolicyStagesMax)
      in_.complain(node, "stages", str_cat("has more than ", kPolicyStagesMax, " items"));
    if (policy_.alias.empty() || policy_.alias != stages.back().alias)
      in_.complain(node, "stages", "the last must have the policy's `alias`");
    if (stages.front().approvals.count > 0)
      in_.complain(node, "stages[0].approvals", "is `approvals` of the policy: write it there");
    if (stages.back().checks.empty() != (stages.back().soak.count() == 0))
      in_.complain(node, "stages",
                   "soak and checks of the last say which checks take the promotion back, and for "
                   "how long: write both, or none");
    std::set<std::string> aliases;
    for (const StageRules& stage : stages) {
      if (!aliases.insert(stage.alias).second)
        in_.complain(node, "stages", str_cat("alias ", stage.alias, " is given twice"));
    }
  }

  StageRules stage_at(const YamlNode& item, const std::string& path) {
    StageRules stage;
    stage.approvals = policy_.approvals;
    stage.approvals.count = 0;
    stage.approvals.groups.clear();
    const Members members = in_.members_of(item, path, policy_keys_below("stages[]"));
    if (const YamlNode* alias = find(members, "alias")) {
      stage.alias = in_.text_at(*alias, path + ".alias", kPolicyTextBytesMax).value_or("");
      if (!is_alias_name(stage.alias))
        in_.expected(*alias, path + ".alias", "the name of an alias, without '@'");
    } else if (item.kind == YamlNode::Kind::kMap) {
      in_.complain(item, path, "alias is missing");
    }
    if (const YamlNode* soak = find(members, "soak"))
      stage.soak = in_.time_at(*soak, path + ".soak", kPolicyTimeMax).value_or(milliseconds{});
    if (const YamlNode* checks = find(members, "checks"))
      read_names(*checks, path + ".checks", stage.checks);
    if (const YamlNode* approvals = find(members, "approvals")) {
      const std::string at = path + ".approvals";
      const Members of_approvals =
          in_.members_of(*approvals, at, policy_keys_below("stages[].approvals"));
      if (const YamlNode* count = find(of_approvals, "count"))
        stage.approvals.count = in_.count_at(*count, at + ".count", kGateApprovalsMax).value_or(0);
      if (const YamlNode* groups = find(of_approvals, "groups"))
        read_groups(*groups, at + ".groups", stage.approvals);
    }
    return stage;
  }

  void read_groups(const YamlNode& node, const std::string& path, ApprovalRules& rules) {
    uint32_t all = 0;
    std::set<std::string> names;
    in_.read_list(node, path, rules.groups, [&](const YamlNode& item, const std::string& at) {
      const Members members = in_.members_of(item, at, policy_keys_below("approvals.groups[]"));
      GroupApprovals group{.count = 1};
      if (const YamlNode* name = find(members, "name")) {
        group.name = in_.text_at(*name, at + ".name", kPolicyTextBytesMax).value_or("");
      } else {
        in_.complain(item, at, "name is missing");
      }
      if (const YamlNode* count = find(members, "count"))
        group.count = in_.count_at(*count, at + ".count", kGateApprovalsMax).value_or(1);
      if (group.count == 0) in_.expected(item, at + ".count", "1 or more");
      if (!names.insert(group.name).second) in_.complain(item, at, "the group is given twice");
      all += group.count;
      return std::optional(group);
    });
    if (all > kGateApprovalsMax)
      in_.complain(node, path, str_cat("want more than ", kGateApprovalsMax, " approvals"));
    rules.count = std::max(rules.count, all);
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
