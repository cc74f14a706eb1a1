#include "server/announcement.h"

#include <array>
#include <exception>
#include <utility>

#include <unistd.h>

#include "core/base/log.h"
#include "core/meta/servers.h"
#include "server/jobs/worker.h"

namespace tarn::server {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

Announcement::Announcement(meta::Servers& servers, ServerProcess process)
    : servers_(servers), process_(std::move(process)) {
  try {
    servers_.announce(process_);
  } catch (const std::exception& error) {
    log::warn("server_not_announced", {{"message", error.what()}});
  }
  worker_ = std::make_unique<jobs::Worker>(
      jobs::WorkerOptions{.name = "announcement", .interval = meta::kAnnounceInterval},
      [this](std::stop_token) {
        servers_.announce(process_);
        return false;
      });
}

Announcement::~Announcement() {
  worker_.reset();  // before the row: it would write it again
  try {
    servers_.remove(process_.id);
  } catch (const std::exception& error) {
    log::warn("server_not_removed", {{"message", error.what()}});
  }
}

}  // namespace tarn::server
