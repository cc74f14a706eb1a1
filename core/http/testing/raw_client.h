// A client for tests that sends exactly the given bytes, in exactly the given pieces.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"

namespace tarn::http::testing {

struct RawAnswer {
  int status = 0;
  std::string reason;
  Headers headers;
  std::string body;
};

/// A connected socket to 127.0.0.1, from a loopback address. Throws unavailable.
int connect_to(uint16_t port, const char* source = "127.0.0.1");

/// One connection to 127.0.0.1. Every wait ends after five seconds.
class RawClient {
 public:
  explicit RawClient(uint16_t port, const char* source = "127.0.0.1");
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;

  /// False when the server has closed.
  bool send(std::string_view bytes);
  void finish_sending();
  /// The next answer with its body; nullopt when the connection ends or stalls before it is whole.
  std::optional<RawAnswer> read_answer(bool to_head_request = false);
  /// At least one byte of the next input; "" at the end of the stream or if nothing arrives within
  /// `wait`.
  std::string read_some(std::chrono::milliseconds wait = std::chrono::seconds(5));
  /// Whether the server closes the connection within `wait`; discards input until then.
  bool ends_within(std::chrono::milliseconds wait);
  /// Whether the server has cut the connection instead of ending it.
  bool was_reset() const { return was_reset_; }
  /// Whether nothing arrives, not even the end, for `wait`.
  bool stays_silent(std::chrono::milliseconds wait);

 private:
  bool fill(std::chrono::milliseconds wait);
  size_t receive(std::span<char> out);
  std::optional<std::string> take_line();
  std::optional<std::string> take(uint64_t count);
  std::optional<std::string> take_chunks();

  int fd_ = -1;
  std::string received_;
  bool was_reset_ = false;
};

/// Sends `bytes` on a new connection and returns the status of the first response, 0 for none.
int status_of(uint16_t port, std::string_view bytes);

}  // namespace tarn::http::testing
