// The object stores that the configuration names.
#pragma once

#include <memory>

#include "core/blob/stores.h"
#include "core/http/client.h"
#include "core/meta/settings.h"
#include "server/config.h"

namespace tarn::server {

/// `client` outlives the stores. The local root is left out when the configuration names a database
/// and an S3 store but no root: servers that share only those have no directory in common. The root
/// is marked as this database's; throws precondition_failed for one that is not. Throws not_found
/// for an import root that is missing, permission_denied, unavailable.
std::unique_ptr<blob::Stores> open_stores(const Config& config, http::Client& client,
                                          meta::Settings& settings);

}  // namespace tarn::server
