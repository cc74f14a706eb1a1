#include "server/web_bundle.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::server {
namespace {

const std::string kBundle =
    "tarn-web 1\n"
    "index.html\ttext/html; charset=utf-8\tidentity\t4\n"
    "assets/a-1.js\ttext/javascript\tidentity\t6\n"
    "assets/a-1.js\ttext/javascript\tgzip\t3\n"
    "assets/a-1.js\ttext/javascript\tbr\t2\n"
    "\n"
    "pagescriptgzpbr";

TEST(WebBundle, FindsEachFileWithItsEncodings) {
  const WebBundle bundle = WebBundle::parse(kBundle);
  ASSERT_NE(bundle.find("assets/a-1.js"), nullptr);
  EXPECT_EQ(bundle.find("assets/a-1.js")->identity, "script");
  EXPECT_EQ(bundle.find("assets/a-1.js")->gzip, "gzp");
  EXPECT_EQ(bundle.find("assets/a-1.js")->brotli, "br");
  EXPECT_EQ(bundle.find("index.html")->content_type, "text/html; charset=utf-8");
  EXPECT_EQ(bundle.find("index.html")->gzip, "");
  EXPECT_EQ(bundle.find("assets"), nullptr);
}

TEST(WebBundle, NothingIsABundleWithoutFiles) {
  EXPECT_TRUE(WebBundle::parse("").empty());
  EXPECT_EQ(WebBundle::parse("").find("index.html"), nullptr);
}

TEST(WebBundle, RefusesEveryPrefix) {
  for (size_t length = 1; length < kBundle.size(); ++length) {
    EXPECT_THROW(WebBundle::parse(std::string_view(kBundle).substr(0, length)), Error) << length;
  }
}

TEST(WebBundle, RefusesOtherFormatsLengthsAndEncodings) {
  for (const char* text :
       {"tarn-web 2\n\n", "tarn-web 1\na\tb\tidentity\t-1\n\n", "tarn-web 1\na\tb\tzstd\t0\n\n",
        "tarn-web 1\na\tb\tidentity\t1x\n\n "}) {
    EXPECT_THROW(WebBundle::parse(text), Error) << text;
  }
}

TEST(WebBundle, TheEmbeddedOneCanBeRead) {
  const WebBundle& bundle = embedded_web_bundle();
  if (!bundle.empty()) {
    EXPECT_NE(bundle.find("index.html"), nullptr);
  }
}

}  // namespace
}  // namespace tarn::server
