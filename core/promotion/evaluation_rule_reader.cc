#include "core/promotion/evaluation_rule_reader.h"

#include <algorithm>

#include "core/base/str_cat.h"
#include "core/model/alias.h"
#include "core/model/names.h"
#include "core/promotion/policy_keys.h"

namespace tarn::promotion {
namespace {

constexpr std::string_view kUriScheme = "tarn://";
constexpr std::chrono::days kBudgetPeriodDefault{7};
constexpr std::chrono::days kWaitDefault{1};

/// A wrong value is reported, and reading continues.
class EvaluationReader {
 public:
  explicit EvaluationReader(DocumentReader& in) : in_(in) {}

  EvaluationRules read(const YamlNode& node, const std::string& path) {
    EvaluationRules rules;
    rules.budget_period = kBudgetPeriodDefault;
    rules.wait = kWaitDefault;
    members_ = in_.members_of(node, path, policy_keys_below("evaluations[]"));
    path_ = path;
    if (node.kind != YamlNode::Kind::kMap) return rules;
    for (const std::string_view key : {"name", "data", "score", "reads"}) {
      if (find(members_, key) == nullptr) in_.complain(node, path, str_cat(key, " is missing"));
    }
    evaluation::Spec& spec = rules.spec;
    if (const auto name = text("name", evaluation::kEvaluationNameBytesMax)) {
      rules.name = *name;
      if (!is_policy_name(*name))
        in_.expected(*find(members_, "name"), at("name"),
                     "letters, digits, underscores, hyphens and dots");
    }
    if (const auto uri = text("data", kPolicyTextBytesMax)) read_data(*uri, rules);
    if (const auto inputs = text("inputs", kPolicyTextBytesMax)) {
      spec.inputs = *inputs;
      if (spec.inputs.back() != '/') spec.inputs += '/';
    }
    spec.predict = text("predict", kPolicyTextBytesMax).value_or("");
    spec.score = text("score", kPolicyTextBytesMax).value_or("");
    if (const YamlNode* reads = find(members_, "reads")) {
      in_.read_list(*reads, at("reads"), spec.reads,
                    [&](const YamlNode& item, const std::string& where) {
                      return in_.glob_at(item, where, kPolicyGlobBytesMax);
                    });
      if (reads->kind == YamlNode::Kind::kList && reads->items.empty())
        in_.complain(*reads, at("reads"), "is empty: nothing would be measured");
    }
    if (const YamlNode* digits = find(members_, "digits"))
      spec.digits = in_.count_at(*digits, at("digits"), evaluation::kEvaluationDigitsMax)
                        .value_or(spec.digits);
    if (const YamlNode* timeout = find(members_, "timeout")) {
      spec.timeout =
          in_.time_at(*timeout, at("timeout"),
                      std::chrono::floor<std::chrono::days>(evaluation::kEvaluationTimeoutMax))
              .value_or(spec.timeout);
    }
    if (const YamlNode* memory = find(members_, "memory")) {
      spec.memory_bytes = in_.size_at(*memory, at("memory")).value_or(spec.memory_bytes);
      if (spec.memory_bytes == 0 || spec.memory_bytes > evaluation::kEvaluationMemoryBytesMax)
        in_.expected(*memory, at("memory"), "1 byte to 1TiB");
    }
    if (const YamlNode* labels = find(members_, "labels")) {
      in_.read_list(
          *labels, at("labels"), spec.labels,
          [&](const YamlNode& item, const std::string& where) -> std::optional<std::string> {
            const auto label = in_.text_at(item, where, kPolicyNameBytesMax);
            if (label && !is_policy_name(*label))
              in_.expected(item, where, "letters, digits, underscores, hyphens and dots");
            return label;
          });
      if (spec.labels.size() > evaluation::kEvaluationLabelsMax)
        in_.complain(*labels, at("labels"),
                     str_cat("has more than ", evaluation::kEvaluationLabelsMax, " labels"));
    }
    if (const YamlNode* runners = find(members_, "runners")) {
      in_.read_list(
          *runners, at("runners"), rules.runners,
          [&](const YamlNode& item, const std::string& where) -> std::optional<PolicyUser> {
            const auto user = in_.text_at(item, where, kPolicyTextBytesMax);
            return user ? std::optional(PolicyUser{.name = *user}) : std::nullopt;
          });
    }
    if (const YamlNode* budget = find(members_, "budget")) read_budget(*budget, rules);
    if (const YamlNode* wait = find(members_, "wait"))
      rules.wait = in_.time_at(*wait, at("wait"), kPolicyTimeMax).value_or(kWaitDefault);
    return rules;
  }

 private:
  using Members = DocumentReader::Members;

  static const YamlNode* find(const Members& members, std::string_view name) {
    const auto found = members.find(name);
    return found == members.end() ? nullptr : found->second;
  }
  std::string at(std::string_view key) const { return str_cat(path_, ".", key); }

  std::optional<std::string> text(std::string_view key, size_t most) {
    const YamlNode* node = find(members_, key);
    return node == nullptr ? std::nullopt : in_.text_at(*node, at(key), most);
  }

  /// tarn://REPOSITORY/REF/FOLDER/
  void read_data(const std::string& uri, EvaluationRules& rules) {
    const YamlNode& node = *find(members_, "data");
    const auto refuse = [&] {
      in_.expected(node, at("data"), "tarn://REPOSITORY/REF/FOLDER/, or tarn://REPOSITORY/REF");
    };
    if (!uri.starts_with(kUriScheme)) return refuse();
    const std::string rest = uri.substr(kUriScheme.size());
    const size_t after_repository = rest.find('/');
    if (after_repository == std::string::npos) return refuse();
    const size_t after_ref = std::min(rest.find('/', after_repository + 1), rest.size());
    rules.repository = rest.substr(0, after_repository);
    rules.ref = rest.substr(after_repository + 1, after_ref - after_repository - 1);
    rules.spec.folder = rest.substr(std::min(after_ref + 1, rest.size()));
    if (!rules.spec.folder.empty() && rules.spec.folder.back() != '/') rules.spec.folder += '/';
    if (!is_repository_name(rules.repository) || rules.ref.empty()) refuse();
  }

  void read_budget(const YamlNode& node, EvaluationRules& rules) {
    const Members members =
        in_.members_of(node, at("budget"), policy_keys_below("evaluations[].budget"));
    if (node.kind != YamlNode::Kind::kMap) return;
    if (const YamlNode* per_author = find(members, "per_author")) {
      rules.budget_per_author =
          in_.count_at(*per_author, at("budget.per_author"), kEvaluationBudgetMax).value_or(1);
      if (rules.budget_per_author == 0)
        in_.expected(*per_author, at("budget.per_author"), "1 or more");
    } else {
      in_.complain(node, at("budget"), "per_author is missing");
    }
    if (const YamlNode* period = find(members, "period"))
      rules.budget_period =
          in_.time_at(*period, at("budget.period"), kPolicyTimeMax).value_or(kBudgetPeriodDefault);
  }

  DocumentReader& in_;
  Members members_;
  std::string path_;
};

}  // namespace

void read_evaluations(DocumentReader& in, const YamlNode& node, std::vector<EvaluationRules>& out) {
  if (node.kind != YamlNode::Kind::kList) return in.expected(node, "evaluations", "a list");
  if (node.items.size() > kPolicyEvaluationsMax) {
    return in.complain(node, "evaluations",
                       str_cat("has more than ", kPolicyEvaluationsMax, " items"));
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string path = str_cat("evaluations[", i, "]");
    EvaluationRules rules = EvaluationReader(in).read(node.items[i], path);
    const bool known = std::any_of(
        out.begin(), out.end(), [&](const EvaluationRules& one) { return one.name == rules.name; });
    if (known && !rules.name.empty())
      in.complain(node.items[i], path,
                  str_cat("there is an evaluation \"", rules.name, "\" already"));
    out.push_back(std::move(rules));
  }
}

}  // namespace tarn::promotion
