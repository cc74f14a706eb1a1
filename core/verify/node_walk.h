// A walk over the nodes of many trees that compares each with its row and with its parents.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/db/connection.h"
#include "core/model/names.h"
#include "core/tree/node_encoder.h"
#include "core/verify/collected.h"
#include "core/verify/verify_store.h"

namespace tarn::tree {
class InnerNode;
class LeafNode;
}  // namespace tarn::tree

namespace tarn::verify {

/// Visits every distinct node once, those of earlier roots first, and checks every reference to it.
/// Memory: about 60 bytes for each distinct node. One thread at a time.
class NodeWalk {
 public:
  /// `root`: the index of the tree in which the range was met first.
  using VisitRange = std::function<void(const tree::LeafNode& range, uint32_t root)>;
  /// Called after each batch of nodes; may throw to stop the walk.
  using AfterBatch = std::function<void(const NodeWalk&)>;

  NodeWalk(VerifyStore& store, RepositoryId repository, tree::TreeFormat format,
           Collected& findings, VisitRange visit, AfterBatch after_batch);

  /// Empty roots are allowed. Throws unavailable, and what the callbacks throw.
  void run(std::span<const TreeRoot> roots);

  uint64_t nodes() const { return nodes_; }
  uint64_t entries() const { return entries_; }

 private:
  /// A reference to a node that was not visited yet.
  struct Reference {
    Nid nid = 0;
    uint32_t root = 0;
    int level = kAnyLevel;  ///< of a root unknown
    Hash128 hash{};
    uint64_t entries = 0;
    uint64_t bytes = 0;
    std::string after;     ///< its keys are greater; "" = no bound
    std::string last_key;  ///< its greatest key; "" of a root, which is unknown
  };
  /// A visited node, reduced to compare further references with it.
  struct Known {
    uint64_t hash = 0;  ///< first bytes of the stored hash; 0: missing or unreadable
    uint64_t rest = 0;  ///< of level, totals and last key
  };
  static constexpr int kAnyLevel = -1;

  static bool later(const Reference& a, const Reference& b);
  void add_roots(std::span<const TreeRoot> roots);
  std::vector<Reference> take_batch();
  void visit_batch(const std::vector<Reference>& batch);
  void visit_row(const Reference& reference, const db::Rows& rows, size_t row);
  void visit_inner(const Reference& reference, const tree::InnerNode& node);
  void check_hash(const Reference& reference, const Hash128& stored, const Hash128& computed);
  void check_content(const Reference& reference, const tree::Node& node, int64_t stored_level);
  void check_again(const Reference& reference, const Known& known);
  /// `shown`: refs that show this node are named; 0: only the commit, whose own reference is wrong.
  void report(FindingKind kind, const Reference& reference, std::string expected, std::string found,
              std::optional<Nid> shown = {});

  VerifyStore& store_;
  const RepositoryId repository_;
  const tree::TreeFormat format_;
  Collected& findings_;
  const VisitRange visit_;
  const AfterBatch after_batch_;
  std::vector<Reference> waiting_;  ///< a heap
  size_t next_root_ = 0;
  std::unordered_map<Nid, Known> known_;
  uint64_t nodes_ = 0;
  uint64_t entries_ = 0;
};

}  // namespace tarn::verify
