// Pull requests: proposed merges that need approval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn {

enum class PullRequestStatus { kOpen, kClosed, kMerged };
std::string_view name_of(PullRequestStatus status);  ///< for example "merged"
std::optional<PullRequestStatus> parse_pull_request_status(std::string_view name);

constexpr size_t kPullTitleBytesMax = 1024;
constexpr size_t kPullDescriptionBytesMax = 64 * 1024;

struct PullRequest {
  std::string id;      ///< of later ones smaller in byte order
  int32_t number = 0;  ///< in the repository, of later ones larger
  std::string title;
  std::string description{};
  PullRequestStatus status = PullRequestStatus::kOpen;
  std::string author;  ///< name of the user
  BranchName source;
  BranchName destination;
  Instant created{};
  std::optional<Instant> closed{};  ///< or merged
  std::optional<CommitId> merged_commit{};
  std::optional<CommitId> merged_source{};  ///< the head of the source that was merged
};

/// Changes to make; absent members stay as they are.
struct PullRequestChange {
  std::optional<std::string> title{};
  std::optional<std::string> description{};
  std::optional<PullRequestStatus> status{};  ///< open or closed
};

enum class PullRequestFilter { kAll, kOpen, kNotOpen };

enum class ReviewVerdict { kApproved, kChangesRequested };
std::string_view name_of(ReviewVerdict verdict);  ///< for example "changes_requested"
std::optional<ReviewVerdict> parse_review_verdict(std::string_view name);

constexpr size_t kPullReviewersMax = 20;  ///< who are asked for a review

/// A user's verdict on a head of the source.
struct Review {
  ReviewVerdict verdict = ReviewVerdict::kApproved;
  CommitId commit;
  Instant created{};
  bool outdated = false;  ///< the source's head, or what was merged, is another commit
};

/// A user who was asked for a review, who has reviewed, or both.
struct Reviewer {
  std::string user;
  std::string asked_by{};  ///< name of the user; empty: the review was not asked for
  std::optional<Review> review{};
};

/// One user's approval of a head of the source.
struct Approval {
  std::string user;
  CommitId commit;
  Instant created{};
  bool valid = false;  ///< the source's head is still that commit
};

constexpr size_t kPullCommentBytesMax = 16 * 1024;
constexpr int32_t kPullCommentsMax = 1000;  ///< that a pull request ever gets, deleted ones too

struct PullComment {
  int32_t id = 0;        ///< in the pull request, of later ones larger
  int32_t thread = 0;    ///< the comment that began the thread; of a new one 0: it begins one
  std::string author{};  ///< name of the user
  std::string body{};    ///< empty once it is deleted
  std::string path{};    ///< an object of the source; empty: it is about the whole request
  std::optional<int32_t> line{};  ///< of a text, from 1
  std::optional<int32_t> row{};   ///< of a table, from 1
  /// The source's head that was looked at; nullopt: the branch was gone.
  std::optional<CommitId> commit{};
  Instant created{};
  std::optional<Instant> edited{};
  bool deleted = false;
  bool outdated = false;      ///< the source's head, or what was merged, is another commit
  std::string resolved_by{};  ///< of the comment that began a thread; empty: it is not resolved
};

/// 96 bits in base32hex, the time first and inverted.
std::string make_pull_request_id(Instant now);
/// Throws invalid_argument unless it is such an id.
std::string parse_pull_request_id(std::string_view text);
/// The number in "12" or "#12"; nullopt: it is none.
std::optional<int32_t> parse_pull_request_number(std::string_view text);

}  // namespace tarn
