#include "server/api/parameter.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

using Kind = Parameter::Kind;

/// The error of check_parameters, or "".
std::string complaint(Parameter parameter, std::string_view query, const char* range = nullptr) {
  http::Request request;
  if (range != nullptr) request.headers.add("Range", range);
  try {
    check_parameters({.list = {parameter}, .count = 1}, request, http::Query::parse(query));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
}

TEST(ParseAmount, DefaultsAndLimits) {
  EXPECT_EQ(parse_amount("0"), 100u);
  EXPECT_EQ(parse_amount("-1"), 100u);
  EXPECT_EQ(parse_amount("1"), 1u);
  EXPECT_EQ(parse_amount("1000"), 1000u);
  for (const char* bad : {"1001", "-2", "abc", "1x", "1.0", "", " 1", "99999999999"}) {
    EXPECT_EQ(parse_amount(bad), std::nullopt) << bad;
  }
}

TEST(ParseBoolean, TakesWhatGoAndPythonWrite) {
  for (const char* yes : {"1", "t", "T", "true", "True", "TRUE"})
    EXPECT_EQ(parse_boolean(yes), true) << yes;
  for (const char* no : {"0", "f", "F", "false", "False", "FALSE"})
    EXPECT_EQ(parse_boolean(no), false) << no;
  for (const char* bad : {"yes", "tRUE", "", "2"})
    EXPECT_EQ(parse_boolean(bad), std::nullopt) << bad;
}

TEST(CheckParameters, NamesTheParameterAndItsPlace) {
  EXPECT_EQ(complaint({"amount", Kind::kAmount}, "amount=1001"),
            "parameter \"amount\" in query has an error: must be an integer from -1 to 1000");
  EXPECT_EQ(complaint({"path", Kind::kRequired}, "x=1"),
            "parameter \"path\" in query has an error: value is required but missing");
  EXPECT_EQ(complaint({"path", Kind::kRequired}, "path="),
            "parameter \"path\" in query has an error: empty value is not allowed");
  EXPECT_EQ(complaint({"Range", Kind::kRange}, "", "items=0-1"),
            "parameter \"Range\" in header has an error: must be byte ranges");
}

TEST(CheckParameters, EmptyMeansAbsentForOptionalOnes) {
  for (const Kind kind : {Kind::kAmount, Kind::kBoolean, Kind::kMoment, Kind::kInstant, Kind::kSize,
                          Kind::kDiffType, Kind::kState}) {
    EXPECT_EQ(complaint({"x", kind}, "x="), "");
    EXPECT_EQ(complaint({"x", kind}, ""), "");
    EXPECT_NE(complaint({"x", kind}, "x=nonsense"), "");
  }
}

TEST(CheckParameters, SaysWhatIsWrongWithAPattern) {
  EXPECT_EQ(complaint({"glob", Kind::kGlob}, "glob=a*.csv"), "");
  EXPECT_EQ(complaint({"glob", Kind::kGlob}, "glob=a[b"),
            "parameter \"glob\" in query has an error: '[' without ']' at byte 1");
}

TEST(ParseSize, TakesWholeNumbersOfBytes) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", "-1", "+1", "1k", "1.5", " 1", "18446744073709551616"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
}

TEST(CheckParameters, TakesTheTimesThatPythonSends) {
  EXPECT_EQ(complaint({"since", Kind::kMoment}, "since=2026-11-20T08:15:42.605185%2B0000"), "");
  EXPECT_EQ(complaint({"since", Kind::kMoment}, "since=2026-11-20T08:15:42.605185"), "");
}

TEST(CheckParameters, TakesByteRangesByTheirGrammarAlone) {
  for (const char* fine : {"bytes=0-1", "bytes=-1", "bytes=5-", "bytes=4-2", "bytes=0-0,2-3",
                           "bytes=0-0, 2-3", "bytes=-"}) {
    EXPECT_EQ(complaint({"Range", Kind::kRange}, "", fine), "") << fine;
  }
  for (const char* bad :
       {"bytes=", "bytes=a-b", "bytes=1", "items=0-1", "bytes=0-1,", "bytes=0--1x"}) {
    const std::string said = complaint({"Range", Kind::kRange}, "", bad);
    if (std::string_view(bad) == "bytes=0-1,") {
      EXPECT_EQ(said, "") << "a trailing comma is in the grammar";
    } else {
      EXPECT_NE(said, "") << bad;
    }
  }
}

TEST(CheckParameters, NoValueMayHoldNulOrBrokenText) {
  EXPECT_EQ(complaint({"amount", Kind::kAmount}, "prefix=a%00b"),
            "parameter \"prefix\" in query has an error: holds a NUL byte");
  EXPECT_EQ(complaint({"amount", Kind::kAmount}, "prefix=%ff"),
            "parameter \"prefix\" in query has an error: is not UTF-8");
}

}  // namespace
}  // namespace tarn::api
