#include "server/api/json/object.h"

#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

TEST(ObjectBody, ShowsMetadataAsAsked) {
  Entry entry = an_entry();
  using Shown = ObjectView::UserMetadata;
  const auto body = [&](Shown shown) {
    return object_body({.path = "a/b",
                        .entry = entry,
                        .physical_address = "local://lake/data/x",
                        .user_metadata = shown});
  };
  const std::string head =
      R"({"checksum":"5d41402abc4b2a76b9719d911017c592","content_type":"text/plain",)";
  const std::string tail = R"("mtime":1700000000,"path":"a/b","path_type":"object",)"
                           R"("physical_address":"local://lake/data/x","size_bytes":5})"
                           "\n";
  EXPECT_EQ(body(Shown::kAlways), head + R"("metadata":{},)" + tail);
  EXPECT_EQ(body(Shown::kWhenAny), head + tail);
  entry.set_user_metadata({{"k", "v"}});
  EXPECT_EQ(body(Shown::kAlways), head + R"("metadata":{"k":"v"},)" + tail);
  EXPECT_EQ(body(Shown::kWhenAny), head + R"("metadata":{"k":"v"},)" + tail);
  EXPECT_EQ(body(Shown::kEmpty), head + R"("metadata":{},)" + tail);
  EXPECT_EQ(body(Shown::kNever), head + tail);
}

TEST(ObjectBody, NamesATypeWhenNoneIsStored) {
  Entry entry = an_entry();
  entry.content_type.clear();
  EXPECT_NE(object_body({.path = "a", .entry = entry, .physical_address = ""})
                .find("application/octet-stream"),
            std::string::npos);
}

TEST(ObjectBody, SaysWhenTheAddressIsThatOfAPart) {
  Entry entry = an_entry();
  EXPECT_EQ(object_body({.path = "a", .entry = entry, .physical_address = ""}).find("stored_in"),
            std::string::npos);
  entry.address = PartListAddress{7};
  EXPECT_NE(object_body({.path = "a", .entry = entry, .physical_address = ""})
                .find(R"("stored_in_parts":true)"),
            std::string::npos);
}

TEST(CommonPrefix, HasTheFieldsThatClientsRequire) {
  Writer out;
  write_common_prefix(out, "d/");
  EXPECT_EQ(
      std::move(out).take(),
      R"({"checksum":"","mtime":0,"path":"d/","path_type":"common_prefix","physical_address":""})"
      "\n");
}

TEST(StagedBytesBody, StripsTheQuotesOfAChecksum) {
  const auto given =
      parsed(parse_link_address,
             R"({"staging":{"physical_address":"s3://b/k"},"checksum":" \"abc\"","size_bytes":3})");
  EXPECT_EQ(given.checksum, "abc");
  EXPECT_EQ(given.size_bytes, 3u);
  EXPECT_EQ(given.physical_address, "s3://b/k");
  EXPECT_EQ(given.mtime, std::nullopt);
}

TEST(StagedBytesBody, RefusesWhatCouldBreakAHeader) {
  const auto link = [](std::string_view checksum, std::string_view type, std::string_view size) {
    return failure(parse_link_address, R"({"staging":{"physical_address":"x"},"checksum":")" +
                                           std::string(checksum) + R"(","content_type":")" +
                                           std::string(type) + R"(","size_bytes":)" +
                                           std::string(size) + "}");
  };
  EXPECT_EQ(link("abc", "text/plain", "3"), "");
  EXPECT_EQ(link("\\\"\\\"", "", "3"), "request body: /checksum: checksum is required");
  EXPECT_NE(link("a\\r\\nb", "", "3"), "");
  EXPECT_NE(link("abc", "text/plain\\r\\nX: y", "3"), "");
  EXPECT_NE(link("abc", "", "-1"), "");
  EXPECT_NE(link(std::string(256, 'x'), "", "3"), "");
}

TEST(Codecs, AMoveNamesTwoPathsOrTwoPrefixes) {
  const auto key = parsed(parse_move_objects, R"({"src_path":"a","dest_path":"b"})");
  EXPECT_FALSE(key.prefixes);
  EXPECT_TRUE(key.overwrite);
  const auto prefix =
      parsed(parse_move_objects, R"({"src_prefix":"","dest_prefix":"b/","overwrite":false})");
  EXPECT_TRUE(prefix.prefixes);
  EXPECT_FALSE(prefix.overwrite);
  for (const char* bad :
       {"{}", R"({"src_path":"a"})", R"({"src_prefix":"a"})",
        R"({"src_path":"a","dest_prefix":"b"})", R"({"src_prefix":"a","dest_path":"b"})",
        R"({"src_path":"a","src_prefix":"a","dest_prefix":"b"})",
        R"({"src_path":"a","dest_path":"b","overwrite":1})"}) {
    EXPECT_NE(failure(parse_move_objects, bad), "") << bad;
  }
}

TEST(Codecs, ACheckoutNamesARefAndPatterns) {
  const auto given = parsed(parse_checkout_path, R"({"ref":"v1~1","paths":["a/**","b"]})");
  EXPECT_EQ(given.ref, "v1~1");
  EXPECT_TRUE(given.paths.contains("a/x/y"));
  EXPECT_FALSE(given.force);
  EXPECT_FALSE(given.dry_run);
  EXPECT_TRUE(parsed(parse_checkout_path, R"({"ref":"a","paths":["a"],"dry_run":true})").dry_run);
  EXPECT_EQ(checkout_body({.added = 1, .changed = 2, .deleted = 3, .unchanged = 4}),
            R"({"added":1,"changed":2,"deleted":3,"unchanged":4,"written":3})"
            "\n");
  for (const char* bad : {"{}", R"({"ref":"a"})", R"({"paths":["a"]})", R"({"ref":"a","paths":[]})",
                          R"({"ref":"a","paths":"a"})", R"({"ref":"a","paths":["[a"]})",
                          R"({"ref":"a","paths":[1]})", R"({"ref":"a","paths":["a"],"force":1})"}) {
    EXPECT_NE(failure(parse_checkout_path, bad), "") << bad;
  }
}

}  // namespace
}  // namespace tarn::api::json
