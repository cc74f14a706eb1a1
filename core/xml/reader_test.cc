#include "core/xml/reader.h"

#include <random>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

void fail(std::string_view why) { throw_invalid(std::string(why)); }

/// "<a>x<b>y</b></a>" as "a(b=y)"; throws what the reader throws.
std::string outline(XmlReader& in) {
  std::string out;
  while (const auto child = in.next_child()) {
    out += std::string(*child);
    // A copy of the reader looks ahead: leaves are read as text, other elements recursively.
    XmlReader probe = in;
    bool leaf = true;
    try {
      probe.text();
    } catch (const Error&) {
      leaf = false;
    }
    if (leaf) {
      out += "=" + in.text() + ";";
    } else {
      out += "(" + outline(in) + ")";
    }
  }
  return out;
}

std::string read(std::string_view document) {
  XmlReader in(document, &fail);
  in.enter_root("R");
  std::string out = outline(in);
  in.finish();
  return out;
}

TEST(XmlReader, WalksElementsAndText) {
  EXPECT_EQ(read("<R><a>x</a><b><c>y</c><d/></b></R>"), "a=x;b(c=y;d=;)");
  EXPECT_EQ(read("<R/>"), "");
  EXPECT_EQ(read("<R></R>"), "");
  EXPECT_EQ(
      read("\xEF\xBB\xBF<?xml version=\"1.0\"?>\n<!-- c -->\n<R>\n  <a> x </a>\n</R>\n<!-- d -->"),
      "a= x ;");
}

TEST(XmlReader, IgnoresNamespacesPrefixesAndAttributes) {
  EXPECT_EQ(read("<s:R xmlns:s=\"http://s3.amazonaws.com/doc/2006-03-01/\" v='1'><s:a n = "
                 "\"<\">x</s:a ></s:R>"),
            "a=x;");
}

TEST(XmlReader, DecodesReferencesAndCdata) {
  EXPECT_EQ(read("<R><a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xe9;&#x1F600;</a></R>"),
            "a=<>&\"'AB\xC3\xA9\xF0\x9F\x98\x80;");
  EXPECT_EQ(read("<R><a>x<![CDATA[<&]]>y<!-- c -->z</a></R>"), "a=x<&yz;");
}

TEST(XmlReader, ReadsControlCharactersOfKeys) {
  EXPECT_EQ(read("<R><a>&#1;&#xD;\x02</a></R>"), "a=\x01\r\x02;");
}

TEST(XmlReader, SaysWhereADocumentIsWrong) {
  XmlReader in("<R><a>&nbsp;</a></R>", &fail);
  in.enter_root("R");
  ASSERT_EQ(in.next_child(), "a");
  try {
    in.text();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "at byte 6 it uses an unknown entity");
  }
}

TEST(XmlReader, RefusesWhatIsNotWellFormed) {
  for (std::string_view document : {
           "",
           "R",
           "<R>",
           "<R><a></R>",
           "<R><a></b></R>",
           "<R></R><R></R>",
           "<R></R>x",
           "<R>text</R>",
           "<R><a x></a></R>",
           "<R><a x=1></a></R>",
           "<R><a x='></a></R>",
           "<R><a>&</a></R>",
           "<R><a>&nbsp;</a></R>",
           "<R><a>&#0;</a></R>",
           "<R><a>&#xD800;</a></R>",
           "<R><a>&#x110000;</a></R>",
           "<R><a>&;</a></R>",
           "<R><a>&#;</a></R>",
           "<R><a>&#x;</a></R>",
           "<R><a>&#xg;</a></R>",
           "<R><a>&#-1;</a></R>",
           "<R><a>&#99999999999;</a></R>",
           "<R><a>&amp</a></R>",
           "<R></R></R>",
           "</R>",
           "<>",
           "</>",
           "<?xml",
           "<R><a><![CDATA[x</a></R>",
           "<R><!-- x</R>",
           "<R><a>\xff</a></R>",
           "<Q></Q>",
           "<R",
           "<R><",
           "<R></",
           "<R><a/></R",
           "< R></R>",
           "<R><a>x</a>",
       }) {
    EXPECT_THROW(read(document), Error) << document;
  }
}

TEST(XmlReader, RefusesDoctypesAndWithThemEntityBombs) {
  for (std::string_view document : {
           "<!DOCTYPE R><R/>",
           "<?xml version=\"1.0\"?><!DOCTYPE R [<!ENTITY a \"aaaa\"><!ENTITY b "
           "\"&a;&a;\">]><R><a>&b;</a></R>",
           "<!DOCTYPE R SYSTEM \"file:///etc/passwd\"><R/>",
           "<R><!DOCTYPE x></R>",
       }) {
    try {
      read(document);
      ADD_FAILURE() << document;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("DOCTYPE"), std::string::npos) << error.message();
    }
  }
}

TEST(XmlReader, RefusesDeepNesting) {
  std::string open = "<R>", close = "</R>";
  for (uint32_t depth = 1; depth < XmlReader::kDepthMax; ++depth) {
    open += "<a>";
    close = "</a>" + close;
  }
  EXPECT_NO_THROW(read(open + close));
  EXPECT_THROW(read(open + "<a></a>" + close), Error);
  std::string bomb = "<R>";
  for (int i = 0; i < 100000; ++i) bomb += "<a>";
  XmlReader in(bomb, &fail);
  in.enter_root("R");
  ASSERT_TRUE(in.next_child());
  EXPECT_THROW(in.skip(), Error);
}

TEST(XmlReader, SkipsWholeElements) {
  const std::string document =
      "<R><a><b>&amp;<c/><![CDATA[</a>]]></b><!-- </a> --></a><d>x</d></R>";
  XmlReader in(document, &fail);
  in.enter_root("R");
  ASSERT_EQ(in.next_child(), "a");
  in.skip();
  ASSERT_EQ(in.next_child(), "d");
  EXPECT_EQ(in.text(), "x");
  EXPECT_EQ(in.next_child(), std::nullopt);
  EXPECT_NO_THROW(in.finish());
}

TEST(XmlReader, SurvivesEveryCutAndManyChangedBytes) {
  const std::string document =
      "<?xml version=\"1.0\"?><R xmlns='u'><a>&#65;x</a><!-- c "
      "--><b><c>y</c><d/></b><![CDATA[]]></R>";
  for (size_t cut = 0; cut < document.size(); ++cut) {
    EXPECT_THROW(read(std::string_view(document).substr(0, cut)), Error) << cut;
  }
  constexpr std::string_view kBytes = "<>/&;!-[]?='\"aR#x \xC3";
  std::mt19937 random(20261121);
  for (int round = 0; round < 20000; ++round) {
    std::string changed = document;
    for (int i = 0; i < 3; ++i) {
      changed[random() % changed.size()] = kBytes[random() % kBytes.size()];
    }
    try {
      read(changed);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tarn
