// Checking out paths over a real database.
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/branch_hold.h"
#include "core/branch/settings.h"
#include "core/branch/staged_edits.h"
#include "core/meta/staged_batch.h"
#include "core/meta/staging.h"
#include "core/objects/objects.h"
#include "core/versioning/checkout.h"
#include "core/versioning/commit.h"
#include "core/versioning/move.h"
#include "core/versioning/reset.h"
#include "tests/support/fault_points.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

class Checkout : public testing::RepositoryTest {
 protected:
  const BranchName main{"main"};

  static CheckoutRequest of(std::string ref, std::vector<std::string> globs) {
    return {.ref = std::move(ref), .paths = PathScope(globs)};
  }
  /// "written deleted unchanged", or the reason why not.
  std::string checkout(const CheckoutRequest& request, const std::string& branch = "main") {
    try {
      const CheckoutCounts counts = checkout_paths(*engine, repo, BranchName(branch), request);
      return str_cat(counts.written(), " ", counts.deleted, " ", counts.unchanged);
    } catch (const Error& error) {
      return std::string(error.reason());
    }
  }
  void put_all(const std::string& branch, std::initializer_list<const char*> keys) {
    for (const char* key : keys) engine.put(repo, branch, key, str_cat(branch, ":", key));
  }
  size_t sealed_tokens(const std::string& branch) {
    const Branch held = branch::get_branch(*engine, repo, BranchName(branch));
    return branch::BranchHold(*engine, held, false, nullptr).lease().sealed.size();
  }
};

TEST_F(Checkout, PathsMatchTheRefAndOthersStay) {
  put_all("main", {"code/x", "models/a", "models/b", "models/c"});
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  put_all("dev", {"code/x", "models/a", "models/d"});
  engine.remove(repo, "dev", "models/c");
  engine.commit(repo, "dev");
  put_all("main", {"models/e"});
  const Entry theirs = objects::get_object(*engine, repo, "dev", Key("models/a")).entry;
  const size_t stored = engine.store->list("", "", 1000).items.size();

  CheckoutRequest dry = of("dev", {"models/**"});
  dry.dry_run = true;
  const CheckoutCounts counts = checkout_paths(*engine, repo, main, dry);
  EXPECT_EQ(str_cat(counts.added, " ", counts.changed, " ", counts.deleted, " ", counts.unchanged),
            "1 1 2 1");
  EXPECT_EQ(engine.keys(repo, "main"), "code/x models/a models/b models/c models/e");
  EXPECT_EQ(engine.read(repo, "main", "models/a"), "main:models/a");
  EXPECT_EQ(checkout(of("dev", {"models/**"})), "2 2 1");
  EXPECT_EQ(engine.keys(repo, "main"), "code/x models/a models/b models/d");
  EXPECT_EQ(engine.read(repo, "main", "code/x"), "main:code/x");
  EXPECT_EQ(engine.read(repo, "main", "models/a"), "dev:models/a");
  EXPECT_EQ(engine.keys(repo, "main@"), "code/x models/a models/b models/c") << "only staged";
  EXPECT_EQ(encode_entry(objects::get_object(*engine, repo, "main", Key("models/a")).entry),
            encode_entry(theirs))
      << "the same bytes, attributes and time";
  EXPECT_EQ(engine.store->list("", "", 1000).items.size(), stored);
  EXPECT_EQ(checkout(of("dev", {"models/**"})), "0 0 3") << "once more changes nothing";
  engine.commit(repo, "main");
  EXPECT_EQ(engine.keys(repo, "main@"), "code/x models/a models/b models/d");

  put_all("main", {"models/a"});
  engine.remove(repo, "main", "models/b");
  EXPECT_EQ(engine.keys(repo, "main"), "code/x models/a models/d") << "later writes win";
  EXPECT_EQ(checkout(of("main@", {"models/*"})), "2 0 1") << "its own head";
  EXPECT_EQ(engine.read(repo, "main", "models/a"), "dev:models/a");
  EXPECT_EQ(checkout(of("main~1", {"**"})), "2 1 2") << "an older commit";
  EXPECT_EQ(engine.keys(repo, "main"), "code/x models/a models/b models/c");
}

TEST_F(Checkout, IncludesStagedChangesOfTheOtherBranch) {
  put_all("main", {"a/1", "a/2", "b/1"});
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  put_all("dev", {"a/1", "a/3"});
  engine.remove(repo, "dev", "a/2");
  EXPECT_EQ(checkout(of("dev@", {"a/*"})), "0 0 2");
  EXPECT_EQ(checkout(of("dev", {"a/*"})), "2 1 0");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/3 b/1");
  EXPECT_EQ(engine.read(repo, "main", "a/1"), "dev:a/1");
  // With deleted ranges: a moved prefix.
  MoveRequest request;
  request.source = "a/";
  request.destination = "c/";
  request.prefixes = true;
  move_objects(*engine, repo, BranchName("dev"), request);
  EXPECT_EQ(checkout(of("dev$", {"a/**", "c/**"})), "2 2 0");
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 c/1 c/3");
  EXPECT_EQ(engine.keys(repo, "dev"), "b/1 c/1 c/3") << "the source is as it was";
  EXPECT_EQ(checkout(of("main", {"**"})), "0 0 3") << "itself";
  engine.commit(repo, "dev");
  EXPECT_EQ(engine.keys(repo, "dev@"), "b/1 c/1 c/3");
}

TEST_F(Checkout, IsRefusedBeforeAnythingChanges) {
  put_all("main", {"a/1", "a/2"});
  engine.branch(repo, "dev", "main");
  put_all("dev", {"a/1"});
  EXPECT_EQ(checkout(of("absent", {"**"})), "ref_not_found");
  EXPECT_EQ(checkout(of("dev", {"**"}), "absent"), "branch_not_found");
  CheckoutRequest forbidden = of("dev", {"**"});
  forbidden.check = [](const Key& key, bool deleted) {
    if (key.str() == "a/2" && deleted) throw Error(ErrorCode::kPermissionDenied, "no");
  };
  EXPECT_EQ(checkout(forbidden), "permission_denied");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/2");
  EXPECT_EQ(engine.read(repo, "main", "a/1"), "main:a/1");
  branch::set_branch_rules(*engine, repo, {{.pattern = Glob("main")}}, {});
  EXPECT_EQ(checkout(of("dev", {"**"})), "protected_branch");
  EXPECT_EQ(checkout(of("main", {"**"}), "dev"), "2 0 0") << "from a protected one";
}

// Verified by mutation: publishing without looking at the watched ranges: the late write stayed.
TEST_F(Checkout, ReplacesConcurrentWrites) {
  put_all("main", {"a/1"});
  engine.commit(repo, "main");
  put_all("main", {"a/2"});
  int asked = 0;
  CheckoutRequest request = of("main@", {"a/*"});
  request.check = [&](const Key&, bool) {
    if (asked++ == 0) put_all("main", {"a/3", "b/1"});
  };
  EXPECT_EQ(checkout(request), "0 2 1");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 b/1");
  // A write of other paths does not matter.
  put_all("main", {"a/2"});
  asked = 0;
  request.check = [&](const Key&, bool) {
    ++asked;
    put_all("main", {"b/2"});
  };
  EXPECT_EQ(checkout(request), "0 1 1");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 b/1 b/2");
}

// A checkout started over for each write at its paths, and gave up while writes were steady.
TEST_F(Checkout, IsNotStarvedByWritesToItsPaths) {
  testing::FaultPoints faults;
  testing::TestEngine slow(shared_url(), engine.store, &faults);
  put_all("main", {"a/changed", "a/gone", "a/same", "a/written", "b/1"});
  engine.commit(repo, "main");
  put_all("main", {"a/new"});
  engine.put(repo, "main", "a/changed", "before");
  engine.remove(repo, "main", "a/gone");
  constexpr int kWrites = 20;
  for (int i = 0; i < kWrites; ++i) {
    faults.at_then_go_on({"staged_batch_begin_change"}, [this] {
      engine.put(repo, "main", "a/late", "later");
      engine.put(repo, "main", "a/written", "later");
      engine.put(repo, "main", "a/gone", "main:a/gone");  // back as it was
      engine.put(repo, "main", "b/1", "kept");
      engine.remove(repo, "main", "a/new");
      engine.remove(repo, "main", "a/absent");
    });
  }
  const CheckoutCounts counts = checkout_paths(*slow, repo, main, of("main@", {"a/*"}));
  EXPECT_EQ(faults.unreached(), size_t{kWrites - 3}) << "it went through at the third attempt";
  EXPECT_EQ(str_cat(counts.written(), " ", counts.deleted, " ", counts.unchanged), "2 1 2")
      << "changed, written; late; gone, same";
  EXPECT_EQ(engine.keys(repo, "main"), "a/changed a/gone a/same a/written b/1");
  for (const char* key : {"a/changed", "a/gone", "a/same", "a/written"}) {
    EXPECT_EQ(engine.read(repo, "main", key), str_cat("main:", key));
  }
  EXPECT_EQ(engine.read(repo, "main", "b/1"), "kept");
}

TEST_F(Checkout, ReplacesNothingThatTheUserMayNotWrite) {
  testing::FaultPoints faults;
  testing::TestEngine slow(shared_url(), engine.store, &faults);
  put_all("main", {"a/1", "a/2"});
  engine.commit(repo, "main");
  engine.put(repo, "main", "a/1", "before");
  CheckoutRequest request = of("main@", {"a/*"});
  request.check = [](const Key& key, bool) {
    if (key.str() == "a/2") throw Error(ErrorCode::kPermissionDenied, "no");
  };
  for (int i = 0; i < 3; ++i) {
    faults.at_then_go_on({"staged_batch_begin_change"},
                         [&, i] { engine.put(repo, "main", i < 2 ? "a/3" : "a/2", "later"); });
  }
  EXPECT_EQ(reason_of([&] { checkout_paths(*slow, repo, main, request); }), "permission_denied");
  EXPECT_EQ(engine.read(repo, "main", "a/2"), "later");
}

TEST_F(Checkout, FailsUnderConstantWritesBeyondItsLimit) {
  put_all("main", {"a/1"});
  engine.commit(repo, "main");
  put_all("main", {"a/2"});
  std::vector<Key> many;
  for (uint32_t i = 0; i <= meta::StagedBatch::kCaughtUpRowsMax; ++i) {
    many.emplace_back(str_cat("a/many/", i));
  }
  CheckoutRequest request = of("main@", {"a/**"});
  request.check = [&](const Key&, bool) {
    objects::delete_objects(*engine, repo, main, many, false);
  };
  EXPECT_EQ(checkout(request), "too_many_attempts");
}

// Verified by mutation: without sealing the other branch: what was staged there last did not come
// along.
TEST_F(Checkout, TheOtherBranchIsReadInOneSnapshot) {
  engine.branch(repo, "dev", "main");
  put_all("dev", {"a/1", "a/2"});
  CheckoutRequest request = of("dev", {"a/*"});
  request.check = [&](const Key& key, bool) {
    if (key.str() == "a/1") put_all("dev", {"a/3", "late"});
  };
  EXPECT_EQ(checkout(request), "2 0 0");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/2");
  EXPECT_EQ(engine.keys(repo, "dev"), "a/1 a/2 a/3 late");
  for (int i = 0; i < 3 * static_cast<int>(branch::kSealedTokensMax); ++i) {
    put_all("dev", {"a/1"});
    EXPECT_NE(checkout(of("dev", {"a/*"})), "");
  }
  EXPECT_EQ(engine.keys(repo, "dev"), "a/1 a/2 a/3 late");
  EXPECT_EQ(engine.keys(repo, "main"), "a/1 a/2 a/3");
  EXPECT_LE(sealed_tokens("dev"), branch::kSealedTokensMax + 1);
  EXPECT_LE(sealed_tokens("main"), branch::kSealedTokensMax + 1);
}

TEST_F(Checkout, RandomStatesMatchAModel) {
  constexpr int kRounds = 30;
  const std::vector<std::vector<std::string>> scopes = {{"**"},          {"a/*"},  {"b/**", "c"},
                                                        {"*/1", "a/**"}, {"c/2*"}, {"**/3"}};
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(str_cat("seed ", seed));
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<int>(random() % n); };
  engine.branch(repo, "dev", "main");
  using Content = std::map<std::string, std::string>;
  std::map<std::string, Content> model{{"main", {}}, {"dev", {}}};
  const auto agree = [&](const std::string& branch) {
    std::string keys;
    for (const auto& [key, text] : model[branch]) {
      keys += keys.empty() ? key : " " + key;
      EXPECT_EQ(engine.read(repo, branch, key), text) << branch << " " << key;
    }
    EXPECT_EQ(engine.keys(repo, branch), keys) << branch;
  };
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    for (const std::string branch : {"main", "dev"}) {
      for (int i = below(8); i > 0; --i) {
        const std::string key = str_cat(std::string(1, "abc"[below(3)]), "/", below(25));
        if (below(3) == 0) {
          engine.remove(repo, branch, key);
          model[branch].erase(key);
        } else {
          const std::string text = str_cat("t", below(3));
          engine.put(repo, branch, key, text);
          model[branch][key] = text;
        }
      }
      if (below(6) == 0) {
        reset_prefix(*engine, repo, BranchName(branch), "a/", false);
        const std::string head = branch + "@";
        std::erase_if(model[branch], [](const auto& item) { return item.first[0] == 'a'; });
        for (const objects::ListItem& item :
             objects::list_objects(*engine, repo, head,
                                   {.prefix = "a/", .after = "", .delimiter = "", .limit = 1000})
                 .items) {
          model[branch][item.path] = engine.read(repo, head, item.path);
        }
      }
    }
    const std::string to = below(2) ? "main" : "dev", from = to == "main" ? "dev" : "main";
    const auto& globs = scopes[static_cast<size_t>(below(static_cast<uint32_t>(scopes.size())))];
    const PathScope scope(globs);
    CheckoutCounts expected;
    Content after = model[to];
    for (const auto& [key, text] : model[to]) {
      if (!scope.contains(key) || model[from].contains(key)) continue;
      ++expected.deleted;
      after.erase(key);
    }
    for (const auto& [key, text] : model[from]) {
      if (!scope.contains(key)) continue;
      const auto at = model[to].find(key);
      ++(at != model[to].end() && at->second == text ? expected.unchanged : expected.changed);
      after[key] = text;
    }
    EXPECT_EQ(checkout(of(from, globs), to),
              str_cat(expected.written(), " ", expected.deleted, " ", expected.unchanged));
    model[to] = after;
    agree(to);
    if (below(4) == 0) {
      CommitRequest request;
      request.message = "round";
      request.allow_empty = true;
      commit_branch(*engine, repo, BranchName(to), request);
      agree(to);
    }
  }
}

}  // namespace
}  // namespace tarn::versioning
