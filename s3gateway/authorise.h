// What a caller must be permitted for each operation.
#pragma once

#include <string_view>

#include "s3gateway/call.h"
#include "s3gateway/endpoint.h"

namespace tarn::s3 {

/// Demands the operation's permission on the bucket or object it names. DeleteObjects is asked for
/// key by key, the sources of copies when they are read. Throws permission_denied.
void authorise(Call& call, const Endpoint& endpoint);

/// Demands `action` on one object; the ref in its key is no part of the resource. Throws
/// permission_denied.
void authorise_object(Call& call, auth::Action action, std::string_view bucket,
                      std::string_view key);

}  // namespace tarn::s3
