// Tests of S3Store with answers that a real server does not give on demand.
#include "core/blob/s3_store.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/blob/s3_store_fixture.h"
#include "tests/support/blob_objects.h"
#include "tests/support/scripted_client.h"

namespace tarn::blob {
namespace {

using ::testing::HasSubstr;
using testing::put;
using testing::ScriptedClient;

TEST_F(S3StoreTest, AddressesObjectsByPathOrHost) {
  client_.answer(200);
  put(*std::make_unique<S3Store>(options(), client_), "a b/\xc3\xbc+%", "v");
  S3Options by_host = options();
  by_host.path_style = false;
  by_host.endpoint = "https://s3.example.com:443/";
  by_host.prefix = "p/";
  client_.answer(200);
  put(*std::make_unique<S3Store>(by_host, client_), "k", "v");
  EXPECT_EQ(client_.lines(), (Lines{"PUT http://store.test:9000/b/a%20b/%C3%BC%2B%25",
                                    "PUT https://b.s3.example.com/p/k"}));
  EXPECT_EQ(headers_sent(0).get("host"), "store.test:9000");
  EXPECT_EQ(headers_sent(1).get("host"), "b.s3.example.com");
}

TEST_F(S3StoreTest, PresignsForTheAddressThatClientsUse) {
  const UrlTerms terms{from_millis(1'800'000'000'000), std::chrono::minutes(15)};
  S3Options by_host = options();
  by_host.path_style = false;
  by_host.presign_endpoint = "https://s3.example.com:443/";
  by_host.prefix = "p/";
  by_host.session_token = "a/b=";
  S3Store chosen(by_host, client_);
  const std::string url =
      chosen.direct()->url_to_read({.key = "\xc3\xbc +", .version_id = "v/1"}, terms);
  EXPECT_THAT(url, ::testing::StartsWith("https://b.s3.example.com/p/%C3%BC%20%2B?"));
  for (const char* parameter :
       {"versionId=v%2F1", "X-Amz-Security-Token=a%2Fb%3D", "X-Amz-Date=20270115T080000Z",
        "X-Amz-Expires=900", "X-Amz-SignedHeaders=host", "X-Amz-Signature="}) {
    EXPECT_THAT(url, HasSubstr(parameter));
  }
  EXPECT_THAT(url, ::testing::Not(HasSubstr("response-content-type")));
  EXPECT_THAT(store().direct()->url_to_write("k", terms),
              ::testing::StartsWith("http://store.test:9000/b/k?"));
  EXPECT_EQ(client_.lines(), Lines{}) << "nothing is sent";
}

TEST_F(S3StoreTest, DirectUploadReportsAnErrorInAnAnswerOf200) {
  client_.answer(200, error_body("InvalidPart"));
  S3Store direct = store();
  const std::vector<SentPart> parts = {{1, "e"}};
  EXPECT_EQ(thrown([&] { direct.direct()->complete_upload("k", "u", parts); }).kind,
            "invalid_argument/invalid_part");
  client_.answer(200, error_body("InternalError"));
  EXPECT_NE(
      thrown([&] {
        direct.direct()->copy_part({"k", "u", 1}, *direct.direct(), {.key = "s", .range = {0, 1}});
      }).kind,
      "");
}

TEST_F(S3StoreTest, HashesSmallBodiesOverPlainHttpOnly) {
  client_.answer(200);
  put(*std::make_unique<S3Store>(options(), client_), "k", "v");
  S3Options secure = options();
  secure.endpoint = "https://store.test";
  client_.answer(200);
  put(*std::make_unique<S3Store>(secure, client_), "k", "v");
  client_.answer(200);
  put(*std::make_unique<S3Store>(options(), client_), "k", std::string(2'000'000, 'v'));
  EXPECT_EQ(headers_sent(0).get("x-amz-content-sha256"), to_hex(sha256("v")));
  EXPECT_EQ(headers_sent(1).get("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
  EXPECT_EQ(headers_sent(2).get("x-amz-content-sha256"), "UNSIGNED-PAYLOAD");
}

TEST_F(S3StoreTest, SendsTheSessionToken) {
  S3Options temporary = options();
  temporary.session_token = "token";
  client_.answer(404);
  client_.answer(200);
  EXPECT_EQ(store(temporary).stat("k"), std::nullopt);
  EXPECT_EQ(headers_sent(0).get("x-amz-security-token"), "token");
  EXPECT_THAT(std::string(headers_sent(0).get("authorization")), HasSubstr("x-amz-security-token"));
}

TEST_F(S3StoreTest, RefusesOptionsThatCannotWork) {
  for (const char* endpoint : {"", "store.test", "ftp://store.test", "http://", "http://a/b",
                               "http://u@a", "http://a?b"}) {
    S3Options wrong = options();
    wrong.endpoint = endpoint;
    EXPECT_EQ(thrown([&] { store(wrong); }).kind, "invalid_argument/invalid_argument") << endpoint;
  }
  S3Options wrong = options();
  wrong.bucket = "a/b";
  EXPECT_EQ(thrown([&] { store(wrong); }).kind, "invalid_argument/invalid_argument");
  wrong = options();
  wrong.part_size_bytes = 1;
  EXPECT_EQ(thrown([&] { store(wrong); }).kind, "invalid_argument/invalid_argument");
}

TEST_F(S3StoreTest, RefusesKeysLongerThanS3s) {
  S3Options prefixed = options();
  prefixed.prefix = "p/";
  EXPECT_EQ(thrown([&] { store(prefixed).stat(std::string(1023, 'k')); }).kind,
            "invalid_argument/invalid_argument");
}

TEST_F(S3StoreTest, RetriesTransientErrors) {
  for (const auto& [status, body] :
       std::vector<std::pair<int, std::string>>{{0, ""},
                                                {500, ""},
                                                {502, "<html>"},
                                                {503, error_body("SlowDown")},
                                                {504, ""},
                                                {429, ""},
                                                {400, error_body("RequestTimeout")},
                                                {409, error_body("ConditionalRequestConflict")}}) {
    ScriptedClient client;
    client.answer(status, body);
    client.answer(200);
    EXPECT_TRUE(put(*std::make_unique<S3Store>(options(), client), "k", "bytes")) << status;
    ASSERT_EQ(client.seen().size(), 2u) << status;
    EXPECT_EQ(client.seen()[1].body, "bytes");
  }
}

TEST_F(S3StoreTest, GivesUpAfterTheLastRetryNamingTheFailure) {
  for (int i = 0; i < 3; ++i) client_.answer(503, error_body("SlowDown"));
  const Failure failure = thrown([&] { store().stat("k"); });
  EXPECT_EQ(failure.kind, "unavailable/unavailable");
  EXPECT_EQ(failure.message,
            "head of object \"k\" in bucket \"b\" at http://store.test:9000: HTTP status 503 "
            "SlowDown (after 3 attempts)");
}

TEST_F(S3StoreTest, GivesUpWhenTheDeadlineWouldPass) {
  S3Options patient = options();
  patient.retries_max = 1'000'000;
  patient.total_deadline = std::chrono::milliseconds(30);
  patient.backoff_first = patient.backoff_longest = std::chrono::milliseconds(5);
  EXPECT_EQ(thrown([&] { store(patient).stat("k"); }).kind, "unavailable/unavailable");
  EXPECT_GT(client_.seen().size(), 1u);
  EXPECT_LE(client_.seen()[0].request.deadline, std::chrono::milliseconds(30));
}

TEST_F(S3StoreTest, SaysWhatToCheckWhereTheAnswerHasNoBody) {
  client_.answer(403, "");
  const Failure failure = thrown([&] { store().stat("k"); });
  EXPECT_EQ(failure.kind, "permission_denied/store_denied");
  EXPECT_THAT(failure.message, HasSubstr("check the configured access key and secret"));
}

TEST_F(S3StoreTest, DoesNotRetryPermanentErrors) {
  struct Case {
    int status;
    const char* code;
    const char* kind;
    const char* hint;
  };
  for (const Case& one :
       {Case{403, "AccessDenied", "permission_denied/store_denied", "check the policy"},
        Case{403, "SignatureDoesNotMatch", "permission_denied/store_denied",
             "check the configured secret"},
        Case{403, "RequestTimeTooSkewed", "permission_denied/store_denied", "check the clock"},
        Case{404, "NoSuchBucket", "not_found/bucket_not_found", "\"b\""},
        Case{404, "NoSuchBucket", "not_found/bucket_not_found", "make the bucket again"},
        Case{400, "InvalidArgument", "invalid_argument/invalid_argument", "as the server says"},
        Case{400, "AuthorizationHeaderMalformed", "permission_denied/store_denied",
             "region eu-west-1"},
        Case{301, "PermanentRedirect", "unavailable/unavailable", "region eu-west-1"}}) {
    ScriptedClient client;
    client.answer(one.status, error_body(one.code),
                  headers_of({{"x-amz-bucket-region", "eu-west-1"}}));
    const Failure failure = thrown([&] { S3Store(options(), client).list("", "", 1); });
    EXPECT_EQ(failure.kind, one.kind) << one.code;
    EXPECT_THAT(failure.message, HasSubstr(one.hint));
    EXPECT_EQ(client.seen().size(), 1u) << one.code;
  }
}

TEST_F(S3StoreTest, TellsAMissingBucketFromAMissingObject) {
  client_.answer(404);
  client_.answer(404);
  EXPECT_EQ(thrown([&] { store().stat("k"); }).kind, "not_found/bucket_not_found");
  client_.answer(404);
  client_.answer(200);
  client_.answer(404);
  S3Options patient = options();
  patient.bucket_known_for = std::chrono::hours(1);
  S3Store known = store(patient);
  EXPECT_EQ(known.stat("k"), std::nullopt);
  EXPECT_EQ(known.stat("k"), std::nullopt);  // asked once
  EXPECT_EQ(client_.lines(),
            (Lines{"HEAD http://store.test:9000/b/k", "HEAD http://store.test:9000/b",
                   "HEAD http://store.test:9000/b/k", "HEAD http://store.test:9000/b",
                   "HEAD http://store.test:9000/b/k"}));
}

TEST_F(S3StoreTest, NoticesThatTheBucketWasRemovedAfterItWasSeen) {
  S3Options doubting = options();
  doubting.bucket_known_for = {};
  S3Store seen = store(doubting);
  client_.answer(404);
  client_.answer(200);
  EXPECT_EQ(seen.stat("k"), std::nullopt);
  client_.answer(404);
  client_.answer(404);
  const Failure failure = thrown([&] { seen.stat("k"); });
  EXPECT_EQ(failure.kind, "not_found/bucket_not_found");
  EXPECT_THAT(failure.message, HasSubstr("make the bucket again"));
}

TEST_F(S3StoreTest, ChecksThatTheRangeIsWhatWasAskedFor) {
  const auto open = [&](ByteRange range) { store().open("k", range, ""); };
  client_.answer(206, "abc", headers_of({{"Content-Range", "bytes 0-2/3"}}));
  EXPECT_EQ(thrown([&] { open({.offset = 0, .length = 4}); }).kind, "data_loss/object_corrupt");
  client_.answer(416, "<Error><Code>InvalidRange</Code></Error>");
  EXPECT_EQ(thrown([&] { open({.offset = 8, .length = 4}); }).kind, "data_loss/object_corrupt");
  client_.answer(200, "abcdef", headers_of({{"Content-Length", "6"}}));
  EXPECT_EQ(thrown([&] { open({.offset = 1, .length = 2}); }).kind, "unavailable/unavailable");
  client_.answer(200, "abc", headers_of({{"Content-Length", "3"}}));
  EXPECT_EQ(testing::get_range(*std::make_unique<S3Store>(options(), client_), "k",
                               {.offset = 0, .length = 3}),
            "abc");
}

TEST_F(S3StoreTest, NoticesAChangeThoughTheServerIgnoresIfMatch) {
  client_.answer(206, "abc", headers_of({{"Content-Range", "bytes 0-2/3"}, {"ETag", "\"new\""}}));
  EXPECT_EQ(thrown([&] { store().open("k", {.offset = 0, .length = 3}, "old"); }).kind,
            "gone/source_changed");
  EXPECT_EQ(headers_sent(0).get("if-match"), "\"old\"");
}

TEST_F(S3StoreTest, ResumesABrokenReadOnTheSameBytesOnly) {
  S3Store target = store();
  client_.answer(
      206, "ab",
      headers_of({{"Content-Range", "bytes 5-9/20"}, {"ETag", "\"e\""}}));  // two of five
  const auto reader = target.open("k", {.offset = 5, .length = 5}, "");
  client_.answer(206, "cde", headers_of({{"Content-Range", "bytes 7-9/20"}, {"ETag", "\"e\""}}));
  EXPECT_EQ(testing::read_to_end(*reader), "abcde");
  EXPECT_EQ(headers_sent(1).get("range"), "bytes=7-9");
  EXPECT_EQ(headers_sent(1).get("if-match"), "\"e\"");

  client_.answer(206, "ab", headers_of({{"Content-Range", "bytes 5-9/20"}, {"ETag", "\"e\""}}));
  const auto changed = target.open("k", {.offset = 5, .length = 5}, "");
  client_.answer(412, error_body("PreconditionFailed"));
  EXPECT_EQ(thrown([&] { testing::read_to_end(*changed); }).kind, "gone/source_changed");
}

TEST_F(S3StoreTest, ResumesABrokenSpliceByReading) {
  S3Store target = store(options());
  const auto part_answer = [&](const std::string& bytes, const std::string& range) {
    client_.answer(206, bytes, headers_of({{"Content-Range", range}, {"ETag", "\"e\""}}));
  };
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  part_answer("abc", "bytes 5-9/20");  // three of five
  const auto reader = target.open("k", {.offset = 5, .length = 5}, "");
  EXPECT_EQ(reader->splice(pipe[1], 2), 2u);
  EXPECT_EQ(reader->splice(pipe[1], 100), 1u);
  std::array<char, 8> piped{};
  EXPECT_EQ(::read(pipe[0], piped.data(), piped.size()), 3);
  EXPECT_EQ(std::string_view(piped.data(), 3), "abc");
  EXPECT_EQ(reader->splice(pipe[1], 100), std::nullopt) << "the answer was cut short";
  part_answer("de", "bytes 8-9/20");
  EXPECT_EQ(testing::read_to_end(*reader), "de");
  EXPECT_EQ(headers_sent(1).get("range"), "bytes=8-9");
  EXPECT_EQ(headers_sent(1).get("if-match"), "\"e\"");

  part_answer("abcdefg", "bytes 5-9/20");  // more than was asked for
  EXPECT_EQ(target.open("k", {.offset = 5, .length = 5}, "")->splice(pipe[1], 100), 5u);

  for (int i = 0; i < 3; ++i) part_answer("", "bytes 5-9/20");
  const auto broken = target.open("k", {.offset = 5, .length = 5}, "");
  EXPECT_EQ(broken->splice(pipe[1], 100), std::nullopt);
  EXPECT_EQ(thrown([&] { testing::read_to_end(*broken); }).kind, "unavailable/unavailable");
  for (const int end : pipe) ::close(end);
}

TEST_F(S3StoreTest, ReadsAWholeObjectWithItsDigestsInOneRequest) {
  S3Store target = store();
  client_.answer(200, "ab",
                 headers_of({{"Content-Length", "5"},
                             {"ETag", "\"e\""},
                             {"x-amz-checksum-crc32", "AAAAAA==-2"},
                             {"x-amz-checksum-type", "COMPOSITE"},
                             {"x-amz-checksum-sha1", "c2hhMQ=="}}));
  const WholeRead read = target.direct()->open_whole("k", 5, "e");
  ASSERT_EQ(read.digests.size(), 2u);
  EXPECT_EQ(read.digests[0].algorithm + read.digests[0].text, "crc32AAAAAA==-2");
  EXPECT_EQ(read.digests[1].algorithm + read.digests[1].text, "sha1c2hhMQ==");
  EXPECT_EQ(headers_sent(0).get("range"), "") << "a store tells no digests of a range";
  EXPECT_EQ(headers_sent(0).get("x-amz-checksum-mode"), "ENABLED");
  EXPECT_EQ(headers_sent(0).get("if-match"), "\"e\"");

  client_.answer(206, "cde", headers_of({{"Content-Range", "bytes 2-4/5"}, {"ETag", "\"e\""}}));
  EXPECT_EQ(testing::read_to_end(*read.reader), "abcde");
  EXPECT_EQ(headers_sent(1).get("range"), "bytes=2-4") << "what broke goes on where it broke";
  EXPECT_EQ(headers_sent(1).get("x-amz-checksum-mode"), "");
}

TEST_F(S3StoreTest, WholeReadRefusesAnotherObject) {
  S3Store target = store();
  const auto opening = [&] { return target.direct()->open_whole("k", 3, "old"); };
  client_.answer(200, "abc", headers_of({{"Content-Length", "3"}, {"ETag", "\"new\""}}));
  EXPECT_EQ(thrown(opening).kind, "gone/source_changed");
  client_.answer(200, "abcd", headers_of({{"Content-Length", "4"}, {"ETag", "\"old\""}}));
  EXPECT_EQ(thrown(opening).kind, "unavailable/unavailable");
  client_.answer(404, error_body("NoSuchKey"));
  EXPECT_EQ(opening().reader, nullptr);
}

TEST_F(S3StoreTest, RefusesAListingOutOfOrder) {
  client_.answer(200,
                 "<ListBucketResult><Contents><Key>b</Key><Size>1</Size></Contents>"
                 "<Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>");
  EXPECT_EQ(thrown([&] { store().list("", "", 10); }).kind, "unimplemented/unimplemented");
}

TEST_F(S3StoreTest, WalkThrowsWhatThePageThrew) {
  client_.answer(200,
                 "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key><Size>1</"
                 "Size></Contents>"
                 "</ListBucketResult>");
  client_.answer(403, error_body("AccessDenied"));
  Lines keys;
  const Failure failure = thrown([&] {
    store().walk("", "", [&](const BlobStat& item) { return keys.push_back(item.key), true; });
  });
  EXPECT_EQ(failure.kind, "permission_denied/store_denied");
  EXPECT_EQ(keys, Lines{"a"});
}

TEST_F(S3StoreTest, RemovesManyInOneRequestAndNamesWhatWasRefused) {
  S3Options prefixed = options();
  prefixed.prefix = "p/";
  prefixed.backoff_first = std::chrono::milliseconds(1);
  client_.answer(
      200,
      "<DeleteResult><Error><Key>p/a&amp;b</Key><Code>AccessDenied</Code><Message>Object "
      "is WORM protected</Message></Error><Error><Key>p/busy</Key><Code>SlowDown</Code>"
      "</Error><Error><Key>p/gone</Key><Code>NoSuchKey</Code></Error></DeleteResult>");
  client_.answer(200, "<DeleteResult></DeleteResult>");
  S3Store store(prefixed, client_);
  const auto failures = store.remove_all(std::vector<std::string>{"a&b", "busy", "gone", "well"});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].key, "a&b");
  EXPECT_EQ(failures[0].message, "AccessDenied: Object is WORM protected");
  EXPECT_EQ(client_.lines(), (Lines{"POST http://store.test:9000/b?delete=",
                                    "POST http://store.test:9000/b?delete="}));
  EXPECT_THAT(body_sent(0), HasSubstr("<Object><Key>p/a&amp;b</Key></Object>"));
  EXPECT_EQ(body_sent(1), "<Delete><Quiet>true</Quiet><Object><Key>p/busy</Key></Object></Delete>");
  EXPECT_EQ(headers_sent(1).get("content-md5"), to_base64(md5(body_sent(1))));
}

TEST_F(S3StoreTest, RemovesEveryVersionIfAsked) {
  S3Options versioned = options();
  versioned.remove_versions = true;
  client_.answer(200,
                 "<ListVersionsResult><IsTruncated>false</IsTruncated>"
                 "<Version><Key>k</Key><VersionId>v2</VersionId></Version>"
                 "<DeleteMarker><Key>k</Key><VersionId>m</VersionId></DeleteMarker>"
                 "<Version><Key>k/other</Key><VersionId>v9</VersionId></Version>"
                 "</ListVersionsResult>");
  client_.answer(200, "<DeleteResult></DeleteResult>");
  EXPECT_EQ(S3Store(versioned, client_).remove_all(std::vector<std::string>{"k"}).size(), 0u);
  EXPECT_EQ(client_.lines(),
            (Lines{"GET http://store.test:9000/b?encoding-type=url&prefix=k&versions=",
                   "POST http://store.test:9000/b?delete="}));
  EXPECT_EQ(body_sent(1),
            "<Delete><Quiet>true</Quiet><Object><Key>k</Key><VersionId>v2</VersionId></Object>"
            "<Object><Key>k</Key><VersionId>m</VersionId></Object></Delete>");
}

TEST_F(S3StoreTest, RemovesOneByOneWhereTheServerHasNoOtherWay) {
  client_.answer(501, error_body("NotImplemented"));
  client_.answer(204);
  client_.answer(403, error_body("AccessDenied"));
  const auto failures = store().remove_all(std::vector<std::string>{"a", "b"});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].key, "b");
}

TEST_F(S3StoreTest, AbortsOldUploadsOnEveryPage) {
  const auto page = [](const std::string& key, const std::string& begun, bool more) {
    return "<ListMultipartUploadsResult><IsTruncated>" + std::string(more ? "true" : "false") +
           "</IsTruncated><NextKeyMarker>" + key +
           "</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker><Upload><Key>" + key +
           "</Key><UploadId>u</UploadId><Initiated>" + begun +
           "</Initiated></Upload></ListMultipartUploadsResult>";
  };
  client_.answer(200, page("data/old", "2026-01-01T00:00:00Z", true));
  client_.answer(204);
  client_.answer(200, page("data/new", "2026-03-01T00:00:00Z", false));
  EXPECT_EQ(store().remove_unfinished("data/", *parse_rfc3339("2026-02-01")), 1u);
  const std::string url = "http://store.test:9000/b";
  EXPECT_EQ(client_.lines(), (Lines{"GET " + url + "?encoding-type=url&prefix=data%2F&uploads=",
                                    "DELETE " + url + "/data/old?uploadId=u",
                                    "GET " + url +
                                        "?encoding-type=url&key-marker=data%2Fold&prefix=data%2F&"
                                        "upload-id-marker=u&uploads="}));
}

}  // namespace
}  // namespace tarn::blob
