// Listings of a branch's object versions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/branch/engine.h"
#include "core/branch/object_versions.h"
#include "core/model/names.h"

namespace tarn::objects {

/// A version, or a common prefix (no version).
struct VersionItem {
  std::string path;
  std::optional<branch::ObjectVersion> version;
};
/// The end of the previous page. `id` "" = after all versions of `path`, or of everything below the
/// common prefix; otherwise "null" or the text of an id. If the version has been removed, its key
/// is listed again.
struct VersionMarker {
  std::string path;
  std::string id;
};
struct VersionListOptions {
  std::string prefix{};
  VersionMarker after{};
  std::string delimiter{};  ///< "" = none
  uint32_t limit = 1000;    ///< 1..1000
};
struct VersionPage {
  std::vector<VersionItem> items;
  bool has_more = false;
  VersionMarker next;  ///< when has_more
};
/// By key in byte order, newest first; one consistent state of the branch per page. Throws
/// not_found (repository, branch: reason "branch_not_found").
VersionPage list_versions(branch::Engine& engine, const RepositoryName& repository,
                          const BranchName& branch, const VersionListOptions& options);

}  // namespace tarn::objects
