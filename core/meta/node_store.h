// Tree nodes in PostgreSQL, with a cache: nodes never change and addresses are never reused, so
// nothing is invalidated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

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

  /// As load, but reads uncached nodes through this connection: a request that holds one must not
  /// lease another.
  std::vector<std::shared_ptr<const tree::Node>> load_through(db::Connection& connection,
                                                              std::span<const Nid> nids);

  /// A node just made: the next commit reads it.
  void remember(Nid nid, std::shared_ptr<const tree::Node> node);

 private:
  using Fetch =
      std::function<db::Rows(const db::Query& query, std::initializer_list<db::Param> params)>;
  /// Throws gone (reason "expired") if the tree of a commit has expired, else data_loss.
  [[noreturn]] static void throw_missing(const Fetch& fetch, Nid nid);
  std::shared_ptr<const tree::Node> find_cached(Nid nid);
  std::vector<std::shared_ptr<const tree::Node>> load_with(const Fetch& fetch,
                                                           std::span<const Nid> nids);

  db::Pool& pool_;
  NidCache<tree::Node> inner_;
  NidCache<tree::Node> leaves_;
};

/// A NodeStore seen through one connection. One thread at a time.
class NodesThrough final : public tree::NodeSource {
 public:
  NodesThrough(NodeStore& store, db::Connection& connection)
      : store_(store), connection_(connection) {}
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids) override {
    return store_.load_through(connection_, nids);
  }

 private:
  NodeStore& store_;
  db::Connection& connection_;
};

}  // namespace tarn::meta
