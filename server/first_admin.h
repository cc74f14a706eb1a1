// Creation of the first administrator of an installation.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/auth/directory.h"
#include "core/base/time.h"

namespace tarn::server {

struct GeneratedKey {
  auth::NewKey key;
  std::string file;  ///< that has it too; "" = it could not be written
};

/// Creates the user admin unless there are users: with the keys in TARN_ADMIN_ACCESS_KEY_ID and
/// TARN_ADMIN_SECRET_ACCESS_KEY (or the file in TARN_ADMIN_SECRET_ACCESS_KEY_FILE), or with
/// generated ones, which it writes to <data>/admin-credentials and returns. Throws invalid_argument
/// for invalid keys.
std::optional<GeneratedKey> make_admin(auth::Directory& directory, Instant now,
                                       const std::string& data);

/// Writes the key to <data>/admin-credentials; if that fails, the log says why.
GeneratedKey keep_admin_key(const auth::NewKey& key, const std::string& data);

/// Prints the key, or where it is if standard output is the journal.
void show_admin_key(const GeneratedKey& key);

/// The token that POST /setup_lakefs requires to create the first user: TARN_SETUP_TOKEN (or
/// the content of TARN_SETUP_TOKEN_FILE), or a generated one that is written to <data>/setup-token.
/// "" if there are users. Throws invalid_argument for a token shorter than auth::kSecretBytesMin,
/// unavailable if the file cannot be written.
std::string make_setup_token(auth::Directory& directory, const std::string& data);

/// Replaces the file by one that only its owner may read. Throws unavailable.
void write_private_file(const std::string& path, std::string_view text);

}  // namespace tarn::server
