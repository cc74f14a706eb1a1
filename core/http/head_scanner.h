// A scanner for the end of a request head that arrives in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tarn::http {

struct HeadLimits {
  uint32_t head_bytes_max;
  uint32_t target_bytes_max;
  uint32_t header_fields_max;
};

/// Remembers its position, so that a head sent byte by byte costs one pass. Also rejects what a
/// lenient parser might accept: lines without CR LF, and folded header lines. One thread at a time.
class HeadScanner {
 public:
  enum class State { kIncomplete, kComplete, kRefused };

  /// `bytes` is everything received so far of this head: each call passes the same start and at
  /// least as much.
  State scan(std::string_view bytes, const HeadLimits& limits);

  /// After kComplete: the length of the head, with the empty line. Empty lines before it are
  /// counted in.
  size_t head_bytes() const { return line_start_; }
  /// After kComplete: where the request line starts.
  size_t request_line_start() const { return head_start_; }
  /// After kRefused: 400, 414 or 431.
  int status() const { return status_; }

 private:
  State refuse(int status);
  State end_line(std::string_view line, const HeadLimits& limits);
  State check_sizes(std::string_view bytes, const HeadLimits& limits);

  size_t scanned_ = 0;
  size_t line_start_ = 0;
  size_t head_start_ = 0;
  uint32_t lines_ = 0;  // the request line and the header fields
  int status_ = 0;
};

}  // namespace tarn::http
