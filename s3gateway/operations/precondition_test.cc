#include "s3gateway/operations/precondition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kBefore = "Fri, 20 Nov 2026 08:15:41 GMT";
constexpr std::string_view kSame = "Fri, 20 Nov 2026 08:15:42 GMT";
constexpr std::string_view kAfter = "Fri, 20 Nov 2026 08:15:43 GMT";

ReadVerdict verdict(ReadConditions conditions) {
  return evaluate(conditions, "abc", *parse_rfc3339("2026-11-20T08:15:42.605Z"));
}

TEST(Precondition, ComparesEtagsInEveryFormClientsSend) {
  for (std::string_view list :
       {"abc", "\"abc\"", "W/\"abc\"", "*", "\"x\", \"abc\"", "x,abc", " \"abc\" "}) {
    EXPECT_TRUE(etag_listed(list, "abc")) << list;
  }
  for (std::string_view list : {"", "\"ab\"", "abcd", "\"x\",\"y\"", "W/abc"}) {
    EXPECT_FALSE(etag_listed(list, "abc")) << list;
  }
}

TEST(Precondition, FollowsTheOrderOfTheStandard) {
  const struct {
    ReadConditions conditions;
    ReadVerdict expected;
  } cases[] = {
      {{}, ReadVerdict::kProceed},
      {{.if_match = "abc"}, ReadVerdict::kProceed},
      {{.if_match = "x"}, ReadVerdict::kFailed},
      {{.if_unmodified_since = kBefore}, ReadVerdict::kFailed},
      {{.if_unmodified_since = kSame}, ReadVerdict::kProceed},
      {{.if_match = "abc", .if_unmodified_since = kBefore}, ReadVerdict::kProceed},
      {{.if_none_match = "abc"}, ReadVerdict::kNotModified},
      {{.if_none_match = "x"}, ReadVerdict::kProceed},
      {{.if_modified_since = kSame}, ReadVerdict::kNotModified},
      {{.if_modified_since = kAfter}, ReadVerdict::kNotModified},
      {{.if_modified_since = kBefore}, ReadVerdict::kProceed},
      {{.if_none_match = "x", .if_modified_since = kAfter}, ReadVerdict::kProceed},
      {{.if_none_match = "abc", .if_modified_since = kBefore}, ReadVerdict::kNotModified},
      {{.if_match = "x", .if_none_match = "abc"}, ReadVerdict::kFailed},
      {{.if_modified_since = "yesterday"}, ReadVerdict::kProceed},
      {{.if_unmodified_since = "yesterday"}, ReadVerdict::kProceed},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    EXPECT_EQ(verdict(cases[i].conditions), cases[i].expected) << "case " << i;
  }
}

TEST(Precondition, ReadsConditionsOfWrites) {
  http::Headers headers;
  EXPECT_TRUE(write_condition(headers).none());
  headers.add("If-None-Match", "*");
  EXPECT_TRUE(write_condition(headers).if_absent);
  headers.set("If-None-Match", "\"a\", b");
  EXPECT_FALSE(write_condition(headers).if_absent);
  EXPECT_THAT(write_condition(headers).if_none_match, ElementsAre("a", "b"));
  headers.add("If-Match", "*");
  EXPECT_TRUE(write_condition(headers).if_present);
  EXPECT_THAT(write_condition(headers).if_match, IsEmpty());
  headers.set("If-Match", "\"abc\"");
  EXPECT_THAT(write_condition(headers).if_match, ElementsAre("abc"));
}

TEST(Precondition, ReadsNoConditionOfAWriteFromAHeaderWithoutValue) {
  for (const char* empty : {"", " ", "\t"}) {
    http::Headers headers;
    headers.add("If-None-Match", empty);
    headers.add("If-Match", empty);
    EXPECT_TRUE(write_condition(headers).none());
  }
}

/// One word, with quotes or without, names the same ETag in every header that has a condition.
TEST(Precondition, OneTokenIsReadAlikeInEveryHeader) {
  for (const char* token : {"abc", "\"abc\"", "W/\"abc\"", "\"abc"}) {
    http::Headers headers;
    headers.add("If-Match", token);
    headers.add("If-None-Match", token);
    headers.add("x-amz-copy-source-if-match", token);
    headers.add("x-amz-copy-source-if-none-match", token);
    EXPECT_THAT(write_condition(headers).if_match, ElementsAre("abc")) << token;
    EXPECT_THAT(write_condition(headers).if_none_match, ElementsAre("abc")) << token;
    for (const ReadConditions& read : {read_conditions(headers), copy_source_conditions(headers)}) {
      EXPECT_TRUE(etag_listed(read.if_match, "abc")) << token;
      EXPECT_TRUE(etag_listed(read.if_none_match, "abc")) << token;
    }
  }
}

TEST(Precondition, InvalidEtagRefusesTheWrite) {
  const auto writes = [](const char* value) {
    http::Headers headers;
    headers.add("If-None-Match", value);
    try {
      return !write_condition(headers).none();
    } catch (const Refusal& refusal) {
      EXPECT_EQ(refusal.failure().code, "NotImplemented");
      return false;
    }
  };
  for (const char* etags : {"*", " * ", "\"any text\"", "W/\"a\"",
                            "d41d8cd98f00b204e9800998ecf8427e-12", "\"a\", W/\"b,c\" , abc", "\"\"",
                            "yes", "badetag", "W/abc", "2026-11-20T08:15", "\"a\",", "a,b"}) {
    EXPECT_TRUE(writes(etags)) << etags;
  }
  for (const char* other :
       {"a b", "a\tb", "no etag at all", "\"a\", b c", "\"a\" b", "*, \"a\"", "\"a\", *"}) {
    EXPECT_FALSE(writes(other)) << other;
  }
}

TEST(Precondition, ReadsConditionsOfDeletions) {
  http::Headers headers;
  EXPECT_TRUE(deletion_condition(headers).none());
  headers.add("x-amz-if-match-size", "12");
  EXPECT_EQ(deletion_condition(headers).if_size_bytes, 12u);
  EXPECT_TRUE(deletion_condition(headers).needs_object());
  for (const char* time : {"Fri, 20 Nov 2026 08:15:42 GMT", "2026-11-20T08:15:42Z"}) {
    headers.set("x-amz-if-match-last-modified-time", time);
    EXPECT_EQ(deletion_condition(headers).if_modified, from_millis(1795162542000)) << time;
  }
  EXPECT_FALSE(deletion_condition(headers).none());
  for (const char* size : {"", "x", "-1", "1.5", "12 bytes", "99999999999999999999"}) {
    headers.set("x-amz-if-match-size", size);
    EXPECT_THROW(deletion_condition(headers), Refusal) << size;
  }
  headers.set("x-amz-if-match-size", "12");
  headers.set("x-amz-if-match-last-modified-time", "yesterday");
  EXPECT_THROW(deletion_condition(headers), Refusal);
}

TEST(Precondition, RefusesWritesUnderAListWithoutEtag) {
  for (const char* header : {"If-Match", "If-None-Match"}) {
    http::Headers headers;
    headers.add(header, ",");
    EXPECT_THROW(write_condition(headers), Refusal) << header;
  }
}

}  // namespace
}  // namespace tarn::s3
