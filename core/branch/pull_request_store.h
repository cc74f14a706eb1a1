// Rows of pull requests and their approvals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/db/pool.h"
#include "core/model/page.h"
#include "core/model/pull_request.h"

namespace tarn::branch {

/// Merges record the completion of a pull request with their commit: see Branches::publish. Safe
/// from any thread.
class PullRequestStore {
 public:
  explicit PullRequestStore(db::Pool& pool) : pool_(pool) {}

  /// Returns the number.
  int32_t create(RepositoryId repository, const PullRequest& pull);
  std::optional<std::string> find_id(RepositoryId repository, int32_t number);
  std::optional<PullRequest> find(RepositoryId repository, std::string_view id);
  Page<PullRequest> list(RepositoryId repository, PullRequestFilter filter, const PageStart& start);
  /// `now`: the time of closing, if it is closed. false if it does not exist, or is merged and its
  /// status would change.
  bool update(RepositoryId repository, std::string_view id, const PullRequestChange& change,
              Instant now);

  /// Replaces what the user approved before; the same commit again changes nothing. nullopt: there
  /// is no such user.
  std::optional<Approval> approve(RepositoryId repository, const PullRequest& pull,
                                  const Approval& approval);
  /// By user name.
  Page<Approval> approvals(RepositoryId repository, const PullRequest& pull,
                           const PageStart& start);
  /// false: there was none.
  bool withdraw(RepositoryId repository, const PullRequest& pull, std::string_view user);
  /// The valid approvals of the open pull request into `destination` that has most of them, of
  /// those whose source's head is `commit`.
  uint32_t count_approvals(RepositoryId repository, const BranchName& destination,
                           const CommitId& commit);
  /// The same as count_approvals, inside a transaction of the caller: until it ends none of them is
  /// withdrawn and no such pull request is closed.
  static uint32_t hold_approvals(db::Connection& connection, RepositoryId repository,
                                 const BranchName& destination, const CommitId& commit);

  /// Inside a transaction of the caller. false: it is not open.
  static bool mark_merged(db::Connection& connection, RepositoryId repository, std::string_view id,
                          const Commit& commit);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::branch
