// Decoding of S3's "aws-chunked" content coding: chunks with or without signatures, then trailer
// lines.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/digest.h"
#include "core/http/message.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4 {

/// Longest chunk header with all its extensions. A signature needs 85 bytes.
constexpr size_t kChunkLineBytesMax = 4096;
/// Source: every known SDK stays far below; keeps arithmetic in range.
constexpr uint64_t kChunkBytesMax = uint64_t{1} << 31;
/// Source: S3. In signed payloads only the last chunk may be smaller.
constexpr uint64_t kSignedChunkBytesMin = 8192;
/// Unsigned payloads may have this many chunks, and one more for every kBytesPerChunkMin bytes: a
/// flood of one-byte chunks costs us more than its sender.
constexpr uint64_t kSmallChunksMax = 1024;
constexpr uint64_t kBytesPerChunkMin = 64;
constexpr size_t kTrailerLineBytesMax = 1024;
constexpr size_t kTrailerLinesMax = 4;
constexpr size_t kTrailerBlankLinesMax = 3;

struct ChunkedLayout {
  uint64_t decoded_bytes = 0;          ///< x-amz-decoded-content-length
  std::optional<std::string> trailer;  ///< lower-case name announced in x-amz-trailer
};

/// The bytes inside the chunks. Chunk data goes directly from the source into the caller's buffer.
/// Every signature is checked as soon as its chunk is complete; the final read has checked the
/// whole chain and the length. Throws Rejection as VerifiedPayload does. One thread at a time.
class ChunkedBody final : public http::BodySource {
 public:
  ChunkedBody(std::unique_ptr<http::BodySource> encoded, const VerifiedRequest& verified,
              ChunkedLayout layout);

  size_t read(std::span<char> out) override;
  /// The announced trailer's value, available after the end; nullopt if none was announced.
  const std::optional<std::string>& trailer_value() const { return trailer_value_; }

 private:
  struct Line {
    std::string text;
    bool crlf = false;        ///< ended in CR LF rather than LF
    bool terminated = false;  ///< false: the body ended
  };

  bool chunks_signed() const { return kind_ != PayloadKind::kStreamingUnsignedTrailer; }
  bool start_chunk();
  void finish_chunk();
  void check_chunk_size(uint64_t size);
  uint64_t parse_chunk_line(std::string_view line);
  void parse_extension(std::string_view extension);
  void read_trailers();
  void take_trailer(std::string_view line);
  void check_trailer_signature() const;
  std::string chain_text(std::string_view algorithm, std::string_view tail) const;

  size_t take(std::span<char> out);
  bool refill();
  Line read_line(size_t limit, std::string_view s3_code);

  // Constant after construction.
  std::unique_ptr<http::BodySource> encoded_;
  PayloadKind kind_;
  std::string timestamp_;
  std::string scope_;
  std::string signing_key_;
  ChunkedLayout layout_;

  std::string previous_signature_;
  std::string chunk_signature_;
  Digest chunk_digest_{DigestAlgorithm::kSha256};
  bool in_chunk_ = false;
  bool ended_ = false;
  uint64_t chunk_bytes_ = 0;
  uint64_t chunk_left_ = 0;
  uint64_t chunks_ = 0;
  uint64_t decoded_ = 0;

  std::string canonical_trailers_;
  std::optional<std::string> trailer_value_;
  std::optional<std::string> trailer_signature_;

  // Read ahead for lines only; small, so that little chunk data passes through it.
  std::array<char, 1024> ahead_;
  size_t ahead_begin_ = 0;
  size_t ahead_end_ = 0;
};

}  // namespace tarn::sigv4
