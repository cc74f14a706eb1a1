// Creation of the first administrator of an installation.
#pragma once

#include <string>
#include <string_view>

#include "core/auth/directory.h"
#include "core/base/time.h"

namespace tarn::server {

/// Creates the user admin unless there are users: with the keys in TARN_ADMIN_ACCESS_KEY_ID and
/// TARN_ADMIN_SECRET_ACCESS_KEY, or with generated ones, which are printed and written to
/// <data>/admin-credentials. Throws invalid_argument for invalid keys.
void make_admin(auth::Directory& directory, Instant now, const std::string& data);

/// The token that POST /setup_lakefs requires to create the first user: TARN_SETUP_TOKEN, or a
/// generated one that is written to <data>/setup-token. "" if there are users. Throws
/// invalid_argument for a token shorter than auth::kSecretBytesMin, unavailable if the file cannot
/// be written.
std::string make_setup_token(auth::Directory& directory, const std::string& data);

/// Replaces the file by one that only its owner may read. Throws unavailable.
void write_private_file(const std::string& path, std::string_view text);

}  // namespace tarn::server
