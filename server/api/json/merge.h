// JSON bodies of diffs, merges and pull requests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/change.h"
#include "core/model/commit.h"
#include "core/model/path_scope.h"
#include "core/model/pull_request.h"
#include "core/versioning/diff_summary.h"
#include "core/versioning/merge.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

struct Merge {
  std::string message;
  Metadata metadata;
  std::string strategy;
  std::vector<versioning::ConflictResolution> resolutions;
  std::optional<PathScope> paths;
  bool force = false;
  bool allow_empty = false;
  bool squash = false;
  bool allow_dirty = false;
  bool delete_source = false;  ///< of a pull request, once it is merged
};
Merge parse_merge(const Value& body);

std::string merge_result_body(const CommitId& reference);
/// The same with "source_branch_deleted", and "source_branch_kept" if `kept` says why it stays.
std::string merge_result_body(const CommitId& reference, const std::string& kept);

struct ConflictReport {
  const versioning::MergeConflicts& conflicts;
  std::string all;  ///< path of the listing of all conflicts
  std::string request_id;
};
/// lakeFS's {"reference": ""} with Tarn's additional members.
std::string merge_conflict_body(const ConflictReport& report);
/// One item of that listing.
void write_conflict(Writer& out, const MergeConflict& conflict);

struct MergeBaseIds {
  CommitId source;
  CommitId destination;
  CommitId base;
};
std::string merge_base_body(const MergeBaseIds& ids);

/// `with_right` adds the right side's checksum, time, type and metadata if that side has the
/// object.
void write_change(Writer& out, const Change& change, bool with_right);
/// An extension of Tarn: totals, overall and per prefix.
std::string diff_summary_body(const versioning::DiffSummary& summary);

// JSON bodies of pull requests and approvals.

void write_pull_request(Writer& out, const PullRequest& pull);
std::string pull_request_body(const PullRequest& pull);
/// {"id": ..., "number": ...}
std::string new_pull_request_body(const PullRequest& pull);

void write_approval(Writer& out, const Approval& approval);
std::string approval_body(const Approval& approval);

void write_reviewer(Writer& out, const Reviewer& reviewer);
std::string review_body(const Review& review, std::string_view user);

struct Reviewing {
  ReviewVerdict verdict;
  CommitId commit;
};
/// {"verdict": ..., "commit_id": ...}: the commit that the user reviewed.
Reviewing parse_review(const Value& body);
/// {"users": [...]}
std::vector<std::string> parse_reviewers(const Value& body);

void write_comment(Writer& out, const PullComment& comment);
std::string comment_body(const PullComment& comment);
/// {"body": ..., "path", "line", "row", "commit_id", "reply_to"}; no author.
PullComment parse_create_comment(const Value& body);

/// One of both.
struct UpdateComment {
  std::optional<std::string> body;
  std::optional<bool> resolved;
};
UpdateComment parse_update_comment(const Value& body);

struct CreatePullRequest {
  std::string title;
  std::string description;
  std::string source;
  std::string destination;
};
CreatePullRequest parse_create_pull_request(const Value& body);

struct UpdatePullRequest {
  std::optional<std::string> title;
  std::optional<std::string> description;
  std::optional<PullRequestStatus> status;
};
/// Throws invalid_argument, also for the status "merged", which only a merge can set.
UpdatePullRequest parse_update_pull_request(const Value& body);

/// {"commit_id": ...}: the commit that the user reviewed; absent = the current head.
CommitId parse_approve(const Value& body);

}  // namespace tarn::api::json
