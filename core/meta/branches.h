// Branch rows: refs, leases and publishing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/meta/node_store.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::meta {

/// A branch held by a verb: nobody else publishes to it until the lease ends. `sealed` are frozen.
struct BranchLease {
  int64_t owner = 0;
  CommitId head;
  TreeRoot root;
  int64_t token = 0;
  std::vector<int64_t> sealed;  ///< newest first
  bool has_ranges = false;
};

/// What the publishing transaction needs beside the lease.
struct Publication {
  RepositoryId repository{};
  BranchId branch{};
  Commit commit;
  std::vector<int64_t> drained;  ///< sealed tokens that are in the commit's tree now
  std::vector<CommitId> read;    ///< commits whose trees it was made from; each must still exist
  NodeWriter::Pending nodes;
  bool promotion = false;  ///< the one way to move a branch that a policy protects
  /// Runs in the same transaction, after the commit became the head; what it throws undoes all.
  std::function<void(db::Connection&)> within{};
};

enum class PublishOutcome {
  kDone,
  kBranchGone,
  kWriterGone,  ///< our writers row was lost: redo the work with a new one
  kChanged,     ///< lease, head or sealed tokens are not what the work was based on
  kReadGone,    ///< a commit that was read has been collected
};

/// Safe from any thread.
class Branches {
 public:
  explicit Branches(db::Pool& pool) : pool_(pool) {}

  std::optional<Branch> find(RepositoryId repository, const BranchName& name);
  std::optional<Branch> find_by_id(BranchId id);
  Page<Branch> list(RepositoryId repository, std::string_view prefix, std::string_view after,
                    uint32_t limit, bool show_hidden);

  enum class CreateOutcome { kDone, kCommitGone, kBranchExists, kTagExists, kCommitHasName };
  struct CreateOptions {
    bool hidden = false;
    std::optional<Instant> expires{};
    /// Runs in the same transaction, when the branch was made.
    std::function<void(db::Connection&)> within{};
  };
  CreateOutcome create(RepositoryId repository, const BranchName& name, const CommitId& head,
                       const CreateOptions& options);

  struct Expired {
    RepositoryId repository{};
    Branch branch;
  };
  /// A branch that expired by `now` and that nobody has claimed; no other caller is given it before
  /// `claim` has passed.
  std::optional<Expired> claim_expired(Instant now, std::chrono::milliseconds claim);

  /// Inside a transaction of the caller: a branch whose head is still `head`, that does not expire
  /// already and that no policy protects, expires at `at`.
  static void expire(db::Connection& connection, RepositoryId repository, const BranchName& name,
                     const CommitId& head, Instant at);

  /// Takes the lease; with `rotate` also seals what is staged.
  struct Acquired {
    enum class Outcome { kDone, kBranchGone, kLeased } outcome = Outcome::kDone;
    BranchLease lease;
  };
  Acquired acquire(BranchId branch, int64_t owner, std::chrono::milliseconds ttl, bool rotate);
  /// false: the lease was lost.
  bool renew(BranchId branch, int64_t owner, std::chrono::milliseconds ttl);
  void release(BranchId branch, int64_t owner) noexcept;

  /// When it is deleted by itself; nullopt = never. false: the lease was lost.
  bool set_expiry(BranchId branch, int64_t owner, std::optional<Instant> expires);

  /// Throws what `within` throws.
  PublishOutcome publish(int64_t writer, const BranchLease& lease, const Publication& publication);
  /// Moves the head (hard reset); the staging area must be empty. false: lease or head changed.
  bool move_head(BranchId branch, const BranchLease& lease, const Commit& commit);
  /// Drops every token: the branch shows its head. false: the lease was lost.
  bool drop_staging(BranchId branch, int64_t owner);
  /// Takes frozen tokens without any effect off the branch. false: the lease was lost.
  bool drop_sealed(BranchId branch, int64_t owner, const std::vector<int64_t>& tokens);
  /// Adds a range row: seals the current token and puts the row into a new one, in one transaction.
  enum class RangeKind : int16_t { kDelete = 1, kReset = 2 };
  bool add_range(BranchId branch, int64_t owner, std::string_view begin, std::string_view end,
                 RangeKind kind);
  /// Removes the row; its tokens are retired. `within` runs in the same transaction, when the row
  /// was removed. false: the lease was lost or the branch is gone.
  bool remove(BranchId branch, int64_t owner,
              const std::function<void(db::Connection&)>& within = {});

 private:
  db::Rows publish_with_more(std::initializer_list<db::Param> params, const Publication& p);

  db::Pool& pool_;
};

}  // namespace tarn::meta
