#include "core/versioning/pull_requests.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/authors.h"
#include "core/branch/pull_request_store.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/meta/commits.h"

namespace tarn::versioning {
namespace {

constexpr std::string_view kPullRequestKey = ".tarn.pull_request";

void check_title(std::string_view title) {
  if (title.empty()) throw_invalid("title: must not be empty");
  if (title.size() > kPullTitleBytesMax) {
    throw_invalid(str_cat("title: is longer than ", kPullTitleBytesMax, " bytes"));
  }
}

void check_description(std::string_view description) {
  if (description.size() > kPullDescriptionBytesMax) {
    throw_invalid(str_cat("description: is longer than ", kPullDescriptionBytesMax, " bytes"));
  }
}

[[noreturn]] void throw_not_found() {
  throw Error(ErrorCode::kNotFound, reason::kPullRequestNotFound, "pull request not found");
}

PullRequest find_pull(branch::Engine& engine, RepositoryId repository, std::string_view id) {
  auto pull = engine.pull_requests.find(repository, id);
  if (!pull) throw_not_found();
  return *std::move(pull);
}

/// Authors of commits must not approve them. A user who pushes after approving needs no check: an
/// approval counts for one head only.
void check_no_author(branch::Engine& engine, const Repository& repository, const PullRequest& pull,
                     const CommitId& head, std::string_view user) {
  const CommitId destination = branch::get_branch(engine, repository, pull.destination).head;
  const auto authors = authors_of(engine, repository.id, engine.commits.get(repository.id, head),
                                  engine.commits.get(repository.id, destination));
  if (!authors.contains(std::string(user))) return;
  throw Error(ErrorCode::kPermissionDenied, reason::kOwnCommits,
              str_cat("approving pull request ", pull.id, ": '", pull.source.str(),
                      "' has commits of yours that '", pull.destination.str(),
                      "' has not, somebody else must approve them"));
}

std::string merge_message(const PullRequest& pull) {
  std::string message = str_cat("Merge pull request '", pull.title, "'");
  if (!pull.description.empty()) message += str_cat("\n\n", pull.description);
  return message;
}

[[noreturn]] void throw_conflicts(const PullRequest& pull, const MergeConflicts& conflicts) {
  std::string message = str_cat("merging '", pull.source.str(), "' into '", pull.destination.str(),
                                "': conflict found: both changed ", conflicts.count, " paths:");
  for (size_t i = 0; i < conflicts.first.size() && i < kConflictsShownMax; ++i) {
    message += str_cat(" ", conflicts.first[i].key.str());
  }
  throw Error(ErrorCode::kConflict, reason::kMergeConflict, message);
}

void check_open(const PullRequest& pull) {
  if (pull.status == PullRequestStatus::kOpen) return;
  throw Error(ErrorCode::kInvalidArgument, reason::kPullRequestNotOpen,
              str_cat("pull request ", pull.id, ": is ", name_of(pull.status), ", not open"));
}

/// The rules of the destination. The pull request must also stay open until it is marked as merged
/// in the publishing transaction: it may be merged or closed while the destination is waited for.
class PullRequestTerms final : public MergeRules {
 public:
  PullRequestTerms(branch::Engine& engine, const Repository& repository, const Branch& destination,
                   const std::string& id)
      : MergeRules(engine, repository, destination), id_(id) {}

  void check_start() override { check_open(find_pull(engine_, repository_.id, id_)); }

  std::function<void(db::Connection&, const Commit&)> publishing() override {
    return
        [this, rules = MergeRules::publishing()](db::Connection& connection, const Commit& commit) {
          if (rules) rules(connection, commit);
          mark_merged(connection, repository_.id, id_, commit, source_);
        };
  }

 private:
  const std::string& id_;
};

}  // namespace

PullRequest create_pull_request(branch::Engine& engine, const Repository& repository,
                                const PullRequestCreation& creation) {
  check_title(creation.title);
  check_description(creation.description);
  branch::check_writable(engine, repository, /*force=*/false);
  if (creation.source == creation.destination) {
    throw_invalid("source and destination branches are the same");
  }
  branch::get_branch(engine, repository, creation.source);
  branch::get_branch(engine, repository, creation.destination);
  const Instant now = engine.clock.now();
  PullRequest pull{.id = make_pull_request_id(now),
                   .title = creation.title,
                   .description = creation.description,
                   .author = creation.author,
                   .source = creation.source,
                   .destination = creation.destination,
                   .created = now};
  pull.number = engine.pull_requests.create(repository.id, pull);
  return pull;
}

std::string find_pull_request_id(branch::Engine& engine, const Repository& repository,
                                 std::string_view text) {
  const std::optional<int32_t> number = parse_pull_request_number(text);
  if (!number) return parse_pull_request_id(text);
  auto id = engine.pull_requests.find_id(repository.id, *number);
  if (!id) throw_not_found();
  return *std::move(id);
}

PullRequest get_pull_request(branch::Engine& engine, const Repository& repository,
                             std::string_view id) {
  return find_pull(engine, repository.id, id);
}

Page<PullRequest> list_pull_requests(branch::Engine& engine, const Repository& repository,
                                     PullRequestFilter filter, const PageStart& start) {
  return branch::existing(engine, repository,
                          engine.pull_requests.list(repository.id, filter, start));
}

void update_pull_request(branch::Engine& engine, const Repository& repository, std::string_view id,
                         const PullRequestChange& change) {
  if (change.title) check_title(*change.title);
  if (change.description) check_description(*change.description);
  branch::check_writable(engine, repository, /*force=*/false);
  if (engine.pull_requests.update(repository.id, id, change, engine.clock.now())) return;
  find_pull(engine, repository.id, id);
  throw Error(ErrorCode::kInvalidArgument, reason::kPullRequestMerged,
              "status: the pull request is merged and can neither be closed nor opened");
}

Commit merge_pull_request(branch::Engine& engine, const Repository& repository,
                          const PullRequest& pull, MergeRequest request) {
  if (request.message.empty()) request.message = merge_message(pull);
  request.metadata[std::string(kPullRequestKey)] = pull.id;
  branch::check_writable(engine, repository, request.force);
  const Branch destination = branch::get_branch(engine, repository, pull.destination);
  PullRequestTerms terms(engine, repository, destination, pull.id);
  const auto outcome =
      merge_on_terms(engine, repository, pull.source.str(), destination, request, terms);
  if (const auto* conflicts = std::get_if<MergeConflicts>(&outcome)) {
    throw_conflicts(pull, *conflicts);
  }
  return std::get<Commit>(outcome);
}

void delete_merged_source(branch::Engine& engine, const Repository& repository,
                          std::string_view id) {
  const PullRequest pull = find_pull(engine, repository.id, id);
  if (!pull.merged_source) {
    throw Error(ErrorCode::kInvalidArgument, reason::kPullRequestNotMerged,
                str_cat("deleting the source of pull request ", pull.id, ": it is not merged"));
  }
  branch::delete_branch(engine, repository, pull.source, /*force=*/false,
                        {.head = pull.merged_source, .unused = true});
}

Approval approve_pull_request(branch::Engine& engine, const Repository& repository,
                              std::string_view id, std::string_view user,
                              const CommitId& reviewed) {
  const Review made =
      review_pull_request(engine, repository, id, user, ReviewVerdict::kApproved, reviewed);
  return {.user = std::string(user), .commit = made.commit, .created = made.created, .valid = true};
}

Page<Approval> list_approvals(branch::Engine& engine, const Repository& repository,
                              std::string_view id, const PageStart& start) {
  return engine.pull_requests.approvals(repository.id, find_pull(engine, repository.id, id), start);
}

void withdraw_approval(branch::Engine& engine, const Repository& repository, std::string_view id,
                       std::string_view user) {
  branch::check_writable(engine, repository, /*force=*/false);
  if (!engine.pull_requests.withdraw(repository.id, find_pull(engine, repository.id, id), user,
                                     {ReviewVerdict::kApproved})) {
    throw Error(ErrorCode::kNotFound, reason::kApprovalNotFound, "approval not found");
  }
}

Review review_pull_request(branch::Engine& engine, const Repository& repository,
                           std::string_view id, std::string_view user, ReviewVerdict verdict,
                           const CommitId& reviewed) {
  branch::check_writable(engine, repository, /*force=*/false);
  const PullRequest pull = find_pull(engine, repository.id, id);
  const bool approves = verdict == ReviewVerdict::kApproved;
  const std::string doing =
      str_cat(approves ? "approving" : "requesting changes in", " pull request ", pull.id, ": ");
  check_open(pull);
  if (pull.author == user) {
    throw Error(ErrorCode::kPermissionDenied, reason::kOwnPullRequest,
                str_cat(doing, "its author may not ", approves ? "approve" : "review",
                        " it, somebody else must"));
  }
  const CommitId head = branch::get_branch(engine, repository, pull.source).head;
  if (reviewed != head) {
    throw Error(ErrorCode::kConflict, reason::kSourceMoved,
                str_cat(doing, "the head of '", pull.source.str(), "' is ", to_text(head),
                        " by now, look at it first"));
  }
  if (approves) check_no_author(engine, repository, pull, head, user);
  Review review{.verdict = verdict, .commit = head, .created = engine.clock.now()};
  const auto made = engine.pull_requests.review(repository.id, pull, user, review);
  if (!made) {
    check_open(find_pull(engine, repository.id, id));
    throw Error(ErrorCode::kNotFound, "user not found");
  }
  review.created = *made;
  return review;
}

void withdraw_review(branch::Engine& engine, const Repository& repository, std::string_view id,
                     std::string_view user) {
  branch::check_writable(engine, repository, /*force=*/false);
  if (!engine.pull_requests.withdraw(
          repository.id, find_pull(engine, repository.id, id), user,
          {ReviewVerdict::kApproved, ReviewVerdict::kChangesRequested})) {
    throw Error(ErrorCode::kNotFound, reason::kReviewNotFound, "review not found");
  }
}

Page<Reviewer> list_reviewers(branch::Engine& engine, const Repository& repository,
                              std::string_view id, const PageStart& start) {
  return engine.pull_requests.reviewers(repository.id, find_pull(engine, repository.id, id).id,
                                        start);
}

void ask_reviewers(branch::Engine& engine, const Repository& repository, std::string_view id,
                   const std::vector<std::string>& users, std::string_view asked_by) {
  branch::check_writable(engine, repository, /*force=*/false);
  if (users.size() > kPullReviewersMax) {
    throw_invalid(str_cat("users: are more than ", kPullReviewersMax));
  }
  const PullRequest pull = find_pull(engine, repository.id, id);
  if (std::find(users.begin(), users.end(), pull.author) != users.end()) {
    throw_invalid(str_cat("users: '", pull.author, "' is the author and cannot review it"));
  }
  const bool asked = engine.pool.transaction([&](db::Connection& connection) {
    return branch::PullRequestStore::ask(connection, repository.id, id, users, asked_by);
  });
  if (!asked) {
    check_open(find_pull(engine, repository.id, id));
    throw_not_found();
  }
}

void mark_merged(db::Connection& connection, RepositoryId repository, std::string_view id,
                 const Commit& commit, const CommitId& source) {
  if (branch::PullRequestStore::mark_merged(connection, repository, id, commit, source)) return;
  throw Error(ErrorCode::kInvalidArgument, reason::kPullRequestNotOpen,
              str_cat("pull request ", id, ": is not open"));
}

}  // namespace tarn::versioning
