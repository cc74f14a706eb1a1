#include "s3gateway/wire/copy_source.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

TEST(CopySource, ReadsEveryFormClientsSend) {
  const struct {
    std::string header;
    CopySourceHeader expected;
  } cases[] = {
      {"lake/main/a", {"lake", "main/a", std::nullopt}},
      {"/lake/main/a", {"lake", "main/a", std::nullopt}},
      {"lake/main/a%20b", {"lake", "main/a b", std::nullopt}},
      {"lake/main/a+b", {"lake", "main/a b", std::nullopt}},
      {"lake/main/a%2Bb", {"lake", "main/a+b", std::nullopt}},
      {"lake/main/a%2520b+c", {"lake", "main/a%20b c", std::nullopt}},
      {"lake%2Fmain%2Fa+b%2Bc", {"lake", "main/a b+c", std::nullopt}},
      {"lake/main/a b", {"lake", "main/a b", std::nullopt}},
      {"lake%2Fmain%2Fa", {"lake", "main/a", std::nullopt}},
      {"%2Flake%2Fmain%2Fa", {"lake", "main/a", std::nullopt}},
      {"%2Flake/main/a", {"lake", "main/a", std::nullopt}},
      {"/lake%2Fmain%2Fa+b", {"lake", "main/a b", std::nullopt}},
      {"%2flake%2fmain%2Fa%252Fb?versionId=null", {"lake", "main/a%2Fb", "null"}},
      {"lake/%2Fa", {"lake", "/a", std::nullopt}},
      {"lake/main/a?versionId=null", {"lake", "main/a", "null"}},
      {"lake/main/%3FversionId", {"lake", "main/?versionId", std::nullopt}},
      {"lake/main/a%3FversionId%3Dx?versionId=y", {"lake", "main/a?versionId=x", "y"}},
      {"lake/_", {"lake", "_", std::nullopt}},
      {"lake/%20", {"lake", " ", std::nullopt}},
  };
  for (const auto& c : cases) EXPECT_EQ(parse_copy_source(c.header), c.expected) << c.header;
}

TEST(CopySource, RefusesWhatNamesNoObject) {
  for (std::string_view header :
       {"", "/", "lake", "lake/", "/lake", "//a", "%2F%2Fa", "%2F", "%2Flake", "lake/%zz",
        "lake/a%00", "lake/a%ff", "?versionId=x", "lake/a?versionId="}) {
    EXPECT_THROW(parse_copy_source(header), Refusal) << header;
  }
}

}  // namespace
}  // namespace tarn::s3
