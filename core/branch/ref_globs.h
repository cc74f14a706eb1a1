// Candidates as requests name them: globs of branches, and refs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/model/commit.h"
#include "core/model/repository.h"

namespace tarn::branch {

/// A ref, resolved at one moment.
struct NamedCommit {
  std::string ref;        ///< of a glob the branch's name
  std::string branch{};   ///< "" = the ref names no branch
  std::string creator{};  ///< of the branch; see Branch::creator
  Commit commit;
  bool by_glob = false;
  bool hidden = false;  ///< the branch is; known of branches that a glob found
};

/// Branches that one glob is compared with.
constexpr size_t kCandidateBranchesSeenMax = 200'000;

/// A word with one of *?[{ is a glob of branches (hidden ones only when it begins without a glob
/// character), any other a ref; each ref once, in the order of the words, the branches of a glob by
/// name. Globs pass over the branch `except`. Throws: invalid_argument (a bad glob or ref; reason
/// "too_many_candidates": more than `most`), not_found (a ref, or a glob that matches nothing:
/// reason "candidate_not_found").
std::vector<NamedCommit> find_candidates(Engine& engine, const Repository& repository,
                                         std::span<const std::string> words, size_t most,
                                         std::string_view except = {});

/// Whether the word is a glob of branches, and no ref.
bool is_glob_of_branches(std::string_view word);

/// Resolves one ref. Throws as resolve_commit.
NamedCommit find_candidate(Engine& engine, const Repository& repository, const std::string& ref);

}  // namespace tarn::branch
