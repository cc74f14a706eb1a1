// What S3Store makes of answers that a well-behaved server does not give in a test.
#include "core/blob/s3_store.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "tests/support/blob_objects.h"
#include "tests/support/scripted_client.h"

namespace tarn::blob {
namespace {

using ::testing::HasSubstr;
using testing::put;
using testing::ScriptedClient;
using Lines = std::vector<std::string>;

std::string error_body(const std::string& code) {
  return "<Error><Code>" + code + "</Code><Message>as the server says</Message></Error>";
}

http::Headers headers_of(std::vector<http::Headers::Field> fields) {
  http::Headers headers;
  for (auto& [name, value] : fields) headers.add(name, value);
  return headers;
}

struct Failure {
  std::string kind;  // code and reason; "" = nothing was thrown
  std::string message;
};

Failure thrown(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {std::string(name_of(error.code())) + "/" + std::string(error.reason()),
            error.message()};
  }
  return {};
}

class S3StoreTest : public ::testing::Test {
 protected:
  static S3Options options() {
    return {.endpoint = "http://store.test:9000",
            .key = {.id = "AK", .secret = "SK"},
            .bucket = "b",
            .part_size_bytes = kS3PartBytesMin,
            .parts_in_flight = 1,
            .retries_max = 2,
            .backoff_first = std::chrono::milliseconds(0),
            .backoff_longest = std::chrono::milliseconds(0)};
  }
  S3Store store(const S3Options& chosen = options()) { return S3Store(chosen, client_); }
  const http::Headers& headers_sent(size_t index) {
    seen_ = client_.seen();
    return seen_.at(index).request.headers;
  }
  /// Headers of an object of `bytes` by the writer that sent request `index`.
  http::Headers mark_sent(size_t index, uint64_t bytes) {
    return headers_of({{"Content-Length", std::to_string(bytes)},
                       {"x-amz-meta-tarn-writer",
                        std::string(headers_sent(index).get("x-amz-meta-tarn-writer"))}});
  }

  ScriptedClient client_;
  std::vector<ScriptedClient::Seen> seen_;
};

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

TEST_F(S3StoreTest, ADirectUploadFailsWithTheAnswerThatCameLate) {
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

TEST_F(S3StoreTest, RepeatsWhatMayPass) {
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

TEST_F(S3StoreTest, DoesNotRepeatWhatCannotPass) {
  struct Case {
    int status;
    const char* code;
    const char* kind;
    const char* hint;
  };
  for (const Case& one :
       {Case{403, "AccessDenied", "permission_denied/permission_denied", "check the policy"},
        Case{403, "SignatureDoesNotMatch", "permission_denied/permission_denied",
             "check the configured secret"},
        Case{403, "RequestTimeTooSkewed", "permission_denied/permission_denied", "check the clock"},
        Case{404, "NoSuchBucket", "not_found/bucket_not_found", "\"b\""},
        Case{400, "InvalidArgument", "invalid_argument/invalid_argument", "as the server says"},
        Case{400, "AuthorizationHeaderMalformed", "permission_denied/permission_denied",
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
  S3Store known = store();
  EXPECT_EQ(known.stat("k"), std::nullopt);
  EXPECT_EQ(known.stat("k"), std::nullopt);  // asked once
  EXPECT_EQ(client_.lines(),
            (Lines{"HEAD http://store.test:9000/b/k", "HEAD http://store.test:9000/b",
                   "HEAD http://store.test:9000/b/k", "HEAD http://store.test:9000/b",
                   "HEAD http://store.test:9000/b/k"}));
}

TEST_F(S3StoreTest, LostAnswerToAPutIsFoundToBeOurOwn) {
  S3Store target = store();
  const auto writer = target.create("k", 1);
  writer->write("v");
  client_.answer(0);
  client_.answer(412, error_body("PreconditionFailed"));
  // Known only when it is sent, so the mark is read in a second round.
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
  const http::Headers mark = mark_sent(0, 1);
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", mark);
  EXPECT_TRUE(writer->finish());
}

TEST_F(S3StoreTest, ObjectThatABrokenConnectionCutShortIsMadeAnew) {
  S3Store target = store();
  const auto writer = target.create("k", 10);
  writer->write("0123456789");
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", mark_sent(0, 4));
  client_.answer(204);
  client_.answer(200);
  EXPECT_TRUE(writer->finish());
  const std::string url = "http://store.test:9000/b/k";
  const Lines lines = client_.lines();
  EXPECT_EQ(Lines(lines.end() - 4, lines.end()),
            (Lines{"PUT " + url, "HEAD " + url, "DELETE " + url, "PUT " + url}));
}

TEST_F(S3StoreTest, SendsAChecksumThatServersCanVerify) {
  client_.answer(200);
  put(*std::make_unique<S3Store>(options(), client_), "k", "123456789");
  // 0xe3069283: the check value of CRC-32C.
  EXPECT_EQ(headers_sent(0).get("x-amz-checksum-crc32c"), "4waSgw==");
}

TEST_F(S3StoreTest, ObjectOfModerateKnownSizeIsOnePut) {
  client_.answer(200);
  EXPECT_TRUE(
      put(*std::make_unique<S3Store>(options(), client_), "k", std::string(20'000'000, 'x')));
  EXPECT_EQ(client_.lines(), Lines{"PUT http://store.test:9000/b/k"});
  EXPECT_EQ(client_.seen()[0].body.size(), 20'000'000u);
}

TEST_F(S3StoreTest, FewLargeBodiesAreHeldInMemoryAtOnce) {
  S3Store target = store();
  std::vector<std::unique_ptr<BlobWriter>> writers;
  constexpr uint64_t kLargest = 64 * 1024 * 1024;
  for (int i = 0; i < 4; ++i) writers.push_back(target.create("k", kLargest));
  client_.answer(404);  // the fifth is uploaded in parts: it looks, begins, and here fails
  const auto fifth = target.create("k", kLargest);
  EXPECT_EQ(
      thrown([&] { testing::write_in_pieces(*fifth, std::string(kS3PartBytesMin + 1, 'x')); }).kind,
      "unavailable/unavailable");
  EXPECT_EQ(client_.lines().at(1), "POST http://store.test:9000/b/k?uploads=");
  writers.pop_back();
  const auto sixth = target.create("k", kLargest);
  testing::write_in_pieces(*sixth, std::string(kS3PartBytesMin + 1, 'x'));
}

TEST_F(S3StoreTest, ObjectOfAnotherWriterIsNotOurs) {
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", headers_of({{"x-amz-meta-tarn-writer", "someone"}}));
  EXPECT_FALSE(put(*std::make_unique<S3Store>(options(), client_), "k", "v"));
  EXPECT_EQ(headers_sent(0).get("if-none-match"), "*");
}

TEST_F(S3StoreTest, LooksFirstWhereTheServerCannotCreateExclusively) {
  S3Store target = store();
  client_.answer(501, error_body("NotImplemented"));
  client_.answer(404);
  client_.answer(200);
  EXPECT_TRUE(put(target, "k", "v"));
  EXPECT_EQ(headers_sent(2).find("if-none-match"), nullptr);
  // Remembered: the next one looks at once, and finds an object.
  client_.answer(200);
  client_.answer(200);
  EXPECT_FALSE(put(target, "k2", "v"));
  const std::string url = "http://store.test:9000/b/k";
  EXPECT_EQ(client_.lines(), (Lines{"PUT " + url, "HEAD " + url, "PUT " + url, "HEAD " + url + "2",
                                    "HEAD " + url + "2"}));
}

class S3UploadTest : public S3StoreTest {
 protected:
  /// Two parts are uploaded; what follows is up to the test.
  std::unique_ptr<BlobWriter> two_parts_written() {
    client_.answer(404);
    client_.answer(
        200,
        "<InitiateMultipartUploadResult><UploadId>u/1</UploadId></InitiateMultipartUploadResult>");
    client_.answer(200, "", headers_of({{"ETag", "\"e1\""}}));
    client_.answer(200, "", headers_of({{"ETag", "\"e2\""}}));
    auto writer = store_.create("k", std::nullopt);
    testing::write_in_pieces(*writer, std::string(kS3PartBytesMin + 1, 'x'));
    return writer;
  }
  const std::string url_ = "http://store.test:9000/b/k";
  S3Store store_ = store();
};

TEST_F(S3UploadTest, UploadsPartsAndCompletesThem) {
  const auto writer = two_parts_written();
  client_.answer(200,
                 "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
  EXPECT_TRUE(writer->finish());
  EXPECT_EQ(
      client_.lines(),
      (Lines{"HEAD " + url_,
             "POST " + url_ + "?uploads=", "PUT " + url_ + "?partNumber=1&uploadId=u%2F1",
             "PUT " + url_ + "?partNumber=2&uploadId=u%2F1", "POST " + url_ + "?uploadId=u%2F1"}));
  seen_ = client_.seen();
  EXPECT_EQ(seen_[2].body.size(), kS3PartBytesMin);
  EXPECT_EQ(seen_[3].body, "x");
  EXPECT_EQ(seen_[4].body,
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\"e1\"</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>\"e2\"</ETag></Part></CompleteMultipartUpload>");
}

TEST_F(S3UploadTest, FailureInsideAnAnswerOf200IsAFailure) {
  auto writer = two_parts_written();
  client_.answer(200, error_body("InternalError"));
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
  client_.answer(204);
  writer.reset();
  EXPECT_EQ(client_.lines().back(), "DELETE " + url_ + "?uploadId=u%2F1");
}

TEST_F(S3UploadTest, UploadGoneAfterALostAnswerIsLookedUp) {
  const auto writer = two_parts_written();
  client_.answer(404, error_body("NoSuchUpload"));
  client_.answer(200, "", headers_of({{"x-amz-meta-tarn-writer", "someone"}}));
  EXPECT_EQ(thrown([&] { (void)writer->finish(); }).kind, "unavailable/unavailable");
}

TEST_F(S3UploadTest, LostAnswerToTheCompletionIsFoundToBeOurOwn) {
  const auto writer = two_parts_written();
  client_.answer(0);
  client_.answer(404, error_body("NoSuchUpload"));
  client_.answer(200, "", mark_sent(1, kS3PartBytesMin + 1));
  EXPECT_TRUE(writer->finish());
}

TEST_F(S3UploadTest, LosingTheRaceAtCompletionAbortsTheUpload) {
  const auto writer = two_parts_written();
  client_.answer(412, error_body("PreconditionFailed"));
  client_.answer(200, "", headers_of({{"x-amz-meta-tarn-writer", "someone"}}));
  client_.answer(204);
  EXPECT_FALSE(writer->finish());
  EXPECT_EQ(client_.lines().back(), "DELETE " + url_ + "?uploadId=u%2F1");
}

TEST_F(S3StoreTest, ChecksThatTheRangeIsWhatWasAskedFor) {
  const auto open = [&](ByteRange range) { store().open("k", range, ""); };
  client_.answer(206, "abc", headers_of({{"Content-Range", "bytes 0-2/3"}}));
  EXPECT_EQ(thrown([&] { open({.offset = 0, .length = 4}); }).kind,
            "invalid_argument/invalid_argument");
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

TEST_F(S3StoreTest, ReadsNoOtherObjectAsAWhole) {
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
  EXPECT_EQ(failure.kind, "permission_denied/permission_denied");
  EXPECT_EQ(keys, Lines{"a"});
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
