// Merging a ref into a branch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/model/change.h"
#include "core/model/repository.h"
#include "core/versioning/engine.h"

namespace tarn::versioning {

enum class MergeStrategy { kNone, kSourceWins, kDestinationWins };
/// "", "source-wins", "dest-wins"; throws invalid_argument for anything else.
MergeStrategy parse_merge_strategy(std::string_view text);

struct MergeRequest {
  std::string committer;
  std::string message;  ///< "" = Merge '<source>' into '<destination>'
  Metadata metadata;
  MergeStrategy strategy = MergeStrategy::kNone;
  bool force = false;  ///< also in a read-only repository, also without changes
  bool allow_empty = false;
  bool squash = false;       ///< the commit has the destination as its only parent
  bool allow_dirty = false;  ///< staged changes of other paths may stay staged
};

/// All conflicts in key order; nothing was changed.
struct MergeConflicts {
  std::vector<MergeConflict> conflicts;
};

/// Throws: invalid_argument "uncommitted changes (dirty branch)" (reason "dirty_branch"), "... no
/// changes" (reason "no_changes"); conflict (reason "staged_overlap", with allow_dirty: staged
/// paths that the merge changes); not_found; permission_denied.
std::variant<Commit, MergeConflicts> merge_into(Engine& engine, const RepositoryName& repository,
                                                std::string_view source_ref,
                                                const BranchName& destination,
                                                const MergeRequest& request);

struct MergeBase {
  CommitId source;
  CommitId destination;
  CommitId base;
};
/// Throws: not_found (refs; reason "no_merge_base" when the histories share nothing, as
/// invalid_argument).
MergeBase find_merge_base(Engine& engine, const RepositoryName& repository,
                          std::string_view source_ref, std::string_view destination_ref);

}  // namespace tarn::versioning
