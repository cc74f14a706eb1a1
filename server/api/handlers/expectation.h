// The commit at which a conditional request expects a ref.
#pragma once

#include <optional>

#include "core/base/error.h"
#include "core/model/commit.h"
#include "server/api/call.h"

namespace tarn::api {

/// The parameter `expect`; absent = any commit. Throws invalid_argument, also if it is empty: a
/// script whose variable is unset must not change the ref wherever it is.
inline std::optional<CommitId> expected_commit(const Call& call) {
  const auto given = call.query.values("expect");
  if (given.empty()) return std::nullopt;
  const auto commit = given.size() == 1 ? parse_commit_id(given.front()) : std::nullopt;
  if (!commit) {
    throw_invalid(
        "parameter \"expect\" in query has an error: must be a commit id of 64 hex digits");
  }
  return commit;
}

}  // namespace tarn::api
