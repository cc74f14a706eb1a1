// Holds: commits that garbage collection keeps, with their ancestors, whatever refs do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::versioning {

constexpr size_t kHoldReasonBytesMax = 4096;
/// Of one repository.
constexpr uint32_t kHoldsMax = 10'000;

struct Hold {
  std::string id;
  CommitId commit;
  std::optional<Instant> until{};  ///< absent: until it is removed
  std::string reason;
  std::string actor;
  Instant created{};
};

struct HoldRequest {
  std::string ref;
  std::optional<Instant> until{};
  std::string reason;
  std::string actor;
};

/// Holds the commit that the ref shows now. Throws not_found (ref), invalid_argument (no reason, or
/// a long one; a time that has passed; more than kHoldsMax).
Hold add_hold(Engine& engine, const Repository& repository, const HoldRequest& request);
/// The oldest first; expired ones too, until they are removed.
Page<Hold> list_holds(Engine& engine, const Repository& repository, std::string_view after,
                      uint32_t limit);
/// Throws not_found.
void remove_hold(Engine& engine, const Repository& repository, std::string_view id);

}  // namespace tarn::versioning
