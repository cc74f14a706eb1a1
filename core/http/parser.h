// A parser of request heads and chunked bodies: the only place that knows the parsing library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "core/http/message.h"

namespace tarn::http {

/// A request head that meets every limit of the HTTP server.
struct RequestHead {
  Request request;  ///< without body, peer and id
  bool keep_alive = false;
  bool http_1_0 = false;
  bool expects_continue = false;
};

/// Why a head is refused; the connection is then closed.
struct HeadRefusal {
  int status = 400;
  std::string_view why;
};

/// The state of reading one request. One thread at a time; `start` makes it new.
class Parser {
 public:
  Parser();
  ~Parser();

  /// `head` is one whole head as HeadScanner finds it: from the request line to the empty line.
  /// Sources: RFC 9112 (framing), RFC 9110 section 7.2 (Host).
  std::variant<RequestHead, HeadRefusal> start(std::string_view head, size_t target_bytes_max);

  struct Decoded {
    size_t consumed = 0;  ///< bytes taken from the input, to be presented no more
    size_t produced = 0;  ///< bytes of the body written to the output
    bool finished = false;
  };
  /// Continues with the chunked body of the started request. If nothing is consumed and nothing is
  /// produced, more input is needed in addition to the unused rest. Checks and drops trailers.
  /// Throws invalid_argument.
  Decoded decode_chunks(std::string_view in, std::span<char> out);

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

/// Method, target and header fields of the whole lines in `bytes`; a request line that is cut gives
/// what there is of it. Checks nothing and has no body: good only for choosing how to say no.
Request read_partial_head(std::string_view bytes);

}  // namespace tarn::http
