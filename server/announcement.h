// This server's row in the list of servers over the database.
#pragma once

#include <memory>
#include <string>

#include "core/model/server_process.h"

namespace tarn::meta {
class Servers;
}
namespace tarn::jobs {
class Worker;
}

namespace tarn::server {

/// "lake-3": of this machine, or "" if the system does not say.
std::string host_name();

/// The row is there from construction to destruction and is written again every
/// meta::kAnnounceInterval. Failures are logged and otherwise change nothing: the next announcement
/// makes up for them.
class Announcement {
 public:
  /// Takes the time of one statement, and at most a second where somebody locks the table.
  /// `servers` outlives the result.
  Announcement(meta::Servers& servers, ServerProcess process);
  /// Removes the row.
  ~Announcement();
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

 private:
  meta::Servers& servers_;
  const ServerProcess process_;
  std::unique_ptr<jobs::Worker> worker_;
};

}  // namespace tarn::server
