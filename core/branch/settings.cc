#include "core/branch/settings.h"

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/repositories.h"
#include "core/meta/repository_settings.h"

namespace tarn::branch {
namespace {

using meta::SettingKind;
using Body = std::optional<std::string>;

std::string etag_of(const Body& body) { return body ? to_hex(sha256(*body)) : std::string(); }

void check_etag(const SettingWrite& write, const Body& present) {
  if (write.if_match && *write.if_match != etag_of(present)) {
    throw Error(ErrorCode::kPreconditionFailed, "Precondition failed");
  }
}

void update(Engine& engine, const Repository& repository, SettingKind kind,
            const SettingWrite& write, const meta::RepositorySettings::Change& change) {
  check_writable(engine, repository, write.force);
  const bool done = engine.settings.update(repository.id, kind, [&](const Body& present) {
    check_etag(write, present);
    return change(present);
  });
  if (!done) throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
}

template <typename Value>
Tagged<std::vector<Value>> get_list(Engine& engine, const Repository& repository, SettingKind kind,
                                    std::vector<Value> (*decode)(std::string_view)) {
  const Body body = engine.settings.find(repository.id, kind);
  if (!body) check_exists(engine, repository);
  return {body ? decode(*body) : std::vector<Value>{}, etag_of(body)};
}

void check_count(size_t rules, size_t most) {
  if (rules > most) throw_invalid(str_cat("rules: there may be at most ", most, " of them"));
}

std::vector<BranchRule> branch_rules_of(const Body& body) {
  return body ? decode_branch_rules(*body) : std::vector<BranchRule>{};
}

auto find_pattern(std::vector<BranchRule>& rules, std::string_view pattern) {
  return std::find_if(rules.begin(), rules.end(),
                      [&](const BranchRule& rule) { return rule.pattern.pattern() == pattern; });
}

/// Copies members that `rule` does not set.
void complete(BranchRule& rule, const BranchRule& before) {
  if (!rule.blocked_actions) rule.blocked_actions = before.blocked_actions;
  if (!rule.merge_methods) rule.merge_methods = before.merge_methods;
  if (!rule.approvals) rule.approvals = before.approvals;
}

}  // namespace

std::string setting_etag(const Body& body) { return etag_of(body); }

void update_setting(Engine& engine, const Repository& repository, SettingKind kind,
                    const SettingWrite& write, const std::string& body) {
  update(engine, repository, kind, write, [&](const Body&) { return body; });
}

Tagged<std::vector<BranchRule>> get_branch_rules(Engine& engine, const Repository& repository) {
  return get_list(engine, repository, SettingKind::kBranchRules, decode_branch_rules);
}

void set_branch_rules(Engine& engine, const Repository& repository,
                      const std::vector<BranchRule>& rules, const SettingWrite& write) {
  check_count(rules.size(), kBranchRulesMax);
  update(engine, repository, SettingKind::kBranchRules, write, [&](const Body& present) {
    std::vector<BranchRule> before = branch_rules_of(present);
    std::vector<BranchRule> after;
    for (BranchRule rule : rules) {
      const auto old = find_pattern(before, rule.pattern.pattern());
      if (old != before.end()) complete(rule, *old);
      const auto twin = find_pattern(after, rule.pattern.pattern());
      if (twin != after.end()) after.erase(twin);
      after.push_back(std::move(rule));
    }
    return encode_branch_rules(after);
  });
}

void add_branch_rule(Engine& engine, const Repository& repository, const Glob& pattern) {
  update(engine, repository, SettingKind::kBranchRules, {}, [&](const Body& present) {
    std::vector<BranchRule> rules = branch_rules_of(present);
    if (find_pattern(rules, pattern.pattern()) == rules.end()) {
      rules.push_back({.pattern = pattern});
      check_count(rules.size(), kBranchRulesMax);
    }
    return encode_branch_rules(rules);
  });
}

void remove_branch_rule(Engine& engine, const Repository& repository, std::string_view pattern) {
  update(engine, repository, SettingKind::kBranchRules, {}, [&](const Body& present) {
    std::vector<BranchRule> rules = branch_rules_of(present);
    const auto rule = find_pattern(rules, pattern);
    if (rule == rules.end()) {
      throw Error(ErrorCode::kNotFound, str_cat("rule \"", pattern, "\": not found"));
    }
    rules.erase(rule);
    return encode_branch_rules(rules);
  });
}

Tagged<std::vector<TagRule>> get_tag_rules(Engine& engine, const Repository& repository) {
  return get_list(engine, repository, SettingKind::kTagRules, decode_tag_rules);
}

void set_tag_rules(Engine& engine, const Repository& repository, const std::vector<TagRule>& rules,
                   const SettingWrite& write) {
  check_count(rules.size(), kTagRulesMax);
  update(engine, repository, SettingKind::kTagRules, write,
         [&](const Body&) { return encode_tag_rules(rules); });
}

std::optional<CollectionRules> get_collection_rules(Engine& engine, const Repository& repository) {
  const Body body = engine.settings.find(repository.id, SettingKind::kCollectionRules);
  if (!body) {
    check_exists(engine, repository);
    return std::nullopt;
  }
  return decode_collection_rules(*body);
}

void set_collection_rules(Engine& engine, const Repository& repository,
                          const CollectionRules& rules) {
  update(engine, repository, SettingKind::kCollectionRules, {},
         [&](const Body&) { return encode_collection_rules(rules); });
}

void remove_collection_rules(Engine& engine, const Repository& repository) {
  update(engine, repository, SettingKind::kCollectionRules, {},
         [](const Body&) { return std::nullopt; });
}

}  // namespace tarn::branch
