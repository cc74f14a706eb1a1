// Diffs and their summaries over a real database.
#include <gtest/gtest.h>

#include "core/versioning/diff_summary.h"
#include "core/versioning/verbs_fixture.h"

namespace tarn::versioning {
namespace {

using testing::reason_of;

TEST_F(Verbs, GroupedDiffsSkipNothingAfterAGroup) {
  for (const char* key : {"b/1", "c", "d"}) engine.put(repo, "main", key, "0");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  for (const char* key : {"b/1", "c", "d"}) engine.put(repo, "dev", key, "dev");
  engine.commit(repo, "dev");
  for (const char* key : {"c", "d"}) engine.put(repo, "main", key, "same");
  engine.put(repo, "main", "d", "dev");
  engine.commit(repo, "main");
  const auto folded = [&](const std::string& right, DiffKind kind) {
    return diff("main", right, kind, {"", "", "/", 100});
  };
  // The other side's next entry was read before the group and is after it. Verified by mutation: a
  // second read at the group loses d's counterpart and shows c and d as changed.
  EXPECT_EQ(folded("dev", DiffKind::kThreeDot), "/b/ !c");
  EXPECT_EQ(folded("dev", DiffKind::kTwoDot), "/b/ ~c");
  engine.put(repo, "dev", "b/2", "staged");
  EXPECT_EQ(folded("dev$", DiffKind::kTwoDot), "/b/ ~c");
}

TEST_F(Verbs, ASummaryCountsWhatTheDiffLists) {
  for (int i = 0; i < 5; ++i) {
    engine.put(repo, "main", "both/" + std::to_string(i), "12");
    engine.put(repo, "main", "old/" + std::to_string(i), "123");
  }
  engine.put(repo, "main", "top", "1");
  engine.commit(repo, "main");
  engine.branch(repo, "dev", "main");
  for (int i = 0; i < 5; ++i) {
    engine.remove(repo, "dev", "old/" + std::to_string(i));
    engine.put(repo, "dev", "new/deep/" + std::to_string(i), "1234");
  }
  engine.put(repo, "dev", "both/0", "12345");
  engine.put(repo, "dev", "both/9", "1");
  engine.remove(repo, "dev", "top");
  engine.commit(repo, "dev");
  engine.put(repo, "main", "both/0", "main's");
  engine.put(repo, "main", "new/here", "main's");
  engine.commit(repo, "main");
  const auto text_of = [](const ChangeTotals& t) {
    return "+" + std::to_string(t.added.objects) + "/" + std::to_string(t.added.bytes) + " -" +
           std::to_string(t.removed.objects) + "/" + std::to_string(t.removed.bytes) + " ~" +
           std::to_string(t.changed.objects) + "/" + std::to_string(t.changed.bytes) + "<" +
           std::to_string(t.changed_bytes_before) + " !" + std::to_string(t.conflicts);
  };
  const auto summary = [&](const std::string& left, DiffKind kind, const std::string& prefix,
                           const std::string& delimiter, const std::string& right = "dev") {
    const DiffSummary found = summarise_diff(*engine, repo, left, right, kind, prefix, delimiter);
    std::string out = text_of(found.totals);
    for (const PrefixChanges& item : found.prefixes) {
      out += "; " + item.prefix + ": " + text_of(item.totals);
    }
    return out;
  };
  const std::string before = "main~1";
  EXPECT_EQ(summary(before, DiffKind::kTwoDot, "", "/"),
            "+6/21 -6/16 ~1/5<2 !0; : +0/0 -1/1 ~0/0<0 !0; both/: +1/1 -0/0 ~1/5<2 !0; "
            "new/: +5/20 -0/0 ~0/0<0 !0; old/: +0/0 -5/15 ~0/0<0 !0");
  EXPECT_EQ(summary(before, DiffKind::kTwoDot, "new/", ""), "+5/20 -0/0 ~0/0<0 !0");
  EXPECT_EQ(summary(before, DiffKind::kTwoDot, "old/", ""), "+0/0 -5/15 ~0/0<0 !0");
  EXPECT_EQ(summary(before, DiffKind::kTwoDot, "nothing/", "/"), "+0/0 -0/0 ~0/0<0 !0");
  EXPECT_EQ(summary("main", DiffKind::kThreeDot, "", "/"),
            "+6/21 -6/16 ~0/0<0 !1; : +0/0 -1/1 ~0/0<0 !0; both/: +1/1 -0/0 ~0/0<0 !1; "
            "new/: +5/20 -0/0 ~0/0<0 !0; old/: +0/0 -5/15 ~0/0<0 !0");
  EXPECT_EQ(summary("main", DiffKind::kTwoDot, "new/", "/"),
            "+5/20 -1/6 ~0/0<0 !0; new/: +0/0 -1/6 ~0/0<0 !0; new/deep/: +5/20 -0/0 ~0/0<0 !0");
  EXPECT_EQ(reason_of([&] { summary("main$", DiffKind::kTwoDot, "", ""); }), "invalid_argument");

  // Uncommitted: a prefix that only the branch's tree has is not counted from the tree alone.
  engine.remove(repo, "dev", "new/deep/0");
  engine.put(repo, "dev", "both/1", "123");
  EXPECT_EQ(summary("dev", DiffKind::kTwoDot, "", "/", "dev$"),
            "+0/0 -1/4 ~1/3<2 !0; both/: +0/0 -0/0 ~1/3<2 !0; new/: +0/0 -1/4 ~0/0<0 !0");
  EXPECT_EQ(summary(before, DiffKind::kTwoDot, "new/", "", "dev$"), "+4/16 -0/0 ~0/0<0 !0");
  EXPECT_EQ(reason_of([&] { summary("dev", DiffKind::kThreeDot, "", "", "dev$"); }),
            "invalid_argument");
}

}  // namespace
}  // namespace tarn::versioning
