// Timelines of the database's cluster, and the commits that this process saw acknowledged on them.
// The protocol is in docs/design/046-lost-writes.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/time.h"
#include "core/db/pool.h"

namespace tarn::meta {

/// How often Lineage::mark is called: a write that only another server acknowledged, and that this
/// one has read, is missed after this time.
constexpr std::chrono::seconds kMarkInterval{1};

struct LineageOptions {
  bool accepts_loss = false;  ///< logs what was lost and goes on
  std::string server;         ///< the name of this process in reports
  std::function<void()> forget_cached = [] {};
  std::string newest_start{};  ///< databases must have it: see newest_host
  std::string url{};           ///< its hosts are asked for a later timeline
};

/// Compares each start of the database's server with what this process saw acknowledged, and
/// refuses a database that lacks some of it. Safe from any thread.
class Lineage : public db::Witness {
 public:
  explicit Lineage(LineageOptions options);

  /// Writes to the log of the database, so that what was read before counts as seen from then on.
  /// Throws unavailable.
  void mark(db::Pool& pool);

  /// The first server that comes to a new timeline also moves all sequences on, so that no number
  /// is handed out twice by a standby that was promoted without what its primary had committed
  /// last. Nothing that is cached under such a number is then found under another.
  void enter(db::Connection& connection) override;
  /// An old primary that returns looks as its restart does, as long as nothing was seen of its
  /// successor: the other hosts are asked unless the timeline is later than before. Takes two
  /// seconds for each host that does not answer.
  std::optional<size_t> newer_host(const db::Connection& connection) override;
  bool permits(db::Connection& connection) override;
  /// Number of losses that were accepted.
  uint64_t losses() const;
  bool acknowledge(const db::Connection& connection, const db::CommitPosition& commit) override;
  void close(const db::Connection& connection) noexcept override;

 private:
  /// The newest commit of a connection, or one that covers all before it.
  struct Seen {
    size_t start = 0;  ///< of starts_
    db::CommitPosition commit{};
    uint64_t number = 0;  ///< how many were acknowledged before
    Instant at{};         ///< only of marks
  };
  struct Missing {
    uint64_t commits = 0;
    Instant since{};
    bool more = false;  ///< and maybe others before
  };
  Missing missing_in(db::Connection& connection);
  void refuse(db::Connection& connection, const Missing& missing);
  void accept(db::Connection& connection, const Missing& missing);
  std::string switch_to(const std::string& server);
  void look(db::Connection& connection);

  const LineageOptions options_;
  const Instant began_;
  std::string report_;  ///< of what is missing; guarded by the one call of enter at a time
  mutable Mutex mutex_;
  std::string server_ TARN_GUARDED_BY(mutex_);               ///< whose commits are acknowledged
  std::string timeline_ TARN_GUARDED_BY(mutex_);             ///< that was entered last
  std::vector<std::string> starts_ TARN_GUARDED_BY(mutex_);  ///< tokens; the last is the present
  std::map<const db::Connection*, Seen> newest_ TARN_GUARDED_BY(mutex_);
  std::vector<Seen> ended_ TARN_GUARDED_BY(mutex_);  ///< of closed connections, since the last mark
  std::vector<Seen> marks_ TARN_GUARDED_BY(mutex_);  ///< oldest first
  uint64_t commits_ TARN_GUARDED_BY(mutex_) = 0;
  uint64_t losses_ TARN_GUARDED_BY(mutex_) = 0;  ///< that were accepted
  std::atomic<bool> refused_ = false;
  std::shared_ptr<metrics::GaugeToken> gauge_;
};

/// The host of a URL with several that is to be used: of those that accept writes the one on the
/// highest timeline, and of these the one with the most starts.
struct NewestHost {
  size_t host = 0;
  std::string timeline{};
  std::string token{};  ///< of its newest start; "" = none, or no host was asked
};
NewestHost newest_host(const std::string& url);

/// Has servers use the database although it lacks what they saw. Returns their reports, as lines.
std::vector<std::string> accept_lost_writes(db::Connection& connection);

}  // namespace tarn::meta
