// The first start of an installation: built-in groups and policies, and the administrator.
#pragma once

#include <optional>
#include <string_view>

#include "core/auth/credentials.h"

namespace tarn::auth {

constexpr std::string_view kAdminName = "admin";
/// The minimum for chosen secrets: an attacker who sees a signature can guess offline.
constexpr size_t kSecretBytesMin = 20;

/// Makes the built-in groups and policies once per installation: edited and deleted ones stay as
/// they are. Safe when several servers start at once.
void ensure_built_ins(db::Pool& pool, Instant now);

bool has_users(db::Pool& pool);

/// Makes a user in group Admins with these keys (generated ones where empty) unless a user exists.
/// Returns the keys only when it made them: the one moment the secret can be shown. Safe when
/// several do it at once. Throws invalid_argument for the name, the key id or a secret that is
/// shorter than kSecretBytesMin.
std::optional<NewKey> ensure_admin(db::Pool& pool, std::string_view master_key,
                                   std::string_view name, std::string_view access_key_id,
                                   std::string_view secret, Instant now);

}  // namespace tarn::auth
