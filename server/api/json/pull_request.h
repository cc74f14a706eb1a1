// JSON bodies of pull requests and approvals.
#pragma once

#include <optional>
#include <string>

#include "core/model/pull_request.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_pull_request(Writer& out, const PullRequest& pull);
std::string pull_request_body(const PullRequest& pull);
/// {"id": ...}
std::string new_pull_request_body(const PullRequest& pull);

void write_approval(Writer& out, const Approval& approval);
std::string approval_body(const Approval& approval);

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
std::optional<CommitId> parse_approve(const Value& body);

}  // namespace tarn::api::json
