#include "server/downloads.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "tests/support/temporary_directory.h"

namespace tarn::server {
namespace {

constexpr const char* kWheel = "tarn_data-0.1.0-py3-none-any.whl";

class DownloadsOf : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& content) const {
    std::ofstream(str_cat(place_.path(), "/", name)) << content;
  }
  std::optional<http::Response> get(const std::string& path) const {
    http::Request request;
    request.method = "GET";
    request.target = path;
    return Downloads::in(place_.path()).answer(request);
  }
  std::string reason_of(const std::string& path) const {
    try {
      get(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotFound);
      return std::string(error.reason());
    }
    return "none";
  }

  const tarn::testing::TemporaryDirectory place_;
};

TEST_F(DownloadsOf, ListsAndServesTheFiles) {
  add(kWheel, std::string("PK\0\3", 4));
  add("tarn_0.1.0~dev1_amd64.deb", "!<arch>");
  EXPECT_EQ(get("/downloads/tarn_0.1.0~dev1_amd64.deb")->body, "!<arch>");
  const auto list = get("/downloads/");
  ASSERT_TRUE(list);
  EXPECT_NE(list->body.find(str_cat("<a href=\"", kWheel, "\">")), std::string::npos);
  const auto file = get(str_cat("/downloads/", kWheel, "?from=page"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->body, std::string("PK\0\3", 4));
  EXPECT_EQ(file->headers.get("Content-Type"), "application/octet-stream");
  EXPECT_EQ(file->headers.get("Content-Disposition"), "attachment");
}

TEST_F(DownloadsOf, LeavesOtherPathsToOthers) {
  for (const char* path : {"/", "/downloads", "/downloadsx/", "/api/v1/downloads/x"}) {
    EXPECT_FALSE(get(path)) << path;
  }
}

TEST_F(DownloadsOf, ServesNothingBesideItsFiles) {
  std::filesystem::create_directory(str_cat(place_.path(), "/folder"));
  add("folder/inner", "x");
  add(".hidden", "x");
  add("a name", "x");
  add("<b>", "x");
  std::filesystem::create_symlink("/etc/passwd", str_cat(place_.path(), "/link"));
  const auto list = get("/downloads/");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->body.find("<a "), std::string::npos) << list->body;
  for (const char* name :
       {"absent", "folder", "folder/inner", ".hidden", "a%20name", "a name", "<b>", "link", "..",
        "../downloads_test", "../../etc/passwd", "%2e%2e/x", "//etc/passwd", "."}) {
    EXPECT_EQ(reason_of(str_cat("/downloads/", name)), reason::kUnknownEndpoint) << name;
  }
}

TEST_F(DownloadsOf, StopsAtItsLimits) {
  add("large", "");
  std::filesystem::resize_file(str_cat(place_.path(), "/large"), kDownloadBytesMax + 1);
  EXPECT_EQ(reason_of("/downloads/large"), reason::kUnknownEndpoint);
  std::filesystem::resize_file(str_cat(place_.path(), "/large"), kDownloadBytesMax);
  EXPECT_EQ(get("/downloads/large")->body.size(), kDownloadBytesMax);
  for (size_t i = 0; i < kDownloadsMax; ++i) add(str_cat("file-", i), "x");
  const std::string list = get("/downloads/")->body;
  size_t links = 0;
  for (size_t at = list.find("<a "); at != std::string::npos; at = list.find("<a ", at + 1))
    ++links;
  EXPECT_EQ(links, kDownloadsMax);
}

TEST_F(DownloadsOf, AreFoundFromABuildAndFromAPackage) {
  const auto links_beside = [&](const char* program) {
    http::Request request;
    request.method = "GET";
    request.target = "/downloads/";
    return Downloads::beside(str_cat(place_.path(), program)).answer(request)->body;
  };
  for (const char* folder : {"/build/bin", "/build/share/tarn/downloads", "/usr/lib/tarn",
                             "/usr/share/tarn/downloads", "/alone/bin"}) {
    std::filesystem::create_directories(str_cat(place_.path(), folder));
  }
  add("build/share/tarn/downloads/built", "x");
  add("usr/share/tarn/downloads/packaged", "x");
  EXPECT_NE(links_beside("/build/bin/tarnd").find(">built<"), std::string::npos);
  EXPECT_NE(links_beside("/usr/lib/tarn/tarnd").find(">packaged<"), std::string::npos);
  EXPECT_EQ(links_beside("/alone/bin/tarnd").find("<a "), std::string::npos);
}

TEST(DownloadsWithoutAFolder, AreNone) {
  http::Request request;
  request.method = "GET";
  request.target = "/downloads/";
  EXPECT_EQ(Downloads::in("/absent").answer(request)->status, 200);
  EXPECT_EQ(Downloads().answer(request)->body.find("<a "), std::string::npos);
}

}  // namespace
}  // namespace tarn::server
