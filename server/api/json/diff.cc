#include "server/api/json/diff.h"

#include "core/base/error.h"

namespace tarn::api::json {
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
    const Entry& shown = change.right ? *change.right : *change.left;
    out.number("size_bytes", static_cast<int64_t>(shown.size_bytes));
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

}  // namespace tarn::api::json
