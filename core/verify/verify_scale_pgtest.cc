// Verification of a large tree, and of many commits that share most of it.
// TARN_VERIFY_OBJECTS=10000000 measures a tree of that size.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/meta/commits.h"
#include "core/meta/node_writer.h"
#include "core/meta/writer.h"
#include "core/tree/edit.h"
#include "core/verify/verify.h"
#include "tests/support/repository_test.h"

namespace tarn::verify {
namespace {

/// Objects data/00000000, data/00000001 ..., whose bytes no store has.
class Numbered final : public tree::ChangeSource {
 public:
  Numbered(uint64_t begin, uint64_t end, uint64_t step) : at_(begin), end_(end), step_(step) {}

  std::optional<tree::Change> next() override {
    if (at_ >= end_) return std::nullopt;
    char key[32];
    std::snprintf(key, sizeof key, "data/%08llu", static_cast<unsigned long long>(at_));
    char etag[33];
    std::snprintf(etag, sizeof etag, "%016llx%016llx", static_cast<unsigned long long>(at_) * 31,
                  static_cast<unsigned long long>(step_) * 37);
    Entry entry;
    entry.size_bytes = at_;
    entry.mtime = from_millis(1'700'000'000'000 + static_cast<int64_t>(at_));
    entry.etag = etag;
    entry.address = new_own_address(entry.mtime);
    entry.content_type = "application/octet-stream";
    at_ += step_;
    return tree::Change{key, std::move(entry)};
  }

 private:
  uint64_t at_;
  const uint64_t end_;
  const uint64_t step_;
};

class VerifyScale : public ::testing::Test {
 protected:
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  testing::TestRepository repo = engine.make_repository("lake");

  TreeRoot edit(const TreeRoot& base, tree::ChangeSource& edits) {
    const meta::Writer::Operation operation((*engine).writer);
    meta::NodeWriter nodes(engine.pool, (*engine).nodes, repo.id);
    const TreeRoot root =
        tree::edit_tree((*engine).nodes, nodes, {repo.salt}, base, {}, edits).root;
    nodes.flush();
    return root;
  }

  /// Makes a commit of the tree the head of main.
  void publish(const TreeRoot& root) {
    Commit commit;
    const Branch main = branch::get_branch(*engine, repo, BranchName("main"));
    commit.parents = {main.head};
    commit.root = root;
    commit.message = "many";
    commit.generation = ++generation_;
    commit.created = from_millis(1'700'000'000'000 + generation_);
    commit.id = compute_commit_id(commit);
    const db::Pool::Lease lease = engine.pool.lease();
    meta::Commits::insert(*lease, repo.id, commit, {});
    lease->run_script(str_cat("UPDATE branches SET head = '\\x", to_text(commit.id),
                              "', root_nid = ", root.nid, ", root_hash = '\\x",
                              to_hex(view_of(root.hash)), "'"));
  }

  int64_t rows_of(const char* count) {
    return engine.pool.lease()->run({"test_count_rows", count}, {}).integer(0, 0);
  }

 private:
  int64_t generation_ = 1;
};

TEST_F(VerifyScale, EveryDistinctNodeIsVisitedOnce) {
  const char* given = std::getenv("TARN_VERIFY_OBJECTS");
  const uint64_t objects = given == nullptr ? 100'000 : std::strtoull(given, nullptr, 10);
  Numbered all(0, objects, 1);
  TreeRoot root = edit({}, all);
  publish(root);
  for (uint64_t commit = 0; commit < 20; ++commit) {
    Numbered few(commit, objects, objects / 10 + commit);
    root = edit(root, few);
    publish(root);
  }
  RepositoryVerification structure;
  structure.objects.mode = ObjectMode::kNone;
  const auto begin = std::chrono::steady_clock::now();
  const VerifyReport report =
      verify_repository(*engine, repo, structure, [](const VerifyReport&) {});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << objects << " objects, " << report.nodes << " nodes, " << report.commits
            << " commits: " << took.count() << " s\n";
  EXPECT_EQ(report.errors() + report.warnings(), 0u);
  EXPECT_EQ(report.commits, 22u);
  EXPECT_EQ(report.nodes, static_cast<uint64_t>(rows_of("SELECT count(*) FROM nodes")));
  EXPECT_GE(report.entries, objects);
}

TEST_F(VerifyScale, ASampleIsBoundedAndEstimatesTheRest) {
  Numbered all(0, 50'000, 1);
  publish(edit({}, all));
  const VerifyReport report = verify_repository(*engine, repo, {}, [](const VerifyReport&) {});
  EXPECT_EQ(report.objects_checked, kSampledObjectsMax);
  EXPECT_EQ(report.totals[static_cast<size_t>(FindingKind::kObjectMissing)], kSampledObjectsMax);
  EXPECT_EQ(report.findings.size(), kFindingsListedMax);
  // The estimate's standard deviation is 1 %.
  EXPECT_NEAR(static_cast<double>(report.objects), 50'000, 2'500);
}

}  // namespace
}  // namespace tarn::verify
