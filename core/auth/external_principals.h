// Identities of other systems (an IAM role, for example) that are mapped to users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/users.h"

namespace tarn::auth {

constexpr size_t kPrincipalBytesMax = 2048;

struct ExternalPrincipal {
  std::string id;
  std::string user;
  std::vector<std::map<std::string, std::string>> settings;  ///< stored for logins of this identity
};

/// Safe from any thread.
class ExternalPrincipals {
 public:
  explicit ExternalPrincipals(db::Pool& pool) : pool_(pool) {}

  std::optional<ExternalPrincipal> find(std::string_view id);
  Page<ExternalPrincipal> list(std::string_view user, const PageStart& start);
  /// kDone, kExists or kNoUser. Throws invalid_argument for an id that is empty or too long.
  Outcome create(const ExternalPrincipal& principal);
  /// false = the user has no such principal.
  bool remove(std::string_view user, std::string_view id);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::auth
