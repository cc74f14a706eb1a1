#include "core/sigv4/chunked_body.h"

#include <algorithm>
#include <cstring>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"

namespace tarn::sigv4 {
namespace {

constexpr std::string_view kSignatureExtension = "chunk-signature=";
constexpr std::string_view kTrailerSignature = "x-amz-trailer-signature";
constexpr size_t kSignatureHexChars = 64;
constexpr size_t kSizeDigitsMax = 16;

[[noreturn]] void refuse(std::string_view s3_code, std::string_view why,
                         std::vector<Rejection::Element> elements = {}) {
  throw Rejection(ErrorCode::kInvalidArgument, s3_code,
                  str_cat("reading the chunked payload: ", why), std::move(elements));
}

/// S3 reports all framing errors with this code.
[[noreturn]] void incomplete(std::string_view why) { refuse("IncompleteBody", why); }

[[noreturn]] void wrong_signature(std::string_view what, std::string text, std::string_view got) {
  throw Rejection(
      ErrorCode::kPermissionDenied, "SignatureDoesNotMatch",
      str_cat("reading the chunked payload: the signature of ", what, " does not match"),
      {{"StringToSign", std::move(text)}, {"SignatureProvided", std::string(got)}});
}

bool is_signature(std::string_view text) {
  return text.size() == kSignatureHexChars && from_hex(text).has_value();
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

ChunkedBody::ChunkedBody(std::unique_ptr<http::BodySource> encoded, const VerifiedRequest& verified,
                         ChunkedLayout layout)
    : encoded_(std::move(encoded)),
      kind_(verified.payload),
      timestamp_(verified.timestamp),
      scope_(verified.scope),
      signing_key_(verified.signing_key),
      layout_(std::move(layout)),
      previous_signature_(verified.seed_signature) {}

size_t ChunkedBody::read(std::span<char> out) {
  size_t filled = 0;
  while (filled < out.size() && !ended_) {
    if (chunk_left_ == 0) {
      if (in_chunk_) finish_chunk();
      if (!start_chunk()) {
        read_trailers();
        ended_ = true;
        break;
      }
    }
    const size_t room = static_cast<size_t>(std::min<uint64_t>(out.size() - filled, chunk_left_));
    const size_t count = take(out.subspan(filled, room));
    if (count == 0) incomplete("it ends inside a chunk");
    if (chunks_signed()) chunk_digest_.update({out.data() + filled, count});
    chunk_left_ -= count;
    decoded_ += count;
    filled += count;
  }
  return filled;
}

/// Reads a chunk's header; false for the last chunk, which is empty.
bool ChunkedBody::start_chunk() {
  const Line line = read_line(kChunkLineBytesMax, "IncompleteBody");
  if (!line.terminated) incomplete("it ends before the last chunk");
  if (!line.crlf) incomplete("a chunk header does not end in CR LF");
  const uint64_t size = parse_chunk_line(line.text);
  check_chunk_size(size);
  chunk_bytes_ = size;
  chunk_left_ = size;
  in_chunk_ = size > 0;
  if (in_chunk_) return true;
  if (decoded_ != layout_.decoded_bytes) {
    incomplete(
        str_cat("it holds ", decoded_, " bytes instead of the announced ", layout_.decoded_bytes));
  }
  if (chunks_signed()) finish_chunk();
  return false;
}

void ChunkedBody::check_chunk_size(uint64_t size) {
  if (size > layout_.decoded_bytes - decoded_) {
    incomplete(str_cat("it holds more bytes than the announced ", layout_.decoded_bytes));
  }
  if (size == 0) return;
  ++chunks_;
  const bool too_small = chunks_signed() ? chunks_ > 1 && chunk_bytes_ < kSignedChunkBytesMin
                                         : chunks_ > kSmallChunksMax + decoded_ / kBytesPerChunkMin;
  if (too_small) {
    refuse(
        "InvalidChunkSizeError", "only the last chunk may be smaller than 8192 bytes",
        {{"Chunk", std::to_string(chunks_ - 1)}, {"BadChunkSize", std::to_string(chunk_bytes_)}});
  }
}

uint64_t ChunkedBody::parse_chunk_line(std::string_view line) {
  const std::string_view digits = line.substr(0, line.find(';'));
  if (digits.empty() || digits.size() > kSizeDigitsMax) incomplete("a chunk has no proper size");
  uint64_t size = 0;
  for (char c : digits) {
    const bool upper = c >= 'A' && c <= 'F';
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f') && !upper) {
      incomplete("a chunk has no proper size");
    }
    const int digit = c <= '9' ? c - '0' : (upper ? c - 'A' : c - 'a') + 10;
    size = size * 16 + static_cast<uint64_t>(digit);  // sixteen digits fit
  }
  if (size > kChunkBytesMax) {
    refuse("InvalidChunkSizeError", str_cat("a chunk of ", size, " bytes is too large"));
  }
  chunk_signature_.clear();
  line.remove_prefix(digits.size());
  while (!line.empty()) {
    line.remove_prefix(1);
    const std::string_view extension = line.substr(0, line.find(';'));
    parse_extension(extension);
    line.remove_prefix(extension.size());
  }
  if (chunks_signed() && chunk_signature_.empty()) incomplete("a chunk carries no signature");
  return size;
}

/// Extensions other than the signature are ignored.
void ChunkedBody::parse_extension(std::string_view extension) {
  if (!extension.starts_with(kSignatureExtension)) {
    if (extension.starts_with("chunk-signature")) incomplete("a chunk signature is malformed");
    return;
  }
  extension.remove_prefix(kSignatureExtension.size());
  if (!chunks_signed()) incomplete("a chunk of an unsigned payload carries a signature");
  if (!chunk_signature_.empty() || !is_signature(extension)) {
    incomplete("a chunk signature is malformed");
  }
  chunk_signature_ = lower(extension);
}

/// Reads the CR LF after the data and checks the chunk's signature, which seeds the next one.
void ChunkedBody::finish_chunk() {
  if (in_chunk_) {
    const Line line = read_line(0, "IncompleteBody");
    if (!line.terminated || !line.crlf) incomplete("no CR LF follows the data of a chunk");
    in_chunk_ = false;
  }
  if (!chunks_signed()) return;
  std::string text = chain_text("AWS4-HMAC-SHA256-PAYLOAD",
                                str_cat(kEmptySha256, '\n', to_hex(chunk_digest_.finish())));
  if (!same_signature(signature_of(signing_key_, text), chunk_signature_)) {
    wrong_signature("a chunk", std::move(text), chunk_signature_);
  }
  previous_signature_ = chunk_signature_;
}

std::string ChunkedBody::chain_text(std::string_view algorithm, std::string_view tail) const {
  return str_cat(algorithm, '\n', timestamp_, '\n', scope_, '\n', previous_signature_, '\n', tail);
}

/// Trailer lines end in LF or CR LF. Depending on the client, blank lines come before, between and
/// after; a missing final line end is accepted.
void ChunkedBody::read_trailers() {
  size_t lines = 0;
  size_t blanks = 0;
  for (bool more = true; more;) {
    const Line line = read_line(kTrailerLineBytesMax, "MalformedTrailerError");
    more = line.terminated;
    if (line.text.empty()) {
      if (more && ++blanks > kTrailerBlankLinesMax) incomplete("bytes follow its end");
      continue;
    }
    if (++lines > kTrailerLinesMax) refuse("MalformedTrailerError", "it has too many trailers");
    take_trailer(line.text);
  }
  if (kind_ == PayloadKind::kStreamingSignedTrailer) check_trailer_signature();
  // The client announced a checksum: without it, nothing would protect the bytes.
  if (layout_.trailer && !trailer_value_) {
    refuse("MalformedTrailerError", "the trailer that x-amz-trailer announces did not come");
  }
}

void ChunkedBody::take_trailer(std::string_view line) {
  const size_t colon = line.find(':');
  const std::string name = lower(line.substr(0, colon));
  if (colon == std::string_view::npos || !is_name(name) || trailer_signature_) {
    refuse("MalformedTrailerError", "a trailer is not \"name:value\", or follows the signature");
  }
  const std::string value(trimmed(line.substr(colon + 1)));
  if (kind_ == PayloadKind::kStreamingSignedTrailer && name == kTrailerSignature) {
    if (!is_signature(value)) refuse("MalformedTrailerError", "the trailer signature is malformed");
    trailer_signature_ = lower(value);
    return;
  }
  if (name != layout_.trailer || trailer_value_) {
    refuse("MalformedTrailerError", "a trailer was not announced in x-amz-trailer, or comes twice");
  }
  trailer_value_ = value;
  canonical_trailers_.append(name).append(":").append(value).append("\n");
}

void ChunkedBody::check_trailer_signature() const {
  if (!trailer_signature_) refuse("MalformedTrailerError", "the trailer carries no signature");
  std::string text = chain_text("AWS4-HMAC-SHA256-TRAILER", to_hex(sha256(canonical_trailers_)));
  if (!same_signature(signature_of(signing_key_, text), *trailer_signature_)) {
    wrong_signature("the trailer", std::move(text), *trailer_signature_);
  }
}

/// Takes bytes that were read ahead, then reads from the source.
size_t ChunkedBody::take(std::span<char> out) {
  if (ahead_begin_ == ahead_end_) return encoded_->read(out);
  const size_t count = std::min(out.size(), ahead_end_ - ahead_begin_);
  std::memcpy(out.data(), ahead_.data() + ahead_begin_, count);
  ahead_begin_ += count;
  return count;
}

bool ChunkedBody::refill() {
  ahead_begin_ = 0;
  ahead_end_ = encoded_->read(ahead_);
  return ahead_end_ > 0;
}

/// The next line, of at most `limit` characters, without its end.
ChunkedBody::Line ChunkedBody::read_line(size_t limit, std::string_view s3_code) {
  Line line;
  while (ahead_begin_ < ahead_end_ || refill()) {
    const char* const from = ahead_.data() + ahead_begin_;
    const size_t there = ahead_end_ - ahead_begin_;
    const auto* const feed = static_cast<const char*>(std::memchr(from, '\n', there));
    const size_t count = feed == nullptr ? there : static_cast<size_t>(feed - from);
    line.text.append(from, count);
    ahead_begin_ += count;
    if (line.text.size() > limit + 1) refuse(s3_code, "a line is too long");
    if (feed != nullptr) {
      ++ahead_begin_;
      line.terminated = true;
      break;
    }
  }
  line.crlf = line.terminated && line.text.ends_with('\r');
  if (line.crlf) line.text.pop_back();
  if (line.text.size() > limit) refuse(s3_code, "a line is too long");
  if (line.text.find('\r') != std::string::npos) refuse(s3_code, "a line holds a CR");
  return line;
}

}  // namespace tarn::sigv4
