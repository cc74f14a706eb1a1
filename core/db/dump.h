// Dumps of a whole database with PostgreSQL's own programs, and their restore.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tarn::db {

/// Runs pg_dump and hands its output, an archive in custom format, to `sink` in pieces. `snapshot`
/// is the name that pg_export_snapshot returned in a transaction that stays open meanwhile. `sink`
/// may throw. The password of `url` does not show in the list of processes. Throws
/// precondition_failed (no pg_dump is installed, or one older than the server), unavailable with
/// the last lines of its messages.
void dump_database(const std::string& url, const std::string& snapshot,
                   const std::function<void(std::string_view)>& sink);

/// Restores the archive in the file `archive` in one transaction that ends with `statements` (SQL,
/// may be empty): all of it or nothing. The database must be empty. Throws as dump_database.
void restore_database(const std::string& url, const std::string& archive,
                      const std::string& statements);

}  // namespace tarn::db
