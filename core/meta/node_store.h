// Tree nodes in PostgreSQL, with a cache: nodes never change and addresses are never reused, so
// nothing is invalidated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/meta/nid_cache.h"
#include "core/tree/node.h"

namespace tarn::meta {

/// Safe from any thread.
class NodeStore final : public tree::NodeSource {
 public:
  /// A quarter of `cache_bytes` is kept for inner nodes, which scans of leaves must not push out.
  NodeStore(db::Pool& pool, size_t cache_bytes);

  using tree::NodeSource::load;
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids) override;

  /// A node just made: the next commit reads it.
  void remember(Nid nid, std::shared_ptr<const tree::Node> node);

 private:
  friend class NodesThrough;
  using Fetch =
      std::function<db::Rows(const db::Query& query, std::initializer_list<db::Param> params)>;
  /// Throws gone (reason "expired") if the tree of a commit has expired, else data_loss.
  [[noreturn]] static void throw_missing(const Fetch& fetch, Nid nid);
  std::shared_ptr<const tree::Node> find_cached(Nid nid);
  std::vector<std::shared_ptr<const tree::Node>> load_with(const Fetch& fetch,
                                                           std::span<const Nid> nids, bool keeps);

  db::Pool& pool_;
  NidCache<tree::Node> inner_;
  NidCache<tree::Node> leaves_;
};

/// A NodeStore seen through one connection: a request that holds one must not lease another. Safe
/// from any thread: only statements take turns, while other threads decode what they read.
class NodesThrough final : public tree::NodeSource {
 public:
  /// Without a connection each statement leases one.
  NodesThrough(NodeStore& store, db::Connection* connection)
      : store_(store), connection_(connection) {}
  using tree::NodeSource::load;
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids) override;
  /// The same for one look at each: does not keep in memory what it reads.
  std::vector<std::shared_ptr<const tree::Node>> look_at(std::span<const Nid> nids);

 private:
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids, bool keeps);

  NodeStore& store_;
  db::Connection* const connection_;
  Mutex turn_;  ///< while a statement runs
};

}  // namespace tarn::meta
