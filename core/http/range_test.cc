#include "core/http/range.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/str_cat.h"

namespace tarn::http {
namespace {

std::string text_of(const RequestedRange& range) {
  if (std::holds_alternative<WholeContent>(range)) return "whole";
  if (std::holds_alternative<RangeBehindEnd>(range)) return "behind";
  if (std::holds_alternative<MalformedRange>(range)) return "malformed";
  const auto& bytes = std::get<ByteRange>(range);
  return str_cat(bytes.offset, "+", bytes.length);
}

struct Case {
  const char* header;
  uint64_t size;
  const char* expected;
};

TEST(Range, FollowsTheTableOfObservedAnswers) {
  constexpr Case kCases[] = {
      {"", 5, "whole"},
      {"", 0, "whole"},
      {"bytes=0-0", 5, "0+1"},
      {"bytes=1-2", 5, "1+2"},
      {"bytes=3-100", 5, "3+2"},
      {"bytes=2-", 5, "2+3"},
      {"bytes=-2", 5, "3+2"},
      {"bytes=-99", 5, "0+5"},
      {"bytes=0-18446744073709551615", 5, "0+5"},
      {"bytes=0-99999999999999999999999", 5, "0+5"},
      {"bytes=5-", 5, "behind"},
      {"bytes=99999999999999999999999-", 5, "behind"},
      {"bytes=0-", 0, "behind"},
      {"bytes=-1", 0, "behind"},
      {"bytes=-0", 5, "behind"},
      {"bytes=4-2", 5, "malformed"},
      {"bytes=0-0,2-3", 5, "malformed"},
      {"bytes=-", 5, "malformed"},
      {"bytes=", 5, "malformed"},
      {"bytes=a-b", 5, "malformed"},
      {"bytes=-1-2", 5, "malformed"},
      {"items=0-1", 5, "malformed"},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(text_of(parse_range(c.header, c.size)), c.expected) << c.header << " of " << c.size;
  }
}

}  // namespace
}  // namespace tarn::http
