// Our own PostgreSQL: a private cluster under the data directory, run as a child process.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace tarn::db {

/// A running private cluster. initdb on first start; data in `<dir>/pg/15`, Unix socket only, run as user postgres
/// when we are root. Restarts the server when it dies. Safe from any thread.
class EmbeddedPostgres {
 public:
  /// Must be called on a thread that lives as long as the server (the parent-death signal is bound to it).
  /// Blocks until it answers. Throws precondition_failed, saying what to do: no PostgreSQL 15 installed, `dir` is
  /// owned by another tarnd, of another major version, or cannot be entered by the user that runs PostgreSQL.
  static std::unique_ptr<EmbeddedPostgres> start(const std::string& dir);
  /// Stops the server (fast shutdown, checkpointed).
  virtual ~EmbeddedPostgres() = default;

  /// libpq connection string.
  virtual std::string url() const = 0;
  /// Process id of the postmaster now (tests kill it).
  virtual int pid() const = 0;
};

}  // namespace tarn::db
