// Responses for results of the account directory.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "core/auth/users.h"
#include "core/http/message.h"
#include "server/api/call.h"

namespace tarn::api {

/// Throws already_exists "Already exists", or not_found for the user, group or policy.
void expect_done(auth::Outcome outcome);

/// Throws not_found "<what> not found".
[[noreturn]] void throw_missing(std::string_view what);

template <typename T>
T expect_found(std::optional<T> found, std::string_view what) {
  if (!found) throw_missing(what);
  return *std::move(found);
}
inline void expect_removed(bool removed, std::string_view what) {
  if (!removed) throw_missing(what);
}

/// 201 and 204 for changes of permissions, which take effect on this server immediately. Throw as
/// expect_done and expect_removed.
http::Response granted(const Context& context, auth::Outcome outcome);
http::Response revoked(const Context& context, bool removed, std::string_view what);

}  // namespace tarn::api
