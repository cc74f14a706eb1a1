// Permission checks: the one place where a request is allowed or refused.
#pragma once

#include <string_view>

#include "core/auth/authenticator.h"

namespace tarn::auth {

/// Throws permission_denied (reason "insufficient_permissions") unless a statement of the caller's
/// policies allows `action` on `resource` (core/auth/resource.h) and no statement denies it.
/// `shown`: the name of the resource in the error; "" = `resource`.
void require_permission(const Principal& caller, Action action, std::string_view resource,
                        std::string_view client_address, std::string_view shown = {});

/// The same as require_permission, on every object of the repository at every ref.
void require_permission_on_all_objects(const Principal& caller, Action action,
                                       std::string_view repository,
                                       std::string_view client_address);

/// The same as require_permission, on everything whose name begins with `prefix`: one statement
/// must allow it all.
void require_permission_below(const Principal& caller, Action action, std::string_view prefix,
                              std::string_view client_address);
/// The same as require_permission, on a directory and everything below it: allowed by its own name
/// ("dir/") too, but nothing below it may be denied.
void require_permission_on_directory(const Principal& caller, Action action,
                                     std::string_view directory, std::string_view client_address);

/// For copying content of the ref `source` to the ref `destination` ("" = any): throws as
/// require_permission unless the caller may list and read at the source everything that they may at
/// the destination. Callers whose policies treat all refs alike always pass.
void require_permission_on_source(const Principal& caller, std::string_view repository,
                                  const RefScope& source, std::string_view destination,
                                  std::string_view client_address);

}  // namespace tarn::auth
