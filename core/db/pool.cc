#include "core/db/pool.h"

#include <thread>

#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"

namespace tarn::db {
namespace {

/// The wait before retry n is random below this, doubled n times: contenders drift apart.
constexpr std::chrono::microseconds kConflictPause{1000};

}  // namespace

Pool::Pool(std::string url, PoolOptions options) : url_(std::move(url)), options_(options) {
  TARN_CHECK(options_.connections_max > 0);
}

Pool::~Pool() = default;

Pool::Lease::~Lease() {
  if (connection_) pool_->give_back(std::move(connection_));
}

Pool::Lease Pool::lease() {
  const Clock::time_point deadline = Clock::now() + options_.lease_timeout;
  for (;;) {
    std::unique_ptr<Connection> connection;
    {
      MutexLock lock(mutex_);
      connection = take_idle_or_reserve(lock, deadline);
    }
    if (!connection) return Lease(*this, connect());
    if (connection->alive()) return Lease(*this, std::move(connection));
    forget_one();
  }
}

/// An idle connection, or none when the caller may open one (it is counted already).
std::unique_ptr<Connection> Pool::take_idle_or_reserve(MutexLock& lock,
                                                       Clock::time_point deadline) {
  for (;;) {
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());  // the warmest
      idle_.pop_back();
      return connection;
    }
    if (open_ < options_.connections_max) {
      if (Clock::now() < refused_until_) {
        throw DbError(ErrorCode::kUnavailable, "08001", refusal_, false);
      }
      ++open_;
      return nullptr;
    }
    if (returned_.wait_until(lock, deadline) == std::cv_status::timeout && idle_.empty() &&
        open_ >= options_.connections_max) {
      throw DbError(ErrorCode::kUnavailable, "53300",
                    str_cat("leasing a connection to the database: all ", options_.connections_max,
                            " were busy for ", options_.lease_timeout.count(), " ms"),
                    false);
    }
  }
}

std::unique_ptr<Connection> Pool::connect() {
  try {
    return Connection::open(url_);
  } catch (const Error& error) {
    MutexLock lock(mutex_);
    --open_;
    refused_until_ = Clock::now() + kRefusedPause;
    refusal_ = error.message();
    returned_.notify_all();  // whoever waits for a connection fails now too
    throw;
  }
}

void Pool::forget_one() {
  MutexLock lock(mutex_);
  --open_;
  returned_.notify_one();
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept {
  connection->rollback();  // nothing to do unless the lease was abandoned inside a transaction
  if (connection->broken()) {
    connection.reset();
    forget_one();
    return;
  }
  MutexLock lock(mutex_);
  idle_.push_back(std::move(connection));
  returned_.notify_one();
}

template <typename Body>
auto Pool::retried(Retry retry, Body&& body) {
  {
    Lease first = lease();
    try {
      return body(*first);
    } catch (const DbError& error) {
      const bool again = first->broken() && (retry == Retry::kRead || !error.in_doubt());
      if (!again) throw;
      log::warn("database_connection_lost", {{"reason", error.message()}});
    }
  }
  Lease second = lease();
  return body(*second);
}

Rows Pool::run(const Query& query, std::initializer_list<Param> params, Retry retry) {
  return retried(retry, [&](Connection& connection) { return connection.run(query, params); });
}

std::vector<Rows> Pool::run_pipelined(const Query& query,
                                      std::span<const std::vector<Param>> params, Retry retry) {
  return retried(retry,
                 [&](Connection& connection) { return connection.run_pipelined(query, params); });
}

void Pool::wait_before_retry(int attempt) {
  const auto longest = static_cast<uint64_t>((kConflictPause * (1 << attempt)).count());
  std::this_thread::sleep_for(std::chrono::microseconds(random_u64() % longest));
}

}  // namespace tarn::db
