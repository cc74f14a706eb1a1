// The database of the server: embedded or external, with the newest schema.
#pragma once

#include <memory>
#include <string>

#include "core/db/embedded.h"
#include "core/meta/timeline.h"
#include "server/config.h"

namespace tarn::server {

struct Database {
  std::unique_ptr<db::EmbeddedPostgres> embedded;  ///< nullptr = external
  std::string url;
  meta::NewestHost newest{};  ///< of an external one
};

/// The directory has mode 0700, except that root's embedded database runs as another user, who must
/// be able to traverse it. Secret files in it have their own modes.
void make_data_directory(const std::string& path, bool database_in_it);

/// Makes the data directory, starts the embedded database if none is configured, waits for one that
/// is starting, chooses among the hosts of an external one, and migrates the schema. Must be called
/// on a thread that outlives the result. Throws precondition_failed, unavailable, DbError.
Database open_database(const Config& config);

}  // namespace tarn::server
