// Conditions on a write, decided atomically with it.
#pragma once

#include <string>
#include <vector>

namespace tarn::versioning {

/// All that are set must hold. A staged deletion counts as absent.
struct Condition {
  bool if_absent = false;                  ///< If-None-Match: *
  bool if_present = false;                 ///< If-Match: *
  std::vector<std::string> if_match;       ///< unquoted etags, one must be the current one
  std::vector<std::string> if_none_match;  ///< unquoted etags, none may be the current one

  bool none() const {
    return !if_absent && !if_present && if_match.empty() && if_none_match.empty();
  }
  bool needs_object() const { return if_present || !if_match.empty(); }
};

// Failing: precondition_failed (412), message "path already exists" for if_absent; not_found
// (reason "no_object_to_match") when needs_object() and there is none.

}  // namespace tarn::versioning
