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

}  // namespace tarn::api::json
