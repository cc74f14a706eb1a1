// What one user may do: the policies that hold for them, made ready to be asked.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/action.h"
#include "core/auth/policy.h"

namespace tarn::auth {

/// '*' stands for any run of characters, '?' for one; linear in pattern times text.
bool wildcard_match(std::string_view pattern, std::string_view text);

/// Whether `address` (IPv4 or IPv6) lies in `block` ("10.0.0.0/8", or one address).
bool in_address_block(std::string_view address, std::string_view block);
bool is_address_block(std::string_view text);

/// Immutable. Safe from any thread.
class Permissions {
 public:
  /// Allows nothing.
  Permissions() = default;
  Permissions(std::string_view user, const std::vector<std::vector<Statement>>& policies);

  enum class Decision {
    kAllowed,
    kNotAllowed,  ///< nothing allows it
    kDenied,      ///< a statement denies it, whatever else allows it
  };
  /// `client_address` is the caller's IP; where it is unknown, conditions on it never allow and
  /// always deny.
  Decision decide(Action action, std::string_view resource, std::string_view client_address) const;
  bool allows(Action action, std::string_view resource, std::string_view client_address) const {
    return decide(action, resource, client_address) == Decision::kAllowed;
  }

 private:
  struct Rule {
    Statement::Effect effect;
    std::bitset<kActionCount> actions;
    std::vector<std::string> resources;
    std::map<std::string, std::map<std::string, std::vector<std::string>>> conditions;
  };
  std::vector<Rule> rules_;
};

}  // namespace tarn::auth
