#include "core/model/commit.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

CommitId id_of(uint8_t fill) {
  CommitId id;
  id.bytes.fill(fill);
  return id;
}

Commit sample_commit() {
  Commit commit;
  commit.parents = {id_of(0x11), id_of(0x22)};
  commit.root.nid = 7;
  commit.root.hash.bytes.fill(0x33);
  commit.committer = "ada";
  commit.message = "Add images";
  commit.metadata = {{"a", "1"}, {"b", ""}};
  commit.created = from_millis(1795162542605);
  commit.generation = 5;
  return commit;
}

TEST(CommitIds, ReadOnly64LowerCaseHexDigits) {
  const std::string text(64, 'a');
  EXPECT_EQ(to_text(*parse_commit_id(text)), text);
  EXPECT_EQ(parse_commit_id(text), id_of(0xaa));
  for (const std::string& bad : {std::string(), std::string(63, 'a'), std::string(65, 'a'),
                                 std::string(64, 'A'), std::string(64, 'g')}) {
    EXPECT_EQ(parse_commit_id(bad), std::nullopt) << bad;
  }
}

TEST(CommitIds, ParseOnlyTheirExactLength) {
  EXPECT_EQ(commit_id_from_bytes(std::string(32, '\x11')), id_of(0x11));
  EXPECT_EQ(view_of(id_of(0x11)), std::string(32, '\x11'));
  EXPECT_THROW(commit_id_from_bytes(std::string(31, '\x11')), Error);
  EXPECT_EQ(view_of(hash128_from_bytes(std::string(16, 'x'))), std::string(16, 'x'));
  EXPECT_THROW(hash128_from_bytes(std::string(32, 'x')), Error);
}

// Computed once with Python's hashlib from docs/format/commit.md; a change breaks every repository.
TEST(CommitIds, AreFixedByTheFormat) {
  EXPECT_EQ(to_text(compute_commit_id(sample_commit())),
            "e73339d19939ec1f87b30b4612c30bdbf8889fa99ebcf072d62291f39d567111");
  EXPECT_EQ(to_text(compute_commit_id(Commit{})),
            "6e4fdea15cd2e61077c089901898726597d2e28d48d3294bf237e671fae81c67");
}

TEST(CommitIds, DependOnEveryFieldOfTheContent) {
  const std::function<void(Commit&)> changes[] = {
      [](Commit& c) { c.parents.pop_back(); },
      [](Commit& c) { std::swap(c.parents[0], c.parents[1]); },
      [](Commit& c) { c.root.hash.bytes[15] = 0; },
      [](Commit& c) { c.committer = "bob"; },
      [](Commit& c) { c.message += "."; },
      [](Commit& c) { c.metadata["a"] = "2"; },
      [](Commit& c) { c.metadata.erase("b"); },
      [](Commit& c) { c.created += std::chrono::milliseconds{1}; },
      [](Commit& c) {
        c.committer = "adaAdd";
        c.message = " images";
      },  // fields do not run together
  };
  for (const auto& change : changes) {
    Commit changed = sample_commit();
    change(changed);
    EXPECT_NE(compute_commit_id(changed), compute_commit_id(sample_commit()));
  }
}

TEST(CommitIds, DoNotDependOnStorageLocations) {
  Commit elsewhere = sample_commit();
  elsewhere.root.nid = 99;
  elsewhere.generation = 6;
  elsewhere.id = id_of(0x44);
  EXPECT_EQ(compute_commit_id(elsewhere), compute_commit_id(sample_commit()));
}

TEST(TreeRoots, AreEqualByContent) {
  TreeRoot a{1, {}}, b{2, {}};
  EXPECT_EQ(a, b);
  b.hash.bytes[0] = 1;
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(TreeRoot{}.empty());
  EXPECT_FALSE(a.empty());
}

}  // namespace
}  // namespace tarn
