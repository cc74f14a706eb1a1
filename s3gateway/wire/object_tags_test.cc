#include "s3gateway/wire/object_tags.h"

#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

TEST(ObjectTags, AreReadFromTheirHeader) {
  EXPECT_EQ(parse_tagging_header("a=1&b%20c=x%3Dy&d="),
            (Metadata{{"a", "1"}, {"b c", "x=y"}, {"d", ""}}));
  EXPECT_EQ(parse_tagging_header(""), Metadata{});
  EXPECT_THROW(parse_tagging_header("a=1&a=2"), Refusal);
  EXPECT_THROW(parse_tagging_header("=1"), Refusal);
}

TEST(ObjectTags, HaveLimitsInCharacters) {
  std::string umlauts;
  for (size_t i = 0; i < kTagKeyCharactersMax; ++i) umlauts += "\xC3\xA4";
  EXPECT_NO_THROW(check_tags({{umlauts, std::string(kTagValueCharactersMax, 'v')}}));
  EXPECT_THROW(check_tags({{umlauts + "x", ""}}), Refusal);
  EXPECT_THROW(check_tags({{"a", std::string(kTagValueCharactersMax + 1, 'v')}}), Refusal);
  Metadata many;
  for (size_t i = 0; i < kTagsMax; ++i) many[std::to_string(i)] = "";
  EXPECT_NO_THROW(check_tags(many));
  many["one too many"] = "";
  EXPECT_THROW(check_tags(many), Refusal);
}

TEST(ObjectTags, LeaveTheKeysOfTheSystemAlone) {
  EXPECT_THROW(check_tags({{"aws:createdBy", "x"}}), Refusal);
  EXPECT_THROW(parse_tagging_header("aws:a=1"), Refusal);
  EXPECT_NO_THROW(check_tags({{"aws", "aws:"}, {"laws:a", ""}, {"AWS:a", ""}}));
}

}  // namespace
}  // namespace tarn::s3
