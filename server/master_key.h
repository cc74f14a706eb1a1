// The master key, which seals the secrets in the database.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// 32 bytes: auth.master_key, or the key file, which is created (mode 0600, durable) if absent.
/// Safe when several servers start at once on one directory. Throws precondition_failed for a file
/// without a key, unavailable.
std::string load_master_key(const Config& config);

/// Whether load_master_key would find a key and not make one.
bool has_master_key(const Config& config);
/// Where it is configured, for people.
std::string master_key_origin(const Config& config);
/// Writes the key file unless it exists, durably, mode 0600.
void write_master_key(const Config& config, const std::string& key);

/// The problem with the file of the key that the server runs with: "file_missing",
/// "file_differs", "readable_by_others"; "" = nothing, or the key is no file.
std::string master_key_problem(const Config& config, const std::string& key);

}  // namespace tarn::server
