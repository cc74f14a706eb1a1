// Fixture for tests of single verbs: merges and diffs as text.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/versioning/diff.h"
#include "core/versioning/merge.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {

class Verbs : public testing::RepositoryTest {
 protected:
  /// "merged", or which keys conflict.
  std::string merge(const std::string& source, const std::string& destination,
                    MergeRequest request = {}) {
    const auto outcome = merge_into(*engine, repo, source, BranchName(destination), request);
    if (const auto* conflicts = std::get_if<MergeConflicts>(&outcome)) {
      std::string out = "conflicts:";
      for (const MergeConflict& c : conflicts->first) out += " " + c.key.str();
      return out;
    }
    return "merged";
  }

  std::string uncommitted(const std::string& branch) {
    return marked(diff_branch(*engine, repo, BranchName(branch), {}).items);
  }
  std::string diff(const std::string& left, const std::string& right, DiffKind kind,
                   const DiffOptions& options = {}) {
    return marked(diff_refs(*engine, repo, left, right, kind, options).items);
  }

 private:
  /// Keys, each after the sign of its change.
  static std::string marked(const std::vector<Change>& changes) {
    std::string out;
    for (const Change& c : changes) {
      out += std::string(out.empty() ? "" : " ") + "+-~!/"[static_cast<int>(c.type)] + c.key.str();
    }
    return out;
  }
};

}  // namespace tarn::versioning
