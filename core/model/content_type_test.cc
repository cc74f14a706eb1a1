#include "core/model/content_type.h"

#include <cctype>
#include <string>

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(ContentTypes, AreFoundByEachExtensionInAnyCase) {
  for (const auto& [extension, type] : content_types_by_extension()) {
    EXPECT_EQ(content_type_of_path("a/b.c/name." + std::string(extension)), type);
    std::string upper(extension);
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(content_type_of_path("name." + upper), type);
  }
  EXPECT_EQ(content_type_of_path("t.csv"), "text/csv");
  EXPECT_EQ(content_type_of_path("t.tar.gz"), "application/gzip");
}

TEST(ContentTypes, AreUnknownWithoutAKnownExtension) {
  for (const char* path : {"", "csv", "a.csv/part-0", ".csv", "a/.csv", "a.", "model.pkl", "a.csv ",
                           "a.csvx", "a.0", "a.zzz"}) {
    EXPECT_EQ(content_type_of_path(path), "") << path;
    EXPECT_EQ(content_type_of_new("", path), kDefaultContentType) << path;
  }
}

TEST(ContentTypes, OfTheClientCountUnlessTheySayNothing) {
  EXPECT_EQ(content_type_of_new("image/png", "a.csv"), "image/png");
  EXPECT_EQ(content_type_of_new("", "a.csv"), "text/csv");
  EXPECT_EQ(content_type_of_new("application/octet-stream", "a.csv"), "text/csv");
  EXPECT_EQ(content_type_of_new("binary/octet-stream", "a.csv"), "binary/octet-stream");
}

}  // namespace
}  // namespace tarn
