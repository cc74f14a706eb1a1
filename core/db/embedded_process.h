// Child processes of the embedded PostgreSQL. Private to core/db.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace tarn::db {

/// The user that runs PostgreSQL: another account when we are root (PostgreSQL refuses root), else
/// ourselves.
struct PostgresUser {
  uid_t uid;
  gid_t gid;
  std::vector<gid_t> groups;
  std::string name;
  bool is_other;  ///< children must change to it

  /// The first of `accounts` that exists; an existing cluster keeps the one that owns `cluster`,
  /// its directory, for a package may add accounts later. Every system has daemon. Throws:
  /// precondition_failed (we are root and there is no such user).
  static PostgresUser find(const std::string& cluster,
                           const std::vector<std::string>& accounts = {"postgres", "daemon"});
};

struct Program {
  std::vector<std::string> arguments;  ///< the first is the program's path
  std::string log_path;                ///< standard output and error are appended here
  int death_signal;                    ///< signal for the child when the spawning thread ends
};

/// Starts `program` as `user` in a session of its own, with no file, signal or environment of ours.
/// The child gets its death signal when the calling THREAD ends. Throws: unavailable.
pid_t spawn(const Program& program, const PostgresUser& user);

/// Whether it exited; leaves it to be reaped.
bool has_exited(pid_t child);
/// Waits for the end of `child` and reaps it: "exited with status 1" or "was killed by signal 9";
/// empty for status 0.
std::string reap(pid_t child);

/// The first of `path` and its parents that `user` cannot enter; empty when it can enter all that
/// exist.
std::string first_barred(const std::string& path, const PostgresUser& user);

/// PostgreSQL processes of `user` whose working directory is `data`: a postmaster and its backends.
std::vector<pid_t> postgres_processes_in(const std::string& data, const PostgresUser& user);

/// Standard output of a shell command.
std::string output_of(const std::string& command);

}  // namespace tarn::db
