#include "server/api/call.h"

#include <algorithm>
#include <cstddef>

#include "core/auth/permission_check.h"
#include "core/base/error.h"
#include "core/branch/repositories.h"
#include "server/api/parameter.h"

namespace tarn::api {

const std::string& Call::path(std::string_view name) const {
  for (size_t i = 0; i < path_values.count; ++i) {
    if (path_values.names[i] == name) return path_values.values[i];
  }
  check_failed("the route has the path parameter", __FILE__, __LINE__);
}

bool Call::has_path(std::string_view name) const {
  const auto end = path_values.names.begin() + static_cast<std::ptrdiff_t>(path_values.count);
  return std::find(path_values.names.begin(), end, name) != end;
}

bool Call::allows(auth::Action action, std::string_view resource) const {
  return caller.permissions->allows(action, resource, request.peer);
}

void Call::require_permission(auth::Action action, std::string_view resource) const {
  auth::require_permission(caller, action, resource, request.peer);
}

void Call::require_permission_on_all_objects(auth::Action action,
                                             std::string_view repository) const {
  auth::require_permission_on_all_objects(caller, action, repository, request.peer);
}

void Call::require_permission_on_source(const auth::RefScope& source,
                                        std::string_view destination) const {
  auth::require_permission_on_source(caller, path("repository"), source, destination, request.peer);
}

std::string_view Call::parameter(std::string_view name) const {
  const std::string* value = query.find(name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

bool Call::flag(std::string_view name) const {
  return parse_boolean(parameter(name)).value_or(false);
}

uint32_t Call::amount() const { return parse_amount(parameter("amount")).value_or(kAmountDefault); }

PageStart Call::page() const {
  return {.prefix = std::string(parameter("prefix")),
          .after = std::string(parameter("after")),
          .limit = amount()};
}

Repository repository_of(const Context& context, const Call& call) {
  return branch::get_repository(context.engine, call.repository());
}

}  // namespace tarn::api
