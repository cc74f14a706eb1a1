#include "core/meta/timeline.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/meta/read_leases.h"

namespace tarn::meta {
namespace {

/// When there are more, every second of the older half is dropped.
constexpr size_t kMarksMax = 256;
/// Connections that closed since the last mark. When there are more, the oldest counts are kept.
constexpr size_t kEndedMax = 4096;
constexpr size_t kReportBytes = 12;
/// The numbers that are left out when a loss is accepted: other than those of any timeline.
constexpr int32_t kSkippedMin = 1'000;
constexpr uint64_t kSkippedSpread = 1'000;
/// For each host that is asked which is the newest.
constexpr std::chrono::milliseconds kHostLimit{2'000};
constexpr std::string_view kStateNoTable = "42P01";

constexpr db::Query kEnterTimeline{"timeline_enter", "SELECT enter_timeline()"};
constexpr db::Query kEnterStart{"timeline_enter_start", "SELECT enter_start()"};

// Transactional: it is a commit of its own in the log.
constexpr db::Query kMark{
    "timeline_mark",
    "SELECT pg_logical_emit_message(true, 'tarn', '')::text, " TARN_COMMIT_POSITION,
    /*has_position=*/true};

// The numbers of commits that are not there. A transaction whose first record was inherited has a
// number below those that this start gives out, so its status is that of the same transaction.
constexpr db::Query kMissing{"timeline_select_missing", R"sql(
  SELECT m.n::bigint FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY m(token, position, xid, n)
  LEFT JOIN database_starts s ON s.token = m.token
  LEFT JOIN LATERAL (
    SELECT inherited FROM database_starts WHERE number > s.number ORDER BY number LIMIT 1) next ON true
  WHERE s.token IS NULL
     OR (s.start <> current_start()
         AND ('0/0'::pg_lsn + m.position > coalesce(next.inherited, inherited_position())
              OR CASE WHEN m.xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint THEN true
                      WHEN m.xid > 0 THEN pg_xact_status(m.xid::text::xid8) = 'aborted'
                      ELSE false END))
  ORDER BY m.n)sql"};

constexpr db::Query kReport{"timeline_insert_report", R"sql(
  INSERT INTO lost_writes (report, server, missing)
  SELECT $1, $2, $3 FROM set_config('synchronous_commit', 'local', true)
  ON CONFLICT (report) DO UPDATE SET missing = excluded.missing)sql"};

constexpr db::Query kIsAccepted{
    "timeline_select_accepted",
    "SELECT 1 FROM lost_writes WHERE report = $1 AND accepted_at IS NOT NULL"};

constexpr db::Query kReports{"timeline_select_reports", R"sql(
  SELECT server || ': ' || missing FROM lost_writes WHERE accepted_at IS NULL ORDER BY reported_at LIMIT 1)sql"};

constexpr db::Query kAccept{"timeline_accept_reports", R"sql(
  UPDATE lost_writes SET accepted_at = clock_timestamp() WHERE accepted_at IS NULL
  RETURNING server || ': ' || missing)sql"};

constexpr db::Query kSkipNumbers{"timeline_skip_numbers", "SELECT skip_numbers($1)::text"};

constexpr db::Query kNewestStart{"timeline_select_newest_start", R"sql(
  SELECT number, token FROM database_starts ORDER BY number DESC LIMIT 1)sql"};

[[noreturn]] void throw_went_back(std::string_view missing) {
  throw db::DbError(
      ErrorCode::kUnavailable, std::string(db::kStateWentBack),
      str_cat("opening the database: it lacks writes that were acknowledged (", missing,
              "): start the database that has them and fence this one, or accept the "
              "loss: tarn admin accept-loss"),
      false);
}

metrics::Counter& lost_commits() {
  return metrics::counter("tarn_lost_commits_total",
                          "Acknowledged commits that may be lost, and whose loss was accepted");
}

}  // namespace

Lineage::Lineage(LineageOptions options)
    : options_(std::move(options)),
      began_(SystemClock().now()),
      report_(to_hex(random_bytes(kReportBytes))),
      gauge_(metrics::gauge("tarn_database_went_back",
                            "1 while the database lacks writes that were acknowledged.",
                            [this] { return refused_ ? 1.0 : 0.0; })) {
  lost_commits();  // shown from the start, so that alerts see the first one
  if (options_.newest_start.empty()) return;
  MutexLock lock(mutex_);
  starts_.push_back(options_.newest_start);
  ended_.push_back({});
}

bool Lineage::acknowledge(const db::Connection& connection, const db::CommitPosition& commit) {
  MutexLock lock(mutex_);
  if (connection.server() != server_ || starts_.empty()) return false;
  newest_[&connection] = {.start = starts_.size() - 1, .commit = commit, .number = commits_++};
  return true;
}

void Lineage::close(const db::Connection& connection) noexcept {
  MutexLock lock(mutex_);
  const auto seen = newest_.find(&connection);
  if (seen == newest_.end()) return;
  if (ended_.size() < kEndedMax) ended_.push_back(seen->second);
  newest_.erase(seen);
}

void Lineage::mark(db::Pool& pool) {
  size_t ended = 0;
  uint64_t losses = 0;
  Seen mark{.at = SystemClock().now()};
  {
    MutexLock lock(mutex_);
    ended = ended_.size();
    losses = losses_;
    mark.number = commits_;
  }
  struct Column {
    enum : int { kMessage, kTransaction, kPosition };
  };
  const db::Rows rows = pool.run(kMark, {}, db::Pool::Retry::kRepeatable);
  mark.commit = {rows.integer(0, Column::kTransaction), rows.integer(0, Column::kPosition)};
  MutexLock lock(mutex_);
  if (losses != losses_) return;
  // Everything that was acknowledged before it is before it in the log.
  ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(ended));
  mark.start = starts_.size() - 1;
  if (marks_.size() == kMarksMax) {
    std::vector<Seen> kept;
    for (size_t i = 0; i < marks_.size(); ++i) {
      if (i % 2 == 0 || i >= kMarksMax / 2) kept.push_back(marks_[i]);
    }
    marks_ = std::move(kept);
  }
  marks_.push_back(mark);
}

std::string Lineage::switch_to(const std::string& server) {
  MutexLock lock(mutex_);
  return std::exchange(server_, server);
}

void Lineage::enter(db::Connection& connection) {
  // Commits of other servers are acknowledged no more, so none is after what is looked at.
  const std::string before = switch_to(connection.server());
  try {
    look(connection);
  } catch (...) {
    switch_to(before);
    throw;
  }
}

void Lineage::look(db::Connection& connection) {
  const Missing missing = missing_in(connection);
  if (missing.commits > 0 || missing.more) {
    if (options_.accepts_loss || !connection.run(kIsAccepted, {report_}).empty()) {
      accept(connection, missing);
    } else {
      refuse(connection, missing);
    }
  } else if (!options_.accepts_loss) {
    const db::Rows reports = connection.run(kReports);
    if (!reports.empty()) {
      refused_ = true;
      throw_went_back(reports.text(0, 0));
    }
  }
  if (connection.run(kEnterTimeline).boolean(0, 0)) {
    log::warn("timeline_entered", {{"timeline", connection.timeline()}});
  }
  std::string token(connection.run(kEnterStart).text(0, 0));
  {
    MutexLock lock(mutex_);
    timeline_ = connection.timeline();
    if (starts_.empty() || starts_.back() != token) starts_.push_back(std::move(token));
  }
  refused_ = false;
  options_.forget_cached();
}

std::optional<size_t> Lineage::newer_host(const db::Connection& connection) {
  std::string before;
  {
    MutexLock lock(mutex_);
    before = timeline_;
  }
  if (options_.url.empty() || before.empty() || connection.timeline() > before) return std::nullopt;
  const NewestHost newest = newest_host(options_.url);
  if (newest.timeline <= connection.timeline()) return std::nullopt;
  return newest.host;
}

Lineage::Missing Lineage::missing_in(db::Connection& connection) {
  std::vector<std::string> tokens;
  std::vector<int64_t> positions;
  std::vector<int64_t> transactions;
  std::vector<Seen> marks;
  uint64_t commits = 0;
  {
    MutexLock lock(mutex_);
    marks = marks_;
    commits = commits_;
    const auto add = [&](const Seen& seen) TARN_REQUIRES(mutex_) {
      tokens.push_back(starts_[seen.start]);
      positions.push_back(seen.commit.log);
      transactions.push_back(seen.commit.transaction);
    };
    for (const Seen& seen : marks_) add(seen);
    for (const Seen& seen : ended_) add(seen);
    for (const auto& [of, seen] : newest_) add(seen);
  }
  if (tokens.empty()) return {};
  std::vector<bool> is_missing(tokens.size(), false);
  try {
    const db::Rows rows = connection.run(kMissing, {tokens, positions, transactions});
    if (rows.empty()) return {};
    for (size_t row = 0; row < rows.size(); ++row) {
      is_missing[static_cast<size_t>(rows.integer(row, 0) - 1)] = true;
    }
  } catch (const db::DbError& error) {
    if (error.sqlstate() != kStateNoTable) throw;  // as it was before an upgrade
    is_missing.assign(tokens.size(), true);
  }
  for (size_t i = marks.size(); i > 0; --i) {
    if (!is_missing[i - 1])
      return {.commits = commits - marks[i - 1].number, .since = marks[i - 1].at};
  }
  return {.commits = commits, .since = began_, .more = true};
}

void Lineage::refuse(db::Connection& connection, const Missing& missing) {
  const std::string text = str_cat(missing.more ? "all of " : "up to ", missing.commits,
                                   " commits since ", to_rfc3339(missing.since));
  if (!refused_.exchange(true)) {
    log::error("database_went_back", {{"commits", missing.commits},
                                      {"since", to_rfc3339(missing.since)},
                                      {"timeline", connection.timeline()}});
  }
  // Other servers, which may have seen less, do not use this database either.
  try {
    connection.run(kReport, {report_, options_.server, text});
  } catch (const db::DbError& error) {
    log::warn("lost_writes_not_reported", {{"reason", error.message()}});
  }
  throw_went_back(text);
}

uint64_t Lineage::losses() const {
  MutexLock lock(mutex_);
  return losses_;
}

void Lineage::accept(db::Connection& connection, const Missing& missing) {
  lost_commits().add(static_cast<double>(missing.commits));
  log::error("lost_writes_accepted", {{"commits", missing.commits},
                                      {"since", to_rfc3339(missing.since)},
                                      {"timeline", connection.timeline()}});
  // Other servers may answer reads from memory under leases that this database does not know.
  std::this_thread::sleep_for(kReadLease);
  const auto times = static_cast<int32_t>(kSkippedMin + random_u64() % kSkippedSpread);
  connection.run(kSkipNumbers, {times});
  report_ = to_hex(random_bytes(kReportBytes));
  MutexLock lock(mutex_);
  marks_.clear();
  ended_.clear();
  newest_.clear();
  ++losses_;
}

bool Lineage::permits(db::Connection& connection) {
  return options_.accepts_loss || connection.run(kReports).empty();
}

NewestHost newest_host(const std::string& url) {
  struct Column {
    enum : int { kNumber, kToken };
  };
  const size_t hosts = db::hosts_of(url);
  if (hosts < 2) return {};
  NewestHost best;
  std::pair<std::string, int64_t> best_rank;
  std::set<std::pair<std::string, std::string>> found;  // timelines and tokens
  for (size_t host = 0; host < hosts; ++host) {
    try {
      const auto connection = db::Connection::open(url, {.first_host = host,
                                                         .only_first_host = true,
                                                         .connect_limit = kHostLimit,
                                                         .answer_limit = kHostLimit});
      const db::Rows rows = connection->run(kNewestStart);
      if (rows.empty()) continue;
      const std::pair<std::string, int64_t> rank{connection->timeline(),
                                                 rows.integer(0, Column::kNumber)};
      const std::string token(rows.text(0, Column::kToken));
      found.emplace(rank.first, token);
      if (rank < best_rank) continue;
      best_rank = rank;
      best = {.host = host, .timeline = rank.first, .token = token};
    } catch (const db::DbError& error) {
      log::debug("host_not_asked", {{"host", host}, {"reason", error.message()}});
    }
  }
  if (found.size() > 1) {
    log::error("two_primaries", {{"message",
                                  "two databases of the URL accept writes: the one on the higher "
                                  "timeline is used; stop the other"}});
  }
  return best;
}

std::vector<std::string> accept_lost_writes(db::Connection& connection) {
  const db::Rows rows = connection.run(kAccept);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
  return out;
}

}  // namespace tarn::meta
