#include "server/api/json/pull_request.h"

namespace tarn::api::json {

void write_pull_request(Writer& out, const PullRequest& pull) {
  out.begin_object();
  out.text("author", pull.author);
  if (pull.closed) out.text("closed_date", to_rfc3339(*pull.closed));
  out.text("creation_date", to_rfc3339(pull.created));
  out.text("description", pull.description);
  out.text("destination_branch", pull.destination.str());
  out.text("id", pull.id);
  if (pull.merged_commit) out.text("merged_commit_id", to_text(*pull.merged_commit));
  out.text("source_branch", pull.source.str());
  out.text("status", name_of(pull.status));
  out.text("title", pull.title);
  out.end_object();
}

std::string pull_request_body(const PullRequest& pull) {
  Writer out;
  write_pull_request(out, pull);
  return std::move(out).take();
}

std::string new_pull_request_body(const PullRequest& pull) {
  Writer out;
  out.begin_object();
  out.text("id", pull.id);
  out.end_object();
  return std::move(out).take();
}

void write_approval(Writer& out, const Approval& approval) {
  out.begin_object();
  out.text("commit_id", to_text(approval.commit));
  out.text("creation_date", to_rfc3339(approval.created));
  out.text("user", approval.user);
  out.boolean("valid", approval.valid);
  out.end_object();
}

std::string approval_body(const Approval& approval) {
  Writer out;
  write_approval(out, approval);
  return std::move(out).take();
}

CreatePullRequest parse_create_pull_request(const Value& body) {
  return {.title = body.at("title").text(),
          .description = body.text_or_empty("description"),
          .source = body.at("source_branch").text(),
          .destination = body.at("destination_branch").text()};
}

UpdatePullRequest parse_update_pull_request(const Value& body) {
  UpdatePullRequest out{.title = body.find_text("title"),
                        .description = body.find_text("description"),
                        .status = std::nullopt};
  if (const auto status = body.find("status")) {
    out.status = parse_pull_request_status(status->text());
    if (!out.status || *out.status == PullRequestStatus::kMerged) {
      status->fail("must be open or closed");
    }
  }
  return out;
}

std::optional<CommitId> parse_approve(const Value& body) {
  const auto text = body.find("commit_id");
  if (!text) return std::nullopt;
  const auto commit = parse_commit_id(text->text());
  if (!commit) text->fail("must be a commit id of 64 hex digits");
  return commit;
}

}  // namespace tarn::api::json
