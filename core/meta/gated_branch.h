// The error of a change to a branch that a policy protects.
#pragma once

#include <string_view>

#include "core/base/reasons.h"
#include "core/db/connection.h"

namespace tarn::meta {

/// Throws kProtectedBranch if the error is that of the trigger that guards branches with a policy,
/// refuse_gated_change in the schema. Thread-safe.
inline void throw_if_gated(const db::DbError& error) {
  constexpr std::string_view kStateGated = "TN010";
  if (error.sqlstate() != kStateGated) return;
  throw Error(ErrorCode::kPermissionDenied, reason::kProtectedBranch,
              "cannot write to protected branch: a policy that was set meanwhile lets it change by "
              "promotion only; use: tarn promote");
}

}  // namespace tarn::meta
