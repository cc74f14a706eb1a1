// Read leases: a branch that is read often is answered from memory, and no write can pass unseen.
//
// A lease is a row of `read_leases` that this server (holder_) inserted. While it stands nothing
// that reads of the branch return can change: functions and triggers of the schema raise TN455 in
// every transaction that would, and the writer ends the leases first (end_read_leases).
//
//   holder                            writer, on any server
//   count()  100 reads in a second
//   fill()   insert row, read branch
//   renew()  50 times a second:
//            "which of my rows stand?"
//   find()   answers from memory      statement fails with TN455
//            ...                      revoke the rows, wait until they are gone
//   renew()  sees "revoked": forget,  ... or 1 s has passed: a holder that was not heard of has
//            delete the row           stopped answering by then
//                                     repeat the statement
//
// A lease lasts kReadLease from the moment before the question that found its row. find() looks at
// two clocks: the time since boot and the wall clock, which goes on while a virtual machine is
// stopped; the one that went further counts. docs/design/042-read-leases.md has the failures.
#include "core/meta/read_leases.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include <time.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/meta/staged_ranges.h"

namespace tarn::meta {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kCountedFor{1'000};
/// A lease that a write ends within so many pauses was not worth its cost.
constexpr int kSoonPauses = 20;
/// A lease that no read used for so long is given back.
constexpr milliseconds kUnusedMax{10'000};
/// The thread looks so often whether it is needed.
constexpr milliseconds kIdleLookInterval{1'000};
constexpr milliseconds kWriterLookInterval{5};
/// Longer than a writer needs to write after the leases have ended.
constexpr milliseconds kRefusedFor{200};
constexpr size_t kPlacesMax = 4096;
constexpr uint32_t kPageRows = 10'000;
constexpr std::string_view kLeasesOf = "read leases: ";

constexpr db::Query kNextNumber{"read_leases_next_number", "SELECT nextval('read_lease_numbers')"};

constexpr db::Query kTake{"read_leases_take", R"sql(
  SELECT number, repo_id, branch_id, settings_version FROM take_read_lease($1, $2, $3))sql"};

constexpr db::Query kSelectOwn{"read_leases_select_own",
                               "SELECT number, revoked FROM read_leases WHERE holder = $1"};

constexpr db::Query kDelete{"read_leases_delete",
                            "DELETE FROM read_leases WHERE number = ANY ($1)"};

constexpr db::Query kRefuse{"read_leases_refuse", R"sql(
  INSERT INTO read_lease_refusals (branch_id, until)
  SELECT branch_id, clock_timestamp() + $2 * interval '1 millisecond' FROM read_leases
  WHERE number = ANY ($1) GROUP BY branch_id ORDER BY branch_id
  ON CONFLICT (branch_id) DO UPDATE SET until = excluded.until)sql"};

constexpr db::Query kForgetRefusals{"read_leases_forget_refusals", R"sql(
  DELETE FROM read_lease_refusals WHERE branch_id IN (
    SELECT branch_id FROM read_lease_refusals WHERE until < clock_timestamp() - interval '1 minute'
    LIMIT 1000 FOR UPDATE SKIP LOCKED))sql"};

// In one order, so that two writers do not wait for each other. Branch 0: all of the repository.
constexpr db::Query kRevoke{"read_leases_revoke", R"sql(
  UPDATE read_leases SET revoked = true
  WHERE number IN (
    SELECT number FROM read_leases WHERE CASE WHEN $2 = 0 THEN repo_id = $1 ELSE branch_id = $2 END
    ORDER BY number FOR UPDATE)
  RETURNING number)sql"};

constexpr db::Query kRemain{"read_leases_remain",
                            "SELECT EXISTS (SELECT 1 FROM read_leases WHERE number = ANY ($1))"};

nanoseconds clock_value(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return std::chrono::seconds{at.tv_sec} + nanoseconds{at.tv_nsec};
}

metrics::Counter& reads_from_memory() {
  static metrics::Counter& counter = metrics::counter(
      "tarn_leased_reads_total", "Reads of branches that were answered from memory under a lease.");
  return counter;
}

size_t bytes_of(const std::vector<StagedRow>& rows) {
  size_t bytes = 0;
  for (const StagedRow& row : rows) {
    bytes += sizeof row + row.key.size();
    if (row.entry) bytes += encode_entry(*row.entry).size();
  }
  return bytes;
}

}  // namespace

void end_read_leases(db::Pool& pool, const db::DbError& error) {
  const std::string& message = error.message();
  int32_t repository = 0;
  int32_t branch = 0;
  const size_t at = message.find(kLeasesOf);
  if (at == std::string::npos) throw error;
  const char* const end = message.data() + message.size();
  const auto first = std::from_chars(message.data() + at + kLeasesOf.size(), end, repository);
  std::from_chars(std::min(first.ptr + 1, end), end, branch);
  std::vector<int64_t> numbers;
  pool.transaction([&](db::Connection& connection) {
    numbers.clear();
    const db::Rows rows = connection.run(kRevoke, {repository, branch});
    for (size_t row = 0; row < rows.size(); ++row) numbers.push_back(rows.integer(row, 0));
    connection.run(kRefuse, {numbers, kRefusedFor.count()});
    connection.run(kForgetRefusals);
  });
  if (numbers.empty()) return;
  static metrics::Counter& ended = metrics::counter(
      "tarn_read_leases_ended_total", "Read leases that this server ended in order to write.");
  ended.add(static_cast<double>(numbers.size()));
  // From now on, when the revocation is committed: a holder may have renewed its lease until then.
  const nanoseconds since = clock_value(CLOCK_BOOTTIME);
  while (pool.run(kRemain, {numbers}, db::Pool::Retry::kRead).boolean(0, 0)) {
    if (clock_value(CLOCK_BOOTTIME) - since >= kReadLease) {
      log::warn("read_lease_not_given_back", {{"repository", repository}, {"branch", branch}});
      pool.run(kDelete, {numbers}, db::Pool::Retry::kRepeatable);
      return;
    }
    std::this_thread::sleep_for(kWriterLookInterval);
  }
}

ReadLeases::Moment ReadLeases::Moment::now() {
  return {clock_value(CLOCK_BOOTTIME), clock_value(CLOCK_REALTIME)};
}

nanoseconds ReadLeases::Moment::since(const Moment& before) const {
  return std::max(boot - before.boot, wall - before.wall);
}

size_t ReadLeases::NameHash::operator()(const NameView& name) const {
  const std::hash<std::string_view> hash;
  return hash(name.branch) * 31 + hash(name.repository);
}

BranchLookup LeasedBranch::at(const Key& key) const {
  BranchLookup out;
  out.repository = repository;
  out.branch = branch;
  const auto row = std::ranges::lower_bound(rows, key.str(), {}, &StagedRow::key);
  if (row != rows.end() && row->key == key.str()) {
    out.state.entry = row->entry;
    out.state.kind = row->entry ? StagedState::Kind::kEntry : StagedState::Kind::kDeleted;
    out.state.token = row->token;
  } else if (newest_covering(deletes, key.str()) != nullptr) {
    out.state.kind = StagedState::Kind::kDeleted;
  }
  return out;
}

ReadLeases::ReadLeases(db::Pool& pool, Staging& staging, const ReadLeaseOptions& options)
    : pool_(pool),
      staging_(staging),
      options_(options),
      gauge_(metrics::gauge("tarn_read_leases", "Branches that this server may read from memory.",
                            [this] {
                              MutexLock lock(mutex_);
                              return static_cast<double>(held_);
                            })) {}

ReadLeases::~ReadLeases() {
  thread_ = {};
  std::vector<int64_t> numbers;
  {
    MutexLock lock(mutex_);
    for (auto& [name, place] : places_) {
      if (!place.view) continue;
      numbers.push_back(place.number);
      forget(place, false);
    }
  }
  try {
    give_back(numbers);
  } catch (const Error& error) {
    log::debug("read leases left to end", {{"error", error.message()}});
  }
}

void ReadLeases::start() {
  if (!options_.are_taken) return;
  reads_from_memory();  // shown as 0 before the first one
  holder_ = pool_.run(kNextNumber, {}, db::Pool::Retry::kRepeatable).integer(0, 0);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

std::optional<BranchLookup> ReadLeases::lookup(const RepositoryName& repository,
                                               const BranchName& branch, const Key& key) {
  if (const auto leased = find(repository, branch)) return leased->at(key);
  auto found = staging_.lookup(repository, branch, key);
  if (found) count(repository, branch);
  return found;
}

std::shared_ptr<const LeasedBranch> ReadLeases::find(const RepositoryName& repository,
                                                     const BranchName& branch) {
  if (holder_ == 0 || pool_.went_back()) return nullptr;
  MutexLock lock(mutex_);
  const auto at = places_.find(NameView{repository.str(), branch.str()});
  if (at == places_.end() || !at->second.view) return nullptr;
  Place& place = at->second;
  const Moment now = Moment::now();
  if (now.since(place.renewed) >= kReadLease - kReadLeaseMargin) return nullptr;
  place.used = now;
  reads_from_memory().add();
  return place.view;
}

void ReadLeases::count(const RepositoryName& repository, const BranchName& branch) {
  if (holder_ == 0) return;
  const NameView name{repository.str(), branch.str()};
  MutexLock lock(mutex_);
  auto at = places_.find(name);
  if (at == places_.end()) {
    if (places_.size() >= kPlacesMax) {
      std::erase_if(places_, [](const auto& item) { return !item.second.view; });
    }
    at = places_.emplace(Name{std::string(name.repository), std::string(name.branch)}, Place{})
             .first;
  }
  Place& place = at->second;
  if (place.view || place.wanted) return;
  const Moment now = Moment::now();
  if (place.reads == 0 || now.since(place.counted_from) >= kCountedFor) {
    place.reads = 0;
    place.counted_from = now;
  }
  if (++place.reads < options_.reads_min || held_ >= kReadLeasesMax) return;
  place.reads = 0;
  if (now.since(place.paused_from) < place.pause) return;
  place.wanted = wanted_ = true;
  changed_.notify_one();
}

void ReadLeases::run(const std::stop_token& stop) {
  bool known = true;  // all rows of this server: no answer was lost
  while (!stop.stop_requested()) {
    bool held = false;
    {
      MutexLock lock(mutex_);
      const bool waits = held_ > 0 || !known;
      changed_.wait_for(lock, stop, waits ? kReadLeaseRenewal : kIdleLookInterval,
                        [&]() TARN_REQUIRES(mutex_) { return wanted_ && !waits; });
      held = held_ > 0;
    }
    try {
      if (held || !known) renew();
      known = true;
      take_wanted();
    } catch (const Error& error) {
      known = false;
      taking_ = 0;
      log::debug("read_leases_not_renewed", {{"error", error.message()}});
    }
  }
}

/// Leases whose rows stand unrevoked last from now on; the others end here. Rows of this server
/// that it knows nothing of were stored by a statement whose answer was lost.
ReadLeases::Moment ReadLeases::renew() {
  struct Column {
    enum : int { kNumber, kRevoked };
  };
  const Moment asked = Moment::now();
  const db::Rows rows = pool_.run(kSelectOwn, {holder_}, db::Pool::Retry::kRead);
  std::unordered_map<int64_t, bool> revoked;
  for (size_t row = 0; row < rows.size(); ++row) {
    revoked[rows.integer(row, Column::kNumber)] = rows.boolean(row, Column::kRevoked);
  }
  const auto stands = [&](int64_t number) {
    const auto row = revoked.find(number);
    if (row == revoked.end() || row->second) return false;
    revoked.erase(row);
    return true;
  };
  {
    MutexLock lock(mutex_);
    for (auto& [name, place] : places_) {
      if (!place.view) continue;
      const bool unused = asked.since(place.used) >= kUnusedMax;
      if (!unused && stands(place.number)) {
        place.renewed = asked;
      } else {
        forget(place, !unused);
      }
    }
  }
  if (taking_ != 0 && !stands(taking_)) taking_ = 0;
  std::vector<int64_t> ended;
  for (const auto& [number, was_revoked] : revoked) ended.push_back(number);
  give_back(ended);
  return asked;
}

void ReadLeases::take_wanted() {
  std::vector<Name> wanted;
  {
    MutexLock lock(mutex_);
    if (!wanted_) return;
    for (auto& [name, place] : places_) {
      if (std::exchange(place.wanted, false)) wanted.push_back(name);
    }
    wanted_ = false;
  }
  for (const Name& name : wanted) take(name);
}

void ReadLeases::take(const Name& name) {
  auto view = std::make_shared<LeasedBranch>();
  const std::optional<Moment> renewed = fill(name, *view);
  const int64_t number = std::exchange(taking_, 0);
  const bool fits = view->rows.size() <= kLeasedRowsMax && view->bytes <= kLeasedBytesMax;
  {
    MutexLock lock(mutex_);
    Place& place = places_[name];
    if (renewed && bytes_ + view->bytes <= kLeasedBytesMax) {
      bytes_ += view->bytes;
      ++held_;
      place.number = number;
      place.renewed = *renewed;
      place.taken = place.used = *renewed;
      place.view = std::move(view);
      return;
    }
    place.paused_from = Moment::now();
    place.pause = fits ? options_.pause : kReadLeasePauseMax;
  }
  if (number != 0) give_back({number});
}

/// Takes a lease, `taking_`, and reads the branch under it. The moment from which the lease lasts,
/// noted after everything was read: nothing has changed since it was taken if its row still stands.
/// nullopt: there is none, or too much is staged.
std::optional<ReadLeases::Moment> ReadLeases::fill(const Name& name, LeasedBranch& view) {
  struct Column {
    enum : int { kNumber, kRepoId, kBranchId, kSettingsVersion };
  };
  const db::Rows taken =
      pool_.run(kTake, {name.repository, name.branch, holder_}, db::Pool::Retry::kWrite);
  if (taken.empty()) return std::nullopt;
  taking_ = taken.integer(0, Column::kNumber);
  view.repository = static_cast<RepositoryId>(taken.integer(0, Column::kRepoId));
  std::string begin;
  for (;;) {
    std::optional<StagedPage> page;
    {
      const db::Pool::Lease connection = pool_.lease();
      page = staging_.page(*connection, view.repository, BranchName(name.branch), begin, kPageRows);
    }
    if (page) {
      view.bytes += bytes_of(page->rows);
      std::ranges::move(page->rows, std::back_inserter(view.rows));
    }
    const Moment asked = renew();
    if (taking_ == 0 || !page || view.rows.size() > kLeasedRowsMax ||
        view.bytes > kLeasedBytesMax) {
      return std::nullopt;
    }
    begin = page->rows_end + '\0';
    if (!page->complete) continue;
    view.branch = std::move(page->branch);
    view.branch.settings_version = taken.integer(0, Column::kSettingsVersion);
    view.deletes = std::move(page->deletes);
    return asked;
  }
}

/// Only rows of leases that were forgotten before.
void ReadLeases::give_back(const std::vector<int64_t>& numbers) {
  if (numbers.empty()) return;
  pool_.run(kDelete, {numbers}, db::Pool::Retry::kRepeatable);
}

void ReadLeases::forget(Place& place, bool was_written) {
  bytes_ -= place.view->bytes;
  --held_;
  place.view.reset();
  place.reads = 0;
  const Moment now = Moment::now();
  if (was_written) {
    const bool soon = now.since(place.taken) < kSoonPauses * options_.pause;
    place.pause =
        std::clamp(soon ? 2 * place.pause : milliseconds{0}, options_.pause, kReadLeasePauseMax);
    place.paused_from = now;
  }
}

}  // namespace tarn::meta
