// The files of an embedded PostgreSQL: programs, data directory, lock, socket directory. Private to
// core/db.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "core/db/embedded_process.h"

namespace tarn::db {

/// A file lock that ends with the process.
class DirectoryLock {
 public:
  /// Throws: precondition_failed when another process (or another lock of ours) holds it.
  explicit DirectoryLock(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

 private:
  int fd_;
};

/// An initialised data directory that only we may run. One thread at a time.
class Cluster {
 public:
  /// Makes `dir` and the cluster in it when they are missing. Throws: precondition_failed as
  /// EmbeddedPostgres::start.
  static Cluster open(const std::string& dir);

  /// The same as EmbeddedPostgres::url_of_running.
  static std::string url_of_running(const std::string& dir);

  const std::string& data() const { return data_; }
  const std::string& log_path() const { return log_path_; }
  std::string url() const;

  /// Stops an orphaned server that still runs on the data directory; removes a stale lock file.
  /// Throws: unavailable when it does not stop.
  void stop_orphans() const;
  /// Starts the server. The calling thread must live as long as it.
  pid_t launch() const;
  /// Whether `postmaster` reports that it accepts connections.
  bool ready(pid_t postmaster) const;
  void remove_socket_directory() const;
  /// The last FATAL line of the log, or its last line.
  std::string last_log_line() const;

 private:
  Cluster(std::string dir, PostgresUser user, DirectoryLock lock);
  void require_known_version() const;
  void initialise() const;
  std::vector<std::string> postmaster_file() const;

  PostgresUser user_;
  DirectoryLock lock_;
  std::string root_;  // <dir>/pg
  std::string data_;  // <dir>/pg/15
  std::string log_path_;
  std::string binaries_;
  std::string socket_directory_;
};

}  // namespace tarn::db
