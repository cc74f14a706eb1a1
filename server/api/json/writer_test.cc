#include "server/api/json/writer.h"

#include <gtest/gtest.h>

namespace tarn::api::json {
namespace {

std::string text(std::string_view value) {
  Writer out;
  out.text(value);
  std::string written = std::move(out).take();
  return written.substr(0, written.size() - 1);
}

TEST(Writer, PutsCommasBetweenMembersAndItems) {
  Writer out;
  out.begin_object();
  out.text("a", "1");
  out.key("b");
  out.begin_array();
  out.number(-1);
  out.boolean(true);
  out.null();
  out.begin_object();
  out.end_object();
  out.end_array();
  out.text_map("c", {{"x", "1"}, {"y\"", "2"}});
  out.text_map("d", {});
  out.end_object();
  EXPECT_EQ(std::move(out).take(),
            "{\"a\":\"1\",\"b\":[-1,true,null,{}],\"c\":{\"x\":\"1\",\"y\\\"\":\"2\"},\"d\":{}}\n");
}

TEST(Writer, EscapesWhatJsonRequires) {
  EXPECT_EQ(text("plain <&> text"), "\"plain <&> text\"");
  EXPECT_EQ(text("a\"b\\c\n\r\t"), "\"a\\\"b\\\\c\\n\\r\\t\"");
  EXPECT_EQ(text(std::string_view("\0\x1f\x7f", 3)), "\"\\u0000\\u001f\\u007f\"");
}

TEST(Writer, KeepsUtf8AndReplacesTheRest) {
  EXPECT_EQ(text("é € 𐍈"), "\"é € 𐍈\"");
  EXPECT_EQ(text("a\xff"), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(text("\xc3"), "\"\xef\xbf\xbd\"") << "cut short";
  EXPECT_EQ(text("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "overlong";
  EXPECT_EQ(text("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"") << "surrogate";
  EXPECT_EQ(text("\xf4\x90\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"")
      << "beyond Unicode";
}

TEST(Writer, WritesTheExtremesOfNumbers) {
  Writer out;
  out.begin_array();
  out.number(INT64_MIN);
  out.number(INT64_MAX);
  out.end_array();
  EXPECT_EQ(std::move(out).take(), "[-9223372036854775808,9223372036854775807]\n");
}

}  // namespace
}  // namespace tarn::api::json
