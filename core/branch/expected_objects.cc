#include "core/branch/expected_objects.h"

#include <optional>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/model/entry.h"
#include "core/tree/cursor.h"
#include "core/tree/diff.h"

namespace tarn::branch {

void check_objects(tree::NodeSource& nodes, const TreeRoot& root, const ExpectedObjects& expected) {
  for (const auto& [path, sha256] : expected) {
    const std::optional<Entry> found = tree::find_entry(nodes, root, path);
    const std::string_view known = found ? whole_sha256(*found) : std::string_view();
    if (found && known.empty()) {
      throw Error(ErrorCode::kConflict, reason::kDigestUnknown,
                  str_cat("object ", path,
                          ": the server has computed no SHA-256 of it, because it was imported, "
                          "uploaded by a presigned URL or in several parts; upload it in one "
                          "request, or expect the other objects only"));
    }
    if (known == sha256) continue;
    throw Error(ErrorCode::kConflict, reason::kNotWhatWasExpected,
                str_cat("object ", path, ": expected SHA-256 ", to_hex(sha256), ", found ",
                        found ? to_hex(known) : std::string("no object"),
                        "; somebody else wrote it, or it was not uploaded: upload and measure "
                        "again"));
  }
}

void check_changes(tree::NodeSource& nodes, const TreeRoot& before, const TreeRoot& after,
                   const ExpectedObjects& expected) {
  if (before == after) return;
  tree::Diff changes(nodes, before, after);
  while (const auto change = changes.next()) {
    if (expected.contains(change->key)) continue;
    throw Error(ErrorCode::kConflict, reason::kNotWhatWasExpected,
                str_cat("object ", change->key, ": it is ", change->right ? "written" : "deleted",
                        " on the branch too, which was not expected; reset the branch, or "
                        "use a branch of your own"));
  }
}

}  // namespace tarn::branch
