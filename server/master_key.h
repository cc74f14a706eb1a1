// The master key, which seals the secrets in the database.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// 32 bytes: auth.master_key, or the key file, which is created (mode 0600, durable) if absent.
/// Safe when several servers start at once on one directory. Throws precondition_failed for a file
/// without a key, unavailable.
std::string load_master_key(const Config& config);

}  // namespace tarn::server
