// Verbs on pull requests and their reviews.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/pull_request.h"
#include "core/model/repository.h"
#include "core/versioning/merge.h"

namespace tarn::versioning {

// Ids are as parse_pull_request_id makes them. All throw not_found ("repository not found", "pull
// request not found"); those that change something permission_denied (read-only repository).

struct PullRequestCreation {
  std::string title;
  std::string description{};
  std::string author;  ///< name of the user
  BranchName source;
  BranchName destination;
};
/// Throws: invalid_argument (one branch twice; title or description too long, no title), not_found
/// "branch not found".
PullRequest create_pull_request(branch::Engine& engine, const Repository& repository,
                                const PullRequestCreation& creation);

/// The id that `text` means: an id, or the number of a pull request. Throws: also invalid_argument
/// (it is neither).
std::string find_pull_request_id(branch::Engine& engine, const Repository& repository,
                                 std::string_view text);

PullRequest get_pull_request(branch::Engine& engine, const Repository& repository,
                             std::string_view id);

/// The newest first.
Page<PullRequest> list_pull_requests(branch::Engine& engine, const Repository& repository,
                                     PullRequestFilter filter, const PageStart& start);

/// Throws: invalid_argument (as creating; reason "pull_request_merged": neither closed nor opened
/// any more).
void update_pull_request(branch::Engine& engine, const Repository& repository, std::string_view id,
                         const PullRequestChange& change);

/// merge_into from the source to the destination, with a message and metadata that name the pull
/// request unless `request` sets them. The pull request becomes merged in the commit's transaction,
/// so of concurrent merges one succeeds. Throws: as merge_into; invalid_argument (reason
/// "pull_request_not_open"); conflict (reason "merge_conflict"; it stays open).
Commit merge_pull_request(branch::Engine& engine, const Repository& repository,
                          const PullRequest& pull, MergeRequest request);

/// Deletes the source of a merged pull request, if that loses nothing. Throws: invalid_argument
/// (reason "pull_request_not_merged"); as branch::delete_branch, if its head is not what was merged
/// (reason "branch_moved") or something uses it (reason "branch_in_use": uncommitted changes,
/// another open pull request and the like).
void delete_merged_source(branch::Engine& engine, const Repository& repository,
                          std::string_view id);

/// The user approves the commit that they looked at, which must be the source's head. Once per
/// user: a later one replaces the earlier. Throws: permission_denied (reasons "own_pull_request",
/// "own_commits": the user made one that the destination has not),
/// invalid_argument (reason "pull_request_not_open"), conflict (reason "source_moved"), not_found
/// "branch not found".
Approval approve_pull_request(branch::Engine& engine, const Repository& repository,
                              std::string_view id, std::string_view user, const CommitId& reviewed);

/// By user name, those that hold no more too.
Page<Approval> list_approvals(branch::Engine& engine, const Repository& repository,
                              std::string_view id, const PageStart& start);

/// Throws: not_found "approval not found".
void withdraw_approval(branch::Engine& engine, const Repository& repository, std::string_view id,
                       std::string_view user);

/// The same as approve_pull_request with either verdict. An author of commits of the source may
/// request changes, too.
Review review_pull_request(branch::Engine& engine, const Repository& repository,
                           std::string_view id, std::string_view user, ReviewVerdict verdict,
                           const CommitId& reviewed);
/// Withdraws either verdict. Throws: not_found (reason "review_not_found").
void withdraw_review(branch::Engine& engine, const Repository& repository, std::string_view id,
                     std::string_view user);
/// The users who were asked and those who have reviewed, by name.
Page<Reviewer> list_reviewers(branch::Engine& engine, const Repository& repository,
                              std::string_view id, const PageStart& start);
/// Asks exactly these users for reviews. Throws: invalid_argument (more than kPullReviewersMax, the
/// author among them; reason "pull_request_not_open"), not_found (one is no user).
void ask_reviewers(branch::Engine& engine, const Repository& repository, std::string_view id,
                   const std::vector<std::string>& users, std::string_view asked_by);

/// In the transaction that publishes the merge. Throws invalid_argument, reason
/// "pull_request_not_open".
void mark_merged(db::Connection& connection, RepositoryId repository, std::string_view id,
                 const Commit& commit, const CommitId& source);

}  // namespace tarn::versioning
