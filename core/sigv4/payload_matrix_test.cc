// Every mechanism with every payload literal and every kind of damage: the client's error, and that
// refused bytes are never published.
#include <map>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/testing/signed_requests.h"

namespace tarn::sigv4 {
namespace {

using testing::kKey;
using testing::kNow;
using testing::kUnsignedTrailer;

constexpr std::string_view kSigned = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
constexpr std::string_view kSignedTrailer = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
constexpr std::string_view kEcdsa = "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD";
constexpr std::string_view kTrailerLine = "x-amz-checksum-crc32:NhCmhg==\r\n";

enum class Spoil {
  kNothing,
  kAddedHeader,
  kChangedHeader,
  kChangedBody,
  kTruncated,
  kChunkSignature,
  kNoFinalChunk,
  kWrongTrailer,
  kNoTrailer,
  kLengthOneMore,
  kLengthOneLess,
};
constexpr Spoil kSpoils[] = {Spoil::kNothing,       Spoil::kAddedHeader,  Spoil::kChangedHeader,
                             Spoil::kChangedBody,   Spoil::kTruncated,    Spoil::kChunkSignature,
                             Spoil::kNoFinalChunk,  Spoil::kWrongTrailer, Spoil::kNoTrailer,
                             Spoil::kLengthOneMore, Spoil::kLengthOneLess};

struct Row {
  Mechanism mechanism;
  std::string literal;       ///< "" = no header; "hash" = of the body
  const char* expected[11];  ///< in the order of Spoil; nullptr = does not apply
};

constexpr const char* kOk = "accepted";
constexpr const char* kDenied = "AccessDenied";
constexpr const char* kSignature = "SignatureDoesNotMatch";
constexpr const char* kHash = "XAmzContentSHA256Mismatch";
constexpr const char* kShort = "IncompleteBody";
constexpr const char* kDigest = "BadDigest";
constexpr const char* kTrailer = "MalformedTrailerError";
constexpr const char* kInvalid = "InvalidRequest";
constexpr const char* kMissing = "NotImplemented";
constexpr const char* kNone = nullptr;

// Columns: nothing, added header, changed header, changed body, truncated, chunk signature, no
// final chunk, wrong trailer, no trailer, length + 1, length - 1.
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {Mechanism::kV4Header,
       "hash",
       {kOk, kDenied, kSignature, kHash, kHash, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV4Header,
       "",
       {kInvalid, kDenied, kInvalid, kInvalid, kInvalid, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV4Header,
       std::string(kUnsignedPayload),
       {kOk, kDenied, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV4Header,
       std::string(kUnsignedTrailer),
       {kOk, kDenied, kSignature, kDigest, kShort, kShort, kShort, kDigest, kTrailer, kShort,
        kShort}},
      {Mechanism::kV4Header,
       std::string(kSigned),
       {kOk, kDenied, kSignature, kSignature, kShort, kSignature, kShort, kTrailer, kNone, kShort,
        kShort}},
      {Mechanism::kV4Header,
       std::string(kSignedTrailer),
       {kOk, kDenied, kSignature, kSignature, kShort, kSignature, kShort, kSignature, kTrailer,
        kShort, kShort}},
      {Mechanism::kV4Header,
       std::string(kEcdsa),
       {kMissing, kDenied, kMissing, kMissing, kMissing, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV4Query,
       "",
       {kOk, kDenied, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV4Query,
       "hash",
       {kOk, kDenied, kSignature, kHash, kHash, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV4Query,
       std::string(kUnsignedPayload),
       {kOk, kDenied, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV2Header,
       "",
       {kOk, kSignature, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV2Header,
       "hash",
       {kOk, kSignature, kSignature, kHash, kHash, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV2Header,
       std::string(kUnsignedPayload),
       {kOk, kSignature, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV2Query,
       "",
       {kOk, kSignature, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV2Query,
       "hash",
       {kOk, kSignature, kSignature, kHash, kHash, kNone, kNone, kNone, kNone, kNone, kNone}},
      {Mechanism::kV2Query,
       std::string(kUnsignedPayload),
       {kOk, kSignature, kSignature, kOk, kShort, kNone, kNone, kNone, kNone, kNone, kNone}},
  };
  return all;
}

bool is_streaming(std::string_view literal) { return literal.starts_with("STREAMING-"); }

void sign_as(Mechanism mechanism, http::Request& request, std::string_view literal) {
  if (mechanism != Mechanism::kV4Header && !literal.empty()) {
    request.headers.add("x-amz-content-sha256", std::string(literal));
  }
  switch (mechanism) {
    case Mechanism::kNone:
    case Mechanism::kV4Form:  // has neither a literal nor a hash: form_test.cc
    case Mechanism::kV2Form:
      break;
    case Mechanism::kV4Header:
      testing::sign_v4(request, literal);
      break;
    case Mechanism::kV4Query: {
      // The client signs its metadata as a parameter; x-amz-content-sha256 stays outside, which is
      // its right.
      const std::string meta(request.headers.get("x-amz-meta-a"));
      request.headers.remove("x-amz-meta-a");
      request.target += "?x-amz-meta-a=" + meta;
      testing::presign_v4(request, std::chrono::seconds{60});
      break;
    }
    case Mechanism::kV2Header:
      testing::sign_v2(request);
      break;
    case Mechanism::kV2Query:
      testing::presign_v2(request, to_seconds(kNow) + 60);
      break;
  }
}

/// As a client that leaves x-amz-content-sha256 out: the hash is signed, the header is not sent.
void sign_without_header(http::Request& request) {
  testing::sign_v4(request, to_hex(sha256("hello")));
  const SigningTarget target{request.method, request.raw_path(), request.raw_query(),
                             testing::kRegion};
  request.headers.remove("x-amz-content-sha256");
  const std::vector<std::string> names = {"host", "x-amz-date", "x-amz-meta-a"};
  std::string lines;
  for (const std::string& name : names) {
    lines += str_cat(name, ':', *canonical_header(request.headers, name), '\n');
  }
  const std::string canonical =
      canonical_head("PUT", target.path, target.query, lines, joined(names, ";")) +
      to_hex(sha256("hello"));
  const std::string scope = "20261120/us-east-1/s3/aws4_request";
  request.headers.set("Authorization",
                      str_cat("AWS4-HMAC-SHA256 Credential=", kKey.id, '/', scope,
                              ", SignedHeaders=", joined(names, ";"), ", Signature=",
                              signature_of(signing_key(kKey.secret, "20261120", "us-east-1", "s3"),
                                           string_to_sign("20261120T081542Z", scope, canonical))));
}

std::string length_of(Spoil spoil) {
  return spoil == Spoil::kLengthOneMore ? "6" : spoil == Spoil::kLengthOneLess ? "4" : "5";
}

http::Request signed_request(const Row& row, Spoil spoil) {
  http::Request request = testing::make_request("PUT", "/lake/main/k", "hello");
  request.headers.add("x-amz-meta-a", "b");
  const bool with_trailer = row.literal == kUnsignedTrailer || row.literal == kSignedTrailer;
  if (is_streaming(row.literal)) {
    request.headers.add("x-amz-decoded-content-length", length_of(spoil));
    if (with_trailer) request.headers.add("x-amz-trailer", "x-amz-checksum-crc32");
  }
  if (row.mechanism == Mechanism::kV4Header && row.literal.empty()) {
    sign_without_header(request);
    return request;
  }
  sign_as(row.mechanism, request, row.literal == "hash" ? to_hex(sha256("hello")) : row.literal);
  if (is_streaming(row.literal) && row.literal != kEcdsa) {
    testing::ChunkedBodyText text{{"hello"}};
    if (with_trailer) {
      text.trailer_name = "x-amz-checksum-crc32";
      text.trailer_value = "NhCmhg==";
    }
    testing::set_body(request, text.encode(testing::authenticate(request)));
  }
  return request;
}

void replace_in(std::string& text, std::string_view from, std::string_view to) {
  if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

void spoil_body(std::string& body, Spoil spoil, std::string_view literal) {
  const size_t final_chunk = body.find("\r\n0") + 2;
  switch (spoil) {
    case Spoil::kChangedBody:
      replace_in(body, "hello", "jello");
      break;
    case Spoil::kTruncated:
      body.resize(body.find("hello") + 4);
      break;
    case Spoil::kChunkSignature:
      if (literal == kUnsignedTrailer) {
        body.insert(body.find("\r\n"), ";chunk-signature=" + std::string(64, 'a'));
      } else {
        const size_t at = body.find("signature=") + 10;
        body[at] = body[at] == '0' ? '1' : '0';
      }
      break;
    case Spoil::kNoFinalChunk:
      body.resize(final_chunk);
      break;
    case Spoil::kWrongTrailer:
      if (literal == kSigned) {
        body.insert(body.size() - 2, kTrailerLine);
      } else {
        replace_in(body, "NhCmhg==", "NhCmhA==");
      }
      break;
    case Spoil::kNoTrailer:
      if (const size_t at = body.find(kTrailerLine); at != std::string::npos) body.resize(at);
      body += "\r\n";
      break;
    default:
      break;
  }
}

void spoil_request(http::Request& request, Spoil spoil, const Row& row) {
  if (spoil == Spoil::kAddedHeader) request.headers.add("x-amz-acl", "public-read");
  if (spoil == Spoil::kChangedHeader) {
    if (row.mechanism == Mechanism::kV4Query) {
      replace_in(request.target, "x-amz-meta-a=b", "x-amz-meta-a=c");
    } else {
      request.headers.set("x-amz-meta-a", "changed");
    }
  }
  std::string body = http::read_all(*request.body, 1 << 20);
  spoil_body(body, spoil, row.literal);
  request.body = http::string_body(body);  // the announced length stays: a cut connection
}

struct Outcome {
  std::string code;
  std::optional<std::string> published;
};

Outcome upload(http::Request& request) {
  Outcome out;
  std::string stored;
  try {
    const VerifiedRequest verified = testing::authenticate(request);
    auto payload = verified_payload(request, verified, {});
    char buffer[16];
    while (const size_t count = payload->read(buffer)) stored.append(buffer, count);
    out = {"accepted", stored};
  } catch (const Error& error) {
    out.code = error.reason();
  }
  return out;
}

TEST(PayloadMatrix, EveryCombinationHasItsAnswer) {
  size_t checked = 0;
  for (const Row& row : rows()) {
    for (const Spoil spoil : kSpoils) {
      const char* expected = row.expected[static_cast<size_t>(spoil)];
      if (expected == nullptr) continue;
      SCOPED_TRACE(str_cat("mechanism ", static_cast<int>(row.mechanism), " literal \"",
                           row.literal, "\" spoil ", static_cast<int>(spoil)));
      http::Request request = signed_request(row, spoil);
      spoil_request(request, spoil, row);
      const Outcome outcome = upload(request);
      EXPECT_EQ(outcome.code, expected);
      EXPECT_EQ(outcome.published.has_value(), expected == std::string_view(kOk));
      if (outcome.published) {
        EXPECT_EQ(*outcome.published, spoil == Spoil::kChangedBody ? "jello" : "hello");
      }
      ++checked;
    }
  }
  EXPECT_EQ(checked, 97u);
}

TEST(PayloadMatrix, StreamingIsRefusedForEveryOtherMechanism) {
  for (const Mechanism mechanism :
       {Mechanism::kV4Query, Mechanism::kV2Header, Mechanism::kV2Query}) {
    for (const std::string_view literal : {kUnsignedTrailer, kSigned, kSignedTrailer, kEcdsa}) {
      for (const Spoil spoil : kSpoils) {
        http::Request request =
            testing::make_request("PUT", "/lake/main/k", "5\r\nhello\r\n0\r\n\r\n");
        request.headers.add("x-amz-meta-a", "b");
        sign_as(mechanism, request, literal);
        spoil_request(request, spoil, {mechanism, std::string(literal), {}});
        // The head alone refuses, whatever else is wrong; what V4 leaves unsigned comes first.
        const bool unsigned_header =
            mechanism == Mechanism::kV4Query && spoil == Spoil::kAddedHeader;
        EXPECT_EQ(upload(request).code, unsigned_header     ? kDenied
                                        : literal == kEcdsa ? kMissing
                                                            : kInvalid)
            << literal << " spoil " << static_cast<int>(spoil);
      }
    }
  }
}

}  // namespace
}  // namespace tarn::sigv4
