// A cache of values derived from tree nodes, by address: nodes never change and addresses are never
// reused, so nothing is invalidated.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/base/mutex.h"
#include "core/model/commit.h"

namespace tarn::meta {

/// Least-recently-used values up to a number of bytes, in shards. Value has memory_bytes(). Safe
/// from any thread.
template <typename Value>
class NidCache {
 public:
  explicit NidCache(size_t bytes_max) : shard_bytes_max_(bytes_max / kShards) {}

  /// nullptr = not here.
  std::shared_ptr<const Value> find(Nid nid) {
    Shard& shard = shard_of(nid);
    MutexLock lock(shard.mutex);
    const auto at = shard.by_nid.find(nid);
    if (at == shard.by_nid.end()) return nullptr;
    shard.recent.splice(shard.recent.begin(), shard.recent, at->second);
    return at->second->value;
  }

  void put(Nid nid, std::shared_ptr<const Value> value) {
    Shard& shard = shard_of(nid);
    const size_t bytes = value->memory_bytes();
    MutexLock lock(shard.mutex);
    if (shard.by_nid.contains(nid)) return;
    shard.recent.push_front({nid, std::move(value), bytes});
    shard.by_nid[nid] = shard.recent.begin();
    shard.bytes += bytes;
    while (shard.bytes > shard_bytes_max_ && shard.recent.size() > 1) {
      shard.bytes -= shard.recent.back().bytes;
      shard.by_nid.erase(shard.recent.back().nid);
      shard.recent.pop_back();
    }
  }

 private:
  struct Item {
    Nid nid;
    std::shared_ptr<const Value> value;  // shared with the readers that hold it right now
    size_t bytes;
  };
  struct Shard {
    Mutex mutex;
    std::list<Item> recent TARN_GUARDED_BY(mutex);  ///< newest first
    std::unordered_map<Nid, typename std::list<Item>::iterator> by_nid TARN_GUARDED_BY(mutex);
    size_t bytes TARN_GUARDED_BY(mutex) = 0;
  };
  static constexpr size_t kShards = 16;

  Shard& shard_of(Nid nid) { return shards_[static_cast<size_t>(nid) % kShards]; }

  const size_t shard_bytes_max_;
  std::array<Shard, kShards> shards_;
};

}  // namespace tarn::meta
