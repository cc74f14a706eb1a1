// Secrets in the configuration: read from files, hidden where the configuration is shown.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/config.h"

namespace tarn::server {

/// Larger files of secrets are refused.
constexpr size_t kSecretFileBytesMax = 64 * 1024;

/// The text with "***" in place of passwords: those of a URL's user, and the values of password and
/// sslpassword in a URL's query or a PostgreSQL connection string.
std::string without_passwords(std::string_view text);

/// Overwrites the same parts of the program's arguments, which `ps` shows to every user. Returns
/// whether there were any.
bool hide_passwords(std::span<char* const> arguments);

/// The content of a file without the line break at its end. Throws not_found, and invalid_argument
/// if it is empty or longer than kSecretFileBytesMax; both name the file.
std::string read_secret_file(const std::string& path);

/// Reads database_file and the secret_access_key_file of every store. Throws invalid_argument with
/// a line for each that cannot be read, or whose key has a value too.
void read_secret_files(Config& config);

/// The variable, or the content of the file that the variable NAME_FILE names; "" if neither is
/// set. Throws as read_secret_file.
std::string secret_variable(const std::string& name, const Environment& variable);

}  // namespace tarn::server
