// The permissions that each operation needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "s3gateway/operations/call.h"
#include "s3gateway/wire/endpoint.h"

namespace tarn::s3 {

/// Requires the operation's permission on the bucket or object it names. DeleteObjects is asked for
/// key by key, the sources of copies when they are read. Throws permission_denied.
void authorise(Call& call, const Endpoint& endpoint);

/// Requires `action` on one object on the ref that its bucket or key names. With the id of a commit
/// as `version_id` it is that commit's object that is asked for, whatever ref the key names; to
/// read another version, the object on the ref that the version's id is. Throws permission_denied.
void authorise_object(Call& call, auth::Action action, std::string_view bucket,
                      std::string_view key, const std::optional<std::string>& version_id = {});

/// Requires what listing versions needs beside the endpoint's permission where they are kept: a
/// listing of every state, as one over several refs. Throws permission_denied.
void authorise_versions(Call& call, const RepositoryName& repository);

}  // namespace tarn::s3
