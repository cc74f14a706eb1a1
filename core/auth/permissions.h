// The permissions of one user: all policies that apply to them, prepared for evaluation.
#pragma once

#include <bitset>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/action.h"
#include "core/auth/policy.h"

namespace tarn::auth {

/// '*' matches any sequence of characters, '?' one character; linear in pattern times text.
bool wildcard_match(std::string_view pattern, std::string_view text);

/// Whether the pattern matches every text that begins with `prefix`.
bool wildcard_matches_all(std::string_view pattern, std::string_view prefix);
/// Whether the pattern matches some text that begins with `prefix`.
bool wildcard_matches_some(std::string_view pattern, std::string_view prefix);
/// The suffixes of the pattern that may match the text after `prefix`: after "a/" these are "*" and
/// "" of the pattern "a*". In the order of the pattern's bytes, longest first.
std::vector<std::string_view> wildcard_rests(std::string_view pattern, std::string_view prefix);

/// Whether `address` (IPv4 or IPv6) is in `block` ("10.0.0.0/8", or one address).
bool in_address_block(std::string_view address, std::string_view block);
bool is_address_block(std::string_view text);

/// A ref as a request names it, or all refs that begin with a text.
struct RefScope {
  std::string_view ref;
  bool all_that_begin = false;
};

/// Immutable. Safe from any thread.
class Permissions {
 public:
  /// Allows nothing.
  Permissions() = default;
  Permissions(std::string_view user, const std::vector<std::vector<Statement>>& policies);
  /// Permissions through a key with limits: allowed is what both allow. Changes of accounts are
  /// denied, as a key could otherwise be made that has no limits and no end. Neither is null.
  Permissions(std::shared_ptr<const Permissions> of_user, std::shared_ptr<const Permissions> limits)
      : of_user_(std::move(of_user)), limits_(std::move(limits)) {}

  enum class Decision {
    kAllowed,
    kNotAllowed,  ///< nothing allows it
    kDenied,      ///< a statement denies it, which takes precedence
  };
  /// `client_address` is the caller's IP; where it is unknown, conditions on it never allow and
  /// always deny.
  Decision decide(Action action, std::string_view resource, std::string_view client_address) const;
  bool allows(Action action, std::string_view resource, std::string_view client_address) const {
    return decide(action, resource, client_address) == Decision::kAllowed;
  }
  /// The decision on every object of a repository at every ref: one statement must allow all of
  /// them, and no statement may deny any of them.
  Decision decide_on_all_objects(Action action, std::string_view repository,
                                 std::string_view client_address) const;
  /// Likewise of everything whose name begins with `prefix`.
  Decision decide_below(Action action, std::string_view prefix,
                        std::string_view client_address) const;
  /// The decision on copying the content of `source` to the ref `destination` ("" = any): each
  /// object that `action` is allowed on at the destination, or at refs with that prefix, must be
  /// allowed at the source. Statements without refs treat both alike.
  Decision decide_on_source(Action action, std::string_view repository, const RefScope& source,
                            std::string_view destination, std::string_view client_address) const;

 private:
  using Rests = std::set<std::string_view>;
  struct Rule {
    bool applies(Action action, std::string_view client_address) const;
    /// The suffixes of its resources that may match the text after `prefix`.
    Rests rests(std::string_view prefix) const;
    /// The rests that apply at a ref, or at all refs with a prefix.
    Rests rests_at(std::string_view repository, const RefScope& scope) const;

    Statement::Effect effect;
    std::bitset<kActionCount> actions;
    std::vector<std::string> resources;
    std::map<std::string, std::map<std::string, std::vector<std::string>>> conditions;
  };
  /// The decision where there are limits.
  template <typename Decide>
  std::optional<Decision> limited(Action action, const Decide& decide) const;

  std::vector<Rule> rules_;                     ///< empty where there are limits
  std::shared_ptr<const Permissions> of_user_;  ///< null: without limits
  std::shared_ptr<const Permissions> limits_;   ///< null: without limits
};

/// Whether the action changes users, groups, policies, keys or external principals.
bool changes_accounts(Action action);

}  // namespace tarn::auth
