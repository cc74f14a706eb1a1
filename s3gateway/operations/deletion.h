// Deletion of one object, shared by DeleteObject and DeleteObjects.
#pragma once

#include <optional>
#include <string>

#include "core/branch/condition.h"
#include "core/branch/engine.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

/// Throws MethodNotAllowed for a commit id, InvalidArgument for what is no version id.
void check_deletable_version(const std::optional<std::string>& version_id);

/// The outcome of the deletion of a key.
struct DeletionOutcome {
  bool marker = false;     ///< it made, or removed, a delete marker
  std::string version_id;  ///< of that marker, or of the version that was removed; "" = none
};

/// Deletes one key, or the version `version_id` of it ("null": the null version, or what the branch
/// holds where versions were never kept). A ref without path, and the marker "branch/", are left as
/// they are without complaint, as is a version that is not there. Throws as
/// versioning::delete_object, MethodNotAllowed for a read-only ref.
DeletionOutcome delete_at(versioning::Engine& engine, const Location& location,
                          const std::optional<std::string>& version_id,
                          const versioning::Condition& condition);

}  // namespace tarn::s3
