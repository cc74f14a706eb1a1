// The object stores that the configuration names.
#pragma once

#include <memory>
#include <string>

#include "core/blob/disk_cache.h"
#include "core/blob/stores.h"
#include "core/http/client.h"
#include "core/meta/settings.h"
#include "server/config.h"

namespace tarn::server {

/// Creates it if it is missing, closed to other users, who must not read objects without the
/// server.
void make_private_directory(const std::string& path);

/// Whether a local root belongs to the configuration.
bool has_local_root(const Config& config);

/// The copies of objects of S3 stores on this machine's disk; nullptr: none are configured.
std::shared_ptr<blob::DiskCache> open_cache(const Config& config);

/// `client` outlives the stores; `cache` (may be nullptr) has copies of S3 objects. The local root
/// is left out when the configuration names a database and an S3 store but no root: servers that
/// share only those have no directory in common. The root is marked as this database's; throws
/// precondition_failed for one that is not. Throws not_found for an import root that is missing,
/// permission_denied, unavailable.
std::unique_ptr<blob::Stores> open_stores(const Config& config, http::Client& client,
                                          meta::Settings& settings,
                                          const std::shared_ptr<blob::DiskCache>& cache);

/// The S3 stores alone.
std::unique_ptr<blob::Stores> open_s3_stores(const Config& config, http::Client& client);

/// The same as open_stores, for a database that does not exist yet: the local root must be empty or
/// have `store_id`, which it is given ("" = there is no local root in the backup). Throws
/// precondition_failed.
std::unique_ptr<blob::Stores> open_stores_to_restore(const Config& config, http::Client& client,
                                                     const std::string& store_id);

}  // namespace tarn::server
