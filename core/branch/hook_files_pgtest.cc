// Tests of the permission to change action files, by every verb that changes paths of a branch.
#include <gtest/gtest.h>

#include "core/base/acting_user.h"
#include "core/branch/branch_hold.h"
#include "core/branch/hooks.h"
#include "core/branch/refs.h"
#include "core/imports/import.h"
#include "core/imports/refs_dump.h"
#include "core/objects/multipart.h"
#include "core/objects/objects.h"
#include "core/versioning/checkout.h"
#include "core/versioning/merge.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "tests/support/bare_repository.h"
#include "tests/support/repository_test.h"

namespace tarn::branch {
namespace {

using testing::message_of;
using testing::reason_of;

constexpr const char* kFile = "_lakefs_actions/a.yaml";
constexpr const char* kForbidden = "hooks_forbidden";

/// "main" has an action file, "other" has changed it and "plain" has changed something else.
class HookFiles : public testing::RepositoryTest {
 protected:
  /// "admin" may change files of hooks, and each repository's owner those of it.
  HookFiles() {
    (*engine).rights = [this](const RightsQuestion& question) {
      ++asked;
      return question.user == "admin" || question.user == "owner of " + question.repository.str();
    };
  }
  ~HookFiles() override { (*engine).rights = nullptr; }

  void SetUp() override {
    const ActingUser admin("admin", {}, {});
    engine.put(repo, "main", kFile, "name: a");
    engine.put(repo, "main", "_lakefs_actionz", "beside the prefix");
    engine.put(repo, "main", "data/a", "1");
    base = engine.commit(repo, "main").id;
    engine.branch(repo, "other", "main");
    engine.put(repo, "other", kFile, "name: changed");
    engine.put(repo, "other", "data/b", "2");
    changed = engine.commit(repo, "other").id;
    engine.branch(repo, "plain", "main");
    engine.put(repo, "plain", "data/c", "3");
    engine.commit(repo, "plain");
  }

  /// As a developer it is refused and leaves everything; as the administrator it is done.
  template <typename Verb>
  void expect_only_for_admin(Verb verb, const std::string& branch = "main") {
    const std::string before = shown(branch);
    {
      const ActingUser developer("dev", {}, {});
      EXPECT_EQ(reason_of(verb), kForbidden);
    }
    EXPECT_EQ(reason_of(verb), kForbidden) << "nobody in particular";
    EXPECT_EQ(shown(branch), before);
    const ActingUser admin("admin", {}, {});
    EXPECT_EQ(reason_of(verb), "done");
    EXPECT_NE(shown(branch), before);
  }
  template <typename Verb>
  void expect_for_all(Verb verb) {
    const ActingUser developer("dev", {}, {});
    asked = 0;
    EXPECT_EQ(message_of(verb), "done");
    EXPECT_EQ(asked, 0) << "nobody is asked who changes no such file";
  }
  std::string shown(const std::string& branch) {
    return to_text(get_branch(*engine, repo, BranchName(branch)).head) + " " +
           engine.keys(repo, branch) + " " + engine.read(repo, branch, kFile);
  }
  auto merging(const std::string& source, versioning::MergeRequest request = {}) {
    return
        [=, this] { versioning::merge_into(*engine, repo, source, BranchName("main"), request); };
  }

  int asked = 0;
  CommitId base;
  CommitId changed;
};

TEST_F(HookFiles, AreWrittenAndDeletedByThoseWhoMay) {
  expect_only_for_admin([&] { engine.put(repo, "main", kFile, "name: b"); });
  expect_only_for_admin([&] { engine.put(repo, "main", "_lakefs_actions/scripts/a.lua", "x"); });
  expect_only_for_admin([&] { engine.remove(repo, "main", kFile); });
  expect_for_all([&] { engine.put(repo, "main", "_lakefs_actionz", "y"); });
  expect_for_all([&] { engine.put(repo, "main", "dir/_lakefs_actions/a.yaml", "y"); });
}

TEST_F(HookFiles, ARefusalNamesThemAndThePermission) {
  EXPECT_EQ(
      message_of([&] { engine.put(repo, "main", kFile, "name: b"); }),
      "changing _lakefs_actions/a.yaml: hooks run with the rights of others, so that changing "
      "their files needs the permission fs:WriteHooks on arn:lakefs:fs:::repository/" +
          repo.str());
  {
    const ActingUser admin("admin", {}, {});
    for (const char* name : {"b", "c", "d"}) {
      engine.put(repo, "other", "_lakefs_actions/" + std::string(name), "x");
    }
    engine.commit(repo, "other");
  }
  EXPECT_NE(message_of(merging("other"))
                .find("changing _lakefs_actions/a.yaml, _lakefs_actions/b, _lakefs_actions/c and "
                      "more:"),
            std::string::npos);
}

TEST_F(HookFiles, TheRepositoryIsThatOfTheFile) {
  {
    const ActingUser owner("owner of " + repo.str(), {}, {});
    EXPECT_EQ(reason_of([&] { engine.put(repo, "main", kFile, "name: b"); }), "done");
  }
  const ActingUser other("owner of another", {}, {});
  EXPECT_EQ(reason_of([&] { engine.put(repo, "main", kFile, "name: c"); }), kForbidden);
}

TEST_F(HookFiles, AreRefusedBeforeTheBytesCome) {
  EXPECT_EQ(reason_of([&] {
              objects::check_upload(*engine, repo, BranchName("main"), Key(kFile), false, {});
            }),
            kForbidden);
  EXPECT_EQ(reason_of([&] {
              objects::hand_out_address(*engine, repo, BranchName("main"), Key(kFile), "dev");
            }),
            kForbidden);
}

TEST_F(HookFiles, RevokedRightStopsTheRequest) {
  std::optional<objects::UploadTarget> target;
  {
    const ActingUser admin("admin", {}, {});
    target = objects::check_upload(*engine, repo, BranchName("main"), Key(kFile), false, {});
  }
  testing::TextBody body("name: late");
  EXPECT_EQ(reason_of([&] { objects::put_object(*engine, *target, body, std::nullopt, {}, {}); }),
            kForbidden);
}

TEST_F(HookFiles, AreCopiedByThoseWhoMay) {
  expect_only_for_admin([&] {
    objects::copy_object(
        *engine, objects::CopySource{.repository = repo, .ref = "main", .key = Key("data/a")}, repo,
        BranchName("main"), Key(kFile), {}, false);
  });
  expect_only_for_admin([&] {
    const std::vector<Key> keys = {Key("data/a"), Key(kFile)};
    objects::delete_objects(*engine, repo, BranchName("main"), keys, false);
  });
}

TEST_F(HookFiles, AreMovedByThoseWhoMay) {
  expect_only_for_admin([&] {
    versioning::move_objects(*engine, repo, BranchName("main"),
                             {.source = "data/a", .destination = "_lakefs_actions/b.yaml"});
  });
  expect_only_for_admin([&] {
    versioning::move_objects(*engine, repo, BranchName("main"),
                             {.source = "_lakefs_", .destination = "moved", .prefixes = true});
  });
  expect_for_all([&] {
    versioning::move_objects(*engine, repo, BranchName("plain"),
                             {.source = "data/a", .destination = "data/d"});
  });
}

TEST_F(HookFiles, AreMergedByThoseWhoMay) {
  expect_for_all(merging("plain"));
  expect_for_all([&] {
    versioning::MergeRequest some;
    some.paths.emplace(std::vector<std::string>{"data/**"});
    merging("other", some)();
  });
  expect_only_for_admin(merging("other"));
}

TEST_F(HookFiles, IdenticalOnesOnTheDestinationAreNoChange) {
  {
    const ActingUser admin("admin", {}, {});
    engine.put(repo, "main", kFile, "name: changed");
    engine.commit(repo, "main");
  }
  versioning::MergeRequest request;
  request.strategy = versioning::MergeStrategy::kDestinationWins;
  expect_for_all(merging("other", request));
}

TEST_F(HookFiles, ArePickedAndRevertedByThoseWhoMay) {
  expect_only_for_admin([&] {
    versioning::CherryPickRequest request;
    request.ref = to_text(changed);
    versioning::cherry_pick(*engine, repo, BranchName("main"), request);
  });
  expect_only_for_admin([&] {
    versioning::RevertRequest request;
    request.ref = "main";
    versioning::revert_branch(*engine, repo, BranchName("main"), request);
  });
}

TEST_F(HookFiles, AreBroughtByTheTreeOfACommitForThoseWhoMay) {
  expect_only_for_admin([&] {
    versioning::CommitRequest request;
    request.message = "another's tree";
    request.source_tree = resolve_commit(*engine, repo, to_text(changed)).root.hash;
    versioning::commit_branch(*engine, repo, BranchName("main"), request);
  });
}

TEST_F(HookFiles, StagedOnesAreCommittedByAnyone) {
  {
    const ActingUser admin("admin", {}, {});
    engine.put(repo, "main", kFile, "name: b");
  }
  expect_for_all([&] { engine.commit(repo, "main"); });
}

TEST_F(HookFiles, AreResetByThoseWhoMay) {
  expect_only_for_admin([&] {
    versioning::hard_reset_branch(*engine, repo, BranchName("main"), to_text(changed), false);
  });
  {
    const ActingUser developer("dev", {}, {});
    versioning::hard_reset_branch(*engine, repo, BranchName("plain"), to_text(base), false);
    engine.put(repo, "main", "data/z", "staged");
    versioning::reset_prefix(*engine, repo, BranchName("main"), "data/", false);
    engine.put(repo, "main", "data/z", "staged");
    versioning::reset_branch(*engine, repo, BranchName("main"), false);
    EXPECT_EQ(engine.read(repo, "main", "data/z"), "<absent>");
  }
  const auto stage = [&] {
    const ActingUser admin("admin", {}, {});
    engine.put(repo, "main", kFile, "name: staged");
    engine.remove(repo, "main", "data/a");
  };
  const auto expect = [&](auto reset) {
    stage();
    expect_only_for_admin(reset);
  };
  expect([&] { versioning::reset_branch(*engine, repo, BranchName("main"), false); });
  expect([&] { versioning::reset_prefix(*engine, repo, BranchName("main"), "", false); });
  expect([&] {
    versioning::reset_prefix(*engine, repo, BranchName("main"), "_lakefs_actions/a", false);
  });
  expect([&] { versioning::reset_object(*engine, repo, BranchName("main"), Key(kFile), false); });
}

TEST_F(HookFiles, StagedSinceTheBranchWasHeldStopAReset) {
  const Branch branch = get_branch(*engine, repo, BranchName("main"));
  BranchHold hold(*engine, branch, /*rotate=*/true, nullptr);
  const auto reset = [&] {
    return (*engine).branches.add_range(branch.id, hold.lease(), "", "",
                                        meta::Branches::RangeKind::kReset, kActionFilesPrefix);
  };
  {
    const ActingUser admin("admin", {}, {});
    engine.put(repo, "main", "data/z", "1");
    engine.put(repo, "main", kFile, "name: late");
  }
  EXPECT_FALSE(reset());
  EXPECT_FALSE((*engine).branches.drop_staging(branch.id, hold.lease(), kActionFilesPrefix));
  EXPECT_EQ(engine.read(repo, "main", kFile), "name: late");
  EXPECT_TRUE((*engine).branches.drop_staging(branch.id, hold.lease(), "elsewhere/"));
}

TEST_F(HookFiles, AreCheckedOutByThoseWhoMay) {
  const auto checkout = [&](const std::string& paths) {
    return [=, this] {
      versioning::checkout_paths(*engine, repo, BranchName("main"),
                                 {.ref = "other", .paths = PathScope({paths})});
    };
  };
  expect_for_all(checkout("data/**"));
  expect_only_for_admin(checkout("**"));
}

TEST_F(HookFiles, AreImportedByThoseWhoMay) {
  const auto writer = engine.store->create("set/a.yaml", 7);
  writer->write("name: x");
  ASSERT_TRUE(writer->finish());
  const auto import = [&](const std::string& destination) {
    imports::ImportRequest request;
    request.paths = {{imports::ImportPath::Kind::kPrefix, "local:///lake/set/", destination}};
    request.commit.committer = "tester";
    const std::string id = imports::start_import(*engine, repo, BranchName("main"), request);
    while (imports::run_one_import(*engine, {})) {
    }
    return imports::import_status(*engine, repo, BranchName("main"), id).error;
  };
  const ActingUser developer("dev", {}, {});
  EXPECT_EQ(reason_of([&] { import("_lakefs_actions/"); }), kForbidden);
  EXPECT_NE(import("").find("fs:WriteHooks"), std::string::npos)
      << "it removes those that are there";
  EXPECT_EQ(engine.read(repo, "main", kFile), "name: a");
  EXPECT_EQ(import("data/"), "");
  const ActingUser admin("admin", {}, {});
  EXPECT_EQ(import("_lakefs_actions/"), "");
  EXPECT_EQ(engine.read(repo, "main", kFile), "name: x");
}

TEST_F(HookFiles, AreRestoredByThoseWhoMay) {
  {
    const ActingUser admin("admin", {}, {});
    engine.remove(repo, "main", kFile);
    engine.commit(repo, "main", "only history has it");
    delete_branch(*engine, repo, BranchName("other"), false);
    delete_branch(*engine, repo, BranchName("plain"), false);
  }
  const std::string dump = imports::dump_refs(*engine, repo);
  const auto copy = testing::make_bare_repository(engine, fresh_name());
  const auto restore = [&] { imports::restore_refs(*engine, copy, dump, false, "x"); };
  const ActingUser developer("dev", {}, {});
  EXPECT_EQ(reason_of(restore), kForbidden);
  imports::start_restore(*engine, copy, dump, false, "dev");
  while (imports::run_one_refs_task(*engine, {})) {
  }
  EXPECT_EQ(reason_of([&] { engine.keys(copy, "main"); }), "ref_not_found");
  imports::start_restore(*engine, copy, dump, false, "admin");
  while (imports::run_one_refs_task(*engine, {})) {
  }
  EXPECT_EQ(engine.read(copy, "main~1", kFile), "name: a");
}

TEST_F(HookFiles, AnUploadInPartsIsCompletedByThoseWhoMay) {
  const auto begin = [&] {
    const ActingUser admin("admin", {}, {});
    return objects::create_multipart(
        *engine, objects::check_upload(*engine, repo, BranchName("main"), Key(kFile), false, {}),
        {"tester", {}, "", ""});
  };
  const objects::MultipartUpload upload = begin();
  testing::TextBody body("name: parts");
  const std::string etag = objects::put_part(*engine, upload, 1, body, std::nullopt).etag;
  expect_only_for_admin([&] {
    objects::complete_multipart(*engine, upload, {{{1, etag, {}}}, {}, {}, {}});
  });
}

}  // namespace
}  // namespace tarn::branch
