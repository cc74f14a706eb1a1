// Searching refs over a real database, against a plain filter over all objects.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/publish.h"
#include "core/meta/node_store.h"
#include "core/meta/staging.h"
#include "core/objects/range_summaries.h"
#include "core/objects/search.h"
#include "core/tree/edit.h"
#include "core/versioning/reset.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::objects {
namespace {

using testing::TestDatabase;
using testing::TestEngine;
using Objects = std::map<std::string, Entry>;
using Changes = std::map<std::string, std::optional<Entry>>;

class Search : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  std::mt19937_64 random{5};

  void stage(const std::string& branch, const Changes& changes) {
    std::vector<meta::StagedRow> rows;
    for (const auto& [key, entry] : changes) rows.push_back({key, entry});
    const BranchId id = branch::get_branch(*engine, repo, BranchName(branch)).id;
    (*engine).staging.stage_many(id, std::move(rows));
  }

  /// As an import builds and commits a tree.
  Commit import(const Objects& objects) {
    class Edits final : public tree::ChangeSource {
     public:
      explicit Edits(const Objects& given) : at_(given.begin()), end_(given.end()) {}
      std::optional<tree::Change> next() override {
        if (at_ == end_) return std::nullopt;
        const auto& [path, entry] = *at_++;
        return tree::Change{path, entry};
      }

     private:
      Objects::const_iterator at_;
      const Objects::const_iterator end_;
    };
    branch::build_and_publish(*engine, repo, branch::get_branch(*engine, repo, BranchName("main")),
                              true, {}, [&](branch::BranchHold& hold, meta::NodeWriter& writer) {
                                Edits edits(objects);
                                branch::BuiltCommit built;
                                built.root = tree::edit_tree((*engine).nodes, writer, {repo.salt},
                                                             hold.lease().root, {}, edits)
                                                 .root;
                                built.parents = {hold.lease().head};
                                built.drained = hold.lease().sealed;
                                built.committer = "test";
                                built.message = "import";
                                return std::optional(std::move(built));
                              });
    return branch::resolve_commit(*engine, repo, "main");
  }

  static void apply(const Changes& changes, Objects& objects) {
    for (const auto& [key, entry] : changes) {
      if (entry) {
        objects[key] = *entry;
      } else {
        objects.erase(key);
      }
    }
  }

  std::string one_of(const std::vector<std::string>& words) {
    return words[random() % words.size()];
  }
  std::string a_path() {
    return str_cat("data/", one_of({"cats", "dogs", "birds"}), "/", random() % 4000,
                   one_of({".png", ".csv", ".parquet"}));
  }
  Entry an_entry() {
    Entry entry;
    entry.size_bytes = random() % 1000;
    entry.mtime = from_millis(1'700'000'000'000 + static_cast<int64_t>(random() % 1'000'000));
    entry.etag = "etag";
    entry.content_type = one_of({"image/png", "image/gif", "text/csv", ""});
    if (random() % 4 == 0) {
      entry.set_user_metadata({{"label", std::to_string(random() % 50)}, {"source", "camera"}});
    }
    return entry;
  }
  Changes some_objects(size_t count) {
    Changes out;
    while (out.size() < count) out[a_path()] = an_entry();
    return out;
  }
  search::Query a_query() {
    search::Query query;
    const uint64_t shape = random() % 64;
    if (shape & 1)
      query.glob = Glob(one_of({"data/cats/**", "**/1?.png", "data/*/77*", "**9.csv"}));
    if (shape & 2) query.size_min_bytes = random() % 1000;
    if (shape & 4) query.modified_from = from_millis(1'700'000'000'000 + 900'000);
    if (shape & 8) query.content_type = one_of({"image/*", "text/csv", "application/*"});
    if (shape & 16) query.metadata.push_back({"label", std::to_string(random() % 50)});
    if (shape & 32) query.prefix = one_of({"data/d", "data/birds/1", "data/"});
    if (query.empty()) query.size_max_bytes = random() % 1000;
    return query;
  }

  static std::string filtered(const Objects& objects, const search::Query& query) {
    std::string out;
    for (const auto& [key, entry] : objects) {
      if (query.matches_path(key) && query.matches_entry(entry)) {
        out += str_cat(key, "=", entry.size_bytes, " ");
      }
    }
    return out;
  }

  /// Options without a limit of time: a busy machine would reach it, and take more pages and
  /// statements.
  static SearchOptions unhurried() {
    SearchOptions options;
    options.limits.time = std::chrono::hours{1};
    return options;
  }

  /// All pages of a search, whose summaries are then stored.
  std::string found(TestEngine& with, const std::string& ref, SearchOptions options) {
    std::string out;
    cost = {};
    for (pages = 1;; ++pages) {
      const SearchPage found = search_objects(*with, repo, ref, options);
      cost.ranges_seen += found.cost.ranges_seen;
      cost.ranges_wanted += found.cost.ranges_wanted;
      cost.summaries_made += found.cost.summaries_made;
      cost.entries_seen += found.cost.entries_seen;
      EXPECT_LE(found.page.items.size(), options.limit);
      for (const ListItem& item : found.page.items) {
        out += str_cat(item.path, "=", item.entry->size_bytes, " ");
      }
      if (!found.page.has_more) break;
      EXPECT_GT(found.page.next, options.after) << "a page must get on";
      if (found.page.next <= options.after) break;
      options.after = found.page.next;
    }
    (*with).summaries.flush();
    return out;
  }
  std::string found(const std::string& ref, const search::Query& query, uint32_t limit = 1000) {
    SearchOptions options = unhurried();
    options.query = query;
    options.limit = limit;
    return found(engine, ref, options);
  }

  int64_t stored_summaries() {
    const auto connection = db::Connection::open(database.url());
    return connection->run({"count_summaries", "SELECT count(*) FROM range_summaries"})
        .integer(0, 0);
  }

  SearchCost cost;  ///< of the last search
  int pages = 0;
};

search::Query by_glob(const std::string& pattern) {
  search::Query query;
  query.glob = Glob(pattern);
  return query;
}

TEST_F(Search, StagedEntriesHideCommittedOnes) {
  Entry small;
  small.size_bytes = 1;
  Entry large;
  large.size_bytes = 100;
  search::Query query;
  query.size_min_bytes = 50;
  stage("main", {{"a", small}, {"b", large}, {"c", large}, {"d", small}});
  EXPECT_EQ(found("main", query), "b=100 c=100 ");
  EXPECT_EQ(found("main@", query), "");
  engine.commit(repo, "main");
  EXPECT_EQ(found("main@", query), "b=100 c=100 ");
  stage("main", {{"a", large}, {"b", std::nullopt}, {"c", small}, {"e", large}});
  EXPECT_EQ(found("main", query), "a=100 e=100 ");
  EXPECT_EQ(found("main@", query), "b=100 c=100 ");
}

TEST_F(Search, AgreesWithAFilterOverEverything) {
  const Changes first = some_objects(7000);
  stage("main", first);
  const Commit committed = engine.commit(repo, "main");
  Objects at_commit;
  apply(first, at_commit);
  Changes second = some_objects(2500);  // more than one statement brings
  for (const auto& [key, entry] : first) {
    if (random() % 20 == 0) second[key] = std::nullopt;
  }
  stage("main", second);
  Objects at_branch = at_commit;
  apply(second, at_branch);
  for (int i = 0; i < 30; ++i) {
    const search::Query query = a_query();
    const auto limit = static_cast<uint32_t>(1 + random() % 900);
    ASSERT_EQ(found("main", query, limit), filtered(at_branch, query)) << i;
    ASSERT_EQ(found(to_text(committed.id), query, limit), filtered(at_commit, query)) << i;
  }
}

// So many ranges that some are read while summaries are made of others.
TEST_F(Search, AgreesWithAFilterOverManyRanges) {
  Objects objects;
  Changes changes;
  for (int i = 0; i < 30'000; ++i) {
    char path[32];
    std::snprintf(path, sizeof(path), "n/%06d-%c", i, "abcdefgh"[random() % 8]);
    changes[path] = an_entry();
  }
  stage("main", changes);
  engine.commit(repo, "main");
  apply(changes, objects);
  for (int i = 0; i < 12; ++i) {
    engine.pool.lease()->run_script("DELETE FROM range_summaries");
    TestEngine fresh{database.url(), engine.store};
    SearchOptions options = unhurried();
    options.limit = 1000;
    options.query = by_glob(str_cat("**/*", 1000 + random() % 9000, i % 2 == 0 ? "*" : "-[a-c]"));
    ASSERT_EQ(found(fresh, "main", options), filtered(objects, options.query)) << i;
    EXPECT_GT(cost.summaries_made, 150u);
    EXPECT_LT(cost.ranges_wanted, cost.ranges_seen / 2);
  }
}

// So many that the tree has several nodes above the ranges: their children are looked at together.
TEST_F(Search, LooksAheadOverSeveralNodes) {
  Objects objects;
  for (int i = 0; i < 120'000; ++i) {
    char path[32];
    std::snprintf(path, sizeof(path), "n/%06d-%c", i, "abcdefgh"[random() % 8]);
    objects[path] = an_entry();
  }
  const Commit commit = import(objects);
  // Two of them or more: where nodes end depends on the salt of the repository, which is random.
  ASSERT_GE((*engine).nodes.load(commit.root.nid)->level(), 2);
  stage("main", {{"n/030000-b", std::nullopt}, {"n/990000-z", an_entry()}});
  engine.pool.lease()->run_script(
      "INSERT INTO staging_ranges (token, lo, hi, kind) SELECT token, 'n/031', 'n/052', 1 FROM "
      "branches WHERE name = 'main'; UPDATE branches SET has_ranges = true WHERE name = 'main'");
  for (const char* const pattern : {"**/*123-[a-c]", "n/0[2-6]*999-*", "n/11*-a", "**/0300*-b"}) {
    engine.pool.lease()->run_script("DELETE FROM range_summaries");
    testing::FaultPoints faults;
    TestEngine fresh{database.url(), engine.store, &faults};
    SearchOptions options = unhurried();
    options.limit = 1000;
    options.query = by_glob(pattern);
    faults.record();
    ASSERT_EQ(found(fresh, to_text(commit.id), options), filtered(objects, options.query));
    const auto statements = faults.recorded();
    uint64_t windows = 0;
    for (uint64_t ranges = 0; ranges < cost.ranges_seen; ++windows) ranges += 16u << windows;
    EXPECT_EQ(std::count(statements.begin(), statements.end(), "range_summaries_select_bodies"),
              static_cast<int64_t>(windows))
        << pattern;
    Objects at_branch = objects;
    std::erase_if(at_branch, [](const auto& one) {
      return one.first == "n/030000-b" || (one.first >= "n/031" && one.first < "n/052");
    });
    const std::string expected = filtered(at_branch, options.query);
    ASSERT_EQ(found(fresh, "main", options), expected) << pattern;
    for (const uint64_t limit : {1u, 100u}) {
      options.limits.ranges = limit;
      ASSERT_EQ(found(fresh, "main", options), expected) << pattern;
      EXPECT_GT(pages, 1) << pattern;
    }
  }
}

TEST_F(Search, SeesRangesOfStagedDeletionsAndResets) {
  Objects objects;
  const Changes first = some_objects(6000);
  stage("main", first);
  engine.commit(repo, "main");
  apply(first, objects);
  Changes second = some_objects(500);
  stage("main", second);
  versioning::reset_prefix(*engine, repo, BranchName("main"), "data/birds/", false);
  std::erase_if(second, [](const auto& one) { return one.first.starts_with("data/birds/"); });
  apply(second, objects);
  const Changes third = some_objects(300);
  stage("main", third);
  // As an import of everything below data/cats/ stages it: older than the rows of its own token.
  engine.pool.lease()->run_script(
      "INSERT INTO staging_ranges (token, lo, hi, kind) SELECT token, 'data/cats/', 'data/cats0', "
      "1 FROM branches "
      "WHERE name = 'main' ON CONFLICT DO NOTHING; UPDATE branches SET has_ranges = true WHERE "
      "name = 'main'");
  std::erase_if(objects, [](const auto& one) { return one.first.starts_with("data/cats/"); });
  apply(third, objects);
  for (int i = 0; i < 30; ++i) {
    const search::Query query = a_query();
    ASSERT_EQ(found("main", query, 100), filtered(objects, query)) << i;
  }
}

// Verified by mutation: has_more = false at a limit; removing each of the three limits (one page
// was enough); returning matches after the last examined range.
TEST_F(Search, PageStopsAtTheWorkLimit) {
  stage("main", some_objects(7000));
  Changes one = {{"data/dogs/special.tar", an_entry()}, {"z/staged.tar", an_entry()}};
  stage("main", one);
  engine.commit(repo, "main");
  one["data/dogs/staged.tar"] = an_entry();
  stage("main", {{"data/dogs/staged.tar", one["data/dogs/staged.tar"]}});
  Objects expected;
  apply(one, expected);
  const std::string all = filtered(expected, by_glob("**.tar"));
  SearchOptions options = unhurried();
  options.query = by_glob("**.tar");
  options.limits.summaries = 1;
  EXPECT_EQ(found(engine, "main", options), all);
  EXPECT_GT(pages, 2);
  EXPECT_GT(cost.summaries_made, 20u);
  options.limits = unhurried().limits;
  options.limits.ranges = 1;
  EXPECT_EQ(found(engine, "main", options), all);
  EXPECT_GT(pages, 2);
  EXPECT_EQ(cost.summaries_made, 0u);
  options.limits = unhurried().limits;
  options.limits.time = std::chrono::milliseconds{0};
  EXPECT_EQ(found(engine, "main", options), all);
  EXPECT_GT(pages, 2);
  options.limits = unhurried().limits;
  EXPECT_EQ(found(engine, "main", options), all);
  EXPECT_EQ(pages, 1);
}

// Staged objects lie in no range, so only the clock between them ends the page. Verified by
// mutation: not looking at it (one page), and by answering has_more = false there.
TEST_F(Search, PageOfStagedObjectsStopsAtTheTimeLimit) {
  const Changes staged = some_objects(300);
  stage("main", staged);
  Objects expected;
  apply(staged, expected);
  SearchOptions options = unhurried();
  options.query = by_glob("**");
  options.limit = 1000;
  options.limits.time = std::chrono::milliseconds{0};
  EXPECT_EQ(found(engine, "main", options), filtered(expected, options.query));
  EXPECT_GT(pages, 2);
}

// Verified by mutation: letting the summaries say yes to everything.
TEST_F(Search, SkipsRangesWithoutAMatch) {
  stage("main", some_objects(8000));
  stage("main", {{"data/dogs/special.tar", an_entry()}});
  engine.commit(repo, "main");
  EXPECT_NE(found("main", by_glob("**/special.tar")), "");
  EXPECT_GT(cost.ranges_seen, 30u);
  EXPECT_LE(cost.ranges_wanted, 3u);
  EXPECT_LT(cost.entries_seen, 1500u);
}

TEST_F(Search, KeepsOnlyRangesInMemoryThatMayMatch) {
  stage("main", some_objects(8000));
  stage("main", {{"data/dogs/special.tar", an_entry()}});
  engine.commit(repo, "main");
  testing::FaultPoints faults;
  TestEngine fresh{database.url(), engine.store, &faults};
  SearchOptions options = unhurried();
  options.query = by_glob("**/special.tar");
  const auto reads = [&] {
    faults.record();
    EXPECT_NE(found(fresh, "main", options), "");
    const auto statements = faults.recorded();
    return std::count(statements.begin(), statements.end(), "nodes_select_bodies");
  };
  const int64_t first = reads();
  const auto made = static_cast<int64_t>(cost.summaries_made);
  int64_t loads = 1;  // of the root
  for (int64_t window = 16, at = 0; at < made; at += window, window *= 2) {
    loads += (std::min(window, made - at) + 31) / 32;
  }
  EXPECT_EQ(first, loads) << "the range of the match is not read a second time";
  options.query = by_glob("**/*1*");
  EXPECT_GT(reads(), 1) << "the others are not kept";
}

// Verified by mutation: with the root in the key of the stored summaries, all were created again
// after dev's commit.
TEST_F(Search, RefsOfTheSameRangesShareTheirSummaries) {
  stage("main", some_objects(8000));
  engine.commit(repo, "main");
  EXPECT_EQ(stored_summaries(), 0) << "commits make none";
  found("main", by_glob("**/special.tar"));
  const uint64_t made = cost.summaries_made;
  EXPECT_GT(made, 30u);
  EXPECT_EQ(cost.ranges_seen, made);
  EXPECT_EQ(stored_summaries(), static_cast<int64_t>(made));
  engine.branch(repo, "dev", "main");
  TestEngine other{database.url(), engine.store};  // knows nothing but the database
  SearchOptions options = unhurried();
  options.query = by_glob("**/special.tar");
  found(other, "dev", options);
  EXPECT_EQ(cost.ranges_seen, made);
  EXPECT_EQ(cost.summaries_made, 0u);
  stage("dev", {{"data/dogs/special.tar", an_entry()}});
  engine.commit(repo, "dev");
  EXPECT_NE(found(other, "dev", options), "");
  EXPECT_GE(cost.summaries_made, 1u);
  EXPECT_LE(cost.summaries_made, 2u);
}

// Verified by mutation: leaving the deletion out, and by storing without looking for the
// repository.
TEST_F(Search, SummariesAreDeletedWithTheirRepository) {
  stage("main", some_objects(3000));
  const Commit commit = engine.commit(repo, "main");
  const RepositoryId id = branch::get_repository(*engine, repo).id;
  found("main", by_glob("**/special.tar"));
  EXPECT_GT(stored_summaries(), 5);
  const auto range = (*engine).nodes.load(commit.root.nid)->child(0).nid;
  const auto kept = (*engine).summaries.load(nullptr, id, std::vector<Nid>{range});
  ASSERT_NE(kept[0], nullptr);
  branch::delete_repository(*engine, repo, false);
  EXPECT_EQ(stored_summaries(), 0);
  (*engine).summaries.keep(id, {{range, kept[0]}});
  (*engine).summaries.flush();
  EXPECT_EQ(stored_summaries(), 0) << "stored by a search that began before";
}

TEST_F(Search, ASecondSearchFindsSummariesThatAreNotStoredYet) {
  stage("main", some_objects(8000));
  stage("main", {{"data/dogs/special.tar", an_entry()}});
  engine.commit(repo, "main");
  testing::FaultPoints faults;
  TestEngine slow{database.url(), engine.store, &faults};
  std::promise<void> searched;
  faults.at_then_go_on({"range_summaries_insert_rows"},
                       [&] { searched.get_future().wait_for(std::chrono::seconds{20}); });
  SearchOptions options = unhurried();
  options.query = by_glob("**/special.tar");
  const SearchPage first = search_objects(*slow, repo, "main", options);
  const SearchPage second = search_objects(*slow, repo, "main", options);
  EXPECT_EQ(first.page.items.size(), 1u);
  EXPECT_EQ(second.page.items.size(), 1u);
  EXPECT_GT(first.cost.summaries_made, 30u);
  EXPECT_EQ(second.cost.summaries_made, 0u);
  EXPECT_EQ(stored_summaries(), 0) << "nothing waited for the database";
  // Another server does not know of them. The same rows are stored once.
  EXPECT_NE(found("main", options.query), "");
  EXPECT_EQ(cost.summaries_made, first.cost.summaries_made);
  searched.set_value();
  (*slow).summaries.flush();
  EXPECT_EQ(faults.unreached(), 0u);
  EXPECT_EQ(stored_summaries(), static_cast<int64_t>(first.cost.summaries_made));
}

TEST_F(Search, SummaryOfAnotherVersionIsReplaced) {
  stage("main", some_objects(3000));
  engine.commit(repo, "main");
  found("main", by_glob("**/special.tar"));
  const uint64_t made = cost.summaries_made;
  engine.pool.lease()->run_script("UPDATE range_summaries SET body = '\\x00ff'");
  TestEngine other{database.url(), engine.store};
  SearchOptions options = unhurried();
  options.query = by_glob("**/special.tar");
  found(other, "main", options);
  EXPECT_EQ(cost.summaries_made, made);
  TestEngine third{database.url(), engine.store};
  found(third, "main", options);
  EXPECT_EQ(cost.summaries_made, 0u) << "the newer version stays";
}

TEST_F(Search, NeedsAConditionAndAScope) {
  EXPECT_THROW(found("main", search::Query()), Error);
  EXPECT_THROW(found("absent", by_glob("*")), Error);
}

}  // namespace
}  // namespace tarn::objects
