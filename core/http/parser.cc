#include "core/http/parser.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::http {

namespace beast = boost::beast;
using BeastError = beast::http::error;
using BeastView = beast::string_view;
using boost::system::error_code;

namespace {

/// The text up to the separator, which is taken from `rest` too; all of it when there is none.
std::string_view take_until(std::string_view& rest, std::string_view separator) {
  const size_t at = rest.find(separator);
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + separator.size());
  return taken;
}

constexpr uint64_t kContentLengthMax = std::numeric_limits<int64_t>::max();
constexpr uint64_t kChunkBytesMax = uint64_t{1} << 43;  // larger than any object, far from overflow
// "0 CR LF CR LF": at least this much follows a chunk, and the library asserts that it gets as
// much.
constexpr size_t kLastChunkBytes = 5;
constexpr size_t kUsualFields = 16;  // of the clients in use; more only cost a reallocation

std::string_view view_of(BeastView text) { return {text.data(), text.size()}; }

bool is_target_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\';
}

// The characters of reg-name, IP literals and ports. Source: RFC 3986, section 3.2.
bool is_host_char(char c) {
  constexpr std::string_view kSymbols = "-.~:[]%!$&'()*+,;=";
  return is_word(c) || kSymbols.find(c) != std::string_view::npos;
}

}  // namespace

/// Collects what the library parses. Fields after the head are trailers, which are not trusted.
class Parser::Machine final : public beast::http::basic_parser<true> {
 public:
  RequestHead head;
  std::span<char> out;
  size_t produced = 0;
  uint64_t chunk_left = 0;

 private:
  void on_request_impl(beast::http::verb, BeastView method, BeastView target, int version,
                       error_code&) override {
    head.request.method = view_of(method);
    head.request.target = view_of(target);
    head.http_1_0 = version < 11;
  }
  void on_response_impl(int, BeastView, int, error_code&) override {}
  void on_field_impl(beast::http::field, BeastView name, BeastView value, error_code&) override {
    if (!is_header_done()) {
      head.request.headers.add(std::string(view_of(name)), std::string(view_of(value)));
    }
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastView body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t size, BeastView extensions, error_code& ec) override {
    chunk_left = size;
    if (size > kChunkBytesMax) ec = BeastError::bad_chunk;
    if (std::any_of(extensions.begin(), extensions.end(), is_control)) {
      ec = BeastError::bad_chunk_extension;
    }
  }
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView body, error_code& ec) override {
    const size_t count = std::min(body.size(), out.size());
    if (count > 0) std::memcpy(out.data(), body.data(), count);
    out = out.subspan(count);
    produced += count;
    chunk_left -= count;
    if (count < body.size()) ec = BeastError::need_buffer;
    return count;
  }
  void on_finish_impl(error_code&) override {}
};

namespace {

std::optional<HeadRefusal> refusal_of_framing(RequestHead& head) {
  Request& request = head.request;
  const size_t lengths = request.headers.count("Content-Length");
  const size_t encodings = request.headers.count("Transfer-Encoding");
  if (lengths > 1) return HeadRefusal{400, "more than one Content-Length"};
  if (encodings > 1) return HeadRefusal{400, "more than one Transfer-Encoding"};
  if (lengths + encodings > 1) return HeadRefusal{400, "Content-Length with Transfer-Encoding"};
  if (encodings == 1) {
    if (head.http_1_0) return HeadRefusal{400, "Transfer-Encoding in HTTP/1.0"};
    if (!equal_ignoring_case(request.headers.get("Transfer-Encoding"), "chunked")) {
      return HeadRefusal{501, "unknown Transfer-Encoding"};
    }
    request.chunked = true;
  }
  if (lengths == 1) {
    const std::string_view text = request.headers.get("Content-Length");
    if (!std::all_of(text.begin(), text.end(), is_digit)) {
      return HeadRefusal{400, "bad Content-Length"};
    }
  }
  return std::nullopt;
}

std::optional<HeadRefusal> refusal_of_host(const RequestHead& head) {
  const size_t hosts = head.request.headers.count("Host");
  if (hosts > 1) return HeadRefusal{400, "more than one Host"};
  if (hosts == 0 && !head.http_1_0) return HeadRefusal{400, "no Host"};
  const std::string_view host = head.request.headers.get("Host");
  if (!std::all_of(host.begin(), host.end(), is_host_char)) return HeadRefusal{400, "bad Host"};
  return std::nullopt;
}

/// Reduces an absolute target to origin form if it names the request's host.
std::optional<HeadRefusal> strip_authority(Request& request) {
  const std::string_view target = request.target;
  const size_t scheme_end = target.find("://");
  const std::string_view scheme = target.substr(0, std::min(scheme_end, target.size()));
  if (!equal_ignoring_case(scheme, "http") && !equal_ignoring_case(scheme, "https")) {
    return HeadRefusal{400, "bad request target"};
  }
  const std::string_view rest = target.substr(std::min(scheme_end + 3, target.size()));
  const size_t path = std::min(rest.find_first_of("/?"), rest.size());
  const std::string_view authority = rest.substr(0, path);
  if (authority.empty() || !equal_ignoring_case(authority, request.headers.get("Host"))) {
    return HeadRefusal{400, "request target for another host"};
  }
  std::string origin(rest.substr(path));
  if (origin.empty() || origin.front() != '/') origin.insert(origin.begin(), '/');
  request.target = std::move(origin);
  return std::nullopt;
}

std::optional<HeadRefusal> refusal_of_target(Request& request, size_t target_bytes_max) {
  if (request.method == "CONNECT" || request.method == "TRACE") {
    return HeadRefusal{405, "method not allowed"};
  }
  if (request.target.size() > target_bytes_max) return HeadRefusal{414, "request target too long"};
  if (!std::all_of(request.target.begin(), request.target.end(), is_target_char)) {
    return HeadRefusal{400, "bad character in request target"};
  }
  if (request.target.front() == '/') return std::nullopt;
  if (request.target == "*" && request.method == "OPTIONS") return std::nullopt;
  return strip_authority(request);
}

std::optional<HeadRefusal> read_expectation(RequestHead& head) {
  const std::string* expected = head.request.headers.find("Expect");
  if (expected == nullptr || head.http_1_0) return std::nullopt;
  // Other expectations are ignored, as in S3: rejecting them would break clients.
  head.expects_continue = equal_ignoring_case(*expected, "100-continue");
  return std::nullopt;
}

/// Whether the request line consists of three words, so that an invalid version is one and not a
/// part of the target.
bool has_three_words(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  return std::count(line.begin(), line.end(), ' ') == 2;
}

}  // namespace

Parser::Parser() = default;
Parser::~Parser() = default;

std::variant<RequestHead, HeadRefusal> Parser::start(std::string_view bytes,
                                                     size_t target_bytes_max) {
  machine_ = std::make_unique<Machine>();
  machine_->header_limit(std::numeric_limits<std::uint32_t>::max());  // HeadScanner has limited it
  machine_->body_limit(boost::none);
  machine_->head.request.headers.reserve(kUsualFields);
  error_code ec;
  const size_t used = machine_->put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
  RequestHead& head = machine_->head;
  if (ec == BeastError::bad_version && has_three_words(bytes)) {
    return HeadRefusal{505, "unknown HTTP version"};
  }
  // The library's framing errors are less exact than ours, and its 400 would replace our 501.
  if (auto refusal = refusal_of_framing(head)) return *refusal;
  if (ec || !machine_->is_header_done() || used != bytes.size()) {
    return HeadRefusal{400, "malformed request"};
  }
  if (auto refusal = refusal_of_target(head.request, target_bytes_max)) return *refusal;
  if (auto refusal = refusal_of_host(head)) return *refusal;
  if (auto refusal = read_expectation(head)) return *refusal;
  if (head.request.chunked != machine_->chunked()) return HeadRefusal{400, "bad framing"};
  if (const auto length = machine_->content_length()) {
    if (*length > kContentLengthMax) return HeadRefusal{400, "bad Content-Length"};
    head.request.content_length = *length;
  }
  head.keep_alive = machine_->keep_alive();
  return std::move(head);
}

Parser::Decoded Parser::decode_chunks(std::string_view in, std::span<char> out) {
  Decoded done;
  machine_->out = out;
  machine_->produced = 0;
  while (!machine_->is_done() && done.consumed < in.size()) {
    error_code ec;
    const std::string_view rest = in.substr(done.consumed);
    if (machine_->chunk_left == 0 && rest.size() < kLastChunkBytes) break;
    done.consumed += machine_->put(boost::asio::buffer(rest.data(), rest.size()), ec);
    if (ec == BeastError::need_more || ec == BeastError::need_buffer) break;
    if (ec) throw_invalid(str_cat("decoding a chunked body: ", ec.message()));
  }
  done.produced = machine_->produced;
  done.finished = machine_->is_done();
  return done;
}

Request read_partial_head(std::string_view bytes) {
  while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  Request request;
  std::string_view first = take_until(bytes, "\r\n");
  request.method = take_until(first, " ");
  request.target = take_until(first, " ");
  while (bytes.find("\r\n") != std::string_view::npos) {
    std::string_view line = take_until(bytes, "\r\n");
    if (line.empty()) break;
    const std::string_view name = take_until(line, ":");
    request.headers.add(std::string(name), std::string(trimmed(line)));
  }
  request.body = empty_body();
  return request;
}

}  // namespace tarn::http
