// A branch as readers see it: staged rows over the tree of its head.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/refs.h"
#include "core/db/pool.h"
#include "core/meta/branches.h"
#include "core/meta/node_store.h"
#include "core/meta/staging.h"
#include "core/tree/cursor.h"

namespace tarn::meta {
struct LeasedBranch;
}

namespace tarn::branch {

/// Staged rows in key order, read a page at a time from one moment of the branch. Empty for an
/// immutable ref.
class StagedRows {
 public:
  using Fetch = std::function<meta::StagedPage(std::string_view begin)>;

  StagedRows() = default;
  StagedRows(meta::StagedPage first, Fetch fetch)
      : page_(std::move(first)), fetch_(std::move(fetch)) {}
  /// All rows of a branch that is in memory; they are not copied.
  explicit StagedRows(std::shared_ptr<const meta::LeasedBranch> leased)
      : leased_(std::move(leased)) {}

  void seek(std::string_view key);
  /// nullptr = no more.
  const meta::StagedRow* current();
  /// The entry of the current row, which has one. It moves out unless the rows are shared.
  Entry take_entry() { return leased_ ? *rows()[at_].entry : *std::move(page_.rows[at_].entry); }
  void next() { ++at_; }
  const std::vector<meta::StagedRange>& deletes() const;
  /// More rows were needed than were read and there is nothing to fetch them with: start over with
  /// StagedReading::kAll.
  bool ran_out() const { return ran_out_; }
  /// The range that hides `key` in the tree, or nullptr.
  const meta::StagedRange* hiding(std::string_view key) const;

 private:
  const std::vector<meta::StagedRow>& rows() const;

  meta::StagedPage page_;  ///< empty and complete if the rows are shared
  Fetch fetch_;
  std::shared_ptr<const meta::LeasedBranch> leased_;
  size_t at_ = 0;
  bool ran_out_ = false;
};

/// Visible entries in key order. One thread at a time.
class OverlayCursor {
 public:
  /// The filter, which must outlive this, applies to the tree; staged rows are all seen.
  OverlayCursor(tree::NodeSource& nodes, const TreeRoot& root, StagedRows rows,
                tree::LeafFilter* filter = nullptr);

  void seek(std::string_view key);
  /// Staged deletions that may be passed before the cursor stops. Unlimited unless set.
  void limit_deletions(uint32_t rows) { deletions_left_ = rows; }
  bool valid() const { return valid_; }
  bool ran_out() const { return rows_.ran_out(); }
  /// After stopping at the limit: the last key that was passed, which is not visible.
  const std::optional<std::string>& stopped_at() const { return stopped_at_; }
  const std::string& key() const;
  Entry entry() const;
  /// The same, once for each position: a staged row's entry moves out.
  Entry take_entry();
  void next();

 private:
  void settle();

  tree::Cursor tree_;
  mutable StagedRows rows_;  ///< reading its current row may fetch
  std::optional<uint32_t> deletions_left_;
  std::optional<std::string> stopped_at_;
  bool valid_ = false;
  bool on_row_ = false;
};

/// The view of a branch, held with `rotate`, when it was sealed. No connection is kept between
/// pages. `engine` and the hold outlive it.
OverlayCursor frozen_view(Engine& engine, const meta::BranchLease& lease);

/// How much of a branch's staging area is read at one moment.
enum class StagedReading {
  kFirstRows,  ///< one statement; enough for nearly every page, see StagedRows::ran_out
  kAll,        ///< in a snapshot when one statement does not suffice
  kSnapshot,   ///< in a snapshot, which the connection continues to show
};

struct ReadingPlan {
  StagedReading reading = StagedReading::kAll;
  uint32_t rows_hint = 256;  ///< how many staged rows the first statement brings
};

/// The view of a ref at one moment. Holds one database connection while it reads a branch's staging
/// area from there.
class RefSnapshot {
 public:
  /// `begin`: the first key that will be requested.
  static std::unique_ptr<RefSnapshot> open(Engine& engine, const RepositoryName& repository,
                                           std::string_view ref, std::string_view begin,
                                           ReadingPlan plan, uint32_t prefix_digits_min);
  ~RefSnapshot();
  RefSnapshot(const RefSnapshot&) = delete;
  RefSnapshot& operator=(const RefSnapshot&) = delete;

  const Repository& repository() const { return repository_; }
  const TreeRoot& root() const { return root_; }
  /// The commit of the immutable ref; absent for a branch's staged view.
  const std::optional<CommitId>& commit() const { return commit_; }
  /// The branch that is read; only for a branch's staged view.
  BranchId branch() const { return branch_; }
  tree::NodeSource& nodes() { return *nodes_; }
  /// The one that is held; nullptr for an immutable ref, and without kSnapshot perhaps for a
  /// branch.
  db::Connection* connection() { return lease_ ? &**lease_ : nullptr; }
  /// Once: the staged rows move out.
  StagedRows take_rows() { return std::move(rows_); }

 private:
  RefSnapshot() = default;
  bool open_leased(Engine& engine, const RepositoryName& repository, const BranchName& branch);
  /// Opens a branch; with a `name`, only if the repository has it.
  bool open_branch(Engine& engine, const BranchName& branch, std::string_view begin,
                   ReadingPlan plan, const std::optional<RepositoryName>& name = std::nullopt);

  Repository repository_;
  TreeRoot root_;
  std::optional<CommitId> commit_;
  BranchId branch_{};
  std::optional<db::Pool::Lease> lease_;
  bool in_transaction_ = false;
  std::unique_ptr<meta::NodesThrough> through_;
  tree::NodeSource* nodes_ = nullptr;
  StagedRows rows_;
};

}  // namespace tarn::branch
