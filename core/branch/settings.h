// Verbs on the settings of a repository.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/meta/repository_settings.h"
#include "core/model/branch_rule.h"
#include "core/model/collection_rules.h"
#include "core/model/repository.h"
#include "core/model/tag_rule.h"

namespace tarn::branch {

// All throw not_found "repository not found"; all that change something also permission_denied in a
// read-only repository. A change holds for every request that begins after it, on every server.

/// A value with the tag that a conditional change names; "" when it was never set.
template <typename Value>
struct Tagged {
  Value value;
  std::string etag;
};

struct SettingWrite {
  /// The etag the value must have; "" = it was never set. Absent = any. Otherwise throws
  /// precondition_failed.
  std::optional<std::string> if_match{};
  bool force = false;  ///< also in a read-only repository
};

/// The tag of a stored document.
std::string setting_etag(const std::optional<std::string>& body);
/// Replaces a document that is not made from the one before.
void update_setting(Engine& engine, const Repository& repository, meta::SettingKind kind,
                    const SettingWrite& write, const std::string& body);

Tagged<std::vector<BranchRule>> get_branch_rules(Engine& engine, const Repository& repository);
/// Replaces all. A rule keeps the members it does not name from the rule that had its pattern
/// before: clients that do not know them write rules back without them. Of two rules with one
/// pattern the later counts. Throws invalid_argument past kBranchRulesMax.
void set_branch_rules(Engine& engine, const Repository& repository,
                      const std::vector<BranchRule>& rules, const SettingWrite& write);
/// Adds a rule, or nothing when the pattern has one.
void add_branch_rule(Engine& engine, const Repository& repository, const Glob& pattern);
/// Throws not_found when no rule has the pattern.
void remove_branch_rule(Engine& engine, const Repository& repository, std::string_view pattern);

Tagged<std::vector<TagRule>> get_tag_rules(Engine& engine, const Repository& repository);
/// Replaces all. Throws invalid_argument past kTagRulesMax.
void set_tag_rules(Engine& engine, const Repository& repository, const std::vector<TagRule>& rules,
                   const SettingWrite& write);

/// nullopt if none are set.
std::optional<CollectionRules> get_collection_rules(Engine& engine, const Repository& repository);
void set_collection_rules(Engine& engine, const Repository& repository,
                          const CollectionRules& rules);
/// No rules is no error.
void remove_collection_rules(Engine& engine, const Repository& repository);

}  // namespace tarn::branch
