// Roots of a repository: the rows that keep commits, nodes and objects from garbage collection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/gc/collection_store.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/tree/node.h"

namespace tarn::meta {

/// A kind of row that keeps the commits it names, with all their ancestors.
/// docs/garbage-collection.md has the same table.
struct CommitRoot {
  std::string_view name;
  db::Query select;  ///< the ids of one repository ($1)
};
std::span<const CommitRoot> commit_roots();

struct CommitNode {
  CommitId id;
  std::vector<CommitId> parents;
  bool young = false;  ///< stored too lately to be removed
};

/// Reads through a connection of the caller, in its transaction.
class Roots {
 public:
  explicit Roots(db::Connection& connection) : connection_(connection) {}

  /// Every commit of the repository. `kept`: how long a commit stays that nothing leads to.
  std::vector<CommitNode> commits(RepositoryId repository, std::chrono::seconds kept);
  /// Ids that some root names; they need not exist.
  std::vector<CommitId> named_commits(RepositoryId repository);
  /// Locks those of the commits that exist against new references.
  void lock_commits(RepositoryId repository, std::span<const CommitId> ids);
  /// With what was measured of them.
  void remove_commits(RepositoryId repository, std::span<const CommitId> ids);

  /// Addresses of the trees of all commits but these.
  std::vector<Nid> trees(RepositoryId repository, std::span<const CommitId> without);
  /// Checkpoints of imports that are not finished, in their stored form.
  void import_checkpoints(RepositoryId repository,
                          const std::function<void(std::string_view)>& visit);
  /// The entries, encoded, that are staged, kept as versions or handed out as addresses in the
  /// repository, and those of batches that are not published yet, whatever their repository.
  void entries(RepositoryId repository, const std::function<void(std::string_view)>& visit);
  /// The encoded lists: of uploaded parts of open uploads.
  void open_parts(RepositoryId repository, const std::function<void(std::string_view)>& visit);
  void part_lists(RepositoryId repository,
                  const std::function<void(int64_t id, std::string_view list)>& visit);
  /// Repositories that may refer to objects of this one.
  std::vector<RepositoryId> readers(RepositoryId repository);

 private:
  db::Connection& connection_;
};

/// Nodes past the server's cache, which a walk over everything would empty. Safe from any thread.
class UncachedNodes final : public tree::NodeSource {
 public:
  explicit UncachedNodes(db::Pool& pool) : pool_(pool) {}
  using tree::NodeSource::load;
  std::vector<std::shared_ptr<const tree::Node>> load(std::span<const Nid> nids) override;

 private:
  db::Pool& pool_;
};

/// Nodes of a repository, for their removal. Safe from any thread.
class NodeRemoval {
 public:
  explicit NodeRemoval(db::Pool& pool) : pool_(pool) {}
  /// Addresses greater than `after` and less than `end`, ascending, at most `limit`.
  std::vector<Nid> page(RepositoryId repository, Nid after, Nid end, uint32_t limit);
  /// With what was derived of them.
  void remove(const CollectionClaim& claim, std::span<const Nid> nids);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::meta
