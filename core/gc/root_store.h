// Roots of a repository: the rows that keep commits, nodes and objects from garbage collection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/gc/collection_store.h"
#include "core/gc/early_expiry.h"
#include "core/gc/retention.h"
#include "core/model/commit.h"
#include "core/model/names.h"
#include "core/tree/node.h"

namespace tarn::gc {

/// How the rows of a root keep commits.
enum class RootKind {
  kNamed,       ///< the commit that a row names keeps its data, and its ancestors their rows
  kHeld,        ///< so do its ancestors
  kRetention,   ///< heads of branches: commits of their lines keep their data for a time
  kMergeBases,  ///< heads of branches: the merge bases of every two keep their data
};

/// A line of the table of roots; docs/garbage-collection.md has the same one.
struct CommitRoot {
  std::string_view name;
  RootKind kind = RootKind::kNamed;
  /// The roots of one repository ($1): the id of a commit, and a text that says what names it
  /// (kRetention: the branch).
  db::Query select;
};
std::span<const CommitRoot> commit_roots();

/// A commit that garbage collection removes.
struct RemovedCommit {
  CommitId id;
  Nid root_nid = 0;    ///< 0 = an empty tree, or one that has expired
  std::string branch;  ///< that was deleted and led to it; "" = not known
};

/// Reads through a connection of the caller, in its transaction.
class Roots {
 public:
  explicit Roots(db::Connection& connection) : connection_(connection) {}

  /// Every commit, what names it, and the rules. `ignored`: a line of the table that tests take
  /// away.
  History history(RepositoryId repository, std::string_view ignored = {});
  /// The names of the roots that keep the data of a commit; its age does not count.
  std::vector<std::string> keepers(RepositoryId repository, const CommitId& commit);
  /// The expiries numbered less than `before`, the greatest first.
  std::vector<Expiry> expiries(RepositoryId repository, int64_t before, uint32_t limit);
  /// Lets every server forget the commits that it has cached, soon after the transaction.
  void count_removal();
  /// Locks those of the commits that exist against new references.
  void lock_commits(RepositoryId repository, std::span<const CommitId> ids);
  std::vector<RemovedCommit> describe(RepositoryId repository, std::span<const CommitId> ids);
  /// Removes commits with what was measured of them.
  void remove_commits(RepositoryId repository, std::span<const CommitId> ids);
  /// Lets the trees of the commits go; the caller has locked them. Returns how many had one.
  /// `actor`
  /// "" = by rule.
  int64_t expire_commits(RepositoryId repository, std::span<const ExpiringCommit> commits,
                         std::string_view actor, std::string_view reason);
  /// Branches that were deleted longer ago than `kept`: they led to nothing that is not reached.
  void forget_deleted_branches(RepositoryId repository, std::chrono::seconds kept);

  /// Addresses of the trees of all commits but these, and but those that have expired.
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
  /// The files of the nodes, below the repository's namespace.
  std::vector<std::string> files(RepositoryId repository, std::span<const Nid> nids);
  /// Removes nodes with what was derived of them, but for the files.
  void remove(const CollectionClaim& claim, std::span<const Nid> nids);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::gc
