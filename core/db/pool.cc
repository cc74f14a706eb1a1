#include "core/db/pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/str_cat.h"
#include "core/base/wait_scope.h"

namespace tarn::db {
namespace {

/// The pause before retry n is random below this, doubled n times, so that contenders drift apart.
constexpr std::chrono::microseconds kConflictPause{1000};

/// SQLSTATE of a connection that could not be opened.
constexpr std::string_view kStateNotReached = "08001";

constexpr std::chrono::milliseconds kReturnPoll{50};

/// Connection timeout of a probe; the longer one applies after it was not enough. Short, because a
/// load balancer may still route to the server that hangs, and the next attempt may reach another.
constexpr std::chrono::milliseconds kProbeConnectLimit{1'000};
constexpr std::chrono::milliseconds kProbeConnectLimitMax{2'000};

/// Written after everything in the WAL that the transaction saw, so that its commit waits for all
/// of that.
constexpr Query kWriteMark{"pool_write_mark",
                           "SELECT pg_logical_emit_message(true, 'tarn', '')::text"};

constexpr Query kProbe{"pool_probe_server", "SELECT 1"};

/// Connections of all pools of the process, for /metrics. Never destroyed: leases may end late.
struct Usage {
  std::atomic<int64_t> leased{0};
  std::atomic<int64_t> waiting{0};
  std::atomic<int64_t> connections_max{0};
  std::vector<std::shared_ptr<metrics::GaugeToken>> gauges;

  static Usage& instance() {
    static Usage* const usage = new Usage;
    return *usage;
  }

 private:
  Usage() {
    show("tarn_database_connections_used", "Connections to the database in use", leased);
    show("tarn_database_connections_max", "Setting db.connections", connections_max);
    show("tarn_database_waiting_requests", "Requests that wait for a connection", waiting);
  }
  void show(std::string_view name, std::string_view help, const std::atomic<int64_t>& value) {
    gauges.push_back(
        metrics::gauge(name, help, [&value] { return static_cast<double>(value.load()); }));
  }
};

}  // namespace

Pool::Pool(std::string url, PoolOptions options) : url_(std::move(url)), options_(options) {
  TARN_CHECK(options_.connections_max > 0);
  Usage::instance().connections_max += options_.connections_max;
}

Pool::~Pool() { Usage::instance().connections_max -= options_.connections_max; }

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
    if (!connection) return leased(connect());
    if (connection->alive()) return leased(std::move(connection));
    forget_one();
  }
}

/// A lease as soon as the database is reachable: an in-doubt write is often caused by a failover.
Pool::Lease Pool::lease_after_return() {
  const Clock::time_point deadline = Clock::now() + kReturnLimit;
  for (;;) {
    try {
      return lease();
    } catch (const DbError& error) {
      if (error.sqlstate() != kStateNotReached || Clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(kReturnPoll);
  }
}

/// An idle connection, or nullptr if the caller may open one (already counted).
std::unique_ptr<Connection> Pool::take_idle_or_reserve(MutexLock& lock,
                                                       Clock::time_point deadline) {
  for (;;) {
    if (hangs_) refuse();
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());  // the most recently used
      idle_.pop_back();
      return connection;
    }
    if (open_ < options_.connections_max) {
      if (Clock::now() < refused_until_) refuse();
      ++open_;
      return nullptr;
    }
    const WaitScope waits;
    ++Usage::instance().waiting;
    const std::cv_status ended = returned_.wait_until(lock, deadline);
    --Usage::instance().waiting;
    if (ended == std::cv_status::timeout && idle_.empty() && open_ >= options_.connections_max) {
      throw DbError(ErrorCode::kUnavailable, "53300",
                    str_cat("leasing a connection to the database: all ", options_.connections_max,
                            " were busy for ", options_.lease_timeout.count(), " ms"),
                    false);
    }
  }
}

void Pool::refuse() {
  throw DbError(ErrorCode::kUnavailable,
                std::string(went_back_ ? kStateWentBack : kStateNotReached), refusal_, false);
}

bool Pool::is_left(const Connection& connection) const {
  return connection.server() == left_server_ ||
         (options_.witness != nullptr && connection.server() != entered_);
}

std::unique_ptr<Connection> Pool::open() {
  OpenOptions how{.faults = options_.faults, .witness = options_.witness};
  {
    MutexLock lock(mutex_);
    how.first_host = first_host_;
  }
  std::set<size_t> refused;
  std::optional<DbError> refusal;
  bool is_led = false;  // by the witness to another host: once
  for (;;) {
    try {
      auto connection = Connection::open(url_, how);
      how.first_host = connection->host();
      if (refused.contains(how.first_host)) throw *refusal;
      if (const auto host = enter(*connection, !is_led); host && !refused.contains(*host)) {
        is_led = true;
        how.first_host = *host;
        continue;
      }
      went_back_ = false;
      return connection;
    } catch (const DbError& error) {
      if (error.sqlstate() == kStateWentBack) refusal = error;
      if (!refusal) throw;
      // Says more than that the other hosts are away.
      const bool tries_on = error.sqlstate() == kStateWentBack &&
                            refused.insert(how.first_host).second &&
                            refused.size() < hosts_of(url_);
      if (!tries_on) throw *refusal;
      ++how.first_host;
    }
  }
}

/// Has the server of a new connection looked at, if it is not the one that was entered last.
/// Returns a host to try before it.
std::optional<size_t> Pool::enter(Connection& connection, bool may_lead) {
  if (options_.witness == nullptr) return std::nullopt;
  MutexLock entering(enter_mutex_);
  {
    MutexLock lock(mutex_);
    if (connection.server() == entered_) return std::nullopt;
  }
  if (may_lead) {
    if (const auto host = options_.witness->newer_host(connection)) return host;
  }
  options_.witness->enter(connection);
  MutexLock lock(mutex_);
  entered_ = connection.server();
  first_host_ = connection.host();
  drop_left();
  return std::nullopt;
}

std::unique_ptr<Connection> Pool::connect() {
  try {
    return open();
  } catch (const Error& error) {
    MutexLock lock(mutex_);
    --open_;
    refused_until_ = Clock::now() + kRefusedPause;
    const auto* const refused = dynamic_cast<const DbError*>(&error);
    went_back_ = refused != nullptr && refused->sqlstate() == kStateWentBack;
    if (!hangs_ || went_back_) refusal_ = error.message();
    returned_.notify_all();  // waiting callers fail now too
    throw;
  }
}

/// From now on a probe may interrupt the connection.
Pool::Lease Pool::leased(std::unique_ptr<Connection> connection) {
  MutexLock lock(mutex_);
  if (is_left(*connection)) connection->interrupt();
  leased_.insert(connection.get());
  ++Usage::instance().leased;
  return Lease(*this, std::move(connection));
}

void Pool::forget_one() {
  MutexLock lock(mutex_);
  --open_;
  returned_.notify_one();
}

void Pool::give_back(std::unique_ptr<Connection> connection) noexcept {
  connection->limit_answers({});
  connection->rollback();  // no effect unless the lease was abandoned inside a transaction
  {
    MutexLock lock(mutex_);
    leased_.erase(connection.get());
    --Usage::instance().leased;
    if (!connection->broken() && !is_left(*connection)) {
      idle_.push_back(std::move(connection));
      returned_.notify_one();
      return;
    }
  }
  connection.reset();
  forget_one();
}

bool Pool::somebody_waits_long() {
  const Clock::time_point before = Clock::now() - kProbeLimit;
  MutexLock lock(mutex_);
  return std::any_of(leased_.begin(), leased_.end(), [before](const Connection* connection) {
    const auto since = connection->waits_since();
    return since && *since < before;
  });
}

void Pool::probe() {
  MutexLock lock(probe_mutex_);
  if (probe_ && !probe_->alive()) probe_.reset();
  if (probe_) {
    try {
      probe_->run(kProbe);
      if (options_.witness != nullptr && !options_.witness->permits(*probe_)) {
        MutexLock state(mutex_);
        if (probe_->server() == entered_) entered_.clear();
        drop_left();
      }
    } catch (const DbError& error) {
      // Closed connections are noticed by every user; a missing response only here.
      if (error.sqlstate() == kStateNoAnswer) {
        {
          MutexLock state(mutex_);
          hangs_ = true;
          went_back_ = false;
          refusal_ = error.message();
          ++first_host_;  // try the other hosts first
        }
        leave_server(probe_->server(), error.message());
      }
      probe_.reset();
    }
  }
  if (probe_ && !somebody_waits_long()) return;
  const std::string before = probe_ ? probe_->server() : "";
  open_probe();
  if (!before.empty() && probe_ && probe_->server() != before) {
    leave_server(before, "a new connection to the database leads to another server");
  }
}

/// Replaces the probe's connection; keeps the old one if opening fails.
void Pool::open_probe() {
  OpenOptions how{.connect_limit = unreached_ ? kProbeConnectLimitMax : kProbeConnectLimit,
                  .answer_limit = kProbeLimit};
  {
    MutexLock lock(mutex_);
    how.first_host = first_host_;
  }
  try {
    probe_ = Connection::open(url_, how);
  } catch (const Error& error) {
    if (!unreached_) log::warn("database_not_reached", {{"reason", error.message()}});
    unreached_ = true;
    MutexLock lock(mutex_);
    ++first_host_;  // a host that does not respond would prevent the others from being tried
    return;
  }
  if (unreached_) log::info("database_reached");
  unreached_ = false;
  MutexLock lock(mutex_);
  // The other hosts are tried in turn while the one that answers is refused.
  first_host_ = probe_->host() + (went_back_ ? 1 : 0);
  hangs_ = false;
  if (probe_->server() == left_server_) left_server_.clear();
  if (went_back_) probe_.reset();
}

void Pool::leave_server(const std::string& server, std::string_view why) {
  static metrics::Counter& left = metrics::counter(
      "tarn_database_servers_left_total", "Times all connections to a database server were broken");
  left.add();
  log::error("database_server_left", {{"reason", why}});
  MutexLock lock(mutex_);
  left_server_ = server;
  drop_left();
}

void Pool::drop_left() {
  for (Connection* connection : leased_) {
    if (is_left(*connection)) connection->interrupt();
  }
  for (std::unique_ptr<Connection>& idle : idle_) {
    if (!is_left(*idle)) continue;
    idle->interrupt();
    idle.reset();
    --open_;
  }
  std::erase(idle_, nullptr);
  returned_.notify_all();
}

template <typename Body>
auto Pool::retried(Retry retry, Body&& body) {
  {
    Lease first = lease();
    try {
      return body(*first);
    } catch (const DbError& error) {
      const bool again = first->broken() && (retry != Retry::kWrite || !error.in_doubt());
      if (!again) throw;
      log::warn("database_connection_lost", {{"reason", error.message()}});
    }
  }
  Lease second = lease();
  return body(*second);
}

Rows Pool::run(const Query& query, std::initializer_list<Param> params, Retry retry) {
  for (Attempts attempts;;) {
    try {
      return retried(retry, [&](Connection& connection) {
        return retry == Retry::kRead ? connection.run(query, params)
                                     : connection.run_write(query, params);
      });
    } catch (const DbError& error) {
      if (!wait_before_retry(error, attempts)) throw;
    }
  }
}

std::optional<bool> Pool::look_durably(const std::function<bool(Connection&)>& look) noexcept {
  try {
    const Lease lease = lease_after_return();
    lease->limit_answers(kDurableLimit);
    lease->begin();
    const bool found = look(*lease);
    if (found) lease->run(kWriteMark);
    lease->commit();
    return found;
  } catch (const Error& error) {
    log::warn("write_in_doubt", {{"reason", error.message()}});
    return std::nullopt;
  }
}

/// Whether a transaction that failed is to be repeated now.
bool Pool::wait_before_retry(const DbError& error, Attempts& attempts) {
  if (end_read_leases(error, attempts)) return true;
  if (error.code() != ErrorCode::kConflict || attempts.conflicts >= kConflictRetriesMax) {
    return false;
  }
  const auto longest = static_cast<uint64_t>((kConflictPause * (1 << attempts.conflicts)).count());
  std::this_thread::sleep_for(std::chrono::microseconds(random_u64() % longest));
  ++attempts.conflicts;
  return true;
}

bool Pool::end_read_leases(const DbError& error, Attempts& attempts) {
  if (error.sqlstate() != kStateReadLeased || !options_.end_read_leases ||
      attempts.read_leases >= kReadLeaseRetriesMax) {
    return false;
  }
  ++attempts.read_leases;
  options_.end_read_leases(error);
  return true;
}

}  // namespace tarn::db
