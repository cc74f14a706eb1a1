#include "server/api/json/merge.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/json/commit.h"
#include "server/api/json/values.h"

namespace tarn::api::json {
namespace {

std::vector<versioning::ConflictResolution> resolutions_of(const Value& body) {
  std::vector<versioning::ConflictResolution> out;
  const std::optional<Value> given = body.find("resolutions");
  if (!given) return out;
  const std::vector<Value> items = given->items();
  if (items.size() > versioning::kResolutionsMax) {
    given->fail(str_cat("has more than ", versioning::kResolutionsMax, " items"));
  }
  for (const Value& item : items) {
    const Value take = item.at("take");
    const std::string side = take.text();
    if (side != "source" && side != "dest") take.fail("must be source or dest");
    out.push_back({.glob = parse_glob(item.at("glob")), .take_source = side == "source"});
  }
  return out;
}

void write_side(Writer& out, std::string_view name, const std::optional<Entry>& entry) {
  out.key(name);
  if (!entry) return out.null();
  out.begin_object();
  out.text("checksum", entry->etag);
  out.text("content_type", entry->content_type);
  out.text_map("metadata", entry->user_metadata());
  out.number("mtime", to_seconds(entry->mtime));
  out.number("size_bytes", static_cast<int64_t>(entry->size_bytes));
  out.end_object();
}

}  // namespace

Merge parse_merge(const Value& body) {
  return {.message = body.text_or_empty("message"),
          .metadata = commit_metadata(body),
          .strategy = body.text_or_empty("strategy"),
          .resolutions = resolutions_of(body),
          .paths =
              body.find("paths") ? std::optional(parse_path_scope(body.at("paths"))) : std::nullopt,
          .force = body.flag("force"),
          .allow_empty = body.flag("allow_empty"),
          .squash = body.flag("squash_merge"),
          .allow_dirty = body.flag("allow_dirty"),
          .delete_source = body.flag("delete_source_branch")};
}

std::string merge_result_body(const CommitId& reference) {
  Writer out;
  out.begin_object();
  out.text("reference", to_text(reference));
  out.end_object();
  return std::move(out).take();
}

std::string merge_result_body(const CommitId& reference, const std::string& kept) {
  Writer out;
  out.begin_object();
  out.text("reference", to_text(reference));
  out.boolean("source_branch_deleted", kept.empty());
  if (!kept.empty()) out.text("source_branch_kept", kept);
  out.end_object();
  return std::move(out).take();
}

std::string merge_conflict_body(const ConflictReport& report) {
  Writer out;
  out.begin_object();
  out.text("reference", "");
  out.text("message", "merge: conflict found");
  out.text("code", "merge_conflict");
  out.text("request_id", report.request_id);
  out.key("conflicts");
  out.begin_object();
  out.number("count", static_cast<int64_t>(report.conflicts.count));
  out.key("paths");
  out.begin_array();
  for (const MergeConflict& conflict : report.conflicts.first) out.text(conflict.key.str());
  out.end_array();
  out.text("all", report.all);
  out.end_object();
  out.end_object();
  return std::move(out).take();
}

void write_conflict(Writer& out, const MergeConflict& conflict) {
  out.begin_object();
  out.text("path", conflict.key.str());
  write_side(out, "base", conflict.base);
  write_side(out, "source", conflict.source);
  write_side(out, "destination", conflict.destination);
  out.end_object();
}

std::string merge_base_body(const MergeBaseIds& ids) {
  Writer out;
  out.begin_object();
  out.text("source_commit_id", to_text(ids.source));
  out.text("destination_commit_id", to_text(ids.destination));
  out.text("base_commit_id", to_text(ids.base));
  out.end_object();
  return std::move(out).take();
}

namespace {

std::string_view name_of(ChangeType type) {
  switch (type) {
    case ChangeType::kAdded:
      return "added";
    case ChangeType::kRemoved:
      return "removed";
    case ChangeType::kChanged:
      return "changed";
    case ChangeType::kConflict:
      return "conflict";
    case ChangeType::kPrefixChanged:
      return "prefix_changed";
  }
  check_failed("ChangeType", __FILE__, __LINE__);
}

void write_right(Writer& out, const Entry& right) {
  out.key("right");
  out.begin_object();
  out.text("checksum", right.etag);
  out.text("content_type", right.content_type);
  out.text_map("metadata", right.user_metadata());
  out.number("mtime", to_seconds(right.mtime));
  out.end_object();
}

void write_objects(Writer& out, std::string_view name, const versioning::ObjectTotals& totals,
                   std::optional<uint64_t> bytes_before) {
  out.key(name);
  out.begin_object();
  out.number("objects", static_cast<int64_t>(totals.objects));
  out.number("bytes", static_cast<int64_t>(totals.bytes));
  if (bytes_before) out.number("bytes_before", static_cast<int64_t>(*bytes_before));
  out.end_object();
}

void write_totals(Writer& out, const versioning::ChangeTotals& totals) {
  write_objects(out, "added", totals.added, std::nullopt);
  write_objects(out, "removed", totals.removed, std::nullopt);
  write_objects(out, "changed", totals.changed, totals.changed_bytes_before);
  out.number("conflicts", static_cast<int64_t>(totals.conflicts));
}

}  // namespace

void write_change(Writer& out, const Change& change, bool with_right) {
  const bool folded = change.type == ChangeType::kPrefixChanged;
  out.begin_object();
  out.text("path", change.key.str());
  out.text("path_type", folded ? "common_prefix" : "object");
  if (!folded && (change.right || change.left)) {
    // The size that is left; clients of lakeFS sum them up.
    out.number("size_bytes",
               change.right ? static_cast<int64_t>(change.right->size_bytes) : int64_t{0});
  }
  out.text("type", name_of(change.type));
  if (with_right && !folded && change.right) write_right(out, *change.right);
  out.end_object();
}

std::string diff_summary_body(const versioning::DiffSummary& summary) {
  Writer out;
  out.begin_object();
  write_totals(out, summary.totals);
  out.key("prefixes");
  out.begin_array();
  for (const versioning::PrefixChanges& item : summary.prefixes) {
    out.begin_object();
    out.text("path", item.prefix);
    write_totals(out, item.totals);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

void write_pull_request(Writer& out, const PullRequest& pull) {
  out.begin_object();
  out.text("author", pull.author);
  if (pull.closed) out.text("closed_date", to_rfc3339(*pull.closed));
  out.text("creation_date", to_rfc3339(pull.created));
  out.text("description", pull.description);
  out.text("destination_branch", pull.destination.str());
  out.text("id", pull.id);
  if (pull.merged_commit) out.text("merged_commit_id", to_text(*pull.merged_commit));
  if (pull.merged_source) out.text("merged_source_commit_id", to_text(*pull.merged_source));
  out.number("number", pull.number);
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
  out.number("number", pull.number);
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

namespace {

void write_review(Writer& out, const Review& review) {
  out.text("commit_id", to_text(review.commit));
  out.text("creation_date", to_rfc3339(review.created));
  out.boolean("outdated", review.outdated);
  out.text("verdict", name_of(review.verdict));
}

}  // namespace

void write_reviewer(Writer& out, const Reviewer& reviewer) {
  out.begin_object();
  if (!reviewer.asked_by.empty()) out.text("asked_by", reviewer.asked_by);
  if (reviewer.review) write_review(out, *reviewer.review);
  out.text("user", reviewer.user);
  out.end_object();
}

std::string review_body(const Review& review, std::string_view user) {
  Writer out;
  write_reviewer(out, {.user = std::string(user), .review = review});
  return std::move(out).take();
}

Reviewing parse_review(const Value& body) {
  const Value text = body.at("verdict");
  const auto verdict = parse_review_verdict(text.text());
  if (!verdict) text.fail("must be approved or changes_requested");
  return {.verdict = *verdict, .commit = parse_approve(body)};
}

std::vector<std::string> parse_reviewers(const Value& body) {
  return body.at("users").texts(kPullReviewersMax);
}

void write_comment(Writer& out, const PullComment& comment) {
  out.begin_object();
  out.text("author", comment.author);
  out.text("body", comment.body);
  if (comment.commit) out.text("commit_id", to_text(*comment.commit));
  out.text("creation_date", to_rfc3339(comment.created));
  out.boolean("deleted", comment.deleted);
  if (comment.edited) out.text("edited_date", to_rfc3339(*comment.edited));
  out.number("id", comment.id);
  if (comment.line) out.number("line", *comment.line);
  out.boolean("outdated", comment.outdated);
  if (!comment.path.empty()) out.text("path", comment.path);
  if (!comment.resolved_by.empty()) out.text("resolved_by", comment.resolved_by);
  if (comment.row) out.number("row", *comment.row);
  out.number("thread", comment.thread);
  out.end_object();
}

std::string comment_body(const PullComment& comment) {
  Writer out;
  write_comment(out, comment);
  return std::move(out).take();
}

PullComment parse_create_comment(const Value& body) {
  const auto number = [&](std::string_view name) -> std::optional<int32_t> {
    const auto given = body.find_number(name);
    if (!given) return std::nullopt;
    return static_cast<int32_t>(given->integer(1, INT32_MAX));
  };
  PullComment out{.thread = number("reply_to").value_or(0),
                  .body = body.at("body").text(),
                  .line = number("line"),
                  .row = number("row")};
  if (const auto path = body.find("path")) out.path = parse_key(path->text()).str();
  if (body.find("commit_id")) out.commit = parse_approve(body);
  return out;
}

UpdateComment parse_update_comment(const Value& body) {
  UpdateComment out{.body = body.find_text("body"), .resolved = std::nullopt};
  if (body.find("resolved")) out.resolved = body.flag("resolved");
  if (out.body.has_value() == out.resolved.has_value()) body.fail("give body or resolved");
  return out;
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

CommitId parse_approve(const Value& body) {
  const Value text = body.at("commit_id");
  const auto commit = parse_commit_id(text.text());
  if (!commit) text.fail("must be a commit id of 64 hex digits");
  return *commit;
}

}  // namespace tarn::api::json
