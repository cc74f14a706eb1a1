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

/// 96 bits in base32hex, the time first and inverted.
std::string make_pull_request_id(Instant now);
/// Throws invalid_argument unless it is such an id.
std::string parse_pull_request_id(std::string_view text);
/// The number in "12" or "#12"; nullopt: it is none.
std::optional<int32_t> parse_pull_request_number(std::string_view text);

}  // namespace tarn
