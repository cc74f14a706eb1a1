// Conditions on a write, checked atomically with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"

namespace tarn::branch {

/// All that are set must hold. A staged deletion counts as absent.
struct Condition {
  bool if_absent = false;                  ///< If-None-Match: *
  bool if_present = false;                 ///< If-Match: *
  std::vector<std::string> if_match;       ///< unquoted etags, one must be the current one
  std::vector<std::string> if_none_match;  ///< unquoted etags that must not be current
  std::optional<uint64_t> if_size_bytes{};
  std::optional<Instant> if_modified{};  ///< the current one's time, compared in whole seconds

  bool none() const { return !if_absent && !needs_object() && if_none_match.empty(); }
  bool needs_object() const {
    return if_present || !if_match.empty() || if_size_bytes || if_modified;
  }
};

/// The terms under which a write reached its branch. A bool is `force`.
struct WriteTerms {
  bool force = false;  ///< writes to read-only repositories
  /// The branch that the bare name of a bucket meant when the write was addressed by it, "" = none
  /// (bucket_root). The write is refused if the name means another branch now.
  std::optional<std::string> bucket_root{};

  WriteTerms(bool forced) : force(forced) {}
  explicit WriteTerms(std::optional<std::string> root) : bucket_root(std::move(root)) {}
};

// Errors: precondition_failed (412), message "path already exists" for if_absent; not_found (reason
// "no_object_to_match") if needs_object() and the object is absent.

}  // namespace tarn::branch
