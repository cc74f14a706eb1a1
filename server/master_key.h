// The key that seals what is secret in the database.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// 32 bytes: auth.master_key, or the key file, which is made (mode 0600, durable) when absent. Safe
/// when several servers start at once over one directory. Throws precondition_failed for a file
/// that holds no key, unavailable.
std::string load_master_key(const Config& config);

}  // namespace tarn::server
