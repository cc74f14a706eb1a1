#include "server/api/json/merge.h"

#include <algorithm>

#include "server/api/json/writer.h"

namespace tarn::api::json {

Merge parse_merge(const Value& body) {
  return {.message = body.text_or_empty("message"),
          .metadata = body.map_or_empty("metadata"),
          .strategy = body.text_or_empty("strategy"),
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
  out.number("count", static_cast<int64_t>(report.conflicts.size()));
  out.key("paths");
  out.begin_array();
  const size_t shown = std::min(report.conflicts.size(), kConflictsShownMax);
  for (const MergeConflict& conflict : report.conflicts.first(shown)) out.text(conflict.key.str());
  out.end_array();
  out.text("all", report.all);
  out.end_object();
  out.end_object();
  return std::move(out).take();
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
