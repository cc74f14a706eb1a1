// Requests that another implementation signed (tests/golden/make_sigv4_vectors.py) and AWS's
// published examples.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/crc.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/testing/signed_requests.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {
namespace {

using nlohmann::json;
using testing::outcome_of;

constexpr size_t kBodyMax = 1 << 22;

const json& vectors() {
  static const json document = json::parse(std::ifstream(TARN_GOLDEN_DIR "/sigv4_vectors.json"));
  return document;
}

const json& vector_named(std::string_view name) {
  for (const json& vector : vectors()["requests"]) {
    if (vector["name"] == name) return vector;
  }
  throw std::runtime_error(str_cat("no vector ", name));
}

std::string repeated(std::string_view unit, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out.append(unit);
  return out;
}

/// Large bodies are stored as their framing with the data replaced by "<16*N>".
std::string body_of(const json& vector) {
  if (!vector.contains("body_frame_base64")) {
    return *from_base64(vector["body_base64"].get<std::string>());
  }
  std::string body = *from_base64(vector["body_frame_base64"].get<std::string>());
  for (size_t at; (at = body.find("<16*")) != std::string::npos;) {
    const size_t end = body.find('>', at);
    const size_t count = std::stoul(body.substr(at + 4, end - at - 4));
    body.replace(at, end + 1 - at,
                 repeated(vector["body_pattern"]["unit"].get<std::string>(), count));
  }
  return body;
}

http::Request request_of(const json& vector) {
  http::Request request;
  request.method = vector["method"];
  request.target = vector["target"];
  for (const json& field : vector["headers"]) request.headers.add(field[0], field[1]);
  const std::string body = body_of(vector);
  request.chunked = request.headers.get("transfer-encoding") == "chunked";
  if (!request.chunked) request.content_length = body.size();
  request.body = http::string_body(body);
  return request;
}

VerifiedRequest check(const http::Request& request) {
  return verify(parse_authorization(request), request, vectors()["secret"].get<std::string>(), {},
                *parse_iso_basic(vectors()["now"].get<std::string>()));
}

constexpr std::array<std::pair<std::string_view, Mechanism>, 4> kMechanisms = {{
    {"v4_header", Mechanism::kV4Header},
    {"v4_query", Mechanism::kV4Query},
    {"v2_header", Mechanism::kV2Header},
    {"v2_query", Mechanism::kV2Query},
}};

Mechanism mechanism_named(std::string_view name) {
  for (const auto& [text, mechanism] : kMechanisms) {
    if (text == name) return mechanism;
  }
  return Mechanism::kNone;
}

TEST(Golden, EveryRequestOfAnotherSignerVerifies) {
  ASSERT_GE(vectors()["requests"].size(), 35u);
  for (const json& vector : vectors()["requests"]) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    http::Request request = request_of(vector);
    VerifiedRequest verified;
    ASSERT_EQ(outcome_of([&] { verified = check(request); }), "accepted");
    EXPECT_EQ(verified.mechanism, mechanism_named(vector["mechanism"].get<std::string>()));
    EXPECT_EQ(verified.access_key_id, vectors()["access_key_id"].get<std::string>());
    auto payload = verified_payload(request, verified, {});
    const std::string bytes = http::read_all(*payload, kBodyMax);
    if (vector.contains("decoded_sha256")) {
      EXPECT_EQ(to_hex(sha256(bytes)), vector["decoded_sha256"].get<std::string>());
    }
  }
}

TEST(Golden, EveryRequestFailsWhenItsMethodPathOrHostIsChanged) {
  for (const json& vector : vectors()["requests"]) {
    SCOPED_TRACE(vector["name"].get<std::string>());
    http::Request other_method = request_of(vector);
    other_method.method = "PATCH";
    EXPECT_EQ(outcome_of([&] { check(other_method); }), "SignatureDoesNotMatch");
    http::Request other_path = request_of(vector);
    other_path.target.insert(1, "x");
    EXPECT_EQ(outcome_of([&] { check(other_path); }), "SignatureDoesNotMatch");
    if (vector["mechanism"].get<std::string>().starts_with("v2"))
      continue;  // the host is no part of it
    http::Request other_host = request_of(vector);
    other_host.headers.set("host", "evil.test");
    EXPECT_EQ(outcome_of([&] { check(other_host); }), "SignatureDoesNotMatch");
  }
}

TEST(Golden, CanonicalRequestsAreThoseOfTheOtherSigner) {
  size_t compared = 0;
  for (const json& vector : vectors()["requests"]) {
    if (!vector.contains("canonical_request")) continue;
    SCOPED_TRACE(vector["name"].get<std::string>());
    http::Request request = request_of(vector);
    std::string canonical;
    try {
      verify(parse_authorization(request), request, "a wrong secret", {},
             *parse_iso_basic(vectors()["now"].get<std::string>()));
    } catch (const Rejection& rejection) {
      for (const auto& [name, value] : rejection.elements()) {
        if (name == "CanonicalRequest") canonical = value;
      }
    }
    EXPECT_EQ(canonical, vector["canonical_request"].get<std::string>());
    ++compared;
  }
  EXPECT_GE(compared, 17u);
}

TEST(Golden, SigningGivesTheSignatureOfTheOtherSigner) {
  const AccessKey key{vectors()["access_key_id"], vectors()["secret"]};
  const Instant now = *parse_iso_basic(vectors()["now"].get<std::string>());
  for (const json& vector : vectors()["requests"]) {
    if (!vector.contains("canonical_request")) continue;
    SCOPED_TRACE(vector["name"].get<std::string>());
    http::Request request = request_of(vector);
    const std::string expected(request.headers.get("authorization"));
    const std::string payload(request.headers.get("x-amz-content-sha256"));
    const SigningTarget target{request.method, request.raw_path(), request.raw_query(),
                               "us-east-1"};
    sign(request.headers, target, key, payload, now);
    EXPECT_EQ(request.headers.get("authorization"), expected);
  }
}

TEST(Golden, PresigningGivesTheUrlOfTheOtherSigner) {
  const AccessKey key{vectors()["access_key_id"], vectors()["secret"]};
  const Instant now = *parse_iso_basic(vectors()["now"].get<std::string>());
  const http::Request get = request_of(vector_named("presigned get"));
  const SigningTarget target{"GET", "/lake/main/a%20b.txt", "response-content-type=text%2Fplain",
                             "us-east-1"};
  EXPECT_EQ(presign_query("127.0.0.1:8000", target, key, std::chrono::hours{1}, now),
            get.raw_query());
}

TEST(Golden, APresignedContentTypeIsBindingWhenItWasSigned) {
  http::Request bound = request_of(vector_named("presigned put with content type"));
  bound.headers.set("Content-Type", "text/html");
  EXPECT_EQ(outcome_of([&] { check(bound); }), "SignatureDoesNotMatch");
  http::Request free = request_of(vector_named("presigned put with metadata in the query"));
  free.headers.set("Content-Type", "text/html");
  EXPECT_EQ(outcome_of([&] { check(free); }), "accepted");
}

TEST(Golden, PresignedUrlsCarryTheirHeaders) {
  http::Request v4 = request_of(vector_named("presigned put with metadata in the query"));
  check(v4);
  hoist_query_headers(v4);
  EXPECT_EQ(v4.headers.get("x-amz-meta-color"), "red blue");
  EXPECT_EQ(v4.headers.get("x-amz-tagging"), "a=b");
  EXPECT_EQ(v4.headers.count("x-amz-signature"), 0u);
  http::Request v2 =
      request_of(vector_named("v2 presigned put with type and metadata in the query alone"));
  check(v2);
  hoist_query_headers(v2);
  EXPECT_EQ(v2.headers.get("content-type"), "text/csv");
  EXPECT_EQ(v2.headers.get("x-amz-meta-color"), "red");
}

std::string hex_number(size_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "%zx", number);
  return text;
}

TEST(Golden, ChunkChainsDecode) {
  for (const json& chain : vectors()["chains"]) {
    SCOPED_TRACE(chain["name"].get<std::string>());
    const bool with_trailer = chain.contains("trailer");
    VerifiedRequest verified;
    verified.payload =
        with_trailer ? PayloadKind::kStreamingSignedTrailer : PayloadKind::kStreamingSigned;
    verified.timestamp = chain["timestamp"];
    verified.scope = chain["scope"];
    verified.signing_key = *from_hex(chain["signing_key"].get<std::string>());
    verified.seed_signature = chain["seed"];
    std::string plain, encoded;
    for (size_t i = 0; i < chain["chunks"].size(); ++i) {
      const json& chunk = chain["chunks"][i];
      const std::string data = repeated(chunk["fill"].get<std::string>(), chunk["bytes"]);
      encoded += str_cat(hex_number(data.size()),
                         ";chunk-signature=", chain["signatures"][i].get<std::string>(), "\r\n",
                         data, data.empty() ? "" : "\r\n");
      plain += data;
    }
    http::Request request = testing::make_request("PUT", "/k");
    if (with_trailer) {
      const json& trailer = chain["trailer"];
      encoded +=
          str_cat(trailer["name"].get<std::string>(), ':', trailer["value"].get<std::string>(),
                  trailer["line_end"].get<std::string>(),
                  "\r\nx-amz-trailer-signature:", trailer["signature"].get<std::string>(), "\r\n");
      request.headers.add("x-amz-trailer", trailer["name"]);
    }
    request.headers.add("x-amz-decoded-content-length", std::to_string(plain.size()));
    testing::set_body(request, encoded + "\r\n");
    auto payload = verified_payload(request, verified, {});
    EXPECT_EQ(http::read_all(*payload, kBodyMax), plain);
    EXPECT_EQ(payload->result().declared.has_value(), with_trailer);
  }
}

TEST(Golden, ChecksumsAreThoseOfOtherImplementations) {
  for (const json& sums : vectors()["checksums"]) {
    const std::string data = *from_base64(sums["data_base64"].get<std::string>());
    http::Request request = testing::make_request("PUT", "/k", data);
    auto payload =
        verified_payload(request, {},
                         {.compute = {ChecksumAlgorithm::kCrc32, ChecksumAlgorithm::kSha1,
                                      ChecksumAlgorithm::kSha256}});
    http::read_all(*payload, kBodyMax);
    const PayloadResult& result = payload->result();
    EXPECT_EQ(to_base64(result.md5), sums["md5"].get<std::string>());
    EXPECT_EQ(to_base64(*result.checksum(ChecksumAlgorithm::kCrc32)),
              sums["crc32"].get<std::string>());
    EXPECT_EQ(to_base64(*result.checksum(ChecksumAlgorithm::kSha1)),
              sums["sha1"].get<std::string>());
    EXPECT_EQ(to_base64(*result.checksum(ChecksumAlgorithm::kSha256)),
              sums["sha256"].get<std::string>());
    EXPECT_EQ(to_base64(result.sha256), sums["sha256"].get<std::string>());
  }
}

// The worked examples of the S3 API reference, chapter "Authenticating Requests (AWS Signature
// Version 4)".
struct Published {
  const char* method;
  const char* target;
  std::vector<http::Headers::Field> headers;
  std::string payload;
  const char* signature;
};

TEST(Golden, PublishedExamplesVerify) {
  const std::string date = "20130524T000000Z";
  const std::string empty(kEmptySha256);
  const std::vector<Published> examples = {
      {"GET",
       "/test.txt",
       {{"Range", "bytes=0-9"}},
       empty,
       "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
      {"PUT",
       "/test$file.text",
       {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
       to_hex(sha256("Welcome to Amazon S3.")),
       "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
      {"GET",
       "/?lifecycle",
       {},
       empty,
       "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
      {"GET",
       "/?max-keys=2&prefix=J",
       {},
       empty,
       "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
  };
  for (const Published& example : examples) {
    SCOPED_TRACE(example.target);
    http::Request request = testing::make_request(example.method, example.target);
    request.headers.set("host", "examplebucket.s3.amazonaws.com");
    for (const auto& field : example.headers) request.headers.add(field.first, field.second);
    const SigningTarget target{request.method, request.raw_path(), request.raw_query(),
                               "us-east-1"};
    const AccessKey key{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
    sign(request.headers, target, key, example.payload, *parse_iso_basic(date));
    const Authorization parsed = parse_authorization(request);
    EXPECT_EQ(parsed.signature, example.signature);
    EXPECT_EQ(outcome_of([&] {
                verify(parsed, request, key.secret, {.region = "us-east-1"},
                       *parse_iso_basic(date));
              }),
              "accepted");
  }
}

TEST(Golden, PublishedPresignedExampleVerifies) {
  const AccessKey key{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const std::string query =
      presign_query("examplebucket.s3.amazonaws.com", {"GET", "/test.txt", "", "us-east-1"}, key,
                    std::chrono::hours{24}, *parse_iso_basic("20130524T000000Z"));
  EXPECT_EQ(query_value(query, "X-Amz-Signature"),
            "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

}  // namespace
}  // namespace tarn::sigv4
