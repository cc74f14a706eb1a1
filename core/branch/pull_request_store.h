// Rows of pull requests and their reviewers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/model/page.h"
#include "core/model/pull_request.h"

namespace tarn::branch {

/// The reviews that count for a merge.
struct ReviewCount {
  uint32_t approvals = 0;  ///< valid ones of the pull request that has most of them
  std::string objector{};  ///< a user whose request for changes stands; empty: there is none
  int32_t number = 0;      ///< of the pull request in which that user requested changes
};

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

  /// Replaces what the user reviewed before and returns when: the same verdict on the same commit
  /// again changes nothing. nullopt: there is no such user, or the pull request is not open.
  std::optional<Instant> review(RepositoryId repository, const PullRequest& pull,
                                std::string_view user, const Review& review);
  /// By user name.
  Page<Approval> approvals(RepositoryId repository, const PullRequest& pull,
                           const PageStart& start);
  /// By user name.
  Page<Reviewer> reviewers(RepositoryId repository, std::string_view id, const PageStart& start);
  /// Takes the user's review back if its verdict is one `of` these. false: there was none.
  bool withdraw(RepositoryId repository, const PullRequest& pull, std::string_view user,
                const std::vector<ReviewVerdict>& of);
  /// Asks exactly these users for reviews, inside a transaction of the caller. false: the pull
  /// request is not open. Throws: not_found (one is no user).
  static bool ask(db::Connection& connection, RepositoryId repository, std::string_view id,
                  const std::vector<std::string>& users, std::string_view asked_by);

  /// The reviews of open pull requests into `destination` whose source's head is `commit`.
  ReviewCount count_reviews(RepositoryId repository, const BranchName& destination,
                            const CommitId& commit);
  /// The same as count_reviews, inside a transaction of the caller: until it ends no approval is
  /// withdrawn, no changes are requested, and no such pull request is closed.
  static ReviewCount hold_reviews(db::Connection& connection, RepositoryId repository,
                                  const BranchName& destination, const CommitId& commit);

  /// Inside a transaction of the caller. false: it is not open.
  static bool mark_merged(db::Connection& connection, RepositoryId repository, std::string_view id,
                          const Commit& commit, const CommitId& source);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::branch
