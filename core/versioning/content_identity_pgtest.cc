// Every verb that compares contents sees that two files with one MD5 and one size differ.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "core/branch/hook_files.h"
#include "core/branch/hooks.h"
#include "core/versioning/checkout.h"
#include "core/versioning/commit.h"
#include "core/versioning/diff.h"
#include "core/versioning/merge.h"
#include "core/versioning/revert.h"
#include "tests/support/one_md5.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::kMain;
using testing::kOneMd5;
using testing::kSameMd5;

/// `main` has one of the two files, and `dev` the other in its place.
class ContentIdentity : public testing::RepositoryTest {
 protected:
  ContentIdentity() {
    put("main", kOneMd5);
    engine.commit(repo, "main");
    engine.branch(repo, "dev", "main");
    put("dev", kSameMd5);
    engine.commit(repo, "dev");
    EXPECT_EQ(find("main").etag, find("dev").etag);
  }

  void put(const std::string& branch, const std::string& text) {
    engine.put(repo, branch, "a", text);
    engine.put(repo, branch, kHookFile, text);
  }
  Entry find(const std::string& ref) {
    return objects::get_object(*engine, repo, ref, Key("a")).entry;
  }
  std::string differing(const std::string& left, const std::string& right, DiffKind kind) {
    std::string out;
    for (const Change& change : diff_refs(*engine, repo, left, right, kind, {}).items) {
      out += change.key.str() + " ";
    }
    return out;
  }
  TreeRoot root(const std::string& ref) { return branch::resolve_commit(*engine, repo, ref).root; }

  const std::string kHookFile = std::string(kActionFilesPrefix) + "a.yaml";
  const std::string kBoth = kHookFile + " a ";
};

TEST_F(ContentIdentity, DiffsShowTheChange) {
  EXPECT_EQ(differing("main", "dev", DiffKind::kTwoDot), kBoth);
  EXPECT_EQ(differing("main", "dev", DiffKind::kThreeDot), kBoth);
  put("main", kSameMd5);
  EXPECT_EQ(diff_branch(*engine, repo, kMain, {}).items.size(), 2u);
  EXPECT_EQ(differing("dev", "main$", DiffKind::kTwoDot), "") << "the same bytes, uploaded twice";
  put("main", kOneMd5);
  EXPECT_EQ(diff_branch(*engine, repo, kMain, {}).items.size(), 0u);
}

TEST_F(ContentIdentity, EveryVerbTakesTheChange) {
  const std::map<std::string, std::function<void()>> verbs = {
      {"commit",
       [&] {
         put("main", kSameMd5);
         engine.commit(repo, "main");
       }},
      {"merge", [&] { merge_into(*engine, repo, "dev", kMain, {}); }},
      {"cherry-pick",
       [&] {
         CherryPickRequest request;
         request.ref = "dev";
         cherry_pick(*engine, repo, kMain, request);
       }},
      {"checkout", [&] {
         EXPECT_EQ(checkout_paths(*engine, repo, kMain, {.ref = "dev", .paths = PathScope({"**"})})
                       .written(),
                   2u);
         engine.commit(repo, "main");
       }}};
  for (const auto& [name, verb] : verbs) {
    verb();
    EXPECT_TRUE(engine.read(repo, "main@", "a") == kSameMd5) << name;
    RevertRequest undo;
    undo.ref = "main";
    if (name == "merge") undo.parent_number = 1;
    revert_branch(*engine, repo, kMain, undo);
    EXPECT_TRUE(engine.read(repo, "main@", "a") == kOneMd5) << "revert of " << name;
  }
}

TEST_F(ContentIdentity, OtherBytesOnBothSidesConflict) {
  engine.branch(repo, "third", "main");
  put("third", std::string(kOneMd5.size(), 'x'));
  engine.commit(repo, "third");
  const auto result = merge_into(*engine, repo, "dev", BranchName("third"), {});
  EXPECT_TRUE(std::holds_alternative<MergeConflicts>(result));
  EXPECT_EQ(list_conflicts(*engine, repo, "dev", BranchName("third"), {}).items.size(), 2u);
  // The same change on both sides is none.
  engine.branch(repo, "fourth", "main");
  put("fourth", kSameMd5);
  engine.commit(repo, "fourth");
  EXPECT_EQ(list_conflicts(*engine, repo, "dev", BranchName("fourth"), {}).items.size(), 0u);
}

TEST_F(ContentIdentity, HookFilesAreComparedByTheirBytes) {
  EXPECT_FALSE(branch::same_hook_files(*engine, root("main"), root("dev")));
  engine.branch(repo, "fourth", "main");
  put("fourth", kSameMd5);
  engine.commit(repo, "fourth");
  EXPECT_TRUE(branch::same_hook_files(*engine, root("fourth"), root("dev")));
}

}  // namespace
}  // namespace tarn::versioning
