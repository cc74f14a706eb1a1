#include "core/http/testing/raw_client.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/error.h"

namespace tarn::http::testing {
namespace {

constexpr std::chrono::seconds kPatience{5};

}  // namespace

int connect_to(uint16_t port, const char* source) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, source, &address.sin_addr);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    throw Error(ErrorCode::kUnavailable, "connecting: no such source address");
  }
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd);
    throw Error(ErrorCode::kUnavailable, "connecting: refused");
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

RawClient::RawClient(uint16_t port, const char* source) : fd_(connect_to(port, source)) {}

RawClient::~RawClient() {
  if (fd_ >= 0) ::close(fd_);
}

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void RawClient::finish_sending() { ::shutdown(fd_, SHUT_WR); }

size_t RawClient::receive(std::span<char> out) {
  const ssize_t count = ::recv(fd_, out.data(), out.size(), 0);
  if (count < 0 && errno == ECONNRESET) was_reset_ = true;
  return count > 0 ? static_cast<size_t>(count) : 0;
}

bool RawClient::fill(std::chrono::milliseconds wait) {
  pollfd ready{fd_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return false;
  std::array<char, 65536> buffer;
  const size_t count = receive(buffer);
  received_.append(buffer.data(), count);
  return count > 0;
}

std::string RawClient::read_some(std::chrono::milliseconds wait) {
  if (received_.empty()) fill(wait);
  return std::exchange(received_, {});
}

bool RawClient::ends_within(std::chrono::milliseconds wait) {
  const auto until = std::chrono::steady_clock::now() + wait;
  std::array<char, 65536> buffer;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    if (receive(buffer) == 0) return true;
  }
}

bool RawClient::stays_silent(std::chrono::milliseconds wait) {
  pollfd ready{fd_, POLLIN, 0};
  return received_.empty() && ::poll(&ready, 1, static_cast<int>(wait.count())) == 0;
}

std::optional<std::string> RawClient::take_line() {
  size_t end = 0;
  while ((end = received_.find("\r\n")) == std::string::npos) {
    if (!fill(kPatience)) return std::nullopt;
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 2);
  return line;
}

std::optional<std::string> RawClient::take(uint64_t count) {
  while (received_.size() < count) {
    if (!fill(kPatience)) return std::nullopt;
  }
  std::string bytes = received_.substr(0, count);
  received_.erase(0, count);
  return bytes;
}

std::optional<std::string> RawClient::take_chunks() {
  std::string body;
  for (;;) {
    const auto line = take_line();
    if (!line) return std::nullopt;
    const uint64_t size = std::strtoull(line->c_str(), nullptr, 16);
    const auto chunk = take(size + 2);
    if (!chunk) return std::nullopt;
    if (size == 0) return body;
    body.append(*chunk, 0, size);
  }
}

std::optional<RawAnswer> RawClient::read_answer(bool to_head_request) {
  const auto status_line = take_line();
  if (!status_line || status_line->size() < 12) return std::nullopt;
  RawAnswer answer;
  answer.status = std::atoi(status_line->c_str() + 9);
  answer.reason = status_line->size() > 13 ? status_line->substr(13) : "";
  for (;;) {
    const auto line = take_line();
    if (!line) return std::nullopt;
    if (line->empty()) break;
    const size_t colon = line->find(": ");
    answer.headers.add(line->substr(0, colon), line->substr(colon + 2));
  }
  if (to_head_request || answer.status < 200 || answer.status == 204 || answer.status == 304) {
    return answer;
  }
  std::optional<std::string> body;
  if (answer.headers.find("Content-Length")) {
    body = take(std::strtoull(answer.headers.get("Content-Length").data(), nullptr, 10));
  } else if (answer.headers.find("Transfer-Encoding")) {
    body = take_chunks();
  } else {
    while (fill(kPatience)) continue;
    body = std::exchange(received_, {});
  }
  if (!body) return std::nullopt;
  answer.body = std::move(*body);
  return answer;
}

int status_of(uint16_t port, std::string_view bytes) {
  RawClient client(port);
  client.send(bytes);
  const auto answer = client.read_answer();
  return answer ? answer->status : 0;
}

}  // namespace tarn::http::testing
