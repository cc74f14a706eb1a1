#include "core/blob/xml_scanner.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::blob {
namespace {

/// "+a" for a start, "-a=text" for an end; "!" when it throws.
std::string scanned(std::string_view xml) {
  std::string out;
  try {
    XmlScanner scanner(xml);
    while (true) {
      const XmlScanner::Event event = scanner.next();
      if (event == XmlScanner::Event::kDone) return out;
      const std::string name(scanner.path().back());
      out += event == XmlScanner::Event::kStart ? "+" + name + " "
                                                : "-" + name + "=" + scanner.text() + " ";
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    return out + "!";
  }
}

TEST(XmlScanner, StepsThroughElements) {
  EXPECT_EQ(scanned("<?xml version=\"1.0\"?>\n<a xmlns=\"u\"><b>t</b>\n <s3:c x='1'/></a>\n"),
            "+a +b -b=t +c -c= -a= ");
}

TEST(XmlScanner, DecodesTheKnownEntitiesAndNoOther) {
  EXPECT_EQ(scanned("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xfc;&#x6f22;&#x1f41f;</a>"),
            "+a -a=<>&\"'AB\xc3\xbc\xe6\xbc\xa2\xf0\x9f\x90\x9f ");
  EXPECT_EQ(scanned("<a>&amp;lt;</a>"), "+a -a=&lt; ");
  for (const char* entity : {"&nbsp;", "&;", "&#;", "&#x;", "&#xg;", "&#-1;", "&#x110000;",
                             "&#xd800;", "&#99999999999;", "&amp"}) {
    EXPECT_EQ(scanned("<a>" + std::string(entity) + "</a>"), "+a !") << entity;
  }
}

TEST(XmlScanner, SkipsCommentsAndKeepsCdata) {
  EXPECT_EQ(scanned("<a>x<!-- <b> -->y<![CDATA[<&amp;]]>z</a>"), "+a -a=xy<&amp;z ");
}

TEST(XmlScanner, RefusesDocumentTypes) {
  EXPECT_EQ(scanned("<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>"), "!");
}

TEST(XmlScanner, RefusesBrokenMarkup) {
  for (const char* xml : {"<a>", "<a></b>", "</a>", "<a", "<>", "</>", "<a><b></a></b>", "<!-- ",
                          "<?xml", "<a><![CDATA[x</a>"}) {
    const std::string result = scanned(xml);
    EXPECT_EQ(result.back(), '!') << xml;
  }
  EXPECT_EQ(scanned("<a></a></a>").back(), '!');
}

TEST(XmlScanner, LimitsDepth) {
  const auto nested = [](int depth) {
    std::string xml;
    for (int i = 0; i < depth; ++i) xml += "<a>";
    for (int i = 0; i < depth; ++i) xml += "</a>";
    return xml;
  };
  EXPECT_NE(scanned(nested(8)).back(), '!');
  EXPECT_EQ(scanned(nested(9)).back(), '!');
}

TEST(XmlScanner, SurvivesAnyBytes) {
  std::mt19937 random(7);
  const std::string whole = "<?xml?><a b=\"c\"><b>&amp;t</b><!-- x --><![CDATA[y]]><c/></a>";
  for (int i = 0; i < 20'000; ++i) {
    std::string xml = whole.substr(0, random() % (whole.size() + 1));
    for (int changes = static_cast<int>(random() % 4); changes > 0 && !xml.empty(); --changes) {
      xml[random() % xml.size()] = "<>/&;!-[]?ab\0 "[random() % 15];
    }
    scanned(xml);
  }
}

}  // namespace
}  // namespace tarn::blob
