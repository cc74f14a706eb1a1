// A writer of responses: the head by the rules of HTTP/1.1, the body from memory, a stream or a
// file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/http/message.h"
#include "core/http/server.h"
#include "core/http/socket.h"

namespace tarn::http {

/// Facts of the request that decide the form of the answer.
struct AnswerForm {
  bool is_head = false;     ///< the method is HEAD: no body is sent
  bool http_1_0 = false;    ///< no chunked encoding
  bool keep_alive = false;  ///< the connection can serve another request
};

class Pipe;

/// Keeps its buffers from answer to answer. One thread at a time.
class ResponseWriter {
 public:
  explicit ResponseWriter(const ServerLimits& limits);
  ~ResponseWriter();

  enum class Result {
    kKeep,    ///< all was sent, the connection may continue
    kClose,   ///< everything was sent, and the response said "close"
    kBroken,  ///< the peer is gone or too slow, or the body ended early: cut the connection
  };
  /// An answer that cannot be sent (a header with a line break, a stream whose first read throws)
  /// becomes a bare 500; so `response.status` is afterwards the one that was sent.
  Result write(Socket& socket, Response& response, const AnswerForm& form,
               std::string_view request_id);
  /// The whole answer, whose body is in memory, with "Connection: close".
  std::string text_of(Response& response, const AnswerForm& form, std::string_view request_id);

 private:
  /// How the body is delimited.
  struct Framing {
    bool sends_body = true;
    std::optional<uint64_t> length;
    bool chunked = false;
    bool keep_alive = false;
  };

  static Framing framing_of(const Response& response, const AnswerForm& form);
  void check_and_start(Response& response, const Framing& framing);
  void build_head(const Response& response, const Framing& framing, const AnswerForm& form);
  void append_date();
  std::string_view read_piece(BodySource& source, std::optional<uint64_t> left);
  std::string_view read_small_file(const FileSlice& file);
  bool send_body(Socket& socket, Response& response, const Framing& framing, Patience& patience);
  bool send_stream(Socket& socket, BodySource& source, std::optional<uint64_t> left,
                   Patience& patience);
  bool splice_stream(Socket& socket, BodySource& source, uint64_t& left, Patience& patience);
  bool send_piped(Socket& socket, size_t length, bool more, Patience& patience);
  bool send_chunks(Socket& socket, BodySource& source, Patience& patience);
  bool send_file(Socket& socket, const FileSlice& file, Patience& patience);
  std::span<char> scratch();

  const ServerLimits& limits_;
  std::string head_;
  std::string_view first_piece_;  // of a stream or a small file, read before the head is sent
  std::unique_ptr<char[]> scratch_;
  std::unique_ptr<Pipe> pipe_;  // of bodies that are spliced; empty between pieces
  int64_t date_second_ = -1;
  std::string date_;
};

/// The server's own response to input that never reaches a handler, complete and with "Connection:
/// close".
std::string refusal_text(int status, std::string_view why, std::string_view request_id);

/// A bare 500: the client gets no information about the error.
Response internal_error(std::string_view request_id);

}  // namespace tarn::http
