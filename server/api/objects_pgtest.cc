// Objects over REST: reading, writing, moving and linking them.
#include <gtest/gtest.h>

#include "server/api/api_fixture.h"

namespace tarn::api {
namespace {

TEST_F(ApiTest, ReadsAnObjectWithTheHeadersThatBrowsersAndReadersNeed) {
  EXPECT_EQ(upload("a.txt", "hello").status, 201);
  const http::Response response = get(here + "/refs/main/objects?path=a.txt");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.get("ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(response.headers.get("Content-Type"), "text/plain");
  EXPECT_EQ(response.headers.get("Content-Disposition"), "inline");
  EXPECT_EQ(response.headers.get("Cache-Control"), "no-store, must-revalidate");
  EXPECT_EQ(response.headers.get("Content-Security-Policy"), "default-src 'none'");
  EXPECT_EQ(response.content_length, 5u);
  EXPECT_EQ(http::read_all(*response.source, 100), "hello");
}

TEST_F(ApiTest, OffersUnknownTypesAsDownloads) {
  EXPECT_EQ(send({.method = "POST", .path = here + "/branches/main/objects?path=b"}).status, 201);
  const http::Response response = get(here + "/refs/main/objects?path=b");
  EXPECT_EQ(response.headers.get("Content-Type"), "application/octet-stream");
  EXPECT_EQ(response.headers.get("Content-Disposition"), "attachment");
  EXPECT_EQ(response.content_length, 0u);
}

TEST_F(ApiTest, AnswersRangesAndUnchangedObjects) {
  upload("a.txt", "hello");
  const auto read = [&](const char* name, const char* value) {
    Sent sent{.path = here + "/refs/main/objects?path=a.txt"};
    sent.headers.add(name, value);
    return send(std::move(sent));
  };
  const http::Response part = read("Range", "bytes=1-2");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.headers.get("Content-Range"), "bytes 1-2/5");
  EXPECT_EQ(http::read_all(*part.source, 100), "el");
  const http::Response behind = read("Range", "bytes=5-");
  expect_message(behind, 416, "Requested Range Not Satisfiable");
  EXPECT_EQ(behind.headers.get("Content-Range"), "bytes */5");
  EXPECT_EQ(read("Range", "bytes=4-2").headers.find("Content-Range"), nullptr);
  EXPECT_EQ(read("Range", "items=0-1").status, 400);
  const http::Response unchanged = read("If-None-Match", "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(unchanged.status, 304);
  EXPECT_EQ(unchanged.headers.find("ETag"), nullptr);
  EXPECT_EQ(read("If-None-Match", "*").status, 200);
}

TEST_F(ApiTest, AnswersHeadWithoutABodyAlsoWhenItFails) {
  upload("a.txt", "hello");
  const auto head = [&](const std::string& key) {
    return send({.method = "HEAD", .path = here + "/refs/main/objects?path=" + key});
  };
  const http::Response found = head("a.txt");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(found.content_length, 5u);
  EXPECT_EQ(found.headers.get("Accept-Ranges"), "bytes");
  EXPECT_EQ(found.body, "");
  EXPECT_EQ(head("nope").status, 404);
  EXPECT_EQ(head("nope").body, "");
}

TEST_F(ApiTest, RefusesAWriteBeforeReadingItsBody) {
  class Unreadable final : public http::BodySource {
   public:
    size_t read(std::span<char>) override {
      ADD_FAILURE() << "the body was read";
      return 0;
    }
  };
  upload("taken", "x");
  for (const char* path : {"/branches/absent/objects?path=a", "/branches/a.b/objects?path=a",
                           "/branches/main/objects", "/branches/main/objects?path=taken"}) {
    http::Request request;
    request.method = "POST";
    request.target = "/api/v1" + here + path;
    request.headers.add("Authorization", basic(kKeyId, kSecret));
    request.headers.add("If-None-Match", "*");
    request.chunked = true;
    request.body = std::make_unique<Unreadable>();
    EXPECT_GE(api.handle(request).status, 400) << path;
  }
}

TEST_F(ApiTest, MovesByReference) {
  for (const char* key : {"a/1", "a/2", "b/2"}) upload(key, key);
  const std::string move = here + "/branches/main/objects/move";
  expect_message(post(move, R"({"src_prefix":"a/","dest_prefix":"b/","overwrite":false})"), 412,
                 "moving to \\\"b/2\\\": path already exists");
  const http::Response moved = post(move, R"({"src_prefix":"a/","dest_prefix":"b/"})");
  EXPECT_EQ(moved.status, 200);
  EXPECT_EQ(moved.body, "{\"moved\":2}\n");
  EXPECT_EQ(engine.keys(repo, "main"), "b/1 b/2");
  EXPECT_EQ(post(move, R"({"src_path":"b/1","dest_path":"c"})").status, 200);
  EXPECT_EQ(post(move, R"({"src_path":"b/1","dest_path":"c"})").status, 404);
  EXPECT_EQ(post(move, R"({"src_path":"c","dest_path":"c"})").status, 400);
  EXPECT_EQ(engine.read(repo, "main", "c"), "a/1");
}

TEST_F(ApiTest, NamesAddressesInSymlinkFiles) {
  for (const char* key : {"t/day=1/a", "t/day=1/b", "t/day=2/c", "other"}) upload(key, key);
  const http::Response made =
      send({.method = "POST", .path = here + "/refs/main/symlink?location=t/"});
  EXPECT_EQ(made.status, 201) << made.body;
  const std::string folder =
      made.body.substr(made.body.find("_tarn/"), std::string("_tarn/symlinks/").size() + 16);
  std::string seen;
  for (const auto& stat : engine.store->list("", "", 1000).items) {
    const size_t at = stat.key.find(folder);
    if (at != std::string::npos) {
      seen += stat.key.substr(at + folder.size()) + ":" + std::to_string(stat.size_bytes) + " ";
    }
  }
  const std::string stat = get(here + "/refs/main/objects/stat?path=t/day=2/c").body;
  const size_t from = stat.find("local://");
  const size_t line = stat.find('"', from) - from + 1;
  EXPECT_EQ(seen, "/t/day=1/symlink.txt:" + std::to_string(2 * line) +
                      " /t/day=2/symlink.txt:" + std::to_string(line) + " ");
}

TEST_F(ApiTest, ReportsKeysItCannotDeleteOneByOne) {
  upload("a", "1");
  const std::string path = here + "/branches/main/objects/delete";
  EXPECT_EQ(post(path, R"({"paths":["a","absent",""]})").body, "{\"errors\":[]}\n");
  EXPECT_EQ(engine.read(repo, "main", "a"), "<absent>");
  const http::Response response = post(path, R"({"paths":[")" + std::string(1025, 'x') + "\"]}");
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find("\"status_code\":400"), std::string::npos);
  std::string many = R"({"paths":["x")";
  for (int i = 0; i < 1000; ++i) many += R"(,"x")";
  expect_message(post(path, many + "]}"), 400, "request size exceeded, max paths is set to 1000");
}

TEST_F(ApiTest, LinksAnAddressItHandedOutAndNoOther) {
  const std::string path = here + "/branches/main/staging/backing?path=linked";
  const std::string handed = get(path).body;
  const std::string marker = "\"physical_address\":\"";
  const size_t begin = handed.find(marker) + marker.size();
  const std::string address = handed.substr(begin, handed.find('"', begin) - begin);
  const auto link = [&](const std::string& to, const std::string& given) {
    return send({.method = "PUT",
                 .path = to,
                 .body = R"({"staging":{"physical_address":")" + given +
                         R"("},"checksum":"\"abc\"","size_bytes":3})"});
  };
  const http::Response linked = link(path, address);
  EXPECT_EQ(linked.status, 200);
  EXPECT_NE(linked.body.find(marker + address + "\""), std::string::npos)
      << "echoed with its token";
  EXPECT_NE(linked.body.find("\"checksum\":\"abc\""), std::string::npos);
  EXPECT_EQ(link(here + "/branches/main/staging/backing?path=another", address).status, 400);
  EXPECT_EQ(link(path, address.substr(0, address.find(','))).status, 400);
}

}  // namespace
}  // namespace tarn::api
