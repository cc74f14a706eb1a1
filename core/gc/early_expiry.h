// Expiry of a commit's data by hand, before its retention is over, and the record of all expiries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::gc {

constexpr size_t kExpiryReasonBytesMax = 4096;
/// Names of branches in an answer, and branches that are examined for them.
constexpr size_t kShowingBranchesMax = 20;
constexpr uint32_t kExaminedBranchesMax = 1000;

struct EarlyExpiryRequest {
  std::string ref;
  std::string reason;
  std::string actor;
};

struct EarlyExpiryOutcome {
  CommitId commit;
  uint64_t objects = 0;        ///< that the commit showed
  uint64_t freed_objects = 0;  ///< of its repository's own, referenced by nothing else: the next
                               ///< collections remove them
  uint64_t freed_bytes = 0;
  std::vector<std::string> shown_by;  ///< branches whose heads show some of its objects still
};

/// Lets the data of the commit go now. Throws: not_found (ref), invalid_argument (no reason, or a
/// long one; the commit has no data), conflict (reason "commit_in_use": the message names the roots
/// that keep it), gone (reason "expired": it has expired), permission_denied (read-only). The
/// figures are of a moment before.
EarlyExpiryOutcome expire_commit(branch::Engine& engine, const Repository& repository,
                                 const EarlyExpiryRequest& request);

struct Expiry {
  int64_t number = 0;
  CommitId commit;
  std::string rule;
  std::string actor;   ///< "" = by rule
  std::string reason;  ///< of an early one
  Instant at{};
};

/// The newest first. `after`: the number of the last one of the page before. Throws
/// invalid_argument
/// (`after` is no number).
Page<Expiry> list_expiries(branch::Engine& engine, const Repository& repository,
                           std::string_view after, uint32_t limit);

}  // namespace tarn::gc
