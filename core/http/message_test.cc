#include "core/http/message.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/error.h"

namespace tarn::http {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(Headers, CompareNamesWithoutCaseAndKeepOrder) {
  Headers headers;
  headers.add("X-A", "1");
  headers.add("x-b", "");
  headers.add("x-a", "2");
  EXPECT_EQ(headers.get("x-A"), "1");
  EXPECT_EQ(headers.count("X-a"), 2u);
  EXPECT_EQ(*headers.find("X-B"), "");
  EXPECT_EQ(headers.find("X-C"), nullptr);
  EXPECT_EQ(headers.get("X-C"), "");
  headers.set("X-A", "3");
  EXPECT_EQ(headers.all(), (Pairs{{"x-b", ""}, {"X-A", "3"}}));
  headers.remove("X-B");
  EXPECT_EQ(headers.all(), (Pairs{{"X-A", "3"}}));
}

TEST(Request, SplitsTheTargetAtTheFirstQuestionMark) {
  Request request;
  request.target = "/a%3Fb?x=1?y=2";
  EXPECT_EQ(request.raw_path(), "/a%3Fb");
  EXPECT_EQ(request.raw_query(), "x=1?y=2");
  request.target = "/a";
  EXPECT_EQ(request.raw_path(), "/a");
  EXPECT_EQ(request.raw_query(), "");
}

TEST(Query, DecodesPairsInOrder) {
  const Query query = Query::parse("a=1&b=x+y%2Bz&&flag&a=2&token=q==&=v&e=");
  EXPECT_EQ(query.all(), (Pairs{{"a", "1"},
                                {"b", "x y+z"},
                                {"flag", ""},
                                {"a", "2"},
                                {"token", "q=="},
                                {"", "v"},
                                {"e", ""}}));
  EXPECT_EQ(query.values("a"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(*query.find("a"), "1");
  EXPECT_TRUE(query.has("flag"));
  EXPECT_FALSE(query.has("none"));
}

TEST(Query, RefusesBadPercentEncoding) {
  for (const char* raw : {"a=%", "a=%2", "%zz=1", "a=1&b=%g0"}) {
    try {
      Query::parse(raw);
      FAIL() << raw;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << raw;
    }
  }
}

TEST(ReadAll, TakesABodyOfTheLimitAndRefusesOneByteMore) {
  const std::string bytes(100'000, 'x');
  EXPECT_EQ(read_all(*string_body(bytes), bytes.size()), bytes);
  EXPECT_EQ(read_all(*empty_body(), 0), "");
  try {
    read_all(*string_body(bytes), bytes.size() - 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
    EXPECT_EQ(error.reason(), "body_too_large");
  }
}

TEST(FileSlice, ClosesItsDescriptorOnce) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    FileSlice first(ends[0], 1, 2);
    FileSlice second(std::move(first));
    // A descriptor that was moved from is closed by its new owner alone.
    EXPECT_EQ(first.fd, -1);  // NOLINT(bugprone-use-after-move)
    first = std::move(second);
    EXPECT_EQ(first.fd, ends[0]);
    EXPECT_EQ(first.offset, 1u);
    EXPECT_EQ(first.length, 2u);
  }
  EXPECT_EQ(::close(ends[0]), -1);
  ::close(ends[1]);
}

TEST(ReasonPhrase, IsTheStandardOne) {
  EXPECT_EQ(reason_phrase(200), "OK");
  EXPECT_EQ(reason_phrase(409), "Conflict");
  EXPECT_EQ(reason_phrase(412), "Precondition Failed");
  EXPECT_EQ(reason_phrase(599), "Unknown");
}

}  // namespace
}  // namespace tarn::http
