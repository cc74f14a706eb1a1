// Every verb as the work of one user, whom the commits that come of it must name.
#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/branch/authors.h"
#include "core/branch/history.h"
#include "core/branch/refs.h"
#include "core/meta/commits.h"
#include "core/meta/expiry.h"
#include "tests/integration/pairs/verbs.h"

namespace tarn::pairs {
namespace {

using testing::TestEngine;

/// Verbs that run a job which their set-up began, for this user.
const std::map<std::string, std::string> kJobs = {{"import", "mary"}, {"promote", "ci"}};
constexpr const char* kBranches[] = {kWork, kSide, "main"};

class Makers : public ::testing::Test {
 protected:
  std::optional<Commit> head(const Scenario& s, const char* branch) {
    const auto found = (*engine_).branches.find(s.id, BranchName(branch));
    if (!found) return std::nullopt;
    return (*engine_).commits.get(s.id, found->head);
  }

  /// Branches that the verb, and a commit by another user after it, changed, though no commit that
  /// came names the user of the verb. `changed`: the verb changed some branch.
  std::vector<std::string> nameless(const Verb& verb, bool* changed) {
    Scenario s(engine_, RepositoryName("makers-" + std::to_string(++count_)));
    if (verb.set_up) {
      const ActingUser user("mary", {}, {});
      verb.set_up(s, Role::kA);
    }
    s.begin();
    std::map<std::string, std::optional<Commit>> before;
    for (const char* branch : kBranches) before[branch] = head(s, branch);
    try {
      const ActingUser user("mallory", {}, {});
      verb.act(s, engine_, Role::kA);
      if (verb.settle) verb.settle(s, engine_);
    } catch (const Error&) {
      return {};  // of verbs that an open promotion or the like forbids
    }
    std::vector<std::string> out;
    for (const char* branch : kBranches) {
      if (!head(s, branch) || !before[branch]) continue;
      try {
        const ActingUser user("carol", {}, {});
        engine_.commit(s.repo, branch, "work of another");
      } catch (const Error&) {
        // Nothing is staged, or the branch is protected.
      }
      const Commit after = *head(s, branch);
      if (after.root.hash == before[branch]->root.hash) continue;
      const auto came = branch::commits_without(*engine_, s.id, after, *before[branch]);
      if (came.empty()) continue;  // an earlier state
      *changed = true;
      const auto makers = branch::makers_of(*engine_, s.id, came);
      // A job does the work of the user who began it, whichever server runs it.
      const auto job = kJobs.find(verb.name);
      if (!makers.contains(job == kJobs.end() ? "mallory" : job->second)) out.push_back(branch);
    }
    return out;
  }

 private:
  const testing::TestDatabase database_{};
  TestEngine engine_{database_.url()};
  int count_ = 0;
};

TEST_F(Makers, CommitsNameTheUserOfEveryVerbThatChangesABranch) {
  std::set<std::string> changing;
  for (const Verb& verb : all_verbs()) {
    bool changed = false;
    EXPECT_EQ(nameless(verb, &changed), std::vector<std::string>()) << verb.name;
    if (changed) changing.insert(verb.name);
  }
  for (const Verb& verb : all_verbs()) {
    EXPECT_TRUE(!verb.stages || changing.contains(verb.name)) << verb.name << " changed nothing";
  }
  EXPECT_GE(changing.size(), 25U);
}

}  // namespace
}  // namespace tarn::pairs
