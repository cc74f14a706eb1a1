// Deletion of one object, shared by DeleteObject and DeleteObjects.
#pragma once

#include <optional>
#include <string>

#include "core/branch/condition.h"
#include "core/branch/engine.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

/// Throws MethodNotAllowed for a commit id, InvalidArgument for an invalid version id.
void check_deletable_version(const std::optional<std::string>& version_id);

/// The result of deleting a key.
struct DeletionOutcome {
  bool marker = false;     ///< it made, or removed, a delete marker
  std::string version_id;  ///< of that marker, or of the version that was removed; "" = none
};

/// Deletes one key, or its version `version_id` ("null": the null version, or the branch's current
/// state if versions were never kept). Succeeds without change for a ref without path, for the
/// marker "branch/" and for a missing version. Throws as objects::delete_object,
/// MethodNotAllowed for a read-only ref.
DeletionOutcome delete_at(branch::Engine& engine, const Location& location,
                          const std::optional<std::string>& version_id,
                          const branch::Condition& condition);

}  // namespace tarn::s3
