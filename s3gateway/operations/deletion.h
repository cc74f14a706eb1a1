// What DeleteObject and DeleteObjects share.
#pragma once

#include <optional>
#include <string>

#include "core/versioning/condition.h"
#include "s3gateway/address.h"
#include "s3gateway/gateway.h"

namespace tarn::s3 {

/// Throws MethodNotAllowed for a commit id, InvalidArgument for what is no version id. "null" is
/// the branch's state.
void check_deletable_version(const std::optional<std::string>& version_id);

/// Deletes one key; a ref without path, and the marker "branch/", are left as they are without
/// complaint. Throws as versioning::delete_object, MethodNotAllowed for a read-only ref.
void delete_at(versioning::Engine& engine, const Location& location,
               const versioning::Condition& condition);

}  // namespace tarn::s3
