// Bodies about merges.
#pragma once

#include <span>
#include <string>

#include "core/model/change.h"
#include "core/model/commit.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

struct Merge {
  std::string message;
  Metadata metadata;
  std::string strategy;
  bool force = false;
  bool allow_empty = false;
  bool squash = false;
  bool allow_dirty = false;
};
Merge parse_merge(const Value& body);

std::string merge_result_body(const CommitId& reference);

/// Conflicting paths that a 409 shows; the diff endpoint pages through all of them.
constexpr size_t kConflictsShownMax = 100;
struct ConflictReport {
  std::span<const MergeConflict> conflicts;
  std::string all;  ///< path and query of the listing that has all of them
  std::string request_id;
};
/// lakeFS's {"reference": ""} with what Tarn adds.
std::string merge_conflict_body(const ConflictReport& report);

struct MergeBaseIds {
  CommitId source;
  CommitId destination;
  CommitId base;
};
std::string merge_base_body(const MergeBaseIds& ids);

}  // namespace tarn::api::json
