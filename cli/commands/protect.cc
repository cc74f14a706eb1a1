// tarn branch-protect list | add | delete, tarn tag-protect list | add | delete
#include <algorithm>
#include <functional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

/// Retries of a change when the rules changed concurrently.
constexpr int kAttempts = 5;
constexpr std::string_view kBranches = "branch_protection";
constexpr std::string_view kTags = "tag_protection";

std::string rules_path(const Uri& uri, std::string_view which) {
  return api_path({"repositories", uri.repository, "settings", which});
}

Json::iterator find_rule(Json& rules, const std::string& pattern) {
  return std::find_if(rules.begin(), rules.end(),
                      [&](const Json& rule) { return rule.value("pattern", "") == pattern; });
}

/// Reads the rules, lets `edit` change them, and writes them if they have not changed meanwhile.
/// Returns whether `edit` changed anything.
bool change_protection(Client& client, const std::string& path,
                       const std::function<bool(Json&)>& edit) {
  for (int attempt = 1;; ++attempt) {
    const Answer found = client.ask({.path = path});
    Json rules = json_of(found);
    if (!edit(rules)) return false;
    Request put = put_request(path, rules);
    const std::string etag = found.header("ETag");
    if (!etag.empty()) put.headers.emplace_back("If-Match", etag);
    const Answer answer = client.ask(put);
    if (answer.ok()) return true;
    const Error error = error_from(answer);
    if (error.code() != ErrorCode::kPreconditionFailed || attempt == kAttempts) throw error;
  }
}

using Words = std::vector<std::string>;

Json rules_of(Session& session, const InRepository& options, std::string_view which) {
  return session.client.call({.path = rules_path(session.repository(options.repository), which)});
}

void list_branches(Session& session, const InRepository& options) {
  const Json rules = rules_of(session, options, kBranches);
  ListWriter rows =
      session.out.list("BranchRuleList", {"pattern", "blocks", "merges by", "approvals"});
  for (const Json& rule : rules) {
    rows.add(rule, {rule.value("pattern", ""),
                    joined(rule.value("blocked_actions", Words{"stage", "commit", "reset"}), " "),
                    joined(rule.value("merge_methods", Words{"merge", "squash"}), " "),
                    std::to_string(rule.value("approvals", int64_t{0}))});
  }
  rows.finish();
}

void list_tags(Session& session, const InRepository& options) {
  const Json rules = rules_of(session, options, kTags);
  ListWriter rows = session.out.list("TagRuleList", {"pattern", "create", "delete"});
  for (const Json& rule : rules) {
    rows.add(rule, {rule.value("pattern", ""), rule.value("create", true) ? "yes" : "no",
                    rule.value("delete", true) ? "yes" : "no"});
  }
  rows.finish();
}

constexpr const char* kPatternHelp = "a pattern of names: main, release-*, v?";

struct BranchRule {
  std::string pattern;
  std::string repository;
  std::vector<std::string> blocked;
  std::vector<std::string> methods;
  int64_t approvals = kNotGiven;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, kPatternHelp)
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option(
            "--block", blocked,
            "stage, commit, merge, delete, revert, cherry_pick, reset, import or restore; again "
            "for more (stage, commit and reset)")
        .option("--merge-by", methods,
                "permit only this merge method: merge or squash; may be repeated")
        .option("--approvals", approvals,
                "approvals that a pull request needs before it is merged (0)");
  }
};

struct TagRule {
  std::string pattern;
  std::string repository;
  bool no_create = false;
  bool no_delete = false;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, kPatternHelp)
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .flag("--no-create", no_create, "forbid to create these tags")
        .flag("--no-delete", no_delete, "forbid to delete or move these tags");
  }
};

/// A rule of the same pattern is replaced, but for members that the new one does not name.
void add_rule(Session& session, const std::string& repository, std::string_view which,
              std::string_view kind, const Json& rule) {
  const Uri uri = session.repository(repository);
  const std::string pattern = rule.at("pattern").get<std::string>();
  Json result;
  const bool changed = change_protection(session.client, rules_path(uri, which), [&](Json& rules) {
    auto there = find_rule(rules, pattern);
    if (there == rules.end()) {
      rules.push_back(rule);
      result = rule;
      return true;
    }
    const Json before = *there;
    there->update(rule);
    result = *there;
    return result != before;
  });
  result["changed"] = changed;
  session.out.object(kind, result, {{"pattern", pattern}, {"repository", to_string(uri)}});
}

void add_branch_rule(Session& session, const BranchRule& options) {
  Json rule{{"pattern", options.pattern}};
  if (!options.blocked.empty()) rule["blocked_actions"] = options.blocked;
  if (!options.methods.empty()) rule["merge_methods"] = options.methods;
  if (options.approvals != kNotGiven) rule["approvals"] = options.approvals;
  add_rule(session, options.repository, kBranches, "BranchRule", rule);
}

void add_tag_rule(Session& session, const TagRule& options) {
  if (!options.no_create && !options.no_delete)
    throw usage_error("protecting tags: --no-create, --no-delete or both are needed");
  const Json rule{
      {"pattern", options.pattern}, {"create", !options.no_create}, {"delete", !options.no_delete}};
  add_rule(session, options.repository, kTags, "TagRule", rule);
}

struct DeleteProtection {
  std::string pattern;
  std::string repository;

  void declare(Command& command) {
    command.argument("PATTERN", pattern, "the pattern of the rule, as listed")
        .optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo");
  }
};

void delete_rule(Session& session, const DeleteProtection& options, std::string_view which) {
  const Uri uri = session.repository(options.repository);
  change_protection(session.client, rules_path(uri, which), [&](Json& rules) {
    const auto there = find_rule(rules, options.pattern);
    if (there == rules.end()) {
      throw Error(ErrorCode::kNotFound, str_cat("deleting the rule for \"", options.pattern,
                                                "\": ", to_string(uri), " has none"));
    }
    rules.erase(there);
    return true;
  });
  session.out.remark(str_cat("deleted the rule for ", options.pattern));
}

void delete_branch_rule(Session& session, const DeleteProtection& options) {
  delete_rule(session, options, kBranches);
}

void delete_tag_rule(Session& session, const DeleteProtection& options) {
  delete_rule(session, options, kTags);
}

}  // namespace

void add_protect_commands(CommandTree& tree) {
  tree.group("branch-protect", "Protection rules of branches");
  tree.add<InRepository>("branch-protect list", "List the protection rules", list_branches);
  tree.add<BranchRule>("branch-protect add", "Add a protection rule of branches, or change one",
                       add_branch_rule);
  tree.add<DeleteProtection>("branch-protect delete", "Delete a protection rule",
                             delete_branch_rule);
  tree.group("tag-protect", "Protection rules of tags");
  tree.add<InRepository>("tag-protect list", "List the protection rules", list_tags);
  tree.add<TagRule>("tag-protect add", "Add a protection rule of tags, or change one",
                    add_tag_rule);
  tree.add<DeleteProtection>("tag-protect delete", "Delete a protection rule", delete_tag_rule);
}

}  // namespace tarn::cli
