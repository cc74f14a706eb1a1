#include "core/http/head_scanner.h"

#include <cstring>

namespace tarn::http {
namespace {

// Some clients send an extra CR LF after a body. Source: RFC 9112, section 2.2.
constexpr size_t kLeadingBlankBytesMax = 4;
// A method, two spaces and "HTTP/1.1" around the target.
constexpr size_t kRequestLineRest = 64;

}  // namespace

HeadScanner::State HeadScanner::refuse(int status) {
  status_ = status;
  return State::kRefused;
}

HeadScanner::State HeadScanner::end_line(std::string_view line, const HeadLimits& limits) {
  if (line.empty() || line.back() != '\r') return refuse(400);  // a bare LF
  if (line.size() == 1) {
    if (lines_ > 0) return State::kComplete;
    head_start_ += 2;
    return head_start_ > kLeadingBlankBytesMax ? refuse(400) : State::kIncomplete;
  }
  if (lines_ == 0 && line.size() > limits.target_bytes_max + kRequestLineRest) return refuse(414);
  if (lines_ > 0 && (line.front() == ' ' || line.front() == '\t')) return refuse(400);
  if (++lines_ > limits.header_fields_max + 1) return refuse(431);
  return State::kIncomplete;
}

HeadScanner::State HeadScanner::check_sizes(std::string_view bytes, const HeadLimits& limits) {
  if (lines_ == 0 && bytes.size() - head_start_ > limits.target_bytes_max + kRequestLineRest) {
    return refuse(414);
  }
  return bytes.size() > limits.head_bytes_max ? refuse(431) : State::kIncomplete;
}

HeadScanner::State HeadScanner::scan(std::string_view bytes, const HeadLimits& limits) {
  while (scanned_ < bytes.size()) {
    const void* found = std::memchr(bytes.data() + scanned_, '\n', bytes.size() - scanned_);
    if (found == nullptr) {
      scanned_ = bytes.size();
      break;
    }
    const auto newline = static_cast<size_t>(static_cast<const char*>(found) - bytes.data());
    const std::string_view line = bytes.substr(line_start_, newline - line_start_);
    scanned_ = line_start_ = newline + 1;
    const State state = end_line(line, limits);
    if (line_start_ > limits.head_bytes_max && state != State::kRefused) return refuse(431);
    if (state != State::kIncomplete) return state;
  }
  return check_sizes(bytes, limits);
}

}  // namespace tarn::http
