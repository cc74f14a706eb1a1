// The body of the request being served, read from its connection.
#pragma once

#include <memory>

#include "core/http/input_buffer.h"
#include "core/http/message.h"
#include "core/http/parser.h"
#include "core/http/server.h"
#include "core/http/socket.h"

namespace tarn::http {

/// Reads one body and not a byte more of a Content-Length body from the socket: the next request
/// begins there. One thread at a time.
class RequestBody {
 public:
  /// All references outlive the object. `input` contains the bytes received after the head, which
  /// `parser` has read.
  RequestBody(const RequestHead& head, Socket& socket, InputBuffer& input, Parser& parser,
              const ServerLimits& limits);

  /// The body for the handler; must not be read after this object is gone.
  std::unique_ptr<BodySource> handle();

  size_t read(std::span<char> out);
  void end_by(std::chrono::steady_clock::time_point deadline) { patience_.end_by(deadline); }

  /// Every byte was read and the framing was right.
  bool finished() const { return finished_; }
  /// Whether the connection can serve the next request once `skip_rest` is done, as far as is known
  /// now.
  bool can_be_skipped() const;
  /// Reads the rest that the handler left; false if that was too much, too slow or failed.
  bool skip_rest();

 private:
  size_t read_known_length(std::span<char> out);
  size_t read_chunked(std::span<char> out);
  void ask_to_continue();
  void receive(std::span<char> out, size_t& count, bool may_wait);
  [[noreturn]] void fail_closed();

  Socket& socket_;
  InputBuffer& input_;
  Parser& parser_;
  const ServerLimits& limits_;
  Patience patience_;
  const bool chunked_;
  uint64_t left_ = 0;             // of a Content-Length body
  bool continue_wanted_ = false;  // the client holds the body back until it is requested
  bool finished_ = false;
  bool broken_ = false;
};

}  // namespace tarn::http
