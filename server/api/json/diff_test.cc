#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"
#include "server/api/json/merge.h"

namespace tarn::api::json {
namespace {

TEST(DiffItem, HasSizesOfObjectsOnly) {
  Change change{
      .type = ChangeType::kRemoved, .key = Key("a"), .left = an_entry(), .right = std::nullopt};
  const auto text = [&](bool with_right) {
    Writer out;
    write_change(out, change, with_right);
    return std::move(out).take();
  };
  EXPECT_EQ(text(true), R"({"path":"a","path_type":"object","size_bytes":0,"type":"removed"})"
                        "\n");
  change = {.type = ChangeType::kPrefixChanged,
            .key = Key("d/"),
            .left = std::nullopt,
            .right = std::nullopt};
  EXPECT_EQ(text(true), R"({"path":"d/","path_type":"common_prefix","type":"prefix_changed"})"
                        "\n");
  change = {.type = ChangeType::kAdded, .key = Key("a"), .left = std::nullopt, .right = an_entry()};
  EXPECT_EQ(text(false), R"({"path":"a","path_type":"object","size_bytes":5,"type":"added"})"
                         "\n");
  EXPECT_EQ(
      text(true),
      R"({"path":"a","path_type":"object","size_bytes":5,"type":"added","right":)"
      R"({"checksum":"5d41402abc4b2a76b9719d911017c592","content_type":"text/plain","metadata":{},)"
      R"("mtime":1700000000}})"
      "\n");
}

}  // namespace
}  // namespace tarn::api::json
