#include "core/http/request_body.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn::http {
namespace {

// A reader waits for more bytes than this: writing every packet to the store costs more than
// waiting.
constexpr size_t kWorthwhileBytes = 64 * 1024;
// Limit of a chunk header, and of all trailers.
constexpr size_t kChunkLineBytesMax = 8 * 1024;
constexpr size_t kSkipStepBytes = 16 * 1024;
constexpr std::chrono::milliseconds kSkipIdle{
    2'000};  // an unread body must not block a thread for long

constexpr std::array<std::string_view, 1> kContinue{"HTTP/1.1 100 Continue\r\n\r\n"};

class Handle final : public BodySource {
 public:
  explicit Handle(RequestBody& body) : body_(body) {}
  size_t read(std::span<char> out) override { return body_.read(out); }
  void end_by(std::chrono::steady_clock::time_point deadline) override { body_.end_by(deadline); }

 private:
  RequestBody& body_;
};

}  // namespace

RequestBody::RequestBody(const RequestHead& head, Socket& socket, InputBuffer& input,
                         Parser& parser, const ServerLimits& limits)
    : socket_(socket),
      input_(input),
      parser_(parser),
      limits_(limits),
      patience_(limits.body_idle_timeout, limits.body_bytes_per_second_min),
      chunked_(head.request.chunked),
      left_(head.request.content_length.value_or(0)) {
  finished_ = !chunked_ && left_ == 0;
  // Bytes after the head show that the client does not wait. Source: RFC 9110, section 10.1.1.
  continue_wanted_ = head.expects_continue && input_.unused().empty();
}

std::unique_ptr<BodySource> RequestBody::handle() {
  if (!finished_) return std::make_unique<Handle>(*this);
  // An empty body needs no 100, but botocore before 1.36 misreads the next response on the
  // connection if an expected 100 is missing. A send error shows again with the response.
  if (std::exchange(continue_wanted_, false)) send_all(socket_, kContinue, false, patience_);
  return empty_body();
}

size_t RequestBody::read(std::span<char> out) {
  if (finished_ || out.empty()) return 0;
  if (broken_) {
    throw Error(ErrorCode::kInvalidArgument, reason::kBodyIncomplete,
                "reading a request body: already broken off");
  }
  broken_ = true;  // until this read has succeeded
  ask_to_continue();
  const size_t count = chunked_ ? read_chunked(out) : read_known_length(out);
  broken_ = false;
  return count;
}

void RequestBody::ask_to_continue() {
  if (!continue_wanted_) return;
  continue_wanted_ = false;
  if (!send_all(socket_, kContinue, false, patience_)) fail_closed();
}

void RequestBody::fail_closed() {
  throw Error(ErrorCode::kInvalidArgument, reason::kBodyIncomplete,
              "reading a request body: the client closed the connection before its end");
}

/// Receives once and adds to `count`; waits for input only if there is none and `may_wait`.
void RequestBody::receive(std::span<char> out, size_t& count, bool may_wait) {
  for (;;) {
    const Moved moved = socket_.receive(out);
    if (moved.result == Moved::Result::kClosed) fail_closed();
    if (moved.result == Moved::Result::kBytes) {
      patience_.moved(moved.bytes);
      count += moved.bytes;
      return;
    }
    if (!may_wait) return;
    if (!patience_.wait_readable(socket_)) {
      throw Error(ErrorCode::kUnavailable, reason::kBodyTooSlow,
                  "reading a request body: the client is too slow");
    }
  }
}

size_t RequestBody::read_known_length(std::span<char> out) {
  out = out.first(static_cast<size_t>(std::min<uint64_t>(out.size(), left_)));
  const std::string_view early = input_.unused().substr(0, out.size());
  std::copy(early.begin(), early.end(), out.begin());
  size_t count = early.size();
  input_.consume(count);
  const size_t enough = std::min(out.size(), kWorthwhileBytes);
  while (count < out.size()) {
    const size_t had = count;
    receive(out.subspan(count), count, count < enough);
    if (count == had) break;
  }
  left_ -= count;
  finished_ = left_ == 0;
  return count;
}

size_t RequestBody::read_chunked(std::span<char> out) {
  size_t count = 0;
  const size_t enough = std::min(out.size(), kWorthwhileBytes);
  for (;;) {
    const Parser::Decoded done = parser_.decode_chunks(input_.unused(), out.subspan(count));
    input_.consume(done.consumed);
    count += done.produced;
    finished_ = done.finished;
    if (finished_ || count == out.size()) return count;
    if (done.consumed + done.produced > 0 && !input_.unused().empty()) continue;
    if (input_.unused().size() > kChunkLineBytesMax) {
      throw_invalid("decoding a chunked body: chunk header or trailers too long");
    }
    size_t received = 0;
    receive(input_.space(2 * kChunkLineBytesMax), received, count < enough);
    input_.filled(received);
    if (received == 0) return count;
  }
}

bool RequestBody::can_be_skipped() const {
  if (finished_) return true;
  // A client that got no 100 Continue may or may not send its body: the next bytes are ambiguous.
  if (broken_ || continue_wanted_) return false;
  return chunked_ || left_ <= limits_.drain_unread_bytes_max;
}

bool RequestBody::skip_rest() {
  if (!can_be_skipped()) return false;
  patience_ =
      Patience(std::min(kSkipIdle, limits_.body_idle_timeout), limits_.body_bytes_per_second_min);
  std::array<char, kSkipStepBytes> scratch;
  uint64_t skipped = 0;
  try {
    while (!finished_) {
      skipped += read(scratch);
      if (skipped > limits_.drain_unread_bytes_max) return false;
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace tarn::http
