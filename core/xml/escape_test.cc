#include "core/xml/escape.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(XmlEscaped, EscapesWhatTextCannotHold) {
  EXPECT_EQ(xml_escaped("plain \xC3\xA9\n\t"), "plain \xC3\xA9\n\t");
  EXPECT_EQ(xml_escaped("\r\x01\x1f"), "&#13;&#1;&#31;");
  EXPECT_EQ(xml_escaped("<<"), "&lt;&lt;");
  EXPECT_EQ(xml_escaped(""), "");
}

}  // namespace
}  // namespace tarn
