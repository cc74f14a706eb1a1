#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/search/expression.h"

namespace tarn::search {
namespace {

Entry sample() {
  Entry entry;
  entry.size_bytes = 2048;
  entry.mtime = from_millis(1'700'000'000'500);  // 2023-11-14T22:13:20.5Z
  entry.content_type = "image/png";
  entry.set_user_metadata({{"loss", "0.015"},
                           {"epoch", "007"},
                           {"label", "cat"},
                           {"my key", "it's"},
                           {"and", "x"},
                           {"size", "3"},
                           {"bad", "nan"},
                           {"day", "2026-03-01"}});
  entry.set_object_tags({{"stage", "prod"}, {"priority", "5"}, {"label", "dog"}});
  return entry;
}

bool holds(std::string_view text) {
  const Entry entry = sample();
  return parse_expression(text).matches(Subject("data/a b/x.png", entry));
}

TEST(Expression, TakesEveryKindOfCondition) {
  for (const char* text : {
           "loss < 0.02",
           "loss<0.02",
           "loss <= 0.015",
           "loss >= 1.5e-2",
           "loss = 0.0150",
           "loss != 0.02",
           "epoch = 7",
           "epoch = \"007\"",
           "epoch in (6, 7)",
           "epoch between 7 and 8",
           "loss > -1",
           "loss > .01",
           "label = cat",
           "label == 'cat'",
           "label != dog",
           "label in (dog, cat)",
           "label not in (dog, bird)",
           "label ~ c*",
           "label < 'dog'",
           "day >= \"2026-02-28\"",
           "tag.stage = prod",
           "tag.label = dog",
           "meta.label = cat",
           "tag.priority >= 5",
           "has label",
           "has tag.stage",
           "has path",
           "not has tag.absent",
           "meta.\"my key\" = \"it's\"",
           "meta.\"my key\" = 'it\\'s'",
           "meta.and = x",
           "meta.size = 3",
           "bad != 3",
           "label != 7",
           "size = 2KiB",
           "size > 2KB",
           "size < 1MiB",
           "size between 1 and 2048",
           "modified >= 2023-11-14",
           "modified < 2023-11-14T22:13:21Z",
           "modified > 1700000000",
           "modified = '2023-11-14T22:13:20.5Z'",
           "path ~ \"data/*/{x,y}.png\"",
           "path ~ **/x.png",
           "path = 'data/a b/x.png'",
           "path != x",
           "path between 'data' and 'datb'",
           "type = image/png",
           "type = image/*",
           "type != text/*",
           "type ~ image/p*",
           "type in (text/csv, image/png)",
       }) {
    EXPECT_TRUE(holds(text)) << text;
    EXPECT_FALSE(holds(str_cat("not (", text, ")"))) << text;
  }
}

TEST(Expression, ComparesOnlyObjectsWithTheField) {
  for (const char* text :
       {"absent = 1", "absent != 1", "absent < 1", "absent = x", "absent != x", "absent ~ **",
        "has absent", "absent < 'x'", "tag.loss < 1", "bad = 3", "bad < 3", "bad > 3", "label < 3",
        "label = 3", "meta.stage = prod", "type = image", "path = data", "loss = '0.0150'"}) {
    EXPECT_FALSE(holds(text)) << text;
    EXPECT_TRUE(holds(str_cat("NOT ", text))) << text;
  }
}

TEST(Expression, BindsNotBeforeAndBeforeOr) {
  EXPECT_TRUE(holds("has label or has x and has y"));
  EXPECT_FALSE(holds("(has label or has x) and has y"));
  EXPECT_TRUE(holds("not has x and has label"));
  EXPECT_FALSE(holds("not (has x or has label)"));
  EXPECT_TRUE(holds("not not has label"));
  EXPECT_TRUE(holds("epoch between 1 and 9 and has label"));
  EXPECT_TRUE(holds("HAS label AND Not has x OR has y"));
}

// Each with the offset and with what could stand there.
TEST(Expression, ErrorsNamePlaceAndExpectation) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "expected a field, 'has', 'not' or '(', found the end at byte 0"},
      {"loss", "expected one of = != < <= > >= ~, 'in' or 'between', found the end at byte 4"},
      {"loss =< 3", "expected one of = != < <= > >= ~, 'in' or 'between', found '=<' at byte 5"},
      {"loss <", "expected a value, found the end at byte 6"},
      {"loss < big", "expected a number, or a text in quotes, found 'big' at byte 7"},
      {"loss < 1 2", "expected 'and', 'or' or the end, found '2' at byte 9"},
      {"loss < 1 && size > 3", "expected 'and', 'or' or the end, found '&&' at byte 9"},
      {"loss < 1 and", "expected a field, 'has', 'not' or '(', found the end at byte 12"},
      {"and loss < 1", "expected a field, 'has', 'not' or '(', found 'and' at byte 0"},
      {"(loss < 1", "expected 'and', 'or' or ')', found the end at byte 9"},
      {"loss < 1)", "expected 'and', 'or' or the end, found ')' at byte 8"},
      {"loss in 3", "expected '(', found '3' at byte 8"},
      {"loss in (3", "expected ',' or ')', found the end at byte 10"},
      {"loss in ()", "expected a value, found ')' at byte 9"},
      {"loss not 3", "expected 'in', found '3' at byte 9"},
      {"loss between 1", "expected 'and' and the upper end, found the end at byte 14"},
      {"size > big", "expected a size, for example 10MiB, found 'big' at byte 7"},
      {"size > -1", "expected a size, for example 10MiB, found '-1' at byte 7"},
      {"size > 99999999TiB", "expected a size, for example 10MiB, found '99999999TiB' at byte 7"},
      {"size ~ 1*", "expected a comparison: size and modified have no pattern at byte 5"},
      {"modified > soon",
       "expected a time, for example 2026-11-20, 2026-11-20T08:00:00Z or seconds since 1970, "
       "found 'soon' at byte 11"},
      {"type < text/csv", "expected '=', '!=', '~' or 'in' for type at byte 5"},
      {"path ~ a[", "a pattern that is wrong: '[' without ']' at byte 1 at byte 7"},
      {"label = 'cat", "quotes that are not closed at byte 8"},
      {"meta. = 3", "expected a key behind 'meta.' at byte 0"},
      {"tag.\"\" = 3", "expected a key behind 'tag.' at byte 0"},
      {"'label' = cat", "expected a field, 'has', 'not' or '(', found ''label'' at byte 0"},
      {"has 'label'", "expected a field, found ''label'' at byte 4"},
      {"label = not", "expected a value, found 'not' at byte 8"},
      {"label = \xff", "is not UTF-8"},
  };
  for (const auto& [text, problem] : cases) {
    EXPECT_EQ(problem_of_expression(text), problem) << text;
    EXPECT_THROW(parse_expression(text), Error) << text;
  }
}

// Verified by mutation: leaving out each limit.
TEST(Expression, HasLimits) {
  const auto repeated = [](std::string_view text, size_t times) {
    std::string out;
    for (size_t i = 0; i < times; ++i) out += text;
    return out;
  };
  EXPECT_EQ(problem_of_expression("a = " + repeated("x", kExpressionBytesMax - 4)), "");
  EXPECT_EQ(problem_of_expression("a = " + repeated("x", kExpressionBytesMax - 3)),
            "is longer than 4096 bytes");
  EXPECT_EQ(problem_of_expression(repeated("(", kExpressionDepthMax - 1) + "has a" +
                                  repeated(")", kExpressionDepthMax - 1)),
            "");
  EXPECT_EQ(problem_of_expression(repeated("(", kExpressionDepthMax) + "has a"),
            "more than 32 levels at byte 32");
  EXPECT_EQ(problem_of_expression(repeated("not ", kExpressionDepthMax) + "has a"),
            "more than 32 levels at byte 128");
  EXPECT_EQ(problem_of_expression(repeated("has a or ", kExpressionTermsMax - 1) + "has a"), "");
  EXPECT_EQ(problem_of_expression(repeated("has a or ", kExpressionTermsMax) + "has a"),
            "more than 64 conditions at byte 581");
  EXPECT_EQ(problem_of_expression("a in (" + repeated("1,", kExpressionTermsMax) + "1)"),
            "more than 64 conditions at byte 135");
}

}  // namespace
}  // namespace tarn::search
