// The job row of an import: its request and the point where a resumed run continues.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/imports/import.h"
#include "core/tree/edit.h"

namespace tarn::imports {

/// `root`: the tree of the objects imported so far. The next object comes after `after` in path
/// number `path`; "" = its start.
struct ImportCheckpoint {
  uint64_t path = 0;
  uint64_t objects = 0;  ///< in `root`, for the progress shown
  std::string after;
  TreeRoot root;
};

std::string encode_import_request(const ImportRequest& request);
/// Throws: data_loss.
ImportRequest decode_import_request(std::string_view bytes);
std::string encode_import_checkpoint(const ImportCheckpoint& checkpoint);
/// "" is the start. Throws: data_loss.
ImportCheckpoint decode_import_checkpoint(std::string_view bytes);

/// The keys that a path's import replaces.
tree::RangeDelete destination_range(const ImportPath& path);
/// `destination` with the trailing slash it needs in front of relative keys.
std::string destination_prefix(const ImportPath& path);
/// Ascending and disjoint.
std::vector<tree::RangeDelete> joined(std::vector<tree::RangeDelete> ranges);

}  // namespace tarn::imports
