// The commits of a repository as a graph in memory: what walks over long histories need, and no
// more.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn::meta {

/// Bytes of the graphs that one process keeps between requests. A single larger graph, of more
/// than about two million commits, is read again by each request.
constexpr size_t kCommitGraphBytesMax = 256 * 1024 * 1024;
/// Graphs that one process keeps; one more, and it forgets them all.
constexpr size_t kCommitGraphsMax = 1'000;
/// Bytes of the changed paths of one graph; those of further commits count as unknown.
constexpr size_t kGraphPathsBytesMax = 96 * 1024 * 1024;
/// A graph in which changed paths were missing is read again after this time.
constexpr std::chrono::seconds kUnfilledGraphMax{60};

/// A commit at which a walk stands; valid during the call that gets it.
struct GraphCommit {
  const CommitId& id;
  size_t parents;
  /// The paths in which it differs from its first parent (core/tree/changed_paths.h). nullopt:
  /// anything may have changed, or its data or its parent's has expired.
  std::optional<std::span<const uint32_t>> changed;
};

/// Rows of commits never change but for expiry and removal, after which `Commits` makes a new
/// graph. Holds what walks have asked for; grows only. Safe from any thread.
class CommitGraph {
 public:
  CommitGraph(db::Pool& pool, RepositoryId repository) : pool_(pool), repository_(repository) {}

  size_t bytes() const { return bytes_; }
  /// Some changed paths were not known when they were read, kUnfilledGraphMax ago or longer.
  bool is_outdated() const;

 private:
  friend class CommitGraphWalk;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Node {
    CommitId id;
    int64_t created_ms = 0;
    uint32_t parents = 0;  ///< where they begin in parents_
    uint32_t changed = 0;  ///< where they begin in changed_
    uint16_t parent_count = 0;
    uint16_t changed_count = 0;
    bool is_loaded = false;  ///< false: only named by a child
    bool is_expired = false;
    bool is_known = false;  ///< what changed
  };

  uint32_t find(const CommitId& id) const TARN_REQUIRES(mutex_);
  uint32_t find_or_add(const CommitId& id) TARN_REQUIRES(mutex_);
  void rehash(size_t slots) TARN_REQUIRES(mutex_);
  void add(const db::Rows& rows);
  /// Reads the commit and up to `limit` - 1 first-parent ancestors; returns how many.
  size_t load_line(const CommitId& id, int32_t limit);
  /// Reads every commit of the repository.
  void load_all();
  std::optional<std::span<const uint32_t>> changed(const Node& node) const TARN_REQUIRES(mutex_);

  db::Pool& pool_;
  const RepositoryId repository_;
  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  std::atomic<size_t> bytes_ = 0;
  std::atomic<bool> has_unfilled_ = false;
  Mutex loading_;  ///< taken before mutex_: concurrent requests read the same commits once
  mutable Mutex mutex_;
  std::vector<Node> nodes_ TARN_GUARDED_BY(mutex_);
  std::vector<uint32_t> slots_ TARN_GUARDED_BY(mutex_);  ///< hash table with linear probing
  std::vector<uint32_t> parents_ TARN_GUARDED_BY(mutex_);
  std::vector<uint32_t> changed_ TARN_GUARDED_BY(mutex_);
};

/// The commits that are reachable from one, newest first by creation time, ties by id descending,
/// but none before a descendant through which it is reached. One thread at a time.
class CommitGraphWalk {
 public:
  struct Options {
    bool first_parent = false;
    std::optional<Instant> since{};  ///< older commits are left out and not walked past
  };
  /// `start` exists.
  CommitGraphWalk(std::shared_ptr<CommitGraph> graph, const CommitId& start, Options options);

  /// The next commit that `wanted` accepts; nullopt at the end. `wanted` is called for each in turn
  /// and must not block. Throws data_loss when a commit that others refer to is missing.
  std::optional<CommitId> next(const std::function<bool(const GraphCommit&)>& wanted);

 private:
  void push(uint32_t at) TARN_REQUIRES(graph_->mutex_);
  void load(const CommitId& missing);

  struct Item {
    int64_t created_ms;
    uint32_t at;
    CommitId id;
    bool operator<(const Item& other) const {
      return created_ms != other.created_ms ? created_ms < other.created_ms : id < other.id;
    }
  };

  const std::shared_ptr<CommitGraph> graph_;
  const CommitId start_;
  const Options options_;
  bool started_ = false;
  size_t lines_ = 0;  ///< commits read in lines
  bool all_ = false;  ///< every commit was read since this walk began
  std::priority_queue<Item> queue_;
  std::vector<bool> seen_;
};

}  // namespace tarn::meta
