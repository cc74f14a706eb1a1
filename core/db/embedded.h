// Our own PostgreSQL: a private cluster under the data directory, run as a child process.
#pragma once

#include <memory>
#include <string>

namespace tarn::db {

/// A running private cluster. initdb on first start; data in `<dir>/pg/15`, log in
/// `<dir>/pg/postgres.log`, Unix socket only, run as user postgres, or daemon, when we are root.
/// Restarts the server when it dies; the server stops when our process dies, however it dies. Safe
/// from any thread.
class EmbeddedPostgres {
 public:
  /// Blocks until it answers; stops an orphan of this directory that a killed process of ours
  /// left. Throws precondition_failed, saying what to do: no PostgreSQL 15 installed, `dir` is
  /// owned by another tarnd, of another major version, or cannot be entered by the user that runs
  /// PostgreSQL.
  static std::unique_ptr<EmbeddedPostgres> start(const std::string& dir);
  /// The URL of a cluster in `dir` that another process of ours runs now; "" = none runs. Only the
  /// user of that process may connect.
  static std::string url_of_running(const std::string& dir);
  /// Stops the server (fast shutdown, checkpointed).
  virtual ~EmbeddedPostgres() = default;

  /// libpq connection string.
  virtual std::string url() const = 0;
  /// Process id of the postmaster now, 0 while it is down (tests kill it).
  virtual int pid() const = 0;
};

}  // namespace tarn::db
