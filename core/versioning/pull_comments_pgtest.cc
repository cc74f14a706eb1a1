// Comments on pull requests over a real database.
#include <future>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/branch/repositories.h"
#include "core/meta/branches.h"
#include "core/versioning/pull_comments.h"
#include "core/versioning/pull_requests.h"
#include "tests/support/repository_test.h"

namespace tarn::versioning {
namespace {

using testing::kDev;
using testing::kMain;
using testing::reason_of;
using testing::TestEngine;

class PullComments : public testing::RepositoryTest {
 protected:
  PullComments() {
    for (const char* user : {"ann", "ben"}) add_user(user);
    engine.branch(repo, "dev", "main");
    change("a");
    pull = create_pull_request(
               *engine, repo, {.title = "t", .author = "ann", .source = kDev, .destination = kMain})
               .id;
  }

  void add_user(std::string_view user) {
    engine.pool.run({"test_insert_user",
                     "INSERT INTO users (name, created_ms) VALUES ($1, 0) ON CONFLICT DO NOTHING"},
                    {user}, db::Pool::Retry::kWrite);
  }
  void remove_user(std::string_view user) {
    engine.pool.run({"test_delete_user", "DELETE FROM users WHERE name = $1"}, {user},
                    db::Pool::Retry::kWrite);
  }
  void change(const std::string& key) {
    engine.put(repo, "dev", key, "1");
    engine.commit(repo, "dev");
  }
  CommitId head() { return branch::get_branch(*engine, repo, kDev).head; }
  int32_t add(PullComment comment) {
    if (comment.author.empty()) comment.author = "ben";
    if (comment.body.empty()) comment.body = "text";
    return create_pull_comment(*engine, repo, pull, std::move(comment)).id;
  }
  std::string try_add(PullComment comment) {
    return reason_of([&] { add(std::move(comment)); });
  }
  std::vector<PullComment> all() { return list_pull_comments(*engine, repo, pull, {}).items; }
  std::string edit(int32_t id, std::string_view user, const std::string& body = "other") {
    return reason_of([&] { edit_pull_comment(*engine, repo, pull, id, user, body); });
  }
  std::string remove(int32_t id, std::string_view user) {
    return reason_of([&] { delete_pull_comment(*engine, repo, pull, id, user); });
  }
  std::string resolve(int32_t id, std::string_view user, bool resolved = true) {
    return reason_of([&] { resolve_pull_thread(*engine, repo, pull, id, user, resolved); });
  }

  std::string pull;
};

TEST_F(PullComments, AreKeptWithTheirPlaceAndCommit) {
  EXPECT_EQ(add({.body = "Why <b>this</b>?"}), 1);
  EXPECT_EQ(add({.path = "a", .line = 3, .commit = head()}), 2);
  EXPECT_EQ(add({.author = "ann", .path = "t.csv", .row = 7, .commit = head()}), 3);
  EXPECT_EQ(add({.thread = 2, .author = "ann", .body = "Because"}), 4);
  const auto found = all();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].body, "Why <b>this</b>?");
  EXPECT_EQ(found[0].author, "ben");
  EXPECT_EQ(found[0].thread, 1);
  EXPECT_EQ(found[0].path, "");
  EXPECT_EQ(found[0].commit, head());
  EXPECT_FALSE(found[0].outdated || found[0].deleted || found[0].edited);
  EXPECT_EQ(found[1].path, "a");
  EXPECT_EQ(found[1].line, 3);
  EXPECT_EQ(found[1].row, std::nullopt);
  EXPECT_EQ(found[2].row, 7);
  EXPECT_EQ(found[3].thread, 2);
  EXPECT_EQ(found[3].path, "") << "it has the place of its thread";
}

TEST_F(PullComments, AreBoundToTheCommitThatWasSeen) {
  const CommitId seen = head();
  add({.path = "a", .commit = seen});
  change("b");
  EXPECT_TRUE(all()[0].outdated);
  EXPECT_EQ(try_add({.path = "a", .commit = seen}), "source_moved");
  EXPECT_EQ(try_add({.commit = seen}), "source_moved");
  add({.path = "a", .commit = head()});
  EXPECT_FALSE(all()[1].outdated);

  merge_pull_request(*engine, repo, get_pull_request(*engine, repo, pull), {});
  const CommitId merged = head();
  change("c");
  EXPECT_TRUE(all()[0].outdated);
  EXPECT_FALSE(all()[1].outdated) << "it is about what was merged";
  EXPECT_EQ(try_add({.path = "a", .commit = head()}), "source_moved");
  add({.path = "a", .commit = merged});
  EXPECT_FALSE(all()[2].outdated);
}

TEST_F(PullComments, OutliveTheSource) {
  add({.path = "a", .commit = head()});
  const CommitId seen = head();
  branch::delete_branch(*engine, repo, kDev, false);
  EXPECT_EQ(try_add({.path = "a", .commit = seen}), "source_moved");
  add({});
  EXPECT_TRUE(all()[0].outdated);
  EXPECT_EQ(all()[1].commit, std::nullopt);
  EXPECT_FALSE(all()[1].outdated);
}

TEST_F(PullComments, AreRefusedWithoutTextOrWithAHalfPlace) {
  EXPECT_EQ(try_add({.body = " \n\t"}), "invalid_argument");
  EXPECT_EQ(try_add({.body = std::string(kPullCommentBytesMax + 1, 'x')}), "invalid_argument");
  EXPECT_EQ(try_add({.body = std::string(kPullCommentBytesMax, 'x')}), "done");
  EXPECT_EQ(try_add({.line = 1}), "invalid_argument");
  EXPECT_EQ(try_add({.row = 1}), "invalid_argument");
  EXPECT_EQ(try_add({.path = "a", .line = 1, .row = 1, .commit = head()}), "invalid_argument");
  EXPECT_EQ(try_add({.path = "a"}), "invalid_argument") << "which commit was looked at?";
  EXPECT_EQ(try_add({.thread = 1, .path = "a", .commit = head()}), "invalid_argument");
  EXPECT_EQ(try_add({.thread = 2}), "comment_not_found");
  EXPECT_EQ(try_add({.thread = 1}), "done");
  EXPECT_EQ(try_add({.thread = 2}), "comment_not_found") << "an answer begins no thread";
  EXPECT_EQ(try_add({.author = "nobody"}), "not_found");
  EXPECT_EQ(all().size(), 2u);
  EXPECT_EQ(edit(1, "ben", " "), "invalid_argument");
  EXPECT_EQ(edit(1, "ben", std::string(kPullCommentBytesMax + 1, 'x')), "invalid_argument");
}

TEST_F(PullComments, AreChangedByTheirAuthorsOnly) {
  add({});
  EXPECT_EQ(edit(1, "ann"), "not_comment_author");
  EXPECT_EQ(remove(1, "ann"), "not_comment_author");
  EXPECT_EQ(edit(2, "ben"), "comment_not_found");
  EXPECT_EQ(edit(1, "ben"), "done");
  EXPECT_EQ(all()[0].body, "other");
  EXPECT_TRUE(all()[0].edited);

  remove_user("ben");
  EXPECT_EQ(all()[0].author, "ben");
  add_user("ben");
  EXPECT_EQ(edit(1, "ben"), "not_comment_author") << "a user of the same name is another";
  EXPECT_EQ(remove(1, "ben"), "not_comment_author");
}

TEST_F(PullComments, ADeletedOneKeepsItsAnswers) {
  add({.body = "secret"});
  add({.thread = 1, .author = "ann"});
  EXPECT_EQ(remove(1, "ben"), "done");
  EXPECT_EQ(all()[0].body, "");
  EXPECT_TRUE(all()[0].deleted);
  EXPECT_EQ(all()[1].body, "text");
  EXPECT_EQ(remove(1, "ben"), "comment_not_found");
  EXPECT_EQ(edit(1, "ben"), "comment_not_found");
  EXPECT_EQ(add({.thread = 1}), 3);
}

TEST_F(PullComments, ThreadsAreResolvedAndOpenedAgain) {
  add({});
  add({.thread = 1, .author = "ann"});
  EXPECT_EQ(resolve(1, "ann"), "done");
  EXPECT_EQ(resolve(1, "ben"), "done");
  EXPECT_EQ(all()[0].resolved_by, "ann") << "who did it first";
  EXPECT_EQ(resolve(1, "ben", false), "done");
  EXPECT_EQ(all()[0].resolved_by, "");
  EXPECT_EQ(resolve(2, "ann"), "comment_not_found");
  EXPECT_EQ(resolve(9, "ann"), "comment_not_found");
}

TEST_F(PullComments, AreLimitedInNumber) {
  engine.pool.run({"test_count_up", "UPDATE pull_requests SET comments = $1 WHERE pull_id = $2"},
                  {kPullCommentsMax - 1, pull}, db::Pool::Retry::kWrite);
  EXPECT_EQ(add({}), kPullCommentsMax);
  EXPECT_EQ(try_add({}), "too_many_comments");
  EXPECT_EQ(remove(kPullCommentsMax, "ben"), "done");
  EXPECT_EQ(try_add({}), "too_many_comments") << "deleted ones count";
}

TEST_F(PullComments, ConcurrentOnesHaveIdsOfTheirOwn) {
  constexpr int kWriters = 4;
  constexpr int kEach = 5;
  std::vector<std::future<void>> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.push_back(std::async(std::launch::async, [&] {
      for (int k = 0; k < kEach; ++k) add({});
    }));
  }
  for (auto& writer : writers) writer.get();
  const auto found = all();
  ASSERT_EQ(found.size(), static_cast<size_t>(kWriters * kEach));
  EXPECT_EQ(found.back().id, kWriters * kEach);
}

TEST_F(PullComments, AreListedInPages) {
  for (int i = 0; i < 12; ++i) add({});
  const auto ids = [&](const PageStart& start) {
    std::string out;
    const auto page = list_pull_comments(*engine, repo, pull, start);
    for (const PullComment& comment : page.items) out += std::to_string(comment.id) + " ";
    return out + (page.has_more ? "..." : "");
  };
  EXPECT_EQ(ids({.limit = 3}), "1 2 3 ...");
  EXPECT_EQ(ids({.after = "9"}), "10 11 12 ");
  EXPECT_EQ(reason_of([&] { ids({.after = "x"}); }), "invalid_argument");
  EXPECT_EQ(reason_of([&] { ids({.after = "99999999999"}); }), "invalid_argument");
  pull = make_pull_request_id(engine.clock.now());
  EXPECT_EQ(reason_of([&] { ids({}); }), "pull_request_not_found");
  EXPECT_EQ(try_add({}), "pull_request_not_found");
}

}  // namespace
}  // namespace tarn::versioning
