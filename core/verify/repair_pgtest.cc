// Repairs: each kind of damage is set right, and nothing else is changed.
#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/search/range_summary.h"
#include "core/verify/repair.h"
#include "core/verify/verify.h"
#include "core/verify/verify_job.h"
#include "core/versioning/merge.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/repository_test.h"
#include "tests/support/table_digests.h"

namespace tarn::verify {
namespace {

using testing::TestDatabase;
using testing::TestEngine;

class Repair : public ::testing::Test {
 protected:
  TestDatabase database;
  TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");
  testing::TestRepository other = engine.make_repository("other");
  Commit base, middle, side, last;

  Repair() {
    for (int i = 1000; i < 1500; ++i) engine.put(repo, "main", str_cat("a/", i), str_cat(i));
    base = engine.commit(repo, "main", "base");
    engine.branch(repo, "exp", "main");
    engine.put(repo, "main", "b", "1");
    middle = engine.commit(repo, "main", "middle");
    engine.put(repo, "exp", "c", "1");
    side = engine.commit(repo, "exp", "side");
    versioning::merge_into(
        *engine, repo, "exp", BranchName("main"),
        {.committer = "tester", .message = "", .metadata = {}, .resolutions = {}, .paths = {}});
    engine.put(repo, "main", "d", "1");
    last = engine.commit(repo, "main", "last");
    engine.put(repo, "main", "staged", "1");
    engine.put(other, "main", "a", "1");
    engine.commit(other, "main", "of another repository");
  }

  void sql(const std::string& statements) { engine.pool.lease()->run_script(statements); }
  int64_t number(const std::string& statement) {
    return db::Connection::open(database.url())
        ->run({"test_repair_number", statement.c_str()})
        .integer(0, 0);
  }
  std::string text(const std::string& statement) {
    // A connection of its own: a name stands for one statement of a connection.
    return std::string(db::Connection::open(database.url())
                           ->run({"test_repair_text", statement.c_str()})
                           .text(0, 0));
  }
  static std::string id(const Commit& commit) {
    return str_cat("decode('", to_text(commit.id), "', 'hex')");
  }
  /// Of all tables. A repair makes servers forget cached commits by a counter of gc_control.
  std::string rows(const std::string& except = "{gc_control}") {
    return testing::table_digests(engine.pool, except);
  }
  std::vector<Finding> repair(RepairMode mode) {
    return repair_repository(*engine, repo, mode, [] {});
  }
  std::string kinds(const std::vector<Finding>& repairs) {
    std::string out;
    for (const Finding& one : repairs) {
      out +=
          str_cat(out.empty() ? "" : "; ", name_of(one.kind), " ", one.found, " -> ", one.expected);
    }
    return out;
  }
  /// Plans, which changes nothing, then repairs; both list the same.
  std::string repaired() {
    const std::string before = rows("{}");
    const std::string planned = kinds(repair(RepairMode::kPlan));
    EXPECT_EQ(rows("{}"), before);
    EXPECT_EQ(kinds(repair(RepairMode::kApply)), planned);
    EXPECT_EQ(kinds(repair(RepairMode::kApply)), "");
    return planned;
  }
};

TEST_F(Repair, AnIntactRepositoryIsNotChanged) {
  const std::string before = rows("{}");
  EXPECT_EQ(repaired(), "");
  EXPECT_EQ(repair(RepairMode::kNone).size(), 0U);
  EXPECT_EQ(rows("{}"), before);
}

TEST_F(Repair, Generations) {
  // An update moves the row in the table, so these are compared in an order.
  const auto commits = [this] {
    return text("SELECT md5(string_agg(c::text, '|' ORDER BY repo_id, commit_id)) FROM commits c");
  };
  const std::string before = rows("{gc_control,commits}");
  const std::string commits_before = commits();
  sql(str_cat("UPDATE commits SET generation = 90 WHERE commit_id = ", id(middle)));
  sql(str_cat("UPDATE commits SET generation = 1 WHERE commit_id = ", id(last)));
  EXPECT_EQ(repaired(),
            "commit_generation generation 90 -> generation 3; "
            "commit_generation generation 1 -> generation 5");
  EXPECT_EQ(rows("{gc_control,commits}"), before);
  EXPECT_EQ(commits(), commits_before);
}

TEST_F(Repair, GenerationsBehindAChangedCommitAreLeft) {
  sql(str_cat("UPDATE commits SET message = 'changed' WHERE commit_id = ", id(base)));
  sql(str_cat("UPDATE commits SET generation = 90 WHERE commit_id = ", id(last)));
  const std::string before = rows("{}");
  EXPECT_EQ(repaired(), "");
  EXPECT_EQ(rows("{}"), before);
}

TEST_F(Repair, GenerationsBehindALostCommitAreLeft) {
  sql(str_cat("DELETE FROM commits WHERE commit_id = ", id(base)));
  sql(str_cat("UPDATE commits SET generation = 90 WHERE commit_id = ", id(last)));
  const std::string before = rows("{}");
  EXPECT_EQ(repaired(), "");
  EXPECT_EQ(rows("{}"), before);
}

TEST_F(Repair, TheTreeOfABranch) {
  const std::string before = rows("{gc_control,branches}");
  const Branch was = branch::get_branch(*engine, repo, BranchName("main"));
  const Branch exp = branch::get_branch(*engine, repo, BranchName("exp"));
  sql(str_cat(
      "UPDATE branches b SET root_nid = e.root_nid, root_hash = e.root_hash FROM branches e "
      "WHERE b.name = 'main' AND e.name = 'exp' AND b.repo_id = e.repo_id"));
  const std::string made = repaired();
  EXPECT_NE(made.find("branch_root"), std::string::npos) << made;
  EXPECT_EQ(made.find(';'), std::string::npos) << made;
  const Branch is = branch::get_branch(*engine, repo, BranchName("main"));
  EXPECT_EQ(is.root.nid, was.root.nid);
  EXPECT_EQ(is.root.hash, was.root.hash);
  EXPECT_EQ(is.head, was.head);
  EXPECT_EQ(branch::get_branch(*engine, repo, BranchName("exp")).root.nid, exp.root.nid);
  EXPECT_EQ(rows("{gc_control,branches}"), before);
  EXPECT_EQ(engine.read(repo, "main", "d"), "1");
}

TEST_F(Repair, ANumberOfANodeAloneIsSetToo) {
  const Branch was = branch::get_branch(*engine, repo, BranchName("main"));
  sql("UPDATE branches SET root_nid = root_nid + 1000000 WHERE name = 'main'");
  EXPECT_NE(repaired().find("branch_root"), std::string::npos);
  EXPECT_EQ(branch::get_branch(*engine, repo, BranchName("main")).root.nid, was.root.nid);
}

TEST_F(Repair, ABranchIsLeftIfItsHeadOrThatTreeIsNotIntact) {
  const Nid root = branch::get_branch(*engine, repo, BranchName("main")).root.nid;
  sql("UPDATE branches SET root_nid = root_nid + 1000000 WHERE name = 'main'");
  sql(str_cat("UPDATE nodes SET body = '\\xff' WHERE nid = ", root));
  std::string before = rows("{}");
  EXPECT_EQ(repaired(), "");
  EXPECT_EQ(rows("{}"), before);
  sql("UPDATE branches SET head = decode(repeat('ab', 32), 'hex') WHERE name = 'main'");
  before = rows("{}");
  EXPECT_EQ(repaired(), "");
  EXPECT_EQ(rows("{}"), before);
}

TEST_F(Repair, SummariesOfRanges) {
  const Nid root = branch::get_branch(*engine, repo, BranchName("main")).root.nid;
  const auto node = (*engine).nodes.load(root);
  for (uint32_t i = 0; i < 2; ++i) {
    const auto range = (*engine).nodes.load(node->child(i).nid);
    const std::string body =
        search::RangeSummary::of(static_cast<const tree::LeafNode&>(*range)).encode();
    sql(str_cat("INSERT INTO range_summaries (repo_id, nid, body) VALUES (",
                static_cast<int>(repo.id), ", ", node->child(i).nid, ", '\\x", to_hex(body), "')"));
  }
  const std::string before = rows();
  sql(str_cat(
      "INSERT INTO range_summaries (repo_id, nid, body) SELECT repo_id, 987654321, body FROM "
      "range_summaries LIMIT 1"));
  sql(str_cat("INSERT INTO range_summaries (repo_id, nid, body) SELECT repo_id, ", root,
              ", body FROM range_summaries LIMIT 1"));
  const Nid changed = node->child(2).nid;
  sql(str_cat("INSERT INTO range_summaries (repo_id, nid, body) SELECT repo_id, ", changed,
              ", body FROM range_summaries ORDER BY nid LIMIT 1"));
  const std::string made = repaired();
  for (const char* part : {"there is no such range", "the node is no range", "it is not what"}) {
    EXPECT_NE(made.find(part), std::string::npos) << made;
  }
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, RowsOfSstables) {
  const Nid root = branch::get_branch(*engine, repo, BranchName("main")).root.nid;
  const std::string columns = "INSERT INTO sstables (repo_id, kind, hash, nid, file) ";
  sql(str_cat(columns, "SELECT repo_id, 1, hash, nid, NULL FROM nodes WHERE nid = ", root));
  const auto file = engine.store->create("lake/_tarn/sstables/1/ab.sst", 1);
  ASSERT_TRUE(file->finish());
  sql(str_cat(columns,
              "SELECT repo_id, 0, hash, nid, '_tarn/sstables/1/ab.sst' FROM nodes WHERE repo_id = ",
              static_cast<int>(repo.id), " AND level = 0 ORDER BY nid LIMIT 1"));
  const std::string before = rows();
  sql(str_cat(columns, "VALUES (", static_cast<int>(repo.id), ", 0, '\\xabab', 987654321, NULL)"));
  sql(str_cat(columns, "SELECT repo_id, 0, '\\xacac', nid, NULL FROM nodes WHERE nid = ", root));
  sql(str_cat(
      columns,
      "SELECT repo_id, 0, hash, nid, '_tarn/sstables/1/lost.sst' FROM nodes WHERE repo_id = ",
      static_cast<int>(repo.id), " AND level = 0 ORDER BY nid OFFSET 1 LIMIT 1"));
  const std::string made = repaired();
  for (const char* part : {"there is no such node", "another hash", "no such file"}) {
    EXPECT_NE(made.find(part), std::string::npos) << made;
  }
  EXPECT_EQ(rows(), before);
}

TEST_F(Repair, AVerificationRepairsFirstAndReportsWhatIsLeft) {
  sql(str_cat("UPDATE commits SET generation = 90 WHERE commit_id = ", id(middle)));
  RepositoryVerification options;
  options.objects.mode = ObjectMode::kNone;
  options.repair = RepairMode::kPlan;
  const auto run = [&] {
    const std::string job = start_verify(*engine, repo, options, "tester");
    EXPECT_TRUE(run_one_verify(*engine, {}, {}));
    return verify_status(*engine, repo, job);
  };
  const VerifyStatus planned = run();
  EXPECT_EQ(planned.options.repair, RepairMode::kPlan);
  EXPECT_EQ(planned.report.repairs.size(), 1U);
  EXPECT_GT(planned.report.warnings(), 0U);
  options.repair = RepairMode::kApply;
  const VerifyStatus applied = run();
  EXPECT_EQ(applied.report.repairs.size(), 1U);
  EXPECT_EQ(applied.report.warnings(), 0U);
  EXPECT_EQ(number("SELECT max(generation) FROM commits"), 5);
}

}  // namespace
}  // namespace tarn::verify
