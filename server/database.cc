#include "server/database.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/migrations.h"
#include "core/db/startup.h"

namespace tarn::server {
void make_data_directory(const std::string& path, bool database_in_it) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::create_directories(path, error)) {
    const bool passage = database_in_it && geteuid() == 0;
    const fs::perms others = fs::perms::group_exec | fs::perms::others_exec;
    fs::permissions(path, passage ? fs::perms::owner_all | others : fs::perms::owner_all, error);
  }
  if (error) {
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("making the data directory ", path, ": ", error.message()));
  }
}

Database open_database(const Config& config) {
  make_data_directory(config.data, config.database.empty());
  Database out;
  if (config.database.empty()) out.embedded = db::EmbeddedPostgres::start(config.data);
  out.url = out.embedded ? out.embedded->url() : config.database;
  out.newest = meta::newest_host(out.url);
  if (out.newest.token.empty()) db::wait_while_starting(out.url, db::kStartupWaitMax);
  const db::OpenOptions how{.first_host = out.newest.host};
  db::check_pooler(out.url, how);
  db::migrate(*db::Connection::open(out.url, how), db::embedded_migrations());
  return out;
}

}  // namespace tarn::server
