// The first administrator of an installation, and how their keys reach the operator.
#pragma once

#include <string>
#include <string_view>

#include "core/auth/directory.h"
#include "core/base/time.h"

namespace tarn::server {

/// Makes user admin unless there is a user: with the keys of TARN_ADMIN_ACCESS_KEY_ID and
/// TARN_ADMIN_SECRET_ACCESS_KEY, or with generated ones, which are printed and written to
/// <data>/admin-credentials. Throws invalid_argument for keys that cannot be taken.
void make_admin(auth::Directory& directory, Instant now, const std::string& data);

/// The token with which POST /setup_lakefs makes the first user: TARN_SETUP_TOKEN, or a generated
/// one that is written to <data>/setup-token. "" when there is a user. Throws invalid_argument for
/// a token shorter than auth::kSecretBytesMin, unavailable when the file cannot be written.
std::string make_setup_token(auth::Directory& directory, const std::string& data);

/// Replaces the file by one that its owner alone may read. Throws unavailable.
void write_private_file(const std::string& path, std::string_view text);

}  // namespace tarn::server
