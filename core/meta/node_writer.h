// The sink of new tree nodes: compresses them and copies them into PostgreSQL while the tree is
// built.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/meta/node_store.h"
#include "core/model/names.h"
#include "core/tree/node.h"

namespace tarn::meta {

/// Nodes of one operation, not yet referenced by anything. One thread at a time. Lives inside a
/// Writer::Operation. More than a few nodes are compressed and copied by a thread of their own, so
/// that building the tree does not wait for it; its errors are thrown by the next call.
class NodeWriter final : public tree::NodeSink {
 public:
  /// `nids`: numbers that were taken for this operation; it takes more when it needs them.
  NodeWriter(db::Pool& pool, NodeStore& store, RepositoryId repository,
             std::span<const Nid> nids = {});
  /// Drops what was not stored.
  ~NodeWriter() override;

  Nid put(uint8_t level, const Hash128& hash, std::string encoding) override;

  struct Pending {
    std::vector<int64_t> nids;
    std::vector<int16_t> levels;
    std::vector<std::string> hashes;
    std::vector<std::string> bodies;
  };
  /// The nodes that the publishing statement inserts itself. More than a few nodes are
  /// copied in before, in transactions of their own (unreferenced nodes are harmless), and the
  /// result is empty.
  Pending finish();
  /// Makes the nodes that were put readable from the database now (for a tree that the same
  /// operation reads again).
  void flush();

 private:
  struct Encoded {
    Nid nid = 0;
    uint8_t level = 0;
    Hash128 hash{};
    std::string bytes;
  };

  void take_nids();
  void hand_over(Encoded node);
  void pack_and_copy();
  void end_packing();
  static void pack(const Encoded& node, Pending& out);
  void copy(const Pending& nodes);

  db::Pool& pool_;
  NodeStore& store_;
  const RepositoryId repository_;
  std::vector<Nid> free_nids_;  ///< descending; dropped with the operation
  size_t block_ = 16;
  std::vector<Encoded> few_;  ///< all that was put, until it is more than a few
  uint64_t leaves_put_ = 0;

  Mutex mutex_;
  CondVar changed_;
  std::deque<Encoded> queue_ TARN_GUARDED_BY(mutex_);  ///< for the thread
  size_t queued_bytes_ TARN_GUARDED_BY(mutex_) = 0;
  bool complete_ TARN_GUARDED_BY(mutex_) = false;   ///< nothing more will be queued
  bool abandoned_ TARN_GUARDED_BY(mutex_) = false;  ///< nothing more is to be stored
  std::exception_ptr error_ TARN_GUARDED_BY(mutex_);
  std::jthread packing_;
};

}  // namespace tarn::meta
