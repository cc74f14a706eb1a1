#include "server/api/json/merge.h"

#include <gtest/gtest.h>

namespace tarn::api::json {
namespace {

TEST(MergeConflictBody, KeepsTheEmptyReferenceAndCountsAll) {
  const versioning::MergeConflicts conflicts{{{Key("k"), {}, {}, {}}}, 101};
  const std::string body =
      merge_conflict_body({.conflicts = conflicts, .all = "/x", .request_id = "r"});
  EXPECT_TRUE(body.starts_with(
      R"({"reference":"","message":"merge: conflict found","code":"merge_conflict",)"))
      << body;
  EXPECT_NE(body.find(R"("conflicts":{"count":101,"paths":["k"],)"), std::string::npos);
  EXPECT_TRUE(body.ends_with("\"all\":\"/x\"}}\n"));
}

}  // namespace
}  // namespace tarn::api::json
