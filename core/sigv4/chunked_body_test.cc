#include "core/sigv4/chunked_body.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/sigv4/payload.h"
#include "core/sigv4/testing/signed_requests.h"

namespace tarn::sigv4 {
namespace {

using testing::authenticate;
using testing::chunked_put;
using testing::ChunkedBodyText;
using testing::kUnsignedTrailer;
using testing::make_request;
using testing::set_body;
using testing::sign_v4;

constexpr std::string_view kSigned = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD";
constexpr std::string_view kSignedTrailer = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER";
constexpr size_t kChunkedBodyMax = 1 << 24;
const std::string kTrailer = "x-amz-checksum-crc32:NhCmhg==";  // of "hello"

/// Hands out `step` bytes at a time, so that every token is met cut in two.
class Dribble final : public http::BodySource {
 public:
  Dribble(std::unique_ptr<http::BodySource> inner, size_t step)
      : inner_(std::move(inner)), step_(step) {}
  size_t read(std::span<char> out) override {
    return inner_->read(out.first(std::min(step_, out.size())));
  }

 private:
  std::unique_ptr<http::BodySource> inner_;
  size_t step_;
};

/// The decoded bytes, or the S3 code of the refusal.
std::string decode(http::Request& request, size_t piece = 65536) {
  try {
    const VerifiedRequest verified = authenticate(request);
    auto payload = verified_payload(request, verified, {});
    std::string all, buffer(piece, '\0');
    while (const size_t count = payload->read(buffer)) all.append(buffer, 0, count);
    return all;
  } catch (const Error& error) {
    return str_cat("<", error.reason(), ">");
  }
}

http::Request unsigned_put(std::string encoded, std::string_view length = "5",
                           std::string trailer = "x-amz-checksum-crc32") {
  http::Request request = make_request("PUT", "/lake/main/k");
  request.headers.add("x-amz-decoded-content-length", std::string(length));
  if (!trailer.empty()) request.headers.add("x-amz-trailer", std::move(trailer));
  sign_v4(request, kUnsignedTrailer);
  set_body(request, std::move(encoded));
  return request;
}

std::string decode_unsigned(std::string encoded, std::string_view length = "5",
                            std::string trailer = "x-amz-checksum-crc32") {
  http::Request request = unsigned_put(std::move(encoded), length, std::move(trailer));
  return decode(request);
}

/// A signed request whose encoded body went through `change` on the way.
template <typename Change>
std::string decode_changed(std::string_view literal, const ChunkedBodyText& text, Change&& change) {
  http::Request request = chunked_put(literal, text);
  std::string body = http::read_all(*request.body, kChunkedBodyMax);
  change(body);
  set_body(request, body);
  return decode(request);
}

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
}

const ChunkedBodyText kTwoChunks{{std::string(8192, 'a'), "hello"}};
const ChunkedBodyText kWithTrailer{{"hello"}, "x-amz-checksum-crc32", "NhCmhg=="};

TEST(ChunkedBody, DecodesEveryModeHoweverItIsCut) {
  const std::pair<std::string_view, ChunkedBodyText> bodies[] = {{kUnsignedTrailer, kWithTrailer},
                                                                 {kUnsignedTrailer, kTwoChunks},
                                                                 {kUnsignedTrailer, {}},
                                                                 {kSigned, kTwoChunks},
                                                                 {kSigned, {}},
                                                                 {kSignedTrailer, kWithTrailer}};
  for (const auto& [literal, text] : bodies) {
    std::string plain;
    for (const std::string& chunk : text.chunks) plain += chunk;
    for (const size_t step : {1u, 2u, 7u, 100000u}) {
      for (const size_t piece : {1u, 3u, 8191u, 8192u, 65536u}) {
        if (step == 1 && piece != 65536 && plain.size() > 100) continue;
        http::Request request = chunked_put(literal, text);
        request.body = std::make_unique<Dribble>(std::move(request.body), step);
        ASSERT_EQ(decode(request, piece), plain) << literal << " " << step << " " << piece;
      }
    }
  }
}

/// Notes the largest space that was offered to it.
class Observed final : public http::BodySource {
 public:
  Observed(std::unique_ptr<http::BodySource> inner, size_t& largest)
      : inner_(std::move(inner)), largest_(largest) {}
  size_t read(std::span<char> out) override {
    largest_ = std::max(largest_, out.size());
    return inner_->read(out);
  }

 private:
  std::unique_ptr<http::BodySource> inner_;
  size_t& largest_;
};

TEST(ChunkedBody, ReadsAheadOnlyForLines) {
  size_t largest = 0;
  http::Request request = chunked_put(kUnsignedTrailer, {{std::string(100000, 'a')}});
  request.body = std::make_unique<Observed>(std::move(request.body), largest);
  EXPECT_EQ(decode(request).size(), 100000u);
  EXPECT_GT(largest, 60000u);  // the caller's own space, not a buffer in between
}

TEST(ChunkedBody, FramingIsStrict) {
  const std::string end = "0\r\n" + kTrailer + "\r\n\r\n";
  ASSERT_EQ(decode_unsigned("5\r\nhello\r\n" + end), "hello");
  const std::string broken[] = {
      "",
      "5\r\nhel",
      "5\r\nhello",
      "5\r\nhello\r\n",
      "5\r\nhello\r\n0",
      "5\nhello\r\n" + end,
      "5\r\nhello\n" + end,
      "5\r\nhello" + end,
      "5\r\nhelloX\r\n" + end,
      "4\r\nhello\r\n" + end,
      "\r\nhello\r\n" + end,
      ";\r\nhello\r\n" + end,
      "+5\r\nhello\r\n" + end,
      "-5\r\nhello\r\n" + end,
      " 5\r\nhello\r\n" + end,
      "5 \r\nhello\r\n" + end,
      "0x5\r\nhello\r\n" + end,
      "5g\r\nhello\r\n" + end,
      "5\r\r\nhello\r\n" + end,
      "00000000000000005\r\nhello\r\n" + end,
      "10000000000000005\r\nhello\r\n" + end,
      "5;chunk-signature=" + std::string(64, 'a') + "\r\nhello\r\n" + end,
      "5;chunk-signature\r\nhello\r\n" + end,
      "5\r\nhello\r\n0\r\n\r\n\r\n\r\n\r\n",
  };
  for (const std::string& body : broken) {
    EXPECT_EQ(decode_unsigned(body), "<IncompleteBody>") << body;
  }
}

TEST(ChunkedBody, SizesMayBeUpperCaseAndPaddedAndCarryExtensions) {
  const std::string ten = "0123456789";
  EXPECT_EQ(decode_unsigned("000A;name=value;x\r\n" + ten + "\r\n0\r\n\r\n", "10", ""), ten);
  EXPECT_EQ(decode_unsigned("a;\r\n" + ten + "\r\n0;x\r\n\r\n", "10", ""), ten);
  const std::string long_name(kChunkLineBytesMax - 2, 'x');
  EXPECT_EQ(decode_unsigned("a;" + long_name + "\r\n" + ten + "\r\n0\r\n\r\n", "10", ""), ten);
  EXPECT_EQ(decode_unsigned("a;" + long_name + "x\r\n" + ten + "\r\n0\r\n\r\n", "10", ""),
            "<IncompleteBody>");
}

TEST(ChunkedBody, OneChunkHasAMaximum) {
  EXPECT_EQ(decode_unsigned("80000001\r\n", "9999999999"), "<InvalidChunkSizeError>");
  EXPECT_EQ(decode_unsigned("ffffffffffffffff\r\n", "18446744073709551615"),
            "<InvalidChunkSizeError>");
  EXPECT_EQ(decode_unsigned("80000000\r\nx", "9999999999"), "<IncompleteBody>");
}

TEST(ChunkedBody, TheDecodedLengthIsExact) {
  const std::string body = "5\r\nhello\r\n0\r\n" + kTrailer + "\r\n\r\n";
  EXPECT_EQ(decode_unsigned(body, "4"), "<IncompleteBody>");
  EXPECT_EQ(decode_unsigned(body, "6"), "<IncompleteBody>");
  EXPECT_EQ(decode_unsigned(body, "0"), "<IncompleteBody>");
  for (const char* length : {"", "x", "-1", "+5", " 5", "5 ", "18446744073709551616"}) {
    EXPECT_EQ(decode_unsigned(body, length), "<InvalidArgument>") << length;
  }
  http::Request none = make_request("PUT", "/k");
  sign_v4(none, kUnsignedTrailer);
  set_body(none, body);
  EXPECT_EQ(decode(none), "<MissingContentLength>");
}

TEST(ChunkedBody, TrailersComeInEveryClientsForm) {
  const std::string data = "5\r\nhello\r\n0\r\n";
  for (const std::string& end :
       {kTrailer + "\r\n\r\n", kTrailer + "\n\r\n", kTrailer + "\n\n", kTrailer + "\r\n", kTrailer,
        "\r\n" + kTrailer + "\r\n\r\n", kTrailer + "\r\n\r\n\r\n",
        std::string("X-Amz-Checksum-CRC32: NhCmhg== \r\n\r\n")}) {
    EXPECT_EQ(decode_unsigned(data + end), "hello") << end;
  }
  for (const char* end : {"\r\n", "\r\n\r\n", ""}) {
    EXPECT_EQ(decode_unsigned(data + end, "5", ""), "hello") << "none was announced";
    EXPECT_EQ(decode_unsigned(data + end), "<MalformedTrailerError>") << end;
  }
}

TEST(ChunkedBody, UnannouncedAndMalformedTrailersAreRefused) {
  const std::string data = "5\r\nhello\r\n0\r\n";
  for (const std::string& lines :
       {std::string("x-amz-checksum-sha1:NhCmhg=="), std::string("x-amz-checksum-crc32"),
        std::string(":NhCmhg=="), std::string("x-amz-meta-a:b"), kTrailer + "\r\n" + kTrailer,
        kTrailer + "\r\nx-amz-trailer-signature:" + std::string(64, 'a'), std::string("x amz:1"),
        "x-amz-checksum-crc32:" + std::string(1024, 'A')}) {
    EXPECT_EQ(decode_unsigned(data + lines + "\r\n\r\n"), "<MalformedTrailerError>") << lines;
  }
  EXPECT_EQ(decode_unsigned(data + kTrailer + "\r\n\r\n", "5", ""), "<MalformedTrailerError>");
  EXPECT_EQ(decode_unsigned(data + kTrailer + "\r\rX\n", "5"), "<MalformedTrailerError>");
}

TEST(ChunkedBody, TheAnnouncementIsCheckedBeforeTheBody) {
  for (const char* trailer : {"x-amz-checksum-md5", "x-amz-meta-a", "", "crc32",
                              "x-amz-checksum-crc32,x-amz-checksum-sha1"}) {
    http::Request request = make_request("PUT", "/lake/main/k");
    request.headers.add("x-amz-decoded-content-length", "5");
    request.headers.add("x-amz-trailer", trailer);
    sign_v4(request, kUnsignedTrailer);
    EXPECT_EQ(decode(request), "<InvalidRequest>") << trailer;
  }
  for (const std::string_view literal : {kSigned, std::string_view("UNSIGNED-PAYLOAD")}) {
    http::Request request = make_request("PUT", "/lake/main/k");
    request.headers.add("x-amz-decoded-content-length", "5");
    request.headers.add("x-amz-trailer", "x-amz-checksum-crc32");
    sign_v4(request, literal);
    EXPECT_EQ(decode(request), "<InvalidRequest>") << literal;
  }
}

TEST(ChunkedBody, EveryChunkSignatureIsVerified) {
  const auto change_signature = [](size_t which) {
    return [which](std::string& body) {
      size_t at = 0;
      for (size_t i = 0; i <= which; ++i) at = body.find("chunk-signature=", at) + 16;
      body[at] = body[at] == '0' ? '1' : '0';
    };
  };
  for (const size_t which : {0u, 1u, 2u}) {
    EXPECT_EQ(decode_changed(kSigned, kTwoChunks, change_signature(which)),
              "<SignatureDoesNotMatch>");
  }
  EXPECT_EQ(decode_changed(kSigned, kTwoChunks,
                           [](std::string& body) { replace_first(body, "hello", "jello"); }),
            "<SignatureDoesNotMatch>");
}

TEST(ChunkedBody, ChunksCannotBeSwappedOrLeftOut) {
  const ChunkedBodyText three{
      {std::string(8192, 'a'), std::string(8192, 'b'), std::string(8192, 'c')}};
  const size_t chunk = 4 + 17 + 64 + 2 + 8192 + 2;
  EXPECT_EQ(decode_changed(kSigned, three,
                           [&](std::string& body) {
                             body = body.substr(chunk, chunk) + body.substr(0, chunk) +
                                    body.substr(2 * chunk);
                           }),
            "<SignatureDoesNotMatch>");
  EXPECT_EQ(decode_changed(kSigned, three, [&](std::string& body) { body.erase(chunk, chunk); }),
            "<SignatureDoesNotMatch>");
  EXPECT_EQ(decode_changed(kSigned, three, [&](std::string& body) { body.resize(3 * chunk); }),
            "<IncompleteBody>");
}

TEST(ChunkedBody, ASignedStreamTakesNoUnsignedChunk) {
  const auto strip = [](std::string& body, size_t from) {
    const size_t at = body.find(";chunk-signature=", from);
    body.erase(at, 17 + 64);
  };
  EXPECT_EQ(decode_changed(kSigned, kTwoChunks, [&](std::string& body) { strip(body, 0); }),
            "<IncompleteBody>");
  EXPECT_EQ(decode_changed(kSigned, kTwoChunks,
                           [&](std::string& body) { strip(body, body.rfind("\r\n0;")); }),
            "<IncompleteBody>");
  EXPECT_EQ(decode_changed(kSigned, kTwoChunks,
                           [](std::string& body) {
                             replace_first(body, "chunk-signature=", "chunk-signature=0");
                           }),
            "<IncompleteBody>");
  EXPECT_EQ(decode_changed(kSigned, kTwoChunks,
                           [](std::string& body) {
                             replace_first(body, ";chunk-signature=", ";Chunk-signature=");
                           }),
            "<IncompleteBody>");
  EXPECT_EQ(decode_changed(kSigned, kTwoChunks,
                           [](std::string& body) {
                             replace_first(body, "\r\n",
                                           ";chunk-signature=" + std::string(64, 'a') + "\r\n");
                           }),
            "<IncompleteBody>");
}

TEST(ChunkedBody, ASignedStreamWithoutTrailerTakesNone) {
  EXPECT_EQ(
      decode_changed(kSigned, kTwoChunks,
                     [](std::string& body) { body.insert(body.size() - 2, kTrailer + "\r\n"); }),
      "<MalformedTrailerError>");
}

TEST(ChunkedBody, TheTrailerIsSigned) {
  EXPECT_EQ(decode_changed(kSignedTrailer, kWithTrailer, [](std::string&) {}), "hello");
  ChunkedBodyText line_feed = kWithTrailer;
  line_feed.trailer_line_end = "\n\r\n";  // a blank line before the signature, as some clients send
  EXPECT_EQ(decode_changed(kSignedTrailer, line_feed, [](std::string&) {}), "hello");
  EXPECT_EQ(decode_changed(kSignedTrailer, kWithTrailer,
                           [](std::string& body) { replace_first(body, "NhCmhg==", "NhCmhA=="); }),
            "<SignatureDoesNotMatch>");
  EXPECT_EQ(decode_changed(kSignedTrailer, kWithTrailer,
                           [](std::string& body) { replace_first(body, kTrailer + "\r\n", ""); }),
            "<SignatureDoesNotMatch>");
  EXPECT_EQ(decode_changed(kSignedTrailer, kWithTrailer,
                           [](std::string& body) {
                             const size_t at = body.find("trailer-signature:") + 18;
                             body[at] = body[at] == '0' ? '1' : '0';
                           }),
            "<SignatureDoesNotMatch>");
  EXPECT_EQ(
      decode_changed(kSignedTrailer, kWithTrailer,
                     [](std::string& body) { body.erase(body.find("x-amz-trailer-signature")); }),
      "<MalformedTrailerError>");
  EXPECT_EQ(decode_changed(kSignedTrailer, kWithTrailer,
                           [](std::string& body) {
                             replace_first(body, "trailer-signature:", "trailer-signature:0");
                           }),
            "<MalformedTrailerError>");
  EXPECT_EQ(decode_changed(kSignedTrailer, kWithTrailer,
                           [](std::string& body) {
                             replace_first(body, kTrailer + "\r\n", "");
                             body.insert(body.size() - 2, kTrailer + "\r\n");
                           }),
            "<MalformedTrailerError>");
}

TEST(ChunkedBody, OnlyTheLastSignedChunkMayBeSmall) {
  EXPECT_EQ(decode_changed(kSigned, {{"hello"}}, [](std::string&) {}), "hello");
  http::Request small_first = chunked_put(kSigned, {{std::string(8191, 'a'), "b"}});
  EXPECT_EQ(decode(small_first), "<InvalidChunkSizeError>");
  http::Request unsigned_small = chunked_put(kUnsignedTrailer, {{"a", "b", "c"}});
  EXPECT_EQ(decode(unsigned_small), "abc");
}

TEST(ChunkedBody, TinyChunksAreLimited) {
  const auto tiny = [](size_t count) {
    ChunkedBodyText text;
    text.chunks.assign(count, "x");
    http::Request request = chunked_put(kUnsignedTrailer, text);
    return decode(request);
  };
  EXPECT_EQ(tiny(1000), std::string(1000, 'x'));
  EXPECT_EQ(tiny(1100), "<InvalidChunkSizeError>");
  ChunkedBodyText steady;
  steady.chunks.assign(20000, std::string(64, 'x'));
  http::Request request = chunked_put(kUnsignedTrailer, steady);
  EXPECT_EQ(decode(request).size(), 20000u * 64);
}

TEST(ChunkedBody, AStreamShorterThanAnnouncedFailsBeforeItsTrailers) {
  VerifiedRequest verified;
  verified.payload = PayloadKind::kStreamingUnsignedTrailer;
  ChunkedBody body(http::string_body("5\r\nhello\r\n0\r\nno trailer"), verified, {6, std::nullopt});
  char buffer[64];
  EXPECT_EQ(testing::outcome_of([&] { body.read(buffer); }), "IncompleteBody");
}

}  // namespace
}  // namespace tarn::sigv4
