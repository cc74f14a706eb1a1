// aws.s3_client and aws.glue_client against a server of the test, which may be hostile.
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/actions/lua/script_fixture.h"
#include "core/actions/script_requests.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/mutex.h"
#include "core/base/text.h"
#include "core/http/server.h"
#include "core/sigv4/sign.h"

namespace tarn::actions::lua {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKeyId = "AKIAEXAMPLE";
constexpr const char* kSecret = "very/secret+key";
/// As kAwsAttemptsMax.
constexpr int kAttempts = 3;

class AwsLibraries : public ::testing::Test {
 protected:
  struct Taken {
    std::string method;
    std::string path;
    std::string query;
    http::Headers headers;
    std::string body;
  };
  struct Answer {
    int status = 200;
    std::string body{};
  };

  /// The script sees `s3` and `glue`, clients of the test's server.
  std::string run(const std::string& text) {
    const std::string arguments =
        std::string("'") + kKeyId + "', '" + kSecret +
        "', 'eu-central-1', 'http://127.0.0.1:" + std::to_string(server_->port()) + "'";
    return run_bare("local aws = require('aws')\nlocal s3 = aws.s3_client(" + arguments +
                    ")\nlocal glue = aws.glue_client(" + arguments + ")\n" + text);
  }
  std::string run_bare(const std::string& text) {
    ScriptRequests requests(outbound_, std::chrono::steady_clock::now() + 30s);
    return tarn::testing::script_output({.text = text}, [&](const Message& message) {
      const Json call = Json::parse(message.json);
      EXPECT_EQ(call.at("function"), "http_request");
      return requests.send(call.at("arguments"), message.bytes);
    });
  }
  std::vector<Taken> taken() {
    MutexLock lock(mutex_);
    return taken_;
  }

  std::function<Answer(const Taken&)> on_request = [](const Taken&) { return Answer{}; };

 private:
  http::Response take(http::Request& request) {
    Taken one{request.method, std::string(request.raw_path()), std::string(request.raw_query()),
              request.headers, http::read_all(*request.body, 1 << 20)};
    const Answer answer = on_request(one);
    MutexLock lock(mutex_);
    taken_.push_back(std::move(one));
    http::Response response;
    response.status = answer.status;
    response.body = answer.body;
    return response;
  }

  Mutex mutex_;
  std::vector<Taken> taken_;
  const std::unique_ptr<http::Server> server_ = http::Server::start(
      "127.0.0.1", 0, {}, [this](http::Request& request) { return take(request); });
  const http::Outbound outbound_{{.allowed_targets = {"127.0.0.1"}}};
};

std::string failure(const std::string& code, const std::string& message) {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>" + message +
         "</Message></Error>";
}

/// Signed again as it arrived.
std::string signature_of(const std::string& service, const auto& taken) {
  http::Headers headers;
  for (const auto& [name, value] : taken.headers.all()) {
    if (!equal_ignoring_case(name, "Authorization")) headers.add(name, value);
  }
  sigv4::sign(headers,
              {.method = taken.method,
               .path = taken.path,
               .query = taken.query,
               .region = "eu-central-1",
               .service = service},
              {kKeyId, kSecret}, taken.headers.get("x-amz-content-sha256"),
              parse_iso_basic(taken.headers.get("x-amz-date")).value());
  return std::string(headers.get("Authorization"));
}

TEST_F(AwsLibraries, SignatureMatchesTheSentRequest) {
  on_request = [](const Taken& taken) -> Answer {
    return {200, taken.path == "/" ? "{}" : "<ListBucketResult></ListBucketResult>"};
  };
  EXPECT_EQ(run("s3.put_object('bucket', 'a b/c+d', 'bytes')\n"
                "s3.list_objects('bucket', 'p q/', 't/o+k', '')\n"
                "s3.delete_object('bucket', 'k')\n"
                "glue.delete_table('db', 't')"),
            "");
  const auto all = taken();
  ASSERT_EQ(all.size(), 4u);
  for (const Taken& one : all) {
    EXPECT_EQ(one.headers.get("Authorization"), signature_of(one.path == "/" ? "glue" : "s3", one))
        << one.method << one.path;
    EXPECT_EQ(one.headers.get("x-amz-content-sha256"), to_hex(sha256(one.body)));
  }
}

TEST_F(AwsLibraries, PutGetAndDeleteObjects) {
  on_request = [](const Taken& taken) -> Answer {
    if (taken.method != "GET") return {};
    if (taken.path == "/bucket/there") return {200, std::string("\0x\n", 3)};
    if (taken.path == "/gone/there") return {404, failure("NoSuchBucket", "no bucket")};
    return {404, failure("NoSuchKey", "no key")};
  };
  EXPECT_EQ(run(R"lua(
local body, exists = s3.get_object('bucket', 'there')
print(#body, exists)
print(s3.get_object('bucket', 'absent'))
print(s3.get_object('gone', 'there'))
print(select('#', s3.put_object('bucket', 'a b/c', 'bytes')), select('#', s3.delete_object('bucket', 'k')))
)lua"),
            "3\ttrue\n\tfalse\n\tfalse\n0\t0\n");
  const auto all = taken();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[3].method + all[3].path + all[3].body, "PUT/bucket/a%20b/cbytes");
  EXPECT_EQ(all[4].method + all[4].path, "DELETE/bucket/k");
}

TEST_F(AwsLibraries, ListPages) {
  on_request = [](const Taken&) -> Answer {
    return {200,
            "<ListBucketResult><IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
            "<NextContinuationToken>go+on</NextContinuationToken>"
            "<Contents><Key>b%20c</Key><ETag>&quot;e&quot;</ETag><Size>1024</Size>"
            "<LastModified>2023-12-31T23:10:00.123Z</LastModified></Contents>"
            "<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes></ListBucketResult>"};
  };
  EXPECT_EQ(run(R"lua(
local json = require('encoding/json')
print(json.marshal(s3.list_objects('bucket', 'p q/', 'a+b')))
)lua"),
            R"({"is_truncated":true,"next_continuation_token":"go+on","results":[)"
            R"({"key":"a/","type":"prefix"},{"etag":"\"e\"","key":"b c",)"
            R"("last_modified":"2023-12-31T23:10:00Z","size":1024,"type":"object"}]})"
            "\n");
  EXPECT_EQ(taken()[0].query,
            "list-type=2&encoding-type=url&continuation-token=a%2Bb&delimiter=%2F&prefix=p%20q%2F");
  EXPECT_EQ(run("s3.list_objects('bucket', nil, nil, '')"), "");
  EXPECT_EQ(taken()[1].query, "list-type=2&encoding-type=url");
}

std::string page(const std::vector<std::string>& keys, const std::string& next) {
  std::string out = "<ListBucketResult><IsTruncated>";
  out += next.empty() ? "false" : "true";
  out += "</IsTruncated><NextContinuationToken>" + next + "</NextContinuationToken>";
  for (const std::string& key : keys) out += "<Contents><Key>" + key + "</Key></Contents>";
  return out + "</ListBucketResult>";
}

TEST_F(AwsLibraries, DeleteAllBelowAPrefix) {
  on_request = [](const Taken& taken) -> Answer {
    if (taken.method == "POST") return {200, "<DeleteResult></DeleteResult>"};
    if (taken.query.find("continuation-token") == std::string::npos) {
      return {200, page({"p/a&amp;b", "p/c"}, "next")};
    }
    return {200, page({"p/d"}, "")};
  };
  EXPECT_EQ(run("s3.delete_recursive('bucket', 'p/')"), "");
  const auto all = taken();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].query, "delete=");
  EXPECT_EQ(all[1].body,
            "<Delete><Quiet>true</Quiet><Object><Key>p/a&amp;b</Key></Object>"
            "<Object><Key>p/c</Key></Object></Delete>");
  EXPECT_THAT(all[3].body, HasSubstr("<Key>p/d</Key>"));
  EXPECT_FALSE(all[3].headers.get("Content-MD5").empty());
}

TEST_F(AwsLibraries, StopAtListingsThatDoNotAdvance) {
  int pages = 0;
  on_request = [&](const Taken& taken) -> Answer {
    if (taken.method == "POST") return {200, "<DeleteResult></DeleteResult>"};
    ++pages;
    return {200, page({"p/a"}, "again")};
  };
  EXPECT_THAT(run("s3.delete_recursive('bucket', 'p/')"), HasSubstr("pages do not go on"));
  EXPECT_EQ(pages, 2);

  // Ever new keys and tokens.
  on_request = [&](const Taken& taken) -> Answer {
    if (taken.method == "POST") return {200, "<DeleteResult></DeleteResult>"};
    ++pages;
    return {200, page({"p/" + std::to_string(1'000'000 + pages)}, std::to_string(pages))};
  };
  pages = 0;
  EXPECT_THAT(run("s3.delete_recursive('bucket', 'p/')"), HasSubstr("no end after 1000 pages"));
  EXPECT_EQ(pages, 1000);

  on_request = [&](const Taken&) -> Answer { return {200, page({}, "more")}; };
  EXPECT_THAT(run("s3.delete_recursive('bucket', 'p/')"), HasSubstr("no end after 1 pages"));
}

TEST_F(AwsLibraries, DeleteOnlyTheRequestedKeys) {
  on_request = [](const Taken&) -> Answer { return {200, page({"other/key"}, "")}; };
  EXPECT_THAT(run("s3.delete_recursive('bucket', 'p/')"), HasSubstr("lists other keys too"));
  for (const Taken& one : taken()) EXPECT_EQ(one.method, "GET");
  EXPECT_THAT(run("s3.delete_recursive('bucket')"), HasSubstr("argument 2"));
}

TEST_F(AwsLibraries, ReportObjectsThatWereNotDeleted) {
  on_request = [](const Taken& taken) -> Answer {
    if (taken.method == "GET") return {200, page({"p/a", "p/b"}, "")};
    return {200,
            "<DeleteResult><Error><Key>p/b</Key><Code>AccessDenied</Code><Message>kept</Message>"
            "</Error></DeleteResult>"};
  };
  EXPECT_THAT(run("s3.delete_recursive('bucket', 'p/')"),
              HasSubstr("S3: DELETE s3://bucket/p/b: 200 AccessDenied: kept"));
}

TEST_F(AwsLibraries, RefuseInvalidBucketsAndKeys) {
  for (const char* call :
       {"delete_object('bucket', '')", "delete_object('bucket')", "put_object('bucket', '', 'x')",
        "get_object('bucket', '')", "delete_object('', 'k')", "put_object('a/b', 'k', 'x')",
        "put_object('..', 'k', 'x')", "put_object('b?x', 'k', 'x')",
        "get_object('bucket', 'a/../b')", "get_object('bucket', '..')",
        "get_object('bucket', './a')", "get_object('bucket', ('k'):rep(1025))",
        "list_objects('a\\r\\nX-A: b')"}) {
    EXPECT_THAT(run(std::string("s3.") + call), HasSubstr("argument ")) << call;
  }
  EXPECT_TRUE(taken().empty());
}

TEST_F(AwsLibraries, ArgumentsCannotBreakHeadersOrPaths) {
  EXPECT_EQ(run("s3.put_object('bucket', 'a\\r\\nX-Injected: 1\\r\\n\\r\\n?acl#f', 'x')"), "");
  const auto all = taken();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].path, "/bucket/a%0D%0AX-Injected%3A%201%0D%0A%0D%0A%3Facl%23f");
  EXPECT_EQ(all[0].query, "");
  EXPECT_EQ(all[0].headers.find("X-Injected"), nullptr);
}

TEST_F(AwsLibraries, RefuseInvalidKeysRegionsAndEndpoints) {
  for (const char* arguments :
       {"'id\\r\\nX-A: b', 's', 'eu-west-1'", "'a b', 's'", "'', 's'", "'id', ''", "'id'",
        "'id', 's', 'eu-west-1.evil.example/'", "'id', 's', 'EU'",
        "'id', 's', 'eu-west-1', 'ftp://h'", "'id', 's', 'eu-west-1', 'http://u:topsecret@h'",
        "'id', 's', 'eu-west-1', 'http://h/p?x=1'", "'id', 's', 'eu-west-1', 'http://h?x=1'",
        "'id', 's', 'eu-west-1', 'http://h\\r\\nX: y'", "'id', 's', 'eu-west-1', 'h:9000'"}) {
    for (const char* client : {"s3_client", "glue_client"}) {
      const std::string said =
          run_bare(std::string("require('aws').") + client + "(" + arguments + ")");
      EXPECT_THAT(said, HasSubstr("invalid_argument")) << arguments;
      EXPECT_THAT(said, Not(HasSubstr("topsecret")));
    }
  }
}

TEST_F(AwsLibraries, ShowNoCredentials) {
  on_request = [](const Taken& taken) -> Answer {
    const std::string heard = std::string(taken.headers.get("Authorization")) + " " + kSecret;
    if (taken.path == "/") return {400, Json{{"__type", "X"}, {"message", heard}}.dump()};
    return {403, failure("SignatureDoesNotMatch", heard)};
  };
  for (const char* call :
       {"s3.get_object('bucket', 'k')", "s3.list_objects('bucket')", "glue.get_table('db', 't')"}) {
    const std::string said = run(call);
    EXPECT_THAT(said, HasSubstr("*****")) << said;
    EXPECT_THAT(said, Not(HasSubstr(kKeyId)));
    EXPECT_THAT(said, Not(HasSubstr(kSecret)));
    const std::string authorization(taken().back().headers.get("Authorization"));
    const std::string signature = authorization.substr(authorization.rfind('=') + 1);
    EXPECT_EQ(signature.size(), 64u);
    EXPECT_THAT(said, Not(HasSubstr(signature)));
  }
  // Nor does the client itself hold them where a script, or its output, could come by them.
  EXPECT_EQ(run("for name, value in pairs(s3) do assert(type(value) == 'function', name) end"), "");
}

TEST_F(AwsLibraries, ErrorTextsAreBounded) {
  on_request = [](const Taken&) -> Answer {
    return {500, failure("Internal", std::string(100'000, 'x') + "\n")};
  };
  const std::string said = run("s3.get_object('bucket', 'k')");
  EXPECT_THAT(said, HasSubstr("500 Internal: xxx"));
  EXPECT_LT(said.size(), 1'500);
}

TEST_F(AwsLibraries, RefuseAnswersThatAreTooLong) {
  on_request = [](const Taken&) -> Answer { return {200, std::string((8u << 20) + 1, 'x')}; };
  EXPECT_THAT(run("s3.get_object('bucket', 'k')"), HasSubstr("longer than 8388608 bytes"));
}

TEST_F(AwsLibraries, RetryThrottledRequests) {
  int times = 0;
  on_request = [&](const Taken&) -> Answer {
    return ++times < kAttempts ? Answer{503, failure("SlowDown", "later")} : Answer{200, "x"};
  };
  EXPECT_EQ(run("print(s3.get_object('bucket', 'k'))"), "x\ttrue\n");
  EXPECT_EQ(times, kAttempts);
  on_request = [&](const Taken&) -> Answer { return {503, failure("SlowDown", "later")}; };
  EXPECT_THAT(run("s3.get_object('bucket', 'k')"), HasSubstr("503 SlowDown: later"));
}

TEST_F(AwsLibraries, RefuseOtherDocumentsAsListings) {
  for (const char* body : {"<html><body>hello</body></html>", "", "{}", "<ListBucketResult>"}) {
    on_request = [&](const Taken&) -> Answer { return {200, body}; };
    const std::string said = run("print(#s3.list_objects('bucket').results)");
    EXPECT_THAT(said, Not(HasSubstr("0\n"))) << body;
  }
}

TEST_F(AwsLibraries, WorkOnGluesTables) {
  on_request = [](const Taken& taken) -> Answer {
    const std::string target(taken.headers.get("X-Amz-Target"));
    if (taken.body.find("absent") != std::string::npos) {
      return {400, R"({"__type":"com.amazonaws.glue#EntityNotFoundException","Message":"no"})"};
    }
    if (target == "AWSGlue.GetTable") return {200, R"({"Table":{"Name":"t","PartitionKeys":[]}})"};
    if (target == "AWSGlue.CreateDatabase") {
      return {400, R"({"__type":"AlreadyExistsException","Message":"there"})"};
    }
    return {200, "{}"};
  };
  EXPECT_EQ(run(R"lua(
local json = require('encoding/json')
local found, exists = glue.get_table('db', 't', '4711')
print(json.marshal(found), exists)
print(glue.get_table('db', 'absent'))
print(glue.get_database('absent'))
glue.create_table('db', json.marshal({Name = 't', PartitionKeys = array({})}))
glue.create_table('db', {Name = 't'}, '4711')
glue.update_table('db', '{"Name":"t"}', '4711', '3', true)
glue.delete_table('db', 't')
glue.delete_database('db', '4711')
glue.create_database('db', {error_on_already_exists = false, create_db_input = {DatabaseInput = {Description = 'd'}, Tags = {Owner = 'Joe'}}})
)lua"),
            "{\"Table\":{\"Name\":\"t\",\"PartitionKeys\":[]}}\ttrue\n\tfalse\n\tfalse\n");
  const auto all = taken();
  ASSERT_EQ(all.size(), 9u);
  const auto said = [&](size_t i) { return Json::parse(all[i].body); };
  EXPECT_EQ(said(0), Json({{"CatalogId", "4711"}, {"DatabaseName", "db"}, {"Name", "t"}}));
  EXPECT_EQ(said(3).dump(),
            R"({"DatabaseName":"db","TableInput":{"Name":"t","PartitionKeys":[]}})");
  EXPECT_EQ(
      said(5).dump(),
      R"({"CatalogId":"4711","DatabaseName":"db","SkipArchive":true,"TableInput":{"Name":"t"},)"
      R"("VersionId":"3"})");
  EXPECT_EQ(said(7).dump(), R"({"CatalogId":"4711","Name":"db"})");
  EXPECT_EQ(said(8).dump(),
            R"({"DatabaseInput":{"Description":"d","Name":"db"},"Tags":{"Owner":"Joe"}})");
  for (const Taken& one : all) {
    EXPECT_EQ(one.method + one.path, "POST/");
    EXPECT_EQ(one.headers.get("Content-Type"), "application/x-amz-json-1.1");
    EXPECT_THAT(std::string(one.headers.get("Authorization")),
                HasSubstr("/eu-central-1/glue/aws4_request"));
  }
  EXPECT_THAT(run("glue.create_database('db')"),
              HasSubstr("Glue: CreateDatabase: 400 AlreadyExistsException: there"));
  EXPECT_THAT(run("glue.create_table('db', 'no json')"), HasSubstr("argument 2"));
  EXPECT_THAT(run("glue.delete_table('db', 'absent')"), HasSubstr("EntityNotFoundException: no"));
}

}  // namespace
}  // namespace tarn::actions::lua
