#include "core/meta/node_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/wait_scope.h"
#include "core/tree/body.h"

namespace tarn::meta {
namespace {

constexpr size_t kInlineNodesMax = 64;  // more go by COPY, which is faster from about here on
// Memory limits of creating many nodes: compressed ones that are copied together, and those that
// wait.
constexpr size_t kCopyBytes = 4 * 1024 * 1024;
constexpr size_t kQueuedBytesMax = 4 * 1024 * 1024;
constexpr size_t kNidBlockMax = 4096;
constexpr uint64_t kRememberedLeavesMax = 4096;  // an import must not evict the rest of the cache
// A wait ends by a notice; this bounds one that was missed.
constexpr std::chrono::seconds kWaitMax{1};

constexpr db::Query kTakeNids{"nodes_take_nids", R"sql(
  SELECT nextval('node_nids') FROM generate_series(1, $1::integer))sql"};

}  // namespace

NodeWriter::NodeWriter(db::Pool& pool, NodeStore& store, RepositoryId repository,
                       std::span<const Nid> nids)
    : pool_(pool), store_(store), repository_(repository), free_nids_(nids.rbegin(), nids.rend()) {}

NodeWriter::~NodeWriter() {
  if (!packing_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  packing_.join();
}

void NodeWriter::take_nids() {
  // Run as a read, since it acknowledges nothing. Numbers of a lost response are skipped.
  const db::Rows rows =
      pool_.run(kTakeNids, {static_cast<int32_t>(block_)}, db::Pool::Retry::kRead);
  for (size_t row = rows.size(); row > 0; --row) free_nids_.push_back(rows.integer(row - 1, 0));
  block_ = std::min(block_ * 4, kNidBlockMax);
}

Nid NodeWriter::put(uint8_t level, const Hash128& hash, std::string encoding) {
  if (free_nids_.empty()) take_nids();
  const Nid nid = free_nids_.back();
  free_nids_.pop_back();
  if (level > 0 || ++leaves_put_ <= kRememberedLeavesMax) {
    store_.remember(nid, tree::Node::parse(encoding));
  }
  Encoded node{nid, level, hash, std::move(encoding)};
  if (packing_.joinable()) {
    hand_over(std::move(node));
    return nid;
  }
  few_.push_back(std::move(node));
  if (few_.size() > kInlineNodesMax) {
    packing_ = std::jthread([this] { pack_and_copy(); });
    for (Encoded& one : few_) hand_over(std::move(one));
    few_.clear();
  }
  return nid;
}

void NodeWriter::hand_over(Encoded node) {
  {
    MutexLock lock(mutex_);
    const auto has_room = [this]() TARN_REQUIRES(mutex_) {
      return error_ || queued_bytes_ < kQueuedBytesMax;
    };
    if (!has_room()) {
      const WaitScope waits;
      while (!changed_.wait_for(lock, kWaitMax, has_room)) continue;
    }
    if (error_) std::rethrow_exception(error_);
    queued_bytes_ += node.bytes.size();
    queue_.push_back(std::move(node));
  }
  changed_.notify_all();
}

void NodeWriter::pack_and_copy() {
  Pending packed;
  size_t packed_bytes = 0;
  std::deque<Encoded> taken;
  try {
    for (;;) {
      {
        MutexLock lock(mutex_);
        const auto has_work = [this]() TARN_REQUIRES(mutex_) {
          return abandoned_ || complete_ || !queue_.empty();
        };
        while (!changed_.wait_for(lock, kWaitMax, has_work)) continue;
        if (abandoned_) return;
        if (queue_.empty()) break;
        taken.swap(queue_);
        queued_bytes_ = 0;
      }
      changed_.notify_all();
      for (const Encoded& node : taken) {
        pack(node, packed);
        packed_bytes += packed.bodies.back().size();
        if (packed_bytes < kCopyBytes) continue;
        copy(packed);
        packed = {};
        packed_bytes = 0;
      }
      taken.clear();
    }
    copy(packed);
  } catch (...) {
    {
      const MutexLock lock(mutex_);
      error_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

void NodeWriter::pack(const Encoded& node, Pending& out) {
  out.nids.push_back(node.nid);
  out.levels.push_back(node.level);
  out.hashes.emplace_back(view_of(node.hash));
  out.bodies.push_back(tree::pack_body(node.bytes));
}

void NodeWriter::copy(const Pending& nodes) {
  if (nodes.nids.empty()) return;
  db::Pool::Lease lease = pool_.lease();
  db::Connection::CopyIn copy(*lease,
                              "COPY nodes (nid, repo_id, level, hash, body) FROM STDIN BINARY");
  for (size_t i = 0; i < nodes.nids.size(); ++i) {
    copy.row({nodes.nids[i], static_cast<int32_t>(repository_), nodes.levels[i],
              db::Bytes{nodes.hashes[i]}, db::Bytes{nodes.bodies[i]}});
  }
  copy.finish();
}

void NodeWriter::end_packing() {
  {
    const MutexLock lock(mutex_);
    complete_ = true;
  }
  changed_.notify_all();
  {
    const WaitScope waits;
    packing_.join();
  }
  const MutexLock lock(mutex_);
  complete_ = false;
  if (error_) std::rethrow_exception(error_);
}

void NodeWriter::flush() {
  if (packing_.joinable()) {
    end_packing();
    return;
  }
  copy(finish());
}

NodeWriter::Pending NodeWriter::finish() {
  Pending out;
  if (packing_.joinable()) {
    end_packing();
    return out;
  }
  for (const Encoded& node : few_) pack(node, out);
  few_.clear();
  return out;
}

}  // namespace tarn::meta
