#include "server/store_checks.h"

#include <exception>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kLocal = "local";
constexpr size_t kTrialBytes = 4096;
/// Never written, so that a look at it costs the store nothing.
constexpr std::string_view kAbsentKey = "readiness";

struct Finding {
  std::string_view reason{};  ///< "" = the store works
  std::string message{};
};

Finding finding_of(const std::function<void()>& look) {
  try {
    look();
    return {};
  } catch (const Error& error) {
    return {error.reason(), error.message()};
  } catch (const std::exception& error) {
    return {reason::kStoreFailed, error.what()};
  }
}

}  // namespace

class StoreChecks::Check {
 public:
  explicit Check(std::function<void()> look)
      : look_(std::move(look)), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~Check() {
    thread_.request_stop();
    {
      MutexLock lock(mutex_);
      changed_.notify_all();
    }
  }
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  /// Starts a look unless the last one is recent.
  void ask() {
    MutexLock lock(mutex_);
    if (looked_ && *looked_ + kStoreCheckAgeMax > Clock::now()) return;
    if (wanted_) return;
    wanted_ = true;
    changed_.notify_all();
  }

  Finding result(Clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (wanted_) {
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout && wanted_) {
        return {reason::kStoreFailed,
                str_cat("no answer within ", kStoreCheckWaitMax.count(), " s")};
      }
    }
    return finding_;
  }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      {
        MutexLock lock(mutex_);
        while (!wanted_ && !stop.stop_requested()) changed_.wait(lock);
        if (stop.stop_requested()) return;
      }
      Finding found = finding_of(look_);
      MutexLock lock(mutex_);
      finding_ = std::move(found);
      looked_ = Clock::now();
      wanted_ = false;
      changed_.notify_all();
    }
  }

  const std::function<void()> look_;
  Mutex mutex_;
  CondVar changed_;
  bool wanted_ TARN_GUARDED_BY(mutex_) = false;
  std::optional<Clock::time_point> looked_ TARN_GUARDED_BY(mutex_);
  Finding finding_ TARN_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

StoreChecks::StoreChecks(blob::Stores& stores) : stores_(stores) {}
StoreChecks::~StoreChecks() = default;

/// Throws if the store is missing or cannot be written to.
void StoreChecks::look_at_local() {
  blob::BlobStore& store = *stores_.locate("local://readiness").store;
  store.stat(kAbsentKey);
  // Never finished, so it leaves nothing in the store.
  store.create(str_cat("readiness-", to_hex(random_bytes(8))), kTrialBytes)
      ->write(std::string(kTrialBytes, '\0'));
}

void StoreChecks::look(const std::string& name) {
  if (name == kLocal) return look_at_local();
  stores_.locate(str_cat(name, "/")).store->stat(kAbsentKey);
}

std::vector<StoreFault> StoreChecks::faults(const std::vector<std::string>& names) {
  std::vector<StoreFault> out;
  std::vector<std::pair<std::string, std::shared_ptr<Check>>> asked;
  std::map<std::string, std::shared_ptr<Check>> unused;  // end without the lock
  {
    MutexLock lock(mutex_);
    std::map<std::string, std::shared_ptr<Check>> kept;
    for (const std::string& name : names) {
      if (asked.size() + out.size() >= kCheckedStoresMax) break;
      try {
        stores_.locate(name == kLocal ? "local://readiness" : str_cat(name, "/"));
      } catch (const Error& error) {
        out.push_back({name, kNotConfigured, error.message()});
        continue;
      }
      std::shared_ptr<Check> check = checks_[name];
      if (!check) check = std::make_shared<Check>([this, name] { look(name); });
      kept[name] = check;
      asked.emplace_back(name, std::move(check));
    }
    unused = std::exchange(checks_, std::move(kept));
  }
  const Clock::time_point deadline = Clock::now() + kStoreCheckWaitMax;
  for (const auto& [name, check] : asked) check->ask();
  for (const auto& [name, check] : asked) {
    Finding found = check->result(deadline);
    if (!found.reason.empty()) out.push_back({name, found.reason, std::move(found.message)});
  }
  return out;
}

}  // namespace tarn::server
