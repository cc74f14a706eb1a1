// Merges of a ref into a branch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/glob.h"
#include "core/branch/engine.h"
#include "core/model/change.h"
#include "core/model/page.h"
#include "core/model/path_scope.h"
#include "core/model/repository.h"
#include "core/versioning/merge_terms.h"

namespace tarn::tree {
enum class Resolution;
}

namespace tarn::versioning {

enum class MergeStrategy { kNone, kSourceWins, kDestinationWins };
/// "", "source-wins", "dest-wins"; throws invalid_argument for anything else.
MergeStrategy parse_merge_strategy(std::string_view text);
tree::Resolution resolution_of(MergeStrategy strategy);

/// Settles conflicts of the keys that match.
struct ConflictResolution {
  Glob glob;
  bool take_source = false;  ///< else the destination's entry stays
};
/// Maximum number of resolutions of one merge; each is tried against every conflict until one
/// matches.
constexpr size_t kResolutionsMax = 1000;

struct MergeRequest {
  std::string committer;
  std::string message;  ///< "" = Merge '<source>' into '<destination>'
  Metadata metadata;
  MergeStrategy strategy = MergeStrategy::kNone;
  /// The first pattern that matches decides; without a match the strategy does.
  std::vector<ConflictResolution> resolutions;
  /// Only these keys are merged. The commit then has the destination as its only parent (the rest
  /// of the source is still to be merged) and names source and patterns in its metadata.
  std::optional<PathScope> paths;
  bool force = false;  ///< also in a read-only repository, also without changes
  bool allow_empty = false;
  bool squash = false;       ///< the commit has the destination as its only parent
  bool allow_dirty = false;  ///< staged changes of other paths may stay staged
};

/// Nothing was changed. list_conflicts pages through all of them.
struct MergeConflicts {
  std::vector<MergeConflict> first;  ///< in key order, at most kConflictsKeptMax
  uint64_t count = 0;
};
constexpr size_t kConflictsKeptMax = 100;
/// Conflicting paths that an error names.
constexpr size_t kConflictsShownMax = 20;

/// Throws: invalid_argument "uncommitted changes (dirty branch)" (reason "dirty_branch"), "... no
/// changes" (reason "no_changes"); conflict (reason "staged_overlap", with allow_dirty: staged
/// paths that the merge changes); not_found; permission_denied (rules, read-only repository, reason
/// "approval_required").
std::variant<Commit, MergeConflicts> merge_into(branch::Engine& engine,
                                                const Repository& repository,
                                                std::string_view source_ref,
                                                const BranchName& destination,
                                                const MergeRequest& request);

/// A merge on the caller's terms. Checks the destination's protection rules unless the terms are a
/// promotion's. Throws as merge_into, and the exceptions of the terms.
std::variant<Commit, MergeConflicts> merge_on_terms(branch::Engine& engine,
                                                    const Repository& repository,
                                                    std::string_view source_ref,
                                                    const Branch& destination,
                                                    const MergeRequest& request, MergeTerms& terms);

struct ConflictOptions {
  std::string prefix;
  std::string after;     ///< exclusive
  uint32_t limit = 100;  ///< 1..1000
};
/// The conflicts that merging the source into the destination's head would meet without any
/// strategy; `next` is the last key. Throws: not_found; invalid_argument (reason "no_merge_base").
Page<MergeConflict> list_conflicts(branch::Engine& engine, const Repository& repository,
                                   std::string_view source_ref, const BranchName& destination,
                                   const ConflictOptions& options);

struct MergeBase {
  CommitId source;
  CommitId destination;
  CommitId base;
};
/// Throws: not_found (refs; reason "no_merge_base" when the histories share nothing, as
/// invalid_argument).
MergeBase find_merge_base(branch::Engine& engine, const Repository& repository,
                          std::string_view source_ref, std::string_view destination_ref);

}  // namespace tarn::versioning
