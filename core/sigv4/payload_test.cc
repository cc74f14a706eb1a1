#include "core/sigv4/payload.h"

#include <gtest/gtest.h>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/sigv4/testing/signed_requests.h"

namespace tarn::sigv4 {
namespace {

using testing::authenticate;
using testing::chunked_put;
using testing::kUnsignedTrailer;
using testing::make_request;
using testing::outcome_of;
using testing::set_body;
using testing::sign_v4;

constexpr size_t kBodyMax = 1 << 24;

/// The values of "hello" in base64.
struct Known {
  const char* name;
  ChecksumAlgorithm algorithm;
  const char* value;
};
const Known kOfHello[] = {
    {"crc32", ChecksumAlgorithm::kCrc32, "NhCmhg=="},
    {"crc32c", ChecksumAlgorithm::kCrc32c, "mnG7TA=="},
    {"crc64nvme", ChecksumAlgorithm::kCrc64Nvme, "M3eFcAZSQlc="},
    {"sha1", ChecksumAlgorithm::kSha1, "qvTGHdzF6KLavt4PO0gs2a6pQ00="},
    {"sha256", ChecksumAlgorithm::kSha256, "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="}};
const std::string kMd5OfHello = "XUFAKrxLKna5cZ2REBfFkg==";

http::Request hello_with(std::initializer_list<http::Headers::Field> fields) {
  http::Request request = make_request("PUT", "/lake/main/k", "hello");
  for (const auto& field : fields) request.headers.add(field.first, field.second);
  return request;
}

/// Reads to the end; the S3 code or "accepted".
std::string outcome(http::Request& request, const VerifiedRequest& verified = {},
                    const PayloadOptions& options = {}) {
  return outcome_of([&] {
    auto payload = verified_payload(request, verified, options);
    http::read_all(*payload, kBodyMax);
  });
}

std::string outcome(http::Request&& request) { return outcome(request); }

PayloadResult result_of(http::Request request, const PayloadOptions& options = {}) {
  auto payload = verified_payload(request, {}, options);
  http::read_all(*payload, kBodyMax);
  EXPECT_EQ(payload->computes_sha256(), !payload->result().sha256.empty());
  return payload->result();
}

TEST(Payload, ComputesTheEtagAndTheDefaultChecksum) {
  const PayloadResult result = result_of(hello_with({}));
  EXPECT_EQ(result.bytes, 5u);
  EXPECT_EQ(to_base64(result.md5), kMd5OfHello);
  EXPECT_EQ(result.sha256, "");
  EXPECT_EQ(result.checksums, (std::vector<PayloadChecksum>{
                                  {ChecksumAlgorithm::kCrc64Nvme, *from_base64("M3eFcAZSQlc=")}}));
  EXPECT_EQ(result.declared, std::nullopt);
}

TEST(Payload, ComputesOnlyTheRequestedChecksums) {
  const PayloadResult bare = result_of(hello_with({}), {.md5 = false, .crc64nvme = false});
  EXPECT_EQ(bare.md5, "");
  EXPECT_TRUE(bare.checksums.empty());
  const PayloadResult all = result_of(
      hello_with({}), {.compute = {ChecksumAlgorithm::kSha256, ChecksumAlgorithm::kCrc32,
                                   ChecksumAlgorithm::kCrc64Nvme, ChecksumAlgorithm::kSha1,
                                   ChecksumAlgorithm::kCrc32c, ChecksumAlgorithm::kCrc32}});
  ASSERT_EQ(all.checksums.size(), 5u);
  for (const Known& known : kOfHello) {
    EXPECT_EQ(to_base64(*all.checksum(known.algorithm)), known.value);
  }
}

TEST(Payload, LongBodiesReadInOddPiecesHaveTheSameDigests) {
  std::string body(300001, '\0');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 + i / 253);
  http::Request request = make_request("PUT", "/k", body);
  auto payload = verified_payload(request, {}, {.compute = {ChecksumAlgorithm::kSha256}});
  EXPECT_TRUE(payload->computes_sha256());
  std::string buffer(4099, '\0'), all;
  while (const size_t count = payload->read(buffer)) all.append(buffer, 0, count);
  EXPECT_EQ(all, body);
  EXPECT_EQ(payload->result().md5, md5(body));
  EXPECT_EQ(payload->result().sha256, sha256(body));
  EXPECT_EQ(*payload->result().checksum(ChecksumAlgorithm::kCrc64Nvme),
            crc_digest(CrcKind::kCrc64Nvme, crc_of(CrcKind::kCrc64Nvme, body)));
}

TEST(Payload, ChecksumHeadersAreVerified) {
  for (const Known& known : kOfHello) {
    const std::string header = str_cat("X-Amz-Checksum-", known.name);
    const PayloadResult result = result_of(hello_with({{header, known.value}}));
    EXPECT_EQ(result.declared, known.algorithm) << known.name;
    EXPECT_EQ(to_base64(*result.checksum(known.algorithm)), known.value);
    std::string wrong = *from_base64(known.value);
    wrong[0] = static_cast<char>(wrong[0] ^ 1);
    EXPECT_EQ(outcome(hello_with({{header, to_base64(wrong)}})), "BadDigest") << known.name;
    for (const char* value : {"", "####", "AAA", "AAAAAAA=", "NhCmhh=="}) {
      EXPECT_EQ(outcome(hello_with({{header, value}})), "InvalidRequest") << known.name << value;
    }
  }
}

TEST(Payload, TrailerChecksumsAreVerified) {
  for (const Known& known : kOfHello) {
    const std::string name = str_cat("x-amz-checksum-", known.name);
    http::Request good = chunked_put(kUnsignedTrailer, {{"hello"}, name, known.value});
    auto payload = verified_payload(good, authenticate(good), {});
    EXPECT_EQ(http::read_all(*payload, kBodyMax), "hello");
    EXPECT_EQ(payload->result().declared, known.algorithm);
    std::string wrong = *from_base64(known.value);
    wrong[0] = static_cast<char>(wrong[0] ^ 1);
    http::Request bad = chunked_put(kUnsignedTrailer, {{"hello"}, name, to_base64(wrong)});
    EXPECT_EQ(outcome(bad, authenticate(bad)), "BadDigest") << known.name;
    http::Request unreadable = chunked_put(kUnsignedTrailer, {{"hello"}, name, "AAA"});
    EXPECT_EQ(outcome(unreadable, authenticate(unreadable)), "InvalidRequest") << known.name;
  }
}

TEST(Payload, MissingAnnouncedTrailerIsRefused) {
  http::Request request =
      chunked_put(kUnsignedTrailer, {{"hello"}, "x-amz-checksum-crc32", "NhCmhg=="});
  set_body(request, "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(outcome(request, authenticate(request)), "MalformedTrailerError");
}

TEST(Payload, OnlyOneChecksumIsTaken) {
  EXPECT_EQ(outcome(hello_with(
                {{"x-amz-checksum-crc32", "NhCmhg=="}, {"x-amz-checksum-crc32c", "mnG7TA=="}})),
            "InvalidRequest");
  EXPECT_EQ(outcome(hello_with(
                {{"x-amz-checksum-crc32", "NhCmhg=="}, {"x-amz-checksum-crc32", "NhCmhg=="}})),
            "InvalidRequest");
  http::Request both = make_request("PUT", "/k");
  both.headers.add("x-amz-decoded-content-length", "5");
  both.headers.add("x-amz-trailer", "x-amz-checksum-crc32");
  both.headers.add("x-amz-checksum-crc32", "NhCmhg==");
  sign_v4(both, kUnsignedTrailer);
  EXPECT_EQ(outcome(both, authenticate(both)), "InvalidRequest");
}

TEST(Payload, UnknownAlgorithmsAreRefusedNotIgnored) {
  for (const char* name : {"x-amz-checksum-sha512", "x-amz-checksum-xxhash64", "x-amz-checksum-md5",
                           "x-amz-checksum-"}) {
    EXPECT_EQ(outcome(hello_with({{name, "AAAA"}})), "InvalidRequest") << name;
  }
  EXPECT_EQ(outcome(hello_with({{"x-amz-sdk-checksum-algorithm", "SHA512"}})), "InvalidRequest");
}

TEST(Payload, HeadersAboutChecksumsThatAreNoChecksumsAreIgnored) {
  EXPECT_EQ(outcome(hello_with({{"x-amz-checksum-algorithm", "CRC32"},
                                {"x-amz-checksum-mode", "ENABLED"},
                                {"x-amz-checksum-type", "FULL_OBJECT"}})),
            "accepted");
}

TEST(Payload, APromisedAlgorithmNeedsItsValue) {
  EXPECT_EQ(outcome(hello_with({{"x-amz-sdk-checksum-algorithm", "CRC32"}})), "InvalidRequest");
  EXPECT_EQ(outcome(hello_with({{"x-amz-sdk-checksum-algorithm", "CRC32"},
                                {"x-amz-checksum-crc32c", "mnG7TA=="}})),
            "InvalidRequest");
  EXPECT_EQ(outcome(hello_with(
                {{"x-amz-sdk-checksum-algorithm", "CRC32"}, {"x-amz-checksum-crc32", "NhCmhg=="}})),
            "accepted");
}

TEST(Payload, ChecksumHeadersAreIgnoredIfDisabled) {
  http::Request request = hello_with({{"x-amz-checksum-crc32", "AAAAAA=="}});
  EXPECT_EQ(outcome(request, {}, {.checksum_headers = false}), "accepted");
}

TEST(Payload, ContentMd5IsVerified) {
  EXPECT_EQ(outcome(hello_with({{"Content-MD5", kMd5OfHello}})), "accepted");
  EXPECT_EQ(outcome(hello_with({{"Content-MD5", to_base64(md5("other"))}})), "BadDigest");
  for (const char* value :
       {"", "x", "AAAA", "XUFAKrxLKna5cZ2REBfFkg", "5d41402abc4b2a76b9719d911017c592"}) {
    EXPECT_EQ(outcome(hello_with({{"Content-MD5", value}})), "InvalidDigest") << value;
  }
  http::Request unasked = hello_with({{"Content-MD5", to_base64(md5("other"))}});
  EXPECT_EQ(outcome(unasked, {}, {.md5 = false}), "BadDigest");
  http::Request empty = make_request("PUT", "/k");
  empty.headers.add("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==");
  EXPECT_EQ(outcome(empty), "accepted");
}

TEST(Payload, ContentMd5OfAChunkedBodyIsThatOfItsData) {
  http::Request request = chunked_put(kUnsignedTrailer, {{"hello"}});
  request.headers.add("Content-MD5", kMd5OfHello);
  EXPECT_EQ(outcome(request, authenticate(request)), "accepted");
}

TEST(Payload, ASignedHashIsComparedAtTheEnd) {
  http::Request request = make_request("PUT", "/k", "hello");
  sign_v4(request, to_hex(sha256("hello")));
  const VerifiedRequest verified = authenticate(request);
  EXPECT_EQ(outcome(request, verified), "accepted");
  set_body(request, "jello");
  try {
    auto payload = verified_payload(request, verified, {});
    http::read_all(*payload, kBodyMax);
    FAIL();
  } catch (const Rejection& rejection) {
    EXPECT_EQ(rejection.reason(), "XAmzContentSHA256Mismatch");
    EXPECT_EQ(rejection.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(rejection.elements(), (std::vector<Rejection::Element>{
                                        {"ClientComputedContentSHA256", to_hex(sha256("hello"))},
                                        {"S3ComputedContentSHA256", to_hex(sha256("jello"))}}));
  }
}

TEST(Payload, AFailedPayloadStaysFailed) {
  // Reading a digest resets it: a second read would return the digest of nothing, as claimed.
  http::Request request = hello_with({{"Content-MD5", to_base64(md5(""))}});
  auto payload = verified_payload(request, {}, {});
  EXPECT_EQ(outcome_of([&] { http::read_all(*payload, kBodyMax); }), "BadDigest");
  EXPECT_EQ(outcome_of([&] { http::read_all(*payload, kBodyMax); }), "IncompleteBody");
}

TEST(Payload, APlainBodyHasItsAnnouncedLength) {
  http::Request request = hello_with({});
  EXPECT_EQ(verified_payload(request, {}, {})->length(), 5u);
  http::Request shorter = hello_with({});
  shorter.content_length = 6;
  EXPECT_EQ(outcome(shorter), "IncompleteBody");
  http::Request chunked = hello_with({});
  chunked.content_length.reset();
  chunked.chunked = true;
  auto payload = verified_payload(chunked, {}, {});
  EXPECT_EQ(payload->length(), std::nullopt);
  EXPECT_EQ(http::read_all(*payload, kBodyMax), "hello");
  http::Request streamed = chunked_put(kUnsignedTrailer, {{"hello"}});
  EXPECT_EQ(verified_payload(streamed, authenticate(streamed), {})->length(), 5u);
}

TEST(Payload, AnEncodingOfAwsChunkedWithoutAStreamingLiteralIsThePlainBody) {
  http::Request request = make_request("PUT", "/k", "5\r\nhello\r\n0\r\n\r\n");
  request.headers.add("Content-Encoding", "aws-chunked");
  sign_v4(request, kUnsignedPayload);
  auto payload = verified_payload(request, authenticate(request), {});
  EXPECT_EQ(http::read_all(*payload, kBodyMax), "5\r\nhello\r\n0\r\n\r\n");
}

TEST(Payload, StoredEncodingsAreWithoutTheTransportOne) {
  EXPECT_EQ(stored_content_encoding("aws-chunked"), "");
  EXPECT_EQ(stored_content_encoding("aws-chunked, aws-chunked"), "");
  EXPECT_EQ(stored_content_encoding("gzip,aws-chunked"), "gzip");
  EXPECT_EQ(stored_content_encoding("AWS-Chunked, gzip"), "gzip");
  EXPECT_EQ(stored_content_encoding("deflate,gzip"), "deflate,gzip");
  EXPECT_EQ(stored_content_encoding("br, aws-chunked,gzip"), "br, gzip");
  EXPECT_EQ(stored_content_encoding(""), "");
}

TEST(Payload, AlgorithmsHaveTheNamesOfTheHeaders) {
  for (const Known& known : kOfHello) {
    EXPECT_EQ(name_of(known.algorithm), known.name);
    EXPECT_EQ(parse_checksum_algorithm(known.name), known.algorithm);
    EXPECT_EQ(digest_bytes(known.algorithm), from_base64(known.value)->size());
  }
  EXPECT_EQ(parse_checksum_algorithm("CRC64NVME"), ChecksumAlgorithm::kCrc64Nvme);
  EXPECT_EQ(parse_checksum_algorithm("crc"), std::nullopt);
}

}  // namespace
}  // namespace tarn::sigv4
