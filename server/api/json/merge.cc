#include "server/api/json/merge.h"

#include "core/base/str_cat.h"
#include "server/api/json/commit.h"
#include "server/api/json/path_scope.h"

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
          .allow_dirty = body.flag("allow_dirty")};
}

std::string merge_result_body(const CommitId& reference) {
  Writer out;
  out.begin_object();
  out.text("reference", to_text(reference));
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

}  // namespace tarn::api::json
