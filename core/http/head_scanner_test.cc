#include "core/http/head_scanner.h"

#include <string>

#include <gtest/gtest.h>

namespace tarn::http {
namespace {

using State = HeadScanner::State;
constexpr HeadLimits kLimits{
    .head_bytes_max = 400, .target_bytes_max = 100, .header_fields_max = 4};

/// Feeds `bytes` in growing prefixes, `step` more at a time; returns the first state that is not
/// kIncomplete.
State scan_in_steps(HeadScanner& scanner, const std::string& bytes, size_t step) {
  State state = State::kIncomplete;
  for (size_t end = step; state == State::kIncomplete; end += step) {
    state = scanner.scan(std::string_view(bytes).substr(0, end), kLimits);
    if (end >= bytes.size()) break;
  }
  return state;
}

TEST(HeadScanner, FindsTheEndHoweverTheBytesArrive) {
  const std::string head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  for (size_t step = 1; step <= head.size() + 4; ++step) {
    HeadScanner scanner;
    EXPECT_EQ(scan_in_steps(scanner, head + "body", step), State::kComplete) << step;
    EXPECT_EQ(scanner.head_bytes(), head.size()) << step;
    EXPECT_EQ(scanner.request_line_start(), 0u) << step;
  }
}

TEST(HeadScanner, SkipsEmptyLinesBeforeTheHead) {
  HeadScanner scanner;
  const std::string head = "\r\nGET / HTTP/1.1\r\n\r\n";
  EXPECT_EQ(scan_in_steps(scanner, head, 1), State::kComplete);
  EXPECT_EQ(scanner.request_line_start(), 2u);
  EXPECT_EQ(scanner.head_bytes(), head.size());
}

TEST(HeadScanner, RefusesBrokenLinesAndExcess) {
  struct Case {
    const char* name;
    std::string bytes;
    int status;
  };
  const std::string start = "GET / HTTP/1.1\r\n";
  const Case cases[] = {
      {"bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
      {"bare LF after a field", start + "Host: h\n\r\n", 400},
      {"bare LF as the empty line", start + "Host: h\r\n\n", 400},
      {"folded field", start + "A: b\r\n c\r\n\r\n", 400},
      {"field folded by a tab", start + "A: b\r\n\tc\r\n\r\n", 400},
      {"blank before the first field", start + " A: b\r\n\r\n", 400},
      {"endless empty lines", "\r\n\r\n\r\n\r\n", 400},
      {"long target, not ended", "GET /" + std::string(300, 'x'), 414},
      {"long target, ended", "GET /" + std::string(300, 'x') + " HTTP/1.1\r\n\r\n", 414},
      {"too many fields", start + "A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\n\r\n", 431},
      {"long field, not ended", start + "A: " + std::string(600, 'x'), 431},
      {"long field, ended", start + "A: " + std::string(400, 'x') + "\r\n\r\n", 431},
  };
  for (const Case& c : cases) {
    for (const size_t step : {size_t{1}, size_t{7}, c.bytes.size()}) {
      HeadScanner scanner;
      EXPECT_EQ(scan_in_steps(scanner, c.bytes, step), State::kRefused) << c.name << " by " << step;
      EXPECT_EQ(scanner.status(), c.status) << c.name << " by " << step;
    }
  }
}

TEST(HeadScanner, AllowsExactlyTheLimits) {
  HeadScanner fields;
  EXPECT_EQ(scan_in_steps(fields, "GET / HTTP/1.1\r\nA: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\n\r\n", 1),
            State::kComplete);
  std::string head = "GET / HTTP/1.1\r\nA: ";
  head += std::string(kLimits.head_bytes_max - head.size() - 4, 'x') + "\r\n\r\n";
  HeadScanner bytes;
  EXPECT_EQ(scan_in_steps(bytes, head, head.size()), State::kComplete);
}

}  // namespace
}  // namespace tarn::http
