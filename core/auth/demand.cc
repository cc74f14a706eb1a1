#include "core/auth/demand.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::auth {

void demand(const Principal& caller, Action action, std::string_view resource,
            std::string_view client_address) {
  const Permissions::Decision decision =
      caller.permissions->decide(action, resource, client_address);
  if (decision == Permissions::Decision::kAllowed) return;
  const bool denied = decision == Permissions::Decision::kDenied;
  throw Error(ErrorCode::kPermissionDenied, "insufficient_permissions",
              str_cat("insufficient permissions: user \"", caller.user.name,
                      "\": ", denied ? "a policy denies " : "no policy allows ", name_of(action),
                      " on ", resource));
}

}  // namespace tarn::auth
