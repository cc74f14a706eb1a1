#include "core/model/ref_expression.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

using Kind = RefModifier::Kind;
using View = RefExpression::View;
using namespace std::string_literals;

struct Case {
  const char* text;
  RefExpression expected;
};

TEST(RefExpression, ReadsItsGrammar) {
  const Case cases[] = {
      {"main", {"main", {}, View::kPlain}},
      {"v1.0", {"v1.0", {}, View::kPlain}},
      {"main~", {"main", {{Kind::kAncestor, 1}}, View::kPlain}},
      {"main~0", {"main", {{Kind::kAncestor, 0}}, View::kPlain}},
      {"main~12", {"main", {{Kind::kAncestor, 12}}, View::kPlain}},
      {"main^", {"main", {{Kind::kParent, 1}}, View::kPlain}},
      {"main^2", {"main", {{Kind::kParent, 2}}, View::kPlain}},
      {"main^^2~3",
       {"main", {{Kind::kParent, 1}, {Kind::kParent, 2}, {Kind::kAncestor, 3}}, View::kPlain}},
      {"main~~", {"main", {{Kind::kAncestor, 1}, {Kind::kAncestor, 1}}, View::kPlain}},
      {"main~1000000", {"main", {{Kind::kAncestor, 1000000}}, View::kPlain}},
      {"main@", {"main", {}, View::kCommitted}},
      {"main$", {"main", {}, View::kStaged}},
      {"@alias", {"@alias", {}, View::kPlain}},
      {"@alias~2", {"@alias", {{Kind::kAncestor, 2}}, View::kPlain}},
      {"@v1.0^2", {"@v1.0", {{Kind::kParent, 2}}, View::kPlain}},
  };
  for (const Case& c : cases) EXPECT_EQ(parse_ref(c.text), c.expected) << c.text;
}

TEST(RefExpression, RefusesTheRest) {
  for (const std::string& bad : {""s,
                                 "~1"s,
                                 "^"s,
                                 "@"s,
                                 "$"s,
                                 "@~1"s,
                                 "@@"s,
                                 "@alias@"s,
                                 "@alias$"s,
                                 "@alias~1@"s,
                                 "@-a"s,
                                 "@a/b"s,
                                 "main@1"s,
                                 "main$2"s,
                                 "main@~1"s,
                                 "main~1@"s,
                                 "main$@"s,
                                 "main^2$"s,
                                 "main~x"s,
                                 "main~1x"s,
                                 "main^-1"s,
                                 "ma in"s,
                                 " main"s,
                                 "main\n"s,
                                 "main\t~1"s,
                                 "main\0"s,
                                 "main~1000001"s,
                                 "main~99999999999999999999"s}) {
    try {
      parse_ref(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << bad;
    }
  }
}

}  // namespace
}  // namespace tarn
