#include "core/http/response_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/time.h"

namespace tarn::http {
namespace {

constexpr size_t kScratchBytes = 256 * 1024;
constexpr size_t kPipeBytes = 1024 * 1024;
// Up to this size one read and one send together with the head are faster than sendfile.
constexpr uint64_t kSmallFileBytesMax = 64 * 1024;
constexpr std::string_view kServerName = "Tarn";

bool is_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return !is_control(c) || c == '\t'; });
}

/// Rejects all control characters, not only line breaks: the last check of values that clients
/// stored.
void check_headers(const Response& response) {
  if (response.status < 200 || response.status > 999) {
    throw Error(ErrorCode::kInternal, str_cat("answering with status ", response.status));
  }
  for (const auto& [name, value] : response.headers.all()) {
    if (!is_token(name) || !is_value(value)) {
      throw Error(ErrorCode::kInternal,
                  str_cat("answering with header \"", name, "\": forbidden character"));
    }
  }
}

/// Headers that the server sets itself.
bool is_framing_header(std::string_view name) {
  return equal_ignoring_case(name, "Content-Length") ||
         equal_ignoring_case(name, "Transfer-Encoding") || equal_ignoring_case(name, "Connection");
}

std::optional<uint64_t> announced_length(const Response& response) {
  if (response.content_length) return response.content_length;
  const std::string_view text = response.headers.get("Content-Length");
  uint64_t length = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return {};
  return length;
}

[[noreturn]] void throw_ended_early(uint64_t left) {
  throw Error(ErrorCode::kDataLoss, str_cat("sending a stream: ended ", left, " bytes early"));
}

void append_number(std::string& out, uint64_t number, int base) {
  std::array<char, 24> digits;
  const auto [end, failed] =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  out.append(digits.data(), end);
}

}  // namespace

Response internal_error(std::string_view request_id) {
  Response response;
  response.status = 500;
  response.headers.add("Content-Type", "application/json");
  response.headers.add("X-Request-Id", std::string(request_id));
  response.body = R"({"message":"internal error"})";
  return response;
}

std::string refusal_text(int status, std::string_view why, std::string_view request_id) {
  const std::string body = str_cat(R"({"message":")", why, "\"}");
  std::string text = str_cat("HTTP/1.1 ", status, ' ', reason_phrase(status), "\r\n");
  if (status == 405) text += "Allow: GET, HEAD, PUT, POST, DELETE, OPTIONS, PATCH\r\n";
  text += str_cat("Date: ", to_http_date(SystemClock().now()), "\r\nServer: ", kServerName,
                  "\r\nContent-Type: application/json\r\nContent-Length: ", body.size(),
                  "\r\nX-Request-Id: ", request_id, "\r\nConnection: close\r\n\r\n", body);
  return text;
}

class Pipe {
 public:
  /// nullptr: no descriptor is left.
  static std::unique_ptr<Pipe> open() {
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return nullptr;
    ::fcntl(ends[0], F_SETPIPE_SZ, static_cast<int>(kPipeBytes));  // else it is smaller
    return std::unique_ptr<Pipe>(new Pipe(ends));
  }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  int in() const { return ends_[1]; }
  int out() const { return ends_[0]; }

 private:
  explicit Pipe(const std::array<int, 2>& ends) : ends_(ends) {}
  const std::array<int, 2> ends_;
};

ResponseWriter::ResponseWriter(const ServerLimits& limits) : limits_(limits) {}

ResponseWriter::~ResponseWriter() = default;

ResponseWriter::Result ResponseWriter::write(Socket& socket, Response& response,
                                             const AnswerForm& form, std::string_view request_id) {
  Framing framing = framing_of(response, form);
  try {
    check_and_start(response, framing);
  } catch (const std::exception& error) {
    log::error("http_answer_refused", {{"request_id", request_id}, {"error", error.what()}});
    response = internal_error(request_id);
    framing = framing_of(response, form);
    first_piece_ = {};
  }
  build_head(response, framing, form);
  Patience patience(limits_.body_idle_timeout, limits_.body_bytes_per_second_min);
  try {
    if (!send_body(socket, response, framing, patience)) return Result::kBroken;
  } catch (const std::exception& error) {
    log::warn("http_body_failed", {{"request_id", request_id}, {"error", error.what()}});
    return Result::kBroken;
  }
  return framing.keep_alive ? Result::kKeep : Result::kClose;
}

std::string ResponseWriter::text_of(Response& response, const AnswerForm& form,
                                    std::string_view request_id) {
  Framing framing = framing_of(response, form);
  try {
    check_headers(response);
  } catch (const std::exception& error) {
    log::error("http_answer_refused", {{"request_id", request_id}, {"error", error.what()}});
    response = internal_error(request_id);
    framing = framing_of(response, form);
  }
  framing.keep_alive = false;
  build_head(response, framing, form);
  return framing.sends_body ? head_ + response.body : head_;
}

ResponseWriter::Framing ResponseWriter::framing_of(const Response& response,
                                                   const AnswerForm& form) {
  Framing framing;
  framing.keep_alive =
      form.keep_alive && !equal_ignoring_case(response.headers.get("Connection"), "close");
  framing.sends_body = !form.is_head && response.status != 204 && response.status != 304;
  if (response.status == 204) return framing;
  if (response.status == 304) {
    framing.length = announced_length(response);
  } else if (response.file) {
    framing.length = response.file->length;
  } else if (response.source) {
    framing.length = response.content_length;
    framing.chunked = !framing.length && !form.http_1_0;
    if (!framing.length && form.http_1_0) framing.keep_alive = false;  // the end of the body
  } else {
    framing.length = response.body.size();
    if (form.is_head && response.body.empty()) {
      framing.length = announced_length(response).value_or(0);
    }
  }
  return framing;
}

/// All steps that can fail, before the first byte is sent.
void ResponseWriter::check_and_start(Response& response, const Framing& framing) {
  check_headers(response);
  first_piece_ = {};
  if (!framing.sends_body) return;
  if (response.file) {
    if (response.file->length <= kSmallFileBytesMax) first_piece_ = read_small_file(*response.file);
  } else if (response.source) {
    first_piece_ = read_piece(*response.source, framing.length);
  }
}

void ResponseWriter::build_head(const Response& response, const Framing& framing,
                                const AnswerForm& form) {
  head_ = "HTTP/1.1 ";
  append_number(head_, static_cast<uint64_t>(response.status), 10);
  head_.append(" ").append(reason_phrase(response.status)).append("\r\n");
  bool has_date = false;
  bool has_server = false;
  for (const auto& [name, value] : response.headers.all()) {
    if (is_framing_header(name)) continue;
    has_date = has_date || equal_ignoring_case(name, "Date");
    has_server = has_server || equal_ignoring_case(name, "Server");
    head_.append(name).append(": ").append(value).append("\r\n");
  }
  if (!has_date) append_date();
  if (!has_server) head_.append("Server: ").append(kServerName).append("\r\n");
  if (framing.length) {
    head_ += "Content-Length: ";
    append_number(head_, *framing.length, 10);
    head_ += "\r\n";
  }
  if (framing.chunked) head_ += "Transfer-Encoding: chunked\r\n";
  if (!framing.keep_alive) {
    head_ += "Connection: close\r\n";
  } else if (form.http_1_0) {
    head_ += "Connection: keep-alive\r\n";
  }
  head_ += "\r\n";
}

void ResponseWriter::append_date() {
  const Instant now = SystemClock().now();
  if (to_seconds(now) != date_second_) {
    date_second_ = to_seconds(now);
    date_ = str_cat("Date: ", to_http_date(now), "\r\n");
  }
  head_ += date_;
}

std::span<char> ResponseWriter::scratch() {
  if (!scratch_) scratch_ = std::make_unique_for_overwrite<char[]>(kScratchBytes);
  return {scratch_.get(), kScratchBytes};
}

std::string_view ResponseWriter::read_piece(BodySource& source, std::optional<uint64_t> left) {
  const std::span<char> space = scratch();
  const size_t wanted =
      static_cast<size_t>(std::min<uint64_t>(space.size(), left.value_or(space.size())));
  if (wanted == 0) return {};
  return {space.data(), source.read(space.first(wanted))};
}

std::string_view ResponseWriter::read_small_file(const FileSlice& file) {
  const std::span<char> space = scratch();
  size_t count = 0;
  while (count < file.length) {
    const ssize_t got = ::pread(file.fd, space.data() + count, file.length - count,
                                static_cast<off_t>(file.offset + count));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorCode::kDataLoss, str_cat("reading a file to send: ended after ", count,
                                                " of ", file.length, " bytes"));
    }
    count += static_cast<size_t>(got);
  }
  return {space.data(), count};
}

bool ResponseWriter::send_body(Socket& socket, Response& response, const Framing& framing,
                               Patience& patience) {
  if (framing.sends_body && response.source && !response.file) {
    return framing.chunked ? send_chunks(socket, *response.source, patience)
                           : send_stream(socket, *response.source, framing.length, patience);
  }
  if (framing.sends_body && response.file && first_piece_.size() < response.file->length) {
    return send_file(socket, *response.file, patience);
  }
  std::array<std::string_view, 2> pieces{head_};
  if (framing.sends_body)
    pieces[1] = response.file ? first_piece_ : std::string_view(response.body);
  return send_all(socket, pieces, false, patience);
}

bool ResponseWriter::send_stream(Socket& socket, BodySource& source, std::optional<uint64_t> left,
                                 Patience& patience) {
  std::array<std::string_view, 2> pieces{head_, first_piece_};
  for (;;) {
    if (!send_all(socket, pieces, false, patience)) return false;
    if (left) *left -= pieces[1].size();
    if (left == 0u) return true;
    if (!left && pieces[1].empty()) return true;
    if (left && pieces[1].empty()) {
      throw_ended_early(*left);
    }
    if (left > kScratchBytes) {
      if (!splice_stream(socket, source, *left, patience)) return false;
      if (left == 0u) return true;
    }
    pieces = {std::string_view(), read_piece(source, left)};
  }
}

/// Splices as far as the source can; `left` is what remains to be read.
bool ResponseWriter::splice_stream(Socket& socket, BodySource& source, uint64_t& left,
                                   Patience& patience) {
  if (!pipe_) pipe_ = Pipe::open();
  if (!pipe_) return true;
  while (left > 0) {
    const auto count =
        source.splice(pipe_->in(), static_cast<size_t>(std::min<uint64_t>(left, kPipeBytes)));
    if (!count) return true;
    if (*count == 0) throw_ended_early(left);
    left -= *count;
    if (!send_piped(socket, *count, left > 0, patience)) {
      pipe_.reset();  // it holds bytes of this body
      return false;
    }
  }
  return true;
}

bool ResponseWriter::send_piped(Socket& socket, size_t length, bool more, Patience& patience) {
  while (length > 0) {
    const Moved moved = socket.send_pipe(pipe_->out(), length, more);
    if (moved.result == Moved::Result::kClosed) return false;
    if (moved.result == Moved::Result::kWouldBlock && !patience.wait_writable(socket)) return false;
    length -= moved.bytes;
    patience.moved(moved.bytes);
  }
  return true;
}

bool ResponseWriter::send_chunks(Socket& socket, BodySource& source, Patience& patience) {
  std::string_view piece = first_piece_;
  std::string_view head = head_;
  std::string size_line;
  for (;;) {
    size_line.clear();
    append_number(size_line, piece.size(), 16);
    size_line += "\r\n";
    const std::array<std::string_view, 4> pieces{head, size_line, piece, "\r\n"};
    if (!send_all(socket, pieces, false, patience)) return false;
    if (piece.empty()) return true;
    head = {};
    piece = read_piece(source, std::nullopt);
  }
}

bool ResponseWriter::send_file(Socket& socket, const FileSlice& file, Patience& patience) {
  const std::array<std::string_view, 1> pieces{head_};
  if (!send_all(socket, pieces, true, patience)) return false;
  uint64_t sent = 0;
  while (sent < file.length) {
    const Moved moved = socket.send_file(file.fd, file.offset + sent, file.length - sent);
    if (moved.result == Moved::Result::kClosed) return false;
    if (moved.result == Moved::Result::kWouldBlock && !patience.wait_writable(socket)) return false;
    sent += moved.bytes;
    patience.moved(moved.bytes);
  }
  return true;
}

}  // namespace tarn::http
