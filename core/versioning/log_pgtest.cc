// The log and its filters over a real database.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/change_index.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"
#include "core/meta/commits.h"
#include "core/objects/objects.h"
#include "core/versioning/commit.h"
#include "core/versioning/log.h"
#include "core/versioning/merge.h"
#include "core/versioning/revert.h"
#include "core/versioning/verbs_fixture.h"

namespace tarn::versioning {
namespace {

TEST_F(Verbs, TheLogIsNewestFirstAndFiltersByPath) {
  for (int i = 0; i < 5; ++i) {
    engine.put(repo, "main", i % 2 ? "odd/x" : "even", std::to_string(i));
    engine.commit(repo, "main", std::to_string(i));
  }
  const auto messages = [&](const LogOptions& options) {
    std::string out;
    for (const Commit& c : log_commits(*engine, repo, "main", options).items)
      out += c.message + ",";
    return out;
  };
  EXPECT_EQ(messages({}), "4,3,2,1,0,Repository created,");
  LogOptions odd;
  odd.prefixes = {"odd/"};
  EXPECT_EQ(messages(odd), "3,1,");
  LogOptions even;
  even.objects = {"even"};
  EXPECT_EQ(messages(even), "4,2,0,");
  LogOptions paged;
  paged.limit = 2;
  const auto page = log_commits(*engine, repo, "main", paged);
  EXPECT_TRUE(page.has_more);
  paged.after = page.next;
  EXPECT_EQ(messages(paged), "2,1,");
}

TEST_F(Verbs, APageOfTheLogEndsByBytes) {
  constexpr int kCommits = 40;
  const std::string large(200 * 1024, 'm');
  for (int i = 0; i < kCommits; ++i) {
    engine.put(repo, "main", "k", std::to_string(i));
    engine.commit(repo, "main", large + std::to_string(i));
  }
  testing::TestEngine restarted(shared_url(), engine.store);  // with nothing in memory
  std::vector<std::string> seen;
  int pages = 0;
  LogOptions options{.limit = 1000};
  for (bool more = true; more; ++pages) {
    const auto page = log_commits(*restarted, repo, "main", options);
    size_t bytes = 0;
    for (const Commit& c : page.items) {
      bytes += c.message.size();
      seen.push_back(c.message.substr(std::min(large.size(), c.message.size())));
    }
    EXPECT_LT(bytes, kPageBytesMax + large.size() + 100);
    more = page.has_more;
    options.after = page.next;
  }
  EXPECT_EQ(pages, 2);
  ASSERT_EQ(seen.size(), kCommits + 1u);
  for (int i = 0; i < kCommits; ++i) {
    EXPECT_EQ(seen[static_cast<size_t>(i)], std::to_string(kCommits - 1 - i));
  }
}

TEST_F(Verbs, TheLogFiltersByWhatCommitsSay) {
  const auto commit = [&](const std::string& branch, const std::string& message,
                          const std::string& committer, Metadata metadata) {
    engine.put(repo, branch, "k", message);
    CommitRequest request;
    request.committer = committer;
    request.message = message;
    request.metadata = std::move(metadata);
    return commit_branch(*engine, repo, BranchName(branch), request);
  };
  const Commit one = commit("main", "one", "ann", {{"run", "7"}});
  commit("main", "two", "bob", {{"run", "8"}, {"seed", "1"}});
  engine.branch(repo, "dev", "main");
  commit("dev", "three of dev", "ann", {});
  commit("main", "four", "ann", {});
  const auto messages = [&](const std::string& ref, const LogOptions& options) {
    std::string out;
    for (const Commit& c : log_commits(*engine, repo, ref, options).items) out += c.message + ",";
    return out;
  };
  EXPECT_EQ(messages("main", {.committer = "ann"}), "four,one,");
  EXPECT_EQ(messages("main", {.message = "wo"}), "two,");
  EXPECT_EQ(messages("main", {.metadata = {{"run", std::nullopt}}}), "two,one,");
  EXPECT_EQ(messages("main", {.metadata = {{"run", "8"}, {"seed", std::nullopt}}}), "two,");
  EXPECT_EQ(messages("main", {.metadata = {{"run", "9"}}}), "");
  EXPECT_EQ(messages("main", {.until = one.created}), "one,Repository created,");
  // Ahead and behind.
  EXPECT_EQ(messages("dev", {.without = "main"}), "three of dev,");
  EXPECT_EQ(messages("main", {.without = "dev"}), "four,");
  EXPECT_EQ(messages("main", {.without = "main"}), "");
  EXPECT_EQ(messages("dev", {.without = to_text(one.id)}), "three of dev,two,");
  const auto page = log_commits(*engine, repo, "dev", {.limit = 1, .without = to_text(one.id)});
  EXPECT_TRUE(page.has_more);
  EXPECT_EQ(messages("dev", {.after = page.next, .without = to_text(one.id)}), "two,");
}

TEST_F(Verbs, FutureCommitDoesNotAffectTheDatesOfLaterOnes) {
  const auto commit = [&](const std::string& message, std::optional<Instant> date) {
    engine.put(repo, "main", "k", message);
    CommitRequest request;
    request.committer = "tester";
    request.message = message;
    request.date = date;
    return commit_branch(*engine, repo, BranchName("main"), request);
  };
  const Instant now = (*engine).clock.now();
  const Commit near = commit("near", now + std::chrono::seconds{3});
  EXPECT_EQ(commit("next", {}).created, near.created + std::chrono::milliseconds{1});
  commit("future", now + std::chrono::hours{1});
  const Commit late = commit("late", {});
  EXPECT_LT(late.created, now + std::chrono::minutes{1});
  EXPECT_GT(late.generation, near.generation);
  std::string messages;
  for (const Commit& c : log_commits(*engine, repo, "main", {}).items) messages += c.message + ",";
  EXPECT_TRUE(messages.starts_with("late,future,next,near,")) << messages;
}

constexpr db::Query kForgetSome{"test_forget_some_changed_paths", R"sql(
  UPDATE commits SET changed_paths = NULL WHERE repo_id = $1 AND get_byte(commit_id, 0) % 2 = 0)sql"};

/// Against a plain walk over a random history with merges.
class Log : public testing::RepositoryTest {
 protected:
  using Content = std::map<std::string, std::string>;  ///< checksums by key

  const std::vector<std::string> branches = {"main", "dev", "side"};
  std::map<CommitId, Commit> commits;
  std::map<CommitId, Content> contents;

  /// Commits at dates that repeat and run backwards, and merges, which have the present one.
  void make_history(std::mt19937& random, int steps) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (const char* name : {"dev", "side"}) engine.branch(repo, name, "main");
    for (int step = 0; step < steps; ++step) {
      const std::string& branch = branches[below(branches.size())];
      if (below(4) == 0) {
        MergeRequest request;
        request.strategy = MergeStrategy::kSourceWins;
        request.force = true;
        merge_into(*engine, repo, branches[below(branches.size())], BranchName(branch), request);
        continue;
      }
      if (below(6) == 0) {
        // Often refused: there is nothing to undo, or later commits changed the same keys.
        testing::reason_of([&] {
          if (below(2) == 0) {
            RevertRequest request;
            request.ref = branches[below(branches.size())];
            revert_branch(*engine, repo, BranchName(branch), request);
          } else {
            CherryPickRequest request;
            request.ref = branches[below(branches.size())];
            cherry_pick(*engine, repo, BranchName(branch), request);
          }
        });
        continue;
      }
      for (size_t changes = below(3); changes > 0; --changes) {
        const std::string key =
            std::string(1, "ab"[below(2)]) + (below(2) ? "/" : "/x/") + std::to_string(below(4));
        if (below(4) == 0) {
          engine.remove(repo, branch, key);
        } else {
          engine.put(repo, branch, key, std::to_string(below(3)));
        }
      }
      CommitRequest request;
      request.message = std::to_string(step);
      request.allow_empty = true;
      request.date = from_millis(1'700'000'000'000 + static_cast<int64_t>(below(20)) * 1000);
      commit_branch(*engine, repo, BranchName(branch), request);
    }
    const RepositoryId id = branch::get_repository(*engine, repo).id;
    std::vector<CommitId> open;
    for (const std::string& branch : branches) {
      open.push_back(branch::resolve_commit(*engine, repo, branch).id);
    }
    while (!open.empty()) {
      const CommitId next = open.back();
      open.pop_back();
      if (commits.contains(next)) continue;
      const Commit commit = (*engine).commits.get(id, next);
      open.insert(open.end(), commit.parents.begin(), commit.parents.end());
      commits.emplace(next, commit);
      for (const objects::ListItem& item :
           objects::list_objects(*engine, repo, to_text(next),
                                 {.prefix = "", .after = "", .delimiter = "", .limit = 1000})
               .items) {
        contents[next][item.path] = item.entry->etag;
      }
    }
  }

  bool changed(const Commit& commit, const LogOptions& options) {
    if (options.objects.empty() && options.prefixes.empty()) return true;
    if (commit.parents.size() != 1) return false;
    const Content& now = contents[commit.id];
    const Content& was = contents[commit.parents[0]];
    std::set<std::string> differ;
    for (const auto& [key, sum] : now) {
      if (const auto at = was.find(key); at == was.end() || at->second != sum) differ.insert(key);
    }
    for (const auto& [key, sum] : was) {
      if (!now.contains(key)) differ.insert(key);
    }
    return std::any_of(differ.begin(), differ.end(), [&](const std::string& key) {
      return std::count(options.objects.begin(), options.objects.end(), key) > 0 ||
             std::any_of(options.prefixes.begin(), options.prefixes.end(),
                         [&](const std::string& prefix) { return key.starts_with(prefix); });
    });
  }

  /// All of the log, by trying each reached commit for the newest in every step.
  std::vector<CommitId> expected(const std::string& ref, const LogOptions& options) {
    std::vector<CommitId> out;
    std::set<CommitId> reached, done;
    const auto reach = [&](const CommitId& id) {
      if (!options.since || commits.at(id).created >= *options.since) reached.insert(id);
    };
    reach(branch::resolve_commit(*engine, repo, ref).id);
    bool shown = options.after.empty();
    while (reached.size() > done.size()) {
      const Commit* newest = nullptr;
      for (const CommitId& id : reached) {
        const Commit& c = commits.at(id);
        if (done.contains(id)) continue;
        if (!newest || std::pair(c.created, c.id) > std::pair(newest->created, newest->id)) {
          newest = &c;
        }
      }
      done.insert(newest->id);
      for (size_t i = 0; i < newest->parents.size() && !(options.first_parent && i == 1); ++i) {
        reach(newest->parents[i]);
      }
      if (shown && changed(*newest, options)) out.push_back(newest->id);
      if (to_text(newest->id) == options.after) shown = true;
      if (to_text(newest->id) == options.stop_at) break;
    }
    return out;
  }
};

// Verified by mutation: with each of: first_parent that follows the second, stop_at exclusive,
// filters that let merge commits match, `after` that repeats its commit.
TEST_F(Log, CombinedFiltersAgreeWithAPlainWalk) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(str_cat("seed ", seed));
  std::mt19937 random(seed);
  make_history(random, 150);
  std::vector<CommitId> ids;
  size_t merges = 0;
  for (const auto& [id, commit] : commits) {
    ids.push_back(id);
    merges += commit.parents.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(merges, 3u);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::vector<std::string> prefixes = {"a/", "b/", "a/x/", "b/x", "a/1", "a/x/2", "c"};
  constexpr int kQueries = 400;
  size_t shown = 0;
  for (int query = 0; query < kQueries && !HasFailure(); ++query) {
    // The change index as commits fill it; then with gaps; then as the job fills it.
    if (query == kQueries / 3) {
      engine.pool.run(kForgetSome, {static_cast<int32_t>(repo.id)}, db::Pool::Retry::kWrite);
      (*engine).commits.forget_all();
    } else if (query == kQueries * 2 / 3) {
      while (branch::fill_change_index(*engine, {})) {
      }
      (*engine).commits.forget_all();
    }
    LogOptions options;
    options.first_parent = below(2) == 0;
    if (below(3) == 0) options.since = commits.at(ids[below(ids.size())]).created;
    if (below(3) == 0) options.stop_at = to_text(ids[below(ids.size())]);
    if (below(3) == 0) options.after = to_text(ids[below(ids.size())]);
    for (size_t n = below(4) == 0 ? 1 + below(2) : 0; n > 0; --n) {
      options.prefixes.push_back(prefixes[below(prefixes.size())]);
    }
    for (size_t n = below(4) == 0 ? 1 + below(2) : 0; n > 0; --n) {
      options.objects.push_back(str_cat(std::string(1, "ab"[below(2)]), "/", below(4)));
    }
    options.limit = static_cast<uint32_t>(1 + below(20));
    const std::string ref = below(3) ? branches[below(3)] : to_text(ids[below(ids.size())]);
    const std::vector<CommitId> all = expected(ref, options);
    shown += all.size();

    LogOptions once = options;
    once.stop_at_limit = true;
    const Page<Commit> first = log_commits(*engine, repo, ref, once);
    EXPECT_FALSE(first.has_more);
    EXPECT_EQ(first.next, "");
    EXPECT_EQ(first.items.size(), std::min<size_t>(all.size(), options.limit));

    std::vector<CommitId> seen;
    for (;;) {
      const Page<Commit> page = log_commits(*engine, repo, ref, options);
      for (const Commit& commit : page.items) seen.push_back(commit.id);
      EXPECT_EQ(page.has_more, seen.size() < all.size());
      if (!page.has_more) break;
      ASSERT_EQ(page.items.size(), options.limit);
      options.after = page.next;
    }
    EXPECT_EQ(seen, all) << "query " << query;
  }
  EXPECT_GT(shown, 100u);
}

}  // namespace
}  // namespace tarn::versioning
