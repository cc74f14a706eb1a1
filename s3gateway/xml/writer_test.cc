#include "s3gateway/xml/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "s3gateway/xml/reader.h"

namespace tarn::s3::xml {
namespace {

TEST(XmlWriter, WritesCompactDocuments) {
  Writer out("Root");
  out.open("Outer");
  out.element("Text", "a<b>&\"c\"");
  out.element("Number", uint64_t{18446744073709551615u});
  out.element("Flag", true);
  out.element("Time", *parse_rfc3339("2026-11-20T08:15:42.605Z"));
  out.etag("abc-2");
  out.close("Outer");
  EXPECT_EQ(out.finish(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<Root xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Outer>"
            "<Text>a&lt;b&gt;&amp;&quot;c&quot;</Text><Number>18446744073709551615</Number>"
            "<Flag>true</Flag><Time>2026-11-20T08:15:42.605Z</Time><ETag>&quot;abc-2&quot;</ETag>"
            "</Outer></Root>");
}

TEST(XmlWriter, WritesTimesInMilliseconds) {
  const struct {
    int64_t ms;
    std::string_view text;
  } cases[] = {{1795162542605, "2026-11-20T08:15:42.605Z"},
               {1795162542007, "2026-11-20T08:15:42.007Z"},
               {1795162543000, "2026-11-20T08:15:43.000Z"},
               {0, "1970-01-01T00:00:00.000Z"},
               {-1, "1969-12-31T23:59:59.999Z"},
               {-1000, "1969-12-31T23:59:59.000Z"}};
  Writer out("R");
  std::string expected;
  for (const auto& c : cases) {
    out.time(from_millis(c.ms));
    expected += c.text;
  }
  EXPECT_THAT(out.finish(), ::testing::HasSubstr(expected));
}

TEST(XmlWriter, LeavesTheNamespaceOutOfErrors) {
  EXPECT_EQ(Writer("Error", Writer::Root::kBare).finish(),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error></Error>");
}

TEST(XmlWriter, IsReadBackUnchanged) {
  const std::string text = "a<b>&\"'\r\n\x01 \xC3\xA9 ]]>";
  Writer out("Root");
  out.element("Text", text);
  const std::string document = out.finish();
  Reader in(document);
  in.enter_root("Root");
  ASSERT_EQ(in.next_child(), "Text");
  EXPECT_EQ(in.text(), text);
}

}  // namespace
}  // namespace tarn::s3::xml
