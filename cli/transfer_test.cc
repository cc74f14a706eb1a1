#include "cli/transfer.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;

/// A server of one repository that hands out presigned URLs to itself.
class TransferTest : public testing::Test {
 protected:
  TransferTest() : root_(fs::temp_directory_path() / ("tarn-transfer-" + to_hex(random_bytes(8)))) {
    fs::create_directories(root_);
    const std::string branch = "/api/v1/repositories/lake/branches/main";
    server_.Get(branch + "/staging/backing", [this](const Query& query, Reply& reply) {
      EXPECT_EQ(query.get_param_value("presign"), "true");
      const Json place{{"physical_address", "s3://b/x,token"}, {"presigned_url", url("/store/x")}};
      reply.set_content(place.dump(), "application/json");
    });
    server_.Put("/store/x", [this](const Query& query, Reply& reply) {
      EXPECT_EQ(query.get_header_value("Authorization"), "");
      stored_ = query.body;
      reply.set_header("ETag",
                       str_cat('"', damaged_ ? to_hex(md5("x")) : to_hex(md5(stored_)), '"'));
    });
    server_.Get("/store/x",
                [this](const Query&, Reply& reply) { reply.set_content(stored_, "text/plain"); });
    server_.Put(branch + "/staging/backing", [this](const Query& query, Reply& reply) {
      ++links_;
      linked_ = Json::parse(query.body);
      clobber_ = query.get_header_value("If-None-Match");
      reply.status = links_ > refused_links_ ? 200 : 409;
      reply.set_content(reply.status == 200 ? R"({"path":"a"})" : R"({"message":"conflict"})",
                        "application/json");
    });
    server_.Get(
        "/api/v1/repositories/lake/refs/main/objects/stat", [this](const Query&, Reply& reply) {
          const Json stats{{"physical_address", url("/store/x")},
                           {"checksum", damaged_ ? to_hex(md5("x")) : to_hex(md5(stored_))}};
          reply.set_content(stats.dump(), "application/json");
        });
    const std::string object = "/api/v1/repositories/lake/refs/main/objects";
    server_.Get(object, [this](const Query&, Reply& reply) {
      reply.set_header("ETag",
                       str_cat('"', damaged_ ? to_hex(md5("x")) : to_hex(md5(stored_)), '"'));
      reply.set_content(stored_, "text/plain");
    });
    server_.Post(branch + "/objects", [this](const Query& query, Reply& reply) {
      stored_ = query.body;
      const Json stats{{"checksum", damaged_ ? to_hex(md5("x")) : to_hex(md5(stored_))}};
      reply.set_content(stats.dump(), "application/json");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~TransferTest() override {
    server_.stop();
    thread_.join();
    fs::remove_all(root_);
  }

  using Query = httplib::Request;
  using Reply = httplib::Response;

  std::string url(const std::string& path) const {
    return str_cat("http://127.0.0.1:", port_, path);
  }
  Client client() { return Client({.endpoint = {url(""), ""}, .access_key = {"k", ""}}); }
  fs::path file(const std::string& name, const std::string& text) {
    std::ofstream(root_ / name) << text;
    return root_ / name;
  }
  Json upload(const NewObject& facts = {}) {
    Client client = this->client();
    return upload_file(client, Way::kPresigned, file("a", "hello").string(), kTarget, facts,
                       [this](uint64_t bytes) { moved_ += bytes; });
  }

  const Uri kTarget{"lake", "main", "a"};
  fs::path root_;
  std::string stored_;
  Json linked_;
  std::string clobber_;
  bool damaged_ = false;
  int links_ = 0;
  int refused_links_ = 0;
  uint64_t moved_ = 0;
  httplib::Server server_;
  std::jthread thread_;
  int port_ = 0;
};

TEST_F(TransferTest, APresignedUploadGoesToTheStoreAndIsLinked) {
  upload({.content_type = "text/x", .metadata = {{"Epoch", "3"}}, .no_clobber = true});
  EXPECT_EQ(stored_, "hello");
  EXPECT_EQ(linked_["checksum"], to_hex(md5("hello")));
  EXPECT_EQ(linked_["size_bytes"], 5);
  EXPECT_EQ(linked_["staging"]["physical_address"], "s3://b/x,token");
  EXPECT_EQ(linked_["user_metadata"], Json({{"Epoch", "3"}}));
  EXPECT_EQ(linked_["content_type"], "text/x");
  EXPECT_EQ(clobber_, "*");
  EXPECT_EQ(moved_, 5u);
}

TEST_F(TransferTest, UploadStartsOverWhenItsLinkConflicts) {
  refused_links_ = 2;
  upload();
  EXPECT_EQ(links_, 3);
  links_ = 0;
  refused_links_ = 3;
  EXPECT_THROW(upload(), Error);
}

TEST_F(TransferTest, BytesThatTheStoreDamagedAreNotLinked) {
  damaged_ = true;
  EXPECT_THROW(upload(), Error);
  EXPECT_EQ(links_, 0);
}

// Verified by mutation: without comparing.
TEST_F(TransferTest, AnUploadThroughTheServerIsVerified) {
  Client client = this->client();
  const fs::path local = file("a", "hello");
  const auto upload_through = [&] {
    upload_file(client, Way::kServer, local.string(), kTarget, {}, [](uint64_t) {});
  };
  upload_through();
  EXPECT_EQ(stored_, "hello");
  damaged_ = true;
  try {
    upload_through();
    FAIL() << "the server received other bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  }
}

// Verified by mutation: without comparing, and for the server's way without its ETag.
TEST_F(TransferTest, ADownloadIsVerifiedAgainstTheServer) {
  stored_ = "some bytes";
  Client client = this->client();
  for (const Way way : {Way::kPresigned, Way::kServer}) {
    damaged_ = false;
    const auto download = [&] {
      return download_file(client, way, kTarget, root_ / "b", [](uint64_t) {});
    };
    EXPECT_EQ(download(), stored_.size());
    std::ostringstream text;
    text << std::ifstream(root_ / "b").rdbuf();
    EXPECT_EQ(text.str(), stored_);
    fs::remove(root_ / "b");
    damaged_ = true;
    EXPECT_THROW(download(), Error);
    EXPECT_TRUE(fs::is_empty(root_));
  }
}

TEST_F(TransferTest, FilesAreComparedBySizeAndChecksum) {
  const fs::path path = file("a", "hello");
  const std::string sum = to_hex(md5("hello"));
  uint64_t looked = 0;
  const Moved look = [&](uint64_t bytes) { looked += bytes; };
  EXPECT_TRUE(is_same(path, 5, sum, false, look));
  EXPECT_EQ(looked, 5u);
  EXPECT_FALSE(is_same(path, 6, sum, false, look));
  EXPECT_FALSE(is_same(path, 5, to_hex(md5("hallo")), false, look));
  EXPECT_FALSE(is_same(path, 5, "0123456789abcdef0123456789abcdef-3", false, look));
  EXPECT_TRUE(is_same(path, 5, "0123456789abcdef0123456789abcdef-3", true, look));
  EXPECT_FALSE(is_same(root_ / "absent", 5, sum, true, look));
  EXPECT_FALSE(is_same(root_, fs::file_size(path), sum, true, look));
  EXPECT_EQ(looked, 10u);
}

}  // namespace
}  // namespace tarn::cli
