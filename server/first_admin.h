// Creation of the first administrator of an installation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/auth/directory.h"
#include "core/base/time.h"

namespace tarn::server {

/// Creates the user admin unless there are users: with the keys in TARN_ADMIN_ACCESS_KEY_ID and
/// TARN_ADMIN_SECRET_ACCESS_KEY (or the file in TARN_ADMIN_SECRET_ACCESS_KEY_FILE), or with
/// generated ones, which it shows and returns. Throws invalid_argument for invalid keys.
std::optional<auth::NewKey> make_admin(auth::Directory& directory, Instant now,
                                       const std::string& data);

/// Writes the key to <data>/admin-credentials, and prints it unless standard output is the journal.
void show_admin_key(const auth::NewKey& key, const std::string& data);

/// The token that POST /setup_lakefs requires to create the first user: TARN_SETUP_TOKEN (or
/// the content of TARN_SETUP_TOKEN_FILE), or a generated one that is written to <data>/setup-token.
/// "" if there are users. Throws invalid_argument for a token shorter than auth::kSecretBytesMin,
/// unavailable if the file cannot be written.
std::string make_setup_token(auth::Directory& directory, const std::string& data);

/// Replaces the file by one that only its owner may read. Throws unavailable.
void write_private_file(const std::string& path, std::string_view text);

}  // namespace tarn::server
