// Checkout of paths: stages another ref's state of some paths on a branch, without moving bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/branch/engine.h"
#include "core/model/names.h"
#include "core/model/path_scope.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Keys, of the branch or the ref, that one checkout may concern; beyond it, check out parts.
constexpr uint64_t kCheckoutKeysMax = 1'000'000;
/// A checkout of more keys than this fails if others keep writing there.
constexpr uint64_t kCheckoutKeysRememberedMax = 100'000;

struct CheckoutRequest {
  /// Resolved as for readers: a branch means its current state, including staged changes.
  std::string ref;
  PathScope paths;
  bool force = false;    ///< also in a read-only repository
  bool dry_run = false;  ///< counts what would change, and stages nothing
  /// Called for every key that changes; throws to refuse the checkout. May be empty.
  std::function<void(const Key&, bool deleted)> check{};
};

struct CheckoutCounts {
  uint64_t added = 0;
  uint64_t changed = 0;
  uint64_t deleted = 0;
  uint64_t unchanged = 0;  ///< the same content was there already
  uint64_t written() const { return added + changed; }
};

/// Stages that the branch equals the ref for the keys of `paths`, atomically; keys that only the
/// branch has are deleted. Reads a snapshot of each. Entries keep their attributes and times.
/// Throws: not_found (repository, branch, ref), invalid_argument (more than kCheckoutKeysMax),
/// permission_denied (read-only, protected), conflict (reason "too_many_attempts": others kept
/// writing there; "branch_locked").
CheckoutCounts checkout_paths(branch::Engine& engine, const Repository& repository,
                              const BranchName& branch, const CheckoutRequest& request);

}  // namespace tarn::versioning
