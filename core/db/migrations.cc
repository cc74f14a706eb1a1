#include "core/db/migrations.h"

#include <string>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"

namespace tarn::db {
namespace {

constexpr Query kLock{"migrations_lock_schema", R"sql(
  SELECT pg_advisory_xact_lock($1))sql"};

constexpr Query kSelectApplied{"migrations_select_applied", R"sql(
  SELECT version, name, checksum FROM schema_migrations ORDER BY version)sql"};

constexpr Query kInsertApplied{"migrations_insert_applied", R"sql(
  INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3))sql"};

/// An arbitrary number that nothing else in the database locks: "tarnmigr".
constexpr int64_t kSchemaLock = 0x7461726e6d696772;

/// A migration of a big table may take long, and a server waits as long for another's.
constexpr const char* kTransactionSettings =
    "SET LOCAL statement_timeout = 0;"
    "SET LOCAL idle_in_transaction_session_timeout = '60s';"
    "SET LOCAL lock_timeout = '30min'";

constexpr const char* kCreateTable =
    "CREATE TABLE IF NOT EXISTS schema_migrations ("
    "  version integer PRIMARY KEY,"
    "  name text NOT NULL,"
    "  checksum text NOT NULL,"
    "  applied_at timestamptz NOT NULL DEFAULT now())";

std::string checksum_of(const Migration& migration) { return to_hex(sha256(migration.sql)); }

[[noreturn]] void refuse(std::string why) {
  throw Error(ErrorCode::kPreconditionFailed, str_cat("migrating the database: ", why));
}

/// The number of `migrations` that the database has; rejects a database with a different history.
size_t count_applied(const Rows& applied, std::span<const Migration> migrations) {
  struct Column {
    enum : int { kVersion, kName, kChecksum };
  };
  for (size_t i = 0; i < applied.size(); ++i) {
    const int64_t version = applied.integer(i, Column::kVersion);
    const std::string_view name = applied.text(i, Column::kName);
    if (i >= migrations.size()) {
      refuse(str_cat("it has migration ", version, " (", name,
                     ") and is newer than this program: upgrade the program"));
    }
    const Migration& ours = migrations[i];
    if (version != ours.version) {
      refuse(str_cat("it has migration ", version, " (", name, ") where this program has ",
                     ours.version, " (", ours.name, ")"));
    }
    if (applied.text(i, Column::kChecksum) != checksum_of(ours)) {
      // The first release has migration 1, whose text has been the same since.
      if (version == 1) {
        refuse(
            "its schema was made before the first release of Tarn, and no program migrates it; "
            "nothing was changed: copy the objects out of it with the tarnd that made it, and "
            "start this one with an empty database, or another data directory");
      }
      refuse(str_cat("migration ", version, " (", name, ") was applied with another text"));
    }
  }
  return applied.size();
}

/// Applies the oldest missing migration in its own transaction. Returns how many the database had
/// before: all of them if none is missing.
size_t apply_next(Connection& connection, std::span<const Migration> migrations) {
  connection.begin();
  connection.run_script(kTransactionSettings);
  connection.run(kLock, {kSchemaLock});
  connection.run_script(kCreateTable);
  const size_t applied = count_applied(connection.run(kSelectApplied), migrations);
  if (applied == migrations.size()) {
    connection.commit();
    return applied;
  }
  const Migration& next = migrations[applied];
  connection.run_script(std::string(next.sql));
  connection.run(kInsertApplied, {next.version, next.name, checksum_of(next)});
  connection.commit();
  return applied;
}

}  // namespace

void migrate(Connection& connection, std::span<const Migration> migrations) {
  bool fresh = false;
  try {
    for (size_t had = apply_next(connection, migrations); had < migrations.size();
         had = apply_next(connection, migrations)) {
      fresh = fresh || had == 0;
      const Migration& applied = migrations[had];
      log::write(fresh ? log::Level::kDebug : log::Level::kInfo, "migration_applied",
                 {{"version", applied.version}, {"name", applied.name}});
    }
  } catch (...) {
    connection.rollback();
    throw;
  }
  if (fresh) log::info("database_schema_created", {{"version", migrations.back().version}});
}

}  // namespace tarn::db
