#include "core/db/startup.h"

#include <thread>

#include <libpq-fe.h>

#include "core/base/log.h"

namespace tarn::db {
namespace {

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

}  // namespace tarn::db
