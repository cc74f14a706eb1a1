#include "core/auth/permission_check.h"

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

void check(Permissions::Decision decision, const Principal& caller, Action action,
           std::string_view resource) {
  if (decision == Permissions::Decision::kAllowed) return;
  const bool denied = decision == Permissions::Decision::kDenied;
  throw Error(ErrorCode::kPermissionDenied, reason::kInsufficientPermissions,
              str_cat("insufficient permissions: user \"", caller.user.name,
                      "\": ", denied ? "a policy denies " : "no policy allows ", name_of(action),
                      " on ", resource));
}

}  // namespace

void require_permission(const Principal& caller, Action action, std::string_view resource,
                        std::string_view client_address, std::string_view shown) {
  check(caller.permissions->decide(action, resource, client_address), caller, action,
        shown.empty() ? resource : shown);
}

void require_permission_on_all_objects(const Principal& caller, Action action,
                                       std::string_view repository,
                                       std::string_view client_address) {
  check(caller.permissions->decide_on_all_objects(action, repository, client_address), caller,
        action, object_arn(repository, "*"));
}

void require_permission_below(const Principal& caller, Action action, std::string_view prefix,
                              std::string_view client_address) {
  check(caller.permissions->decide_below(action, prefix, client_address), caller, action,
        str_cat(prefix, "*"));
}

void require_permission_on_directory(const Principal& caller, Action action,
                                     std::string_view directory, std::string_view client_address) {
  const auto below = caller.permissions->decide_below(action, directory, client_address);
  if (below == Permissions::Decision::kNotAllowed) {
    require_permission(caller, action, directory, client_address);
  } else {
    check(below, caller, action, str_cat(directory, "*"));
  }
}

void require_permission_on_source(const Principal& caller, std::string_view repository,
                                  const RefScope& source, std::string_view destination,
                                  std::string_view client_address) {
  for (const Action action : {Action::kReadObject, Action::kListObjects}) {
    check(caller.permissions->decide_on_source(action, repository, source, destination,
                                               client_address),
          caller, action, str_cat(ref_arn(repository, source.ref), "*"));
  }
}

}  // namespace tarn::auth
