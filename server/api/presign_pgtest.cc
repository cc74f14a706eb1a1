// Tests of presigned URLs of our own, from request to use, over a store that signs none.
#include <gtest/gtest.h>

#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/objects/multipart.h"
#include "server/api/api_fixture.h"
#include "server/api/block_handler.h"
#include "server/api/block_url.h"

namespace tarn::api {
namespace {

/// The text of a member of a flat JSON answer.
std::string member(const http::Response& response, std::string_view name) {
  const std::string marker = "\"" + std::string(name) + "\":\"";
  const size_t at = response.body.find(marker);
  if (at == std::string::npos) return "";
  const size_t begin = at + marker.size();
  return response.body.substr(begin, response.body.find('"', begin) - begin);
}

std::string body_of(http::Response& response) {
  return response.source ? http::read_all(*response.source, 1 << 30) : response.body;
}

class Presign : public ::testing::Test {
 protected:
  Presign() {
    service.directory.users.create({"ann", engine.clock.now(), {}, {}});
    key = *service.directory.credentials.create("ann", engine.clock.now());
    service.directory.policies.create({"ann-may", engine.clock.now(), {kEverything}});
    service.directory.policies.attach_to_user("ann", "ann-may");
  }

  Context context(bool on = true, std::string external_url = "") {
    Context out = service.context;
    out.installation.presign = on;
    out.upload_bytes_max = kBytesMax;
    out.block_key = std::string(32, 'b');
    out.external_url = std::move(external_url);
    return out;
  }

  http::Response api(const std::string& method, const std::string& path,
                     const std::string& body = "") {
    return api_of(context(), method, path, body);
  }
  http::Response api_of(const Context& with, const std::string& method, const std::string& path,
                        const std::string& body = "") {
    http::Request request = made(method, "/api/v1/repositories/" + repo.str() + path, body);
    request.headers.add("Authorization", authorization);
    if (!body.empty()) request.headers.add("Content-Type", "application/json");
    return Api(with).handle(request);
  }
  http::Response get(const std::string& path) { return api("GET", path); }

  /// Sends a request to a URL as a client without keys.
  http::Response use(const std::string& method, const std::string& url,
                     const std::string& body = "", std::vector<http::Headers::Field> headers = {}) {
    EXPECT_TRUE(url.starts_with(kBase)) << url;
    http::Request request = made(method, url.substr(std::min(kBase.size(), url.size())), body);
    for (auto& [name, value] : headers) request.headers.add(name, value);
    EXPECT_TRUE(is_block_request(request)) << url;
    return BlockHandler(context()).handle(request);
  }
  static http::Request made(const std::string& method, std::string target,
                            const std::string& body) {
    http::Request request;
    request.method = method;
    request.target = std::move(target);
    request.id = "request-1";
    request.peer = "127.0.0.1";
    request.headers.add("Host", "tarn.test:8000");
    request.content_length = body.size();
    request.body = http::string_body(body);
    return request;
  }

  std::string read_url(const std::string& path = "a.txt") {
    return std::string(get("/refs/main/objects?presign=true&path=" + path).headers.get("Location"));
  }
  http::Response ask_to_write(const std::string& path = "new") {
    return get("/branches/main/staging/backing?presign=true&path=" + path);
  }
  std::string upload_path(const http::Response& begun) {
    return "/branches/main/staging/pmpu/" + member(begun, "upload_id");
  }
  void allow(const std::vector<auth::Statement>& statements) {
    ASSERT_TRUE(service.directory.policies.update("ann-may", statements));
    service.authenticator.forget();
  }
  static std::string refusal(const http::Response& response) {
    return std::to_string(response.status) + " " +
           std::string(response.headers.get("X-Tarn-Error"));
  }

  static constexpr uint64_t kBytesMax = 8 << 20;
  const std::string kBase = "http://tarn.test:8000";
  const auth::Statement kEverything{auth::Statement::Effect::kAllow, {"*"}, {"*"}, {}};
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  TestService service{engine};
  auth::NewKey key;
  testing::TestRepository repo = engine.make_repository("lake");
  Entry stored = engine.put(repo, "main", "a.txt", "hello");
  std::string authorization;

  void SetUp() override { authorization = basic(key.id, key.secret); }
};

TEST_F(Presign, ReadsAreTheObjectWithRangesAndDigests) {
  const std::string url = read_url();
  http::Response whole = use("GET", url);
  EXPECT_EQ(whole.status, 200);
  EXPECT_EQ(body_of(whole), "hello");
  EXPECT_EQ(whole.headers.get("ETag"), "\"" + to_hex(md5("hello")) + "\"");
  EXPECT_EQ(whole.headers.get("Content-MD5"), to_base64(md5("hello")));
  EXPECT_NE(whole.headers.get("Content-Security-Policy").find("sandbox"), std::string_view::npos);
  EXPECT_EQ(whole.headers.get("Cross-Origin-Resource-Policy"), "same-origin");
  http::Response part = use("GET", url, "", {{"Range", "bytes=1-2"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(body_of(part), "el");
  EXPECT_EQ(part.headers.get("Content-Range"), "bytes 1-2/5");
  EXPECT_EQ(part.headers.find("Content-MD5"), nullptr) << "it would be of other bytes";
  const http::Response behind = use("GET", url, "", {{"Range", "bytes=5-"}});
  EXPECT_EQ(behind.status, 416);
  EXPECT_EQ(behind.headers.get("Content-Range"), "bytes */5");
  const http::Response head = use("HEAD", url);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.content_length, 5u);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(use("GET", url, "", {{"If-None-Match", "\"" + stored.etag + "\""}}).status, 304);
}

TEST_F(Presign, AuthorizationHeadersOfRedirectedClientsAreIgnored) {
  const std::string url = read_url();
  for (const char* header : {"Basic bad", "Bearer x", "AWS4-HMAC-SHA256 Credential=x"}) {
    EXPECT_EQ(use("GET", url, "", {{"Authorization", header}}).status, 200) << header;
  }
}

TEST_F(Presign, UrlIsBoundToItsBytes) {
  const std::string url = read_url();
  engine.put(repo, "main", "a.txt", "changed");
  http::Response response = use("GET", url);
  EXPECT_EQ(body_of(response), "hello");
}

TEST_F(Presign, StatAndListingsShowUrlsWithTheirExpiry) {
  const http::Response stat = get("/refs/main/objects/stat?path=a.txt&presign=true");
  EXPECT_EQ(stat.status, 200);
  http::Response read = use("GET", member(stat, "physical_address"));
  EXPECT_EQ(body_of(read), "hello");
  const int64_t now = to_seconds(engine.clock.now());
  const size_t at = stat.body.find("\"physical_address_expiry\":");
  ASSERT_NE(at, std::string::npos) << stat.body;
  const int64_t expiry = std::stoll(stat.body.substr(at + 26));
  EXPECT_GE(expiry, now + 890);
  EXPECT_LE(expiry, now + 900);
  EXPECT_EQ(get("/refs/main/objects/stat?path=a.txt").body.find("expiry"), std::string::npos);
  http::Response listed =
      use("GET", member(get("/refs/main/objects/ls?presign=true"), "physical_address"));
  EXPECT_EQ(body_of(listed), "hello");
}

// Verified by mutation: without the check of kReadObject per entry in list_objects (the second
// entry got a URL).
TEST_F(Presign, ListingsShowUrlsOnlyOfReadableObjects) {
  engine.put(repo, "main", "secret.txt", "x");
  allow({{auth::Statement::Effect::kAllow,
          {"fs:ListObjects"},
          {auth::repository_arn(repo.str())},
          {}},
         {auth::Statement::Effect::kAllow,
          {"fs:ReadObject"},
          {auth::object_arn(repo.str(), "a.txt")},
          {}}});
  const http::Response page = get("/refs/main/objects/ls?presign=true");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("\"http://"), std::string::npos);
  EXPECT_EQ(page.body.find("\"http://"), page.body.rfind("\"http://"));
  EXPECT_NE(page.body.find("\"local://"), std::string::npos) << page.body;
}

TEST_F(Presign, ObjectExistsAfterPutAndLink) {
  const http::Response asked = ask_to_write();
  const std::string url = member(asked, "presigned_url");
  const http::Response put = use("PUT", url, "written");
  EXPECT_EQ(put.status, 200);
  EXPECT_EQ(put.headers.get("ETag"), "\"" + to_hex(md5("written")) + "\"");
  EXPECT_EQ(put.headers.get("Content-MD5"), to_base64(md5("written")));
  EXPECT_EQ(engine.read(repo, "main", "new"), "<absent>") << "nothing is staged by the PUT";
  const http::Response linked =
      api("PUT", "/branches/main/staging/backing?path=new",
          R"({"staging":{"physical_address":")" + member(asked, "physical_address") +
              R"("},"checksum":")" + to_hex(md5("written")) + R"(","size_bytes":7})");
  EXPECT_EQ(linked.status, 200) << linked.body;
  EXPECT_EQ(engine.read(repo, "main", "new"), "written");
}

// Verified by mutation: without the comparison in fill_address (other bytes were answered 200).
TEST_F(Presign, AnAddressIsWrittenOnce) {
  const std::string url = member(ask_to_write(), "presigned_url");
  EXPECT_EQ(use("PUT", url, "first").status, 200);
  EXPECT_EQ(use("PUT", url, "first").status, 200) << "a retry";
  EXPECT_EQ(refusal(use("PUT", url, "other")), "409 address_taken");
  EXPECT_EQ(refusal(use("PUT", url, "")), "409 address_taken");
}

TEST_F(Presign, BytesAreVerifiedBeforeTheyAreStored) {
  const std::string url = member(ask_to_write(), "presigned_url");
  const size_t objects = engine.store->list("lake/data/", "", 1000).items.size();
  EXPECT_EQ(refusal(use("PUT", url, std::string(kBytesMax + 1, 'x'))), "413 body_too_large");
  EXPECT_EQ(refusal(use("PUT", url, "abc", {{"Content-MD5", to_base64(md5("abd"))}})),
            "400 bad_digest");
  EXPECT_EQ(use("PUT", url, "abc", {{"x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}})
                .status,
            501);
  EXPECT_EQ(engine.store->list("lake/data/", "", 1000).items.size(), objects);
  EXPECT_EQ(use("PUT", url, "abc", {{"Content-MD5", to_base64(md5("abc"))}}).status, 200);
}

// Verified by mutation: without the look-up of the key in holder_of, and the check for its user.
TEST_F(Presign, UrlsOfARevokedKeyAreDead) {
  const std::string read = read_url();
  const std::string write = member(ask_to_write(), "presigned_url");
  ASSERT_TRUE(service.directory.credentials.remove("ann", key.id));
  service.authenticator.forget();
  EXPECT_EQ(refusal(use("GET", read)), "403 url_revoked");
  EXPECT_EQ(refusal(use("PUT", write, "x")), "403 url_revoked");
}

TEST_F(Presign, UrlsOfADeletedUserAreDead) {
  authorization =
      "Bearer " + service.authenticator.issue_token(*service.authenticator.find_user("ann")).token;
  const std::string by_token = read_url();
  EXPECT_EQ(use("GET", by_token).status, 200);
  authorization = basic(key.id, key.secret);
  const std::string by_key = read_url();
  ASSERT_TRUE(service.directory.users.remove("ann"));
  service.authenticator.forget();
  EXPECT_EQ(refusal(use("GET", by_token)), "403 url_revoked");
  EXPECT_EQ(refusal(use("GET", by_key)), "403 url_revoked");
  service.directory.users.create({"ann", engine.clock.now() + std::chrono::seconds{2}, {}, {}});
  service.directory.policies.attach_to_user("ann", "ann-may");
  EXPECT_EQ(refusal(use("GET", by_token)), "403 url_revoked") << "another user of that name";
}

// Verified by mutation: without the ref in check_permitted.
TEST_F(Presign, UrlsOfARefUsePoliciesOfThatRef) {
  const auto limited_to = [&](const std::string& ref) {
    allow({{auth::Statement::Effect::kAllow,
            {"fs:ReadObject", "fs:WriteObject"},
            {auth::ref_arn(repo.str(), ref) + "/object/*"},
            {}}});
  };
  limited_to("main");
  const std::string read = read_url();
  const std::string write = member(ask_to_write(), "presigned_url");
  limited_to("dev");
  EXPECT_EQ(refusal(use("GET", read)), "403 url_not_permitted");
  EXPECT_EQ(refusal(use("PUT", write, "x")), "403 url_not_permitted");
  limited_to("main");
  EXPECT_EQ(use("GET", read).status, 200);
  EXPECT_EQ(use("PUT", write, "x").status, 200);
}

// Verified by mutation: without check_permitted in BlockHandler::answer.
TEST_F(Presign, UrlsHaveTheCurrentRightsOfTheirCreator) {
  const std::string read = read_url();
  const std::string write = member(ask_to_write(), "presigned_url");
  const auto may = [&](std::string action, std::string path) -> auth::Statement {
    return {auth::Statement::Effect::kAllow,
            {std::move(action)},
            {auth::object_arn(repo.str(), path)},
            {}};
  };
  allow({may("fs:ReadObject", "new"), may("fs:WriteObject", "a.txt")});
  EXPECT_EQ(refusal(use("GET", read)), "403 url_not_permitted");
  EXPECT_EQ(refusal(use("PUT", write, "x")), "403 url_not_permitted");
  allow({may("fs:ReadObject", "a.txt"), may("fs:WriteObject", "new")});
  EXPECT_EQ(use("GET", read).status, 200);
  EXPECT_EQ(use("PUT", write, "x").status, 200);
}

TEST_F(Presign, UrlsAreInvalidAfterTheRepositoryIsDeleted) {
  const std::string read = read_url();
  const std::string write = member(ask_to_write(), "presigned_url");
  branch::delete_repository(*engine, repo, true);
  EXPECT_EQ(use("GET", read).status, 404);
  EXPECT_EQ(use("PUT", write, "x").status, 404);
}

TEST_F(Presign, BeginWithTheConfiguredUrl) {
  const http::Response asked = api_of(context(true, "https://lake.example.com"), "GET",
                                      "/refs/main/objects?path=a.txt&presign=true");
  EXPECT_TRUE(
      asked.headers.get("Location").starts_with("https://lake.example.com/_blocks/lake/data/"))
      << asked.headers.get("Location");
}

TEST_F(Presign, DisablingReturnsNoUrlsAndRefusesOldOnes) {
  const std::string url = read_url();
  const Context off = context(false);
  for (const char* path :
       {"/refs/main/objects?path=a.txt&presign=True",
        "/refs/main/objects/stat?path=a.txt&presign=1", "/refs/main/objects/ls?presign=true",
        "/branches/main/staging/backing?path=a&presign=true"}) {
    EXPECT_EQ(api_of(off, "GET", path).status, 400) << path;
  }
  EXPECT_EQ(api_of(off, "GET", "/refs/main/objects?path=a.txt&presign=False").status, 200);
  const std::string uploads = "/branches/main/staging/pmpu";
  EXPECT_EQ(api_of(off, "POST", uploads + "?path=a").status, 501);
  const std::string given = R"({"physical_address":"x"})";
  EXPECT_EQ(api_of(off, "PUT", uploads + "/u/parts/1?path=a", given).status, 501);
  EXPECT_EQ(api_of(off, "DELETE", uploads + "/u?path=a", given).status, 501);
  http::Request request = made("GET", url.substr(kBase.size()), "");
  EXPECT_EQ(BlockHandler(off).handle(request).status, 403);
}

TEST_F(Presign, AnUploadInPartsIsJoinedByReference) {
  const std::string large(objects::kPartBytesMin, 'a');
  const http::Response begun = api("POST", "/branches/main/staging/pmpu?path=big&parts=2");
  ASSERT_EQ(begun.status, 201) << begun.body;
  const std::string address = member(begun, "physical_address");
  const std::string given = R"({"physical_address":")" + address + "\"}";
  std::string etags[2];
  for (int number : {1, 2}) {
    const http::Response url =
        api("PUT", upload_path(begun) + "/parts/" + std::to_string(number) + "?path=big", given);
    ASSERT_EQ(url.status, 200) << url.body;
    const http::Response put =
        use("PUT", member(url, "presigned_url"), number == 1 ? large : "end");
    EXPECT_EQ(put.status, 200);
    etags[number - 1] = put.headers.get("ETag");
    EXPECT_EQ(use("PUT", member(url, "presigned_url"), number == 1 ? large : "end").status, 200);
  }
  const auto quoted = [](std::string etag) {
    return "\\" + etag.substr(0, etag.size() - 1) + "\\\"";
  };
  const std::string completion = R"({"physical_address":")" + address +
                                 R"(","parts":[{"part_number":1,"etag":")" + quoted(etags[0]) +
                                 R"("},{"part_number":2,"etag":")" + quoted(etags[1]) +
                                 R"("}],"user_metadata":{"Key":"v"},"content_type":"text/x"})";
  EXPECT_EQ(api("PUT", upload_path(begun) + "?path=other", completion).status, 400);
  const http::Response done = api("PUT", upload_path(begun) + "?path=big", completion);
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_NE(done.body.find(R"("metadata":{"Key":"v"})"), std::string::npos) << done.body;
  EXPECT_NE(done.body.find(R"("content_type":"text/x")"), std::string::npos);
  http::Response read = use("GET", read_url("big"));
  EXPECT_EQ(body_of(read), large + "end");
  EXPECT_EQ(read.headers.find("Content-MD5"), nullptr) << "its etag is no MD5";
}

TEST_F(Presign, AnUploadInPartsHasTheTypeOfItsName) {
  const http::Response begun = api("POST", "/branches/main/staging/pmpu?path=rows.csv&parts=1");
  ASSERT_EQ(begun.status, 201) << begun.body;
  const std::string given = R"({"physical_address":")" + member(begun, "physical_address") + "\"";
  const http::Response url = api("PUT", upload_path(begun) + "/parts/1?path=rows.csv", given + "}");
  const std::string etag(use("PUT", member(url, "presigned_url"), "a,b").headers.get("ETag"));
  const http::Response done = api(
      "PUT", upload_path(begun) + "?path=rows.csv",
      given + R"(,"parts":[{"part_number":1,"etag":")" + etag.substr(1, etag.size() - 2) + "\"}]}");
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_NE(done.body.find(R"("content_type":"text/csv")"), std::string::npos) << done.body;
}

TEST_F(Presign, ReturnsTheRequestedNumberOfPartUrls) {
  const auto urls = [&](const std::string& parts) {
    const http::Response begun = api("POST", "/branches/main/staging/pmpu?path=big" + parts);
    if (begun.status != 201) return -begun.status;
    int count = 0;
    for (size_t at = 0; (at = begun.body.find("write-part", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(urls(""), 0);
  EXPECT_EQ(urls("&parts=0"), 0);
  EXPECT_EQ(urls("&parts=3"), 3);
  EXPECT_EQ(urls("&parts=10000"), 10000);
  EXPECT_EQ(urls("&parts=10001"), -400);
  EXPECT_EQ(urls("&parts=-1"), -400);
  EXPECT_EQ(urls("&parts=x"), -400);
  EXPECT_EQ(api("POST", "/branches/main/staging/pmpu?path=").status, 400);
  EXPECT_EQ(api("POST", "/branches/absent/staging/pmpu?path=a").status, 404);
}

TEST_F(Presign, PartsCanBeCopiedFromObjects) {
  const http::Response begun = api("POST", "/branches/main/staging/pmpu?path=big");
  const std::string address = member(begun, "physical_address");
  const auto copy = [&](const std::string& number, const std::string& range,
                        const std::string& path = "a.txt") {
    return api("PUT", upload_path(begun) + "/parts/" + number + "/copy?path=big",
               R"({"physical_address":")" + address +
                   R"(","copy_source":{"repository":"lake","ref":"main","path":")" + path +
                   R"(","range":")" + range + "\"}}");
  };
  EXPECT_EQ(copy("1", "bytes=5-").status, 416);
  EXPECT_EQ(copy("1", "", "absent").status, 404);
  EXPECT_EQ(copy("0", "").status, 400);
  EXPECT_EQ(copy("10001", "").status, 400);
  const http::Response copied = copy("1", "bytes=1-3");
  EXPECT_EQ(copied.status, 204) << copied.body;
  EXPECT_EQ(copied.headers.get("ETag"), "\"" + to_hex(md5("ell")) + "\"");
  const http::Response done =
      api("PUT", upload_path(begun) + "?path=big",
          R"({"physical_address":")" + address + R"(","parts":[{"part_number":1,"etag":")" +
              to_hex(md5("ell")) + R"("}]})");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(engine.read(repo, "main", "big"), "ell");
}

TEST_F(Presign, AnAbortedUploadTakesNoParts) {
  const http::Response begun = api("POST", "/branches/main/staging/pmpu?path=big&parts=1");
  const std::string given = R"({"physical_address":")" + member(begun, "physical_address") + "\"}";
  const http::Response url = api("PUT", upload_path(begun) + "/parts/1?path=big", given);
  EXPECT_EQ(api("DELETE", upload_path(begun) + "?path=big", given).status, 204);
  EXPECT_EQ(use("PUT", member(url, "presigned_url"), "x").status, 404);
  EXPECT_EQ(api("PUT", upload_path(begun) + "/parts/1?path=big", given).status, 404);
  EXPECT_EQ(api("DELETE", upload_path(begun) + "?path=big", given).status, 404);
}

TEST_F(Presign, UploadNeedsAnIssuedAddress) {
  const http::Response begun = api("POST", "/branches/main/staging/pmpu?path=big");
  const std::string address = member(begun, "physical_address");
  for (const std::string& other :
       {address.substr(0, address.find(',')), address + "x", std::string("s3://elsewhere/x"),
        std::string("local://lake/../x,y")}) {
    const http::Response refused = api("PUT", upload_path(begun) + "/parts/1?path=big",
                                       R"({"physical_address":")" + other + "\"}");
    EXPECT_EQ(refusal(refused), "400 link_address_invalid") << other;
  }
  EXPECT_EQ(api("PUT", upload_path(begun) + "?path=big",
                R"({"physical_address":")" + address + R"(","parts":[]})")
                .status,
            400);
}

}  // namespace
}  // namespace tarn::api
