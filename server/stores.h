// The object stores that the configuration names.
#pragma once

#include <memory>

#include "core/blob/stores.h"
#include "server/config.h"

namespace tarn::server {

/// Throws not_found for an import root that is missing, permission_denied, unavailable.
std::unique_ptr<blob::Stores> open_stores(const Config& config);

}  // namespace tarn::server
