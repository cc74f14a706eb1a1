// The one place where a request is allowed or refused.
#pragma once

#include <string_view>

#include "core/auth/authenticator.h"

namespace tarn::auth {

/// Throws permission_denied (reason "insufficient_permissions") unless the caller's policies allow
/// `action` on `resource` (core/auth/resource.h) and none denies it.
void demand(const Principal& caller, Action action, std::string_view resource,
            std::string_view client_address);

}  // namespace tarn::auth
