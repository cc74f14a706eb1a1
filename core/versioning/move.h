// Renames of objects, without moving bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/branch/engine.h"
#include "core/model/names.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Objects one move takes; beyond it, move the parts of a prefix.
constexpr uint64_t kMoveObjectsMax = 1'000'000;

struct MoveRequest {
  /// A key, or with `prefixes` the first bytes of keys ("" = all of them).
  std::string source;
  /// A key, or with `prefixes` the replacement of those bytes.
  std::string destination;
  bool prefixes = false;
  /// Replaces objects at the destination; else the move is refused.
  bool overwrite = true;
  bool force = false;  ///< also in a read-only repository
  /// Called for every object; throws to refuse the move. May be empty.
  std::function<void(const Key& from, const Key& to)> check{};
};

/// Stages that the objects visible at the source are at the destination and no longer at the
/// source, atomically and in order of their keys. Entries keep their attributes and times. Returns
/// their number; under steady writes to the source the latest objects move along and are not
/// counted. Throws: not_found (repository, branch; reason "object_not_found": the source is empty),
/// precondition_failed "path already exists" (without `overwrite`), invalid_argument (onto itself,
/// an invalid key, more than kMoveObjectsMax), permission_denied (read-only), conflict (reason
/// "too_many_attempts": others kept writing there).
uint64_t move_objects(branch::Engine& engine, const Repository& repository,
                      const BranchName& branch, const MoveRequest& request);

}  // namespace tarn::versioning
