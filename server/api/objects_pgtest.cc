// Tests of objects over REST: reading, writing, moving and linking.
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "server/api/api_fixture.h"
#include "tests/support/fault_points.h"

namespace tarn::api {
namespace {

constexpr std::string_view kGuards =
    "default-src 'none'; sandbox; form-action 'none'; base-uri 'none'";

TEST_F(ApiTest, OffersWhatABrowserWouldRunAsADownload) {
  const auto disposition = [&](const std::string& type, const std::string& range = "") {
    EXPECT_EQ(send({.method = "POST",
                    .path = here + "/branches/main/objects?path=page",
                    .body = "<form>",
                    .content_type = type})
                  .status,
              201);
    Sent sent{.path = here + "/refs/main/objects?path=page"};
    if (!range.empty()) sent.headers.add("Range", range);
    const http::Response response = send(std::move(sent));
    EXPECT_EQ(response.headers.get("Content-Type"), type);
    EXPECT_EQ(response.headers.get("Content-Security-Policy"), kGuards);
    return std::string(response.headers.get("Content-Disposition"));
  };
  for (const char* type :
       {"text/html", "Text/HTML", "text/html; charset=utf-8", "image/svg+xml", "application/xml",
        "text/xml", "application/xhtml+xml", "application/javascript", "text/javascript",
        "text/css", "application/pdf", "application/rss+xml", "multipart/x-mixed-replace"}) {
    EXPECT_EQ(disposition(type), "attachment; filename=\"page\"") << type;
  }
  EXPECT_EQ(disposition("text/html", "bytes=0-2"), "attachment; filename=\"page\"");
  for (const char* type :
       {"text/plain", "text/csv", "application/json", "image/png", "video/mp4"}) {
    EXPECT_EQ(disposition(type), "inline; filename=\"page\"") << type;
  }
}

TEST_F(ApiTest, ReadsAnObjectWithTheHeadersThatBrowsersAndReadersNeed) {
  EXPECT_EQ(upload("a.txt", "hello").status, 201);
  const http::Response response = get(here + "/refs/main/objects?path=a.txt");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.get("ETag"), "\"5d41402abc4b2a76b9719d911017c592\"");
  EXPECT_EQ(response.headers.get("Content-Type"), "text/plain");
  EXPECT_EQ(response.headers.get("Content-Disposition"), "inline; filename=\"a.txt\"");
  EXPECT_EQ(response.headers.get("Cache-Control"), "no-store, must-revalidate");
  EXPECT_EQ(response.headers.get("Content-Security-Policy"), kGuards);
  EXPECT_EQ(response.headers.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(response.headers.get("Cross-Origin-Resource-Policy"), "same-origin");
  EXPECT_EQ(response.content_length, 5u);
  EXPECT_EQ(http::read_all(*response.source, 100), "hello");
}

TEST_F(ApiTest, OffersUnknownTypesAsDownloads) {
  EXPECT_EQ(send({.method = "POST", .path = here + "/branches/main/objects?path=b"}).status, 201);
  const http::Response response = get(here + "/refs/main/objects?path=b");
  EXPECT_EQ(response.headers.get("Content-Type"), "application/octet-stream");
  EXPECT_EQ(response.headers.get("Content-Disposition"), "attachment; filename=\"b\"");
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
  expect_reason(behind, 416, "range_not_satisfiable");
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
  expect_reason(post(move, R"({"src_prefix":"a/","dest_prefix":"b/","overwrite":false})"), 412,
                "precondition_failed");
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
  expect_reason(post(path, many + "]}"), 400, "invalid_argument");
}

TEST_F(ApiTest, LinksOnlyIssuedAddresses) {
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
  EXPECT_EQ(link(path, address).headers.get("X-Tarn-Error"), "link_address_empty");
  engine.send(address, "four");
  EXPECT_EQ(link(path, address).headers.get("X-Tarn-Error"), "link_address_differs");
  const http::Response again = get(path);
  const size_t start = again.body.find(marker) + marker.size();
  const std::string address2 = again.body.substr(start, again.body.find('"', start) - start);
  engine.send(address2, "abc");
  const http::Response linked = link(path, address2);
  EXPECT_EQ(linked.status, 200);
  EXPECT_NE(linked.body.find(marker + address2 + "\""), std::string::npos)
      << "echoed with its token";
  EXPECT_NE(linked.body.find("\"checksum\":\"" + to_hex(md5("abc")) + "\""), std::string::npos)
      << "of the bytes, not of the request";
  EXPECT_EQ(link(here + "/branches/main/staging/backing?path=another", address2).status, 400);
  EXPECT_EQ(link(path, address2.substr(0, address2.find(','))).status, 400);
  EXPECT_EQ(send({.method = "PUT",
                  .path = path,
                  .body = R"({"staging":{"physical_address":")" + address2 +
                          R"("},"checksum":"00000000000000000000000000000000","size_bytes":3})"})
                .headers.get("X-Tarn-Error"),
            "link_address_differs");
}

TEST_F(ApiTest, LinkedAndStagedObjectsHaveTheTypesOfTheirNames) {
  const std::string branch = here + "/branches/main";
  const std::string handed = get(branch + "/staging/backing?path=rows.csv").body;
  const std::string marker = "\"physical_address\":\"";
  const size_t begin = handed.find(marker) + marker.size();
  const std::string address = handed.substr(begin, handed.find('"', begin) - begin);
  engine.send(address, "a,b");
  const http::Response linked = send({.method = "PUT",
                                      .path = branch + "/staging/backing?path=rows.csv",
                                      .body = R"({"staging":{"physical_address":")" + address +
                                              R"("},"checksum":"abc","size_bytes":3})"});
  EXPECT_EQ(linked.status, 200) << linked.body;
  EXPECT_NE(linked.body.find(R"("content_type":"text/csv")"), std::string::npos) << linked.body;
  const http::Response staged = send(
      {.method = "PUT",
       .path = branch + "/objects?path=page.html",
       .body = R"({"physical_address":")" + address.substr(0, address.find(',')) +
               R"(","checksum":"abc","size_bytes":3,"content_type":"application/octet-stream"})"});
  EXPECT_EQ(staged.status, 201) << staged.body;
  EXPECT_NE(staged.body.find(R"("content_type":"text/html")"), std::string::npos) << staged.body;
}

/// Two servers: requests to `slow` stop at fault points while `api` answers others.
class LinkRaces : public ApiTest {
 protected:
  std::string hand_out(const std::string& key) {
    const std::string handed = get(place(key)).body;
    const std::string marker = "\"physical_address\":\"";
    const size_t begin = handed.find(marker) + marker.size();
    const std::string address = handed.substr(begin, handed.find('"', begin) - begin);
    engine.send(address, "abc");
    return address;
  }
  std::string place(const std::string& key) {
    return here + "/branches/" + branch + "/staging/backing?path=" + key;
  }
  /// The status, and the reason of a refusal.
  std::string link(const Context& server, const std::string& key, const std::string& address,
                   bool if_absent = false) {
    http::Request request;
    request.method = "PUT";
    request.target = "/api/v1" + place(key);
    request.id = "request-1";
    request.headers.add("Authorization", basic(kKeyId, kSecret));
    request.headers.add("Content-Type", "application/json");
    if (if_absent) request.headers.add("If-None-Match", "*");
    const std::string body =
        R"({"staging":{"physical_address":")" + address + R"("},"checksum":"abc","size_bytes":3})";
    request.content_length = body.size();
    request.body = http::string_body(body);
    const http::Response answer = Api(server).handle(request);
    const std::string reason(answer.headers.get("X-Tarn-Error"));
    return std::to_string(answer.status) + (reason.empty() ? "" : " " + reason);
  }
  std::string checksum(const std::string& key) {
    const auto found = objects::find_object(*engine, repo, "main", Key(key));
    return found ? found->entry.etag : "<absent>";
  }

  std::string branch = "main";
  testing::FaultPoints faults;
  testing::TestEngine slow_engine{shared_url(), engine.store, &faults};
  TestService slow{slow_engine};
};

TEST_F(LinkRaces, TokenIsUsedOnce) {
  const std::string address = hand_out("k");
  EXPECT_EQ(link(service.context, "k", address), "200");
  EXPECT_EQ(link(service.context, "k", address), "200") << "the key shows it";
  EXPECT_EQ(link(service.context, "k", address, true), "200") << "as a client repeats it";
  engine.put(repo, "main", "k", "later");
  EXPECT_EQ(link(service.context, "k", address), "409 link_address_used");
  EXPECT_EQ(engine.read(repo, "main", "k"), "later");
  engine.remove(repo, "main", "k");
  EXPECT_EQ(link(service.context, "k", address), "409 link_address_used");
  EXPECT_EQ(checksum("k"), "<absent>");
}

TEST_F(LinkRaces, TokenIsInvalidAfterItsBranchIsDeleted) {
  branch = "dev";
  engine.branch(repo, branch, "main");
  const std::string address = hand_out("k");
  branch::delete_branch(*engine, repo, BranchName(branch), false);
  engine.branch(repo, branch, "main");
  EXPECT_EQ(link(service.context, "k", address), "409 link_address_used");
}

TEST_F(LinkRaces, OneOfTwoLinksStages) {
  const std::string address = hand_out("k");
  faults.at_then_go_on({"staging_insert_rows"},
                       [&] { EXPECT_EQ(link(service.context, "k", address), "200"); });
  EXPECT_EQ(link(slow.context, "k", address), "200");
  EXPECT_EQ(checksum("k"), to_hex(md5("abc")));

  const std::string overtaken = hand_out("l");
  faults.at_then_go_on({"staging_insert_rows"}, [&] {
    EXPECT_EQ(link(service.context, "l", overtaken), "200");
    engine.put(repo, "main", "l", "later");
  });
  EXPECT_EQ(link(slow.context, "l", overtaken), "409 link_address_used");
  EXPECT_EQ(engine.read(repo, "main", "l"), "later");
}

TEST_F(LinkRaces, BothOfTwoIdenticalConditionalLinksSucceed) {
  const std::string address = hand_out("k");
  faults.at_then_go_on({"staging_insert_row_if"},
                       [&] { EXPECT_EQ(link(service.context, "k", address, true), "200"); });
  EXPECT_EQ(link(slow.context, "k", address, true), "200");
  const std::string other = hand_out("k");
  EXPECT_EQ(link(slow.context, "k", other, true), "412 precondition_failed");
  engine.remove(repo, "main", "k");
  EXPECT_EQ(link(slow.context, "k", other, true), "200") << "a refusal takes no token";
}

TEST_F(LinkRaces, ALinkWhoseAnswerIsLostIsNotRepeated) {
  const std::string address = hand_out("k");
  faults.lose_answer("commit");
  EXPECT_EQ(link(slow.context, "k", address), "200");
  const std::string overtaken = hand_out("l");
  faults.lose_answer("commit", [&] { engine.put(repo, "main", "l", "later"); });
  EXPECT_EQ(link(slow.context, "l", overtaken), "503 in_doubt");
  EXPECT_EQ(engine.read(repo, "main", "l"), "later");
}

}  // namespace
}  // namespace tarn::api
