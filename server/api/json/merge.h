// JSON bodies of merges.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/change.h"
#include "core/model/commit.h"
#include "core/model/path_scope.h"
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
};
Merge parse_merge(const Value& body);

std::string merge_result_body(const CommitId& reference);

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

}  // namespace tarn::api::json
