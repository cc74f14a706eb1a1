#include "core/db/startup.h"

#include <thread>

#include <libpq-fe.h>

#include "core/base/log.h"
#include "core/base/str_cat.h"

namespace tarn::db {
namespace {

constexpr Query kHeld{"pooler_check", "SELECT pg_backend_pid()"};

constexpr std::string_view kRemedy =
    "PgBouncer 1.21 or newer with max_prepared_statements above 0, or pool_mode = session, is "
    "needed; ignore_startup_parameters = options, and on the role what docs/operations.md lists";

bool is_statement_lost(const DbError& error) {
  return error.sqlstate() == "26000" || error.sqlstate() == "42P05";
}

constexpr std::chrono::milliseconds kPause{200};

}  // namespace

void wait_while_starting(const std::string& url, std::chrono::milliseconds wait_max) {
  const auto deadline = std::chrono::steady_clock::now() + wait_max;
  bool said = false;
  while (PQping(url.c_str()) == PQPING_REJECT && std::chrono::steady_clock::now() < deadline) {
    if (!said) {
      log::warn("database_starting",
                {{"message", "the database is starting or recovering: waiting for it"}});
    }
    said = true;
    std::this_thread::sleep_for(kPause);
  }
}

void check_pooler(const std::string& url, const OpenOptions& how) {
  try {
    const auto ours = Connection::open(url, how);
    ours->run(kHeld);
    // A pooler in transaction mode assigns the free session to the next client, and another session
    // to this connection.
    const auto other = Connection::open(url, how);
    other->begin();
    other->run(kHeld);
    ours->run(kHeld);
    other->rollback();
  } catch (const DbError& error) {
    const bool settings_refused =
        error.message().find("unsupported startup parameter") != std::string::npos;
    if (!is_statement_lost(error) && !settings_refused) throw;
    throw Error(ErrorCode::kPreconditionFailed,
                str_cat("opening the database: the pooler in front of it will not do: ", kRemedy,
                        " (", error.message(), ")"));
  }
}

}  // namespace tarn::db
