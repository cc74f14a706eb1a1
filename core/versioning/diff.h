// Differences between refs, and the uncommitted changes of a branch.
#pragma once

#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/change.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::versioning {

/// Minimum length of a commit id prefix in a ref: longer than any, where only branches are meant.
constexpr uint32_t kNoCommitPrefix = 64;

struct DiffOptions {
  std::string prefix;
  std::string after;      ///< exclusive; a common prefix skips everything below it
  std::string delimiter;  ///< "" = none; otherwise keys are grouped into kPrefixChanged items
  uint32_t limit = 100;   ///< 1..1000
};

enum class DiffKind { kTwoDot, kThreeDot };

/// two dot: from left to right. three dot: the changes of merging right into left, with kConflict
/// where both sides changed a key differently. `left` and a three-dot `right` must resolve to
/// commits; a two-dot right may be `branch$`.
Page<Change> diff_refs(branch::Engine& engine, const Repository& repository, std::string_view left,
                       std::string_view right, DiffKind kind, const DiffOptions& options);

/// Staged changes against the head; ineffective ones do not show.
Page<Change> diff_branch(branch::Engine& engine, const RepositoryName& repository,
                         const BranchName& branch, const DiffOptions& options);

}  // namespace tarn::versioning
