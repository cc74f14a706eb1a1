// The permissions that each operation needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "s3gateway/operations/call.h"
#include "s3gateway/wire/endpoint.h"

namespace tarn::s3 {

/// Requires the operation's permission on its bucket or object. DeleteObjects is checked key by
/// key, the source of a copy when it is read. Throws permission_denied.
void authorise(Call& call, const Endpoint& endpoint);

/// Requires `action` on one object, on the ref that its bucket or key names. If `version_id` is a
/// commit id, the permission is on that commit's object, whatever ref the key names. For reading
/// another version it is on the object with the version id as ref. Throws permission_denied.
void authorise_object(Call& call, auth::Action action, std::string_view bucket,
                      std::string_view key, const std::optional<std::string>& version_id = {});

/// Requires, if versions are kept, the additional permission to list them: they include all states
/// of the keys, so it is that of a listing over several refs. Throws permission_denied.
void authorise_versions(Call& call, const RepositoryName& repository);

}  // namespace tarn::s3
