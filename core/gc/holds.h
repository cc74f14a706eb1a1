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

namespace tarn::gc {

constexpr size_t kHoldReasonBytesMax = 4096;
/// Maximum number of holds of one repository.
constexpr uint32_t kHoldsMax = 10'000;

struct Hold {
  std::string id;
  CommitId commit;     ///< of a path: a commit of the objects below it, made for the hold
  std::string path{};  ///< "" = the whole commit
  std::optional<Instant> until{};  ///< absent: until it is removed
  std::string reason;
  std::string actor;
  Instant created{};
};

struct HoldRequest {
  std::string ref;
  std::string path{};  ///< of an object, or what the paths of several begin with; "" = the commit
  std::optional<Instant> until{};
  std::string reason;
  std::string actor;
};

/// Holds the commit that the ref shows now, with its ancestors; of a path only the objects below it
/// as they are committed. Throws not_found (ref; nothing below the path), invalid_argument (no
/// reason, or a long one; a time that has passed; more than kHoldsMax).
Hold add_hold(branch::Engine& engine, const Repository& repository, const HoldRequest& request);
/// The oldest first; expired ones too, until they are removed.
Page<Hold> list_holds(branch::Engine& engine, const Repository& repository, std::string_view after,
                      uint32_t limit);
/// Throws not_found. Both changes are written to the log, with the user.
void remove_hold(branch::Engine& engine, const Repository& repository, std::string_view id,
                 std::string_view user);

}  // namespace tarn::gc
