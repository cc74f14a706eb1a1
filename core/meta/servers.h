// Rows of the server processes over the database, for operators. Nothing depends on them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/model/server_process.h"

namespace tarn::meta {

/// How often a server announces itself.
constexpr std::chrono::seconds kAnnounceInterval{20};

/// A server that was not seen for so long counts as gone. By the database's clock.
constexpr std::chrono::seconds kServerAliveFor{60};

/// Rows of servers that were not seen for so long are deleted.
constexpr std::chrono::hours kServerRowKept{24};

/// Maximum of a list; many more are those of a server that starts and crashes again and again.
constexpr uint32_t kServersMax = 1'000;

/// Each method waits at most a second for locks. Throws unavailable. Safe from any thread.
class Servers {
 public:
  explicit Servers(db::Pool& pool) : pool_(pool) {}

  /// Adds or updates the row of a process, seen now, and deletes rows that are older than
  /// kServerRowKept, a bounded number. Ignores `seen` and `alive`.
  void announce(const ServerProcess& server);
  /// Last seen first, at most kServersMax.
  std::vector<ServerProcess> list();
  /// Removes the row of a process that ends.
  void remove(std::string_view id);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::meta
