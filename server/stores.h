// The object stores that the configuration names.
#pragma once

#include <memory>

#include "core/blob/stores.h"
#include "core/http/client.h"
#include "server/config.h"

namespace tarn::server {

/// `client` outlives the stores. Throws not_found for an import root that is missing,
/// permission_denied, unavailable.
std::unique_ptr<blob::Stores> open_stores(const Config& config, http::Client& client);

}  // namespace tarn::server
