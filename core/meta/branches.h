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
#include "core/meta/node_writer.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::meta {

/// A branch held by a verb: no other verb publishes to it until the lease ends. `sealed` are
/// frozen.
struct BranchLease {
  int64_t owner = 0;
  CommitId head;
  TreeRoot root;
  int64_t token = 0;
  std::vector<int64_t> sealed;  ///< newest first
  bool has_ranges = false;
  RepositoryId repository{};
  int64_t settings_version = 0;  ///< of the repository, when the lease was taken
  std::string gate;              ///< the policy that protects the branch; "" = none
  std::string name;              ///< of the branch, when the lease was taken
  std::vector<int64_t> nids;     ///< for new nodes, ascending; none without `rotate`
};

/// Input of the publishing transaction besides the lease.
struct Publication {
  RepositoryId repository{};
  BranchId branch{};
  Commit commit;
  std::vector<int64_t> drained;  ///< sealed tokens that are in the commit's tree now
  std::vector<CommitId> read;    ///< commits whose trees it was made from; each must still exist
  NodeWriter::Pending nodes;
  /// The changed paths of the commit, as core/tree/changed_paths.h stores them; "" = not known.
  std::string changed_paths{};
  std::string user{};  ///< the acting user, who may differ from the committer; "" = none
  /// Names of users whose work is in the commit without their commits.
  std::vector<std::string> makers{};
  bool promotion = false;  ///< the one way to move a branch that a policy protects, and to obey
                           ///< no rule: any other is published under the lease's settings only
  bool clean = false;      ///< the branch must have been clean: no conditional write since
  /// Runs in the same transaction, after the commit became the head; an exception undoes
  /// everything.
  std::function<void(db::Connection&)> within{};
};

enum class PublishOutcome {
  kDone,
  kBranchGone,
  kWriterGone,  ///< our writers row was lost: redo the work with a new one
  kChanged,     ///< lease, head, sealed tokens or settings have changed, or
                ///< the branch is no longer clean
  kReadGone,    ///< a commit that was read has been collected
};

/// Branches that one user may have made in one repository and that still exist, unless configured.
constexpr uint32_t kBranchesPerUserMax = 10'000;

/// Safe from any thread.
class Branches {
 public:
  explicit Branches(db::Pool& pool, uint32_t per_user_max = kBranchesPerUserMax)
      : pool_(pool), per_user_max_(per_user_max) {}

  uint32_t per_user_max() const { return per_user_max_; }

  std::optional<Branch> find(RepositoryId repository, const BranchName& name);
  std::optional<Branch> find_by_id(BranchId id);
  Page<Branch> list(RepositoryId repository, std::string_view prefix, std::string_view after,
                    uint32_t limit, bool show_hidden);

  enum class CreateOutcome {
    kDone,
    kCommitGone,
    kBranchExists,
    kTagExists,
    kCommitHasName,
    kTooMany,  ///< its creator has made per_user_max that still exist
  };
  struct CreateOptions {
    std::string creator{};  ///< name of the user; "" = no user, and no limit
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
    bool by_rule = false;  ///< a rule for the cleanup of branches has set the expiry
  };
  /// Claims a branch that has expired by the database's clock; no other caller gets it before
  /// `claim` has passed.
  std::optional<Expired> claim_expired(std::chrono::milliseconds claim);

  /// The default branch, in the transaction that creates the repository.
  static void create_first(db::Connection& connection, RepositoryId repository,
                           const BranchName& name, const CommitId& head);

  /// Inside a transaction of the caller: a branch whose head is still `head`, that does not expire
  /// already and that no policy protects, expires at `at`.
  static void expire(db::Connection& connection, RepositoryId repository, const BranchName& name,
                     const CommitId& head, Instant at);

  /// Takes the lease; with `rotate` also seals staged changes.
  struct Acquired {
    enum class Outcome { kDone, kBranchGone, kLeased } outcome = Outcome::kDone;
    BranchLease lease;
  };
  Acquired acquire(BranchId branch, int64_t owner, std::chrono::milliseconds ttl, bool rotate);
  /// false: the lease was lost.
  bool renew(BranchId branch, int64_t owner, std::chrono::milliseconds ttl);
  /// false: the database could not be asked, and the lease may last until it runs out.
  bool release(BranchId branch, int64_t owner) noexcept;

  // Each of the following changes nothing and returns false if the lease was lost or expired, or
  // (where it takes one) if the settings differ from those of the lease.

  /// When it expires; nullopt = never.
  [[nodiscard]] bool set_expiry(BranchId branch, int64_t owner, std::optional<Instant> expires);

  /// Throws the exceptions of `within`; in doubt only if the database could not be queried for the
  /// outcome.
  PublishOutcome publish(int64_t writer, const BranchLease& lease, const Publication& publication);
  /// Moves the head (hard reset) and removes frozen tokens without effect from the branch; nothing
  /// else may be staged. Also returns false if the head moved, or after a conditional write.
  [[nodiscard]] bool move_head(BranchId branch, const BranchLease& lease, const Commit& commit,
                               const std::vector<int64_t>& without_effect);
  /// Drops every token: the branch shows its head. `unless_prefix`: false also when a key that
  /// begins with it was staged since the branch was taken with `rotate`; "" = all may be dropped.
  [[nodiscard]] bool drop_staging(BranchId branch, const BranchLease& lease,
                                  std::string_view unless_prefix = {});
  /// Takes frozen tokens without any effect off the branch.
  bool drop_sealed(BranchId branch, int64_t owner, const std::vector<int64_t>& tokens);
  /// Adds a range row: seals the current token and puts the row into a new one, in one transaction.
  /// `unless_prefix` as drop_staging takes it.
  enum class RangeKind : int16_t { kDelete = 1, kReset = 2 };
  [[nodiscard]] bool add_range(BranchId branch, const BranchLease& lease, std::string_view begin,
                               std::string_view end, RangeKind kind,
                               std::string_view unless_prefix = {});
  enum class RemoveIf : int16_t {
    kAny = 0,
    kExpired = 1,  ///< by the database's clock; one that a rule lets expire must also be unused
    kUnused = 2,   ///< branch_in_use says nothing
  };
  struct Rename {
    BranchName name;
    bool may_be_default = false;  ///< the default branch may be renamed
    /// Runs in the same transaction, after the branch has its new name.
    std::function<void(db::Connection&)> within{};
  };
  enum class RenameOutcome {
    kDone,
    kBranchGone,
    kBranchExists,
    kTagExists,
    kCommitHasName,
    kChanged,  ///< the lease was lost or expired, or the settings differ from those of the lease
    kKept,     ///< `why` tells what keeps the name
    kDefault,  ///< it is the default branch, without may_be_default
  };
  struct Renamed {
    RenameOutcome outcome = RenameOutcome::kDone;
    std::string why{};
  };
  /// Gives the branch another name and ends the lease (rename_branch of the schema). Changes
  /// nothing unless kDone.
  Renamed rename(BranchId branch, const BranchLease& lease, const Rename& rename);
  /// Removes the row and retires its tokens. `within` runs in the same transaction, after the
  /// removal. Also returns false if the branch is gone, is the default branch, or is not in the
  /// state that `only` asks for, which is judged while nobody can stage a change.
  [[nodiscard]] bool remove(BranchId branch, const BranchLease& lease, RemoveIf only,
                            const std::function<void(db::Connection&)>& within = {});

 private:
  template <typename Change>
  auto in_held_transaction(BranchId branch, const BranchLease& lease, const Change& change);
  template <typename Change>
  bool change_held(BranchId branch, const BranchLease& lease, const Change& change);
  db::Rows publish_with_more(std::initializer_list<db::Param> params, const Publication& p);

  db::Pool& pool_;
  const uint32_t per_user_max_;
};

}  // namespace tarn::meta
