#include "core/sigv4/canonical.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn::sigv4 {
namespace {

using ::testing::ElementsAre;

TEST(CanonicalPath, APlainPathHasOneForm) {
  EXPECT_THAT(canonical_paths("/lake/main/a.txt"), ElementsAre("/lake/main/a.txt"));
  EXPECT_THAT(canonical_paths(""), ElementsAre("/"));
}

TEST(CanonicalPath, EncodesReservedBytesOnce) {
  EXPECT_THAT(canonical_paths("/a%20b+c/~x-y_z.%C3%A9"),
              ElementsAre("/a%20b%2Bc/~x-y_z.%C3%A9", "/a%20b+c/~x-y_z.%C3%A9"));
  EXPECT_THAT(canonical_paths("/a'()*!$"), ElementsAre("/a%27%28%29%2A%21%24", "/a'()*!$"));
  EXPECT_THAT(canonical_paths("/\xC3\xA9"), ElementsAre("/%C3%A9", "/\xC3\xA9"));
}

TEST(CanonicalPath, NeedlessAndLowerCaseEscapesAreAlsoTriedAsReceived) {
  EXPECT_THAT(canonical_paths("/%7Ea%c3%a9"), ElementsAre("/~a%C3%A9", "/%7Ea%c3%a9"));
}

TEST(CanonicalPath, EncodedSlashIsTriedEncodedFirstAndDecodedLast) {
  EXPECT_THAT(canonical_paths("/a%2Fb"), ElementsAre("/a%2Fb", "/a/b"));
  EXPECT_THAT(canonical_paths("/a%2fb"), ElementsAre("/a%2Fb", "/a%2fb", "/a/b"));
}

TEST(CanonicalPath, DotsAndDoubleSlashesAreData) {
  EXPECT_THAT(canonical_paths("//x/./y/../z//"), ElementsAre("//x/./y/../z//"));
}

TEST(CanonicalPath, NothingIsEncodedTwice) {
  EXPECT_THAT(canonical_paths("/100%25"), ElementsAre("/100%25"));
  EXPECT_THAT(canonical_paths("/100%"), ElementsAre("/100%25", "/100%"));
  EXPECT_THAT(canonical_paths("/%zz%4"), ElementsAre("/%25zz%254", "/%zz%4"));
}

struct QueryCase {
  const char* raw;
  std::vector<std::string> expected;
};

class CanonicalQuery : public ::testing::TestWithParam<QueryCase> {};

TEST_P(CanonicalQuery, HasTheExpectedForms) {
  EXPECT_EQ(canonical_queries(GetParam().raw), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CanonicalQuery,
    ::testing::Values(
        QueryCase{"", {""}}, QueryCase{"uploads", {"uploads="}},
        QueryCase{"uploads=", {"uploads="}},
        QueryCase{"uploadId=a&partNumber=2", {"partNumber=2&uploadId=a"}},
        QueryCase{"delimiter=/&prefix=", {"delimiter=%2F&prefix="}},
        QueryCase{"delimiter=%2f", {"delimiter=%2F"}}, QueryCase{"&&a=1&&b=2&", {"a=1&b=2"}},
        QueryCase{"t=b&t=a&t=", {"t=&t=a&t=b", "t=b&t=a&t="}},
        QueryCase{"t=b&s=1&t=a+",
                  {"s=1&t=a%2B&t=b", "s=1&t=b&t=a%2B", "s=1&t=a%20&t=b", "s=1&t=b&t=a%20"}},
        QueryCase{"a=b=c", {"a=b%3Dc"}}, QueryCase{"=v", {"=v"}},
        QueryCase{"x-id=GetObject&a=~", {"a=~&x-id=GetObject"}},
        QueryCase{"k=a+b", {"k=a%2Bb", "k=a%20b"}}, QueryCase{"k=a%2Bb", {"k=a%2Bb"}},
        QueryCase{"k=a%20b", {"k=a%20b"}},
        // Order is that of the encoded names: '%' sorts before letters, digits and '-'.
        QueryCase{"a-b=1&a%2Fb=2&a=3&A=4", {"A=4&a=3&a%2Fb=2&a-b=1"}},
        QueryCase{"p=%zz%4", {"p=%25zz%254"}}));

TEST(CanonicalQuery, PresignedQueryOmitsOnlyTheSignature) {
  const std::string query = "X-Amz-Signature=ff&a=1&X-Amz-Date=d";
  EXPECT_THAT(canonical_queries(query, "X-Amz-Signature"), ElementsAre("X-Amz-Date=d&a=1"));
  EXPECT_THAT(canonical_queries(query), ElementsAre("X-Amz-Date=d&X-Amz-Signature=ff&a=1"));
}

TEST(CanonicalHeader, IsTrimmedCollapsedAndJoinedInOrderOfArrival) {
  http::Headers headers;
  headers.add("X-Amz-Meta-A", " two \t  words ");
  headers.add("x-amz-meta-a", "third");
  headers.add("Empty", "");
  EXPECT_EQ(canonical_header(headers, "x-amz-meta-a"), "two words,third");
  EXPECT_EQ(canonical_header(headers, "empty"), "");
  EXPECT_EQ(canonical_header(headers, "absent"), std::nullopt);
}

TEST(CanonicalHeader, OtherWhiteSpaceIsKept) {
  http::Headers headers;
  headers.add("a", "x\xC2\xA0\xC2\xA0y");  // no-break spaces are no blanks
  EXPECT_EQ(canonical_header(headers, "a"), "x\xC2\xA0\xC2\xA0y");
}

TEST(SameSignature, ComparesBytesNotText) {
  EXPECT_TRUE(same_signature("00ff", "00FF"));
  EXPECT_FALSE(same_signature("00ff", "00fe"));
  EXPECT_FALSE(same_signature("00ff", "00ff00"));
  EXPECT_FALSE(same_signature("zz", "zz"));
}

}  // namespace
}  // namespace tarn::sigv4
