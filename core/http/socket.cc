#include "core/http/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/wait_scope.h"

namespace tarn::http {
namespace {

constexpr int kBacklog = 4096;  // a burst of reconnecting clients must not be refused
constexpr uint64_t kSendFileBytesMax = 2 * 1024 * 1024;  // between two deadline checks

using Clock = std::chrono::steady_clock;

Moved moved_of(ssize_t count) {
  if (count > 0) return {Moved::Result::kBytes, static_cast<size_t>(count)};
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return {Moved::Result::kWouldBlock};
  return {Moved::Result::kClosed};
}

template <typename Call>
ssize_t without_interruption(Call call) {
  for (;;) {
    const ssize_t count = call();
    if (count >= 0 || errno != EINTR) return count;
  }
}

[[noreturn]] void throw_unavailable(const std::string& host, uint16_t port, std::string_view why) {
  throw Error(ErrorCode::kUnavailable, str_cat("listening on ", host, " port ", port, ": ", why));
}

/// A bound descriptor, or -1 with errno set.
int bind_one(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  // Not SO_REUSEPORT, with which a second server could take the port unnoticed.
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return -1;
}

uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  if (address.ss_family != AF_INET) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  int family = AF_INET;
  if (address.ss_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    bytes = &six;
    family = AF_INET6;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {
      bytes = six.s6_addr + 12;
      family = AF_INET;
    }
  }
  if (::inet_ntop(family, bytes, text.data(), text.size()) == nullptr) return {};
  return text.data();
}

size_t network_of(const sockaddr_storage& address) {
  std::string_view bytes(
      reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr),
      sizeof(in_addr));
  if (address.ss_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const std::string_view all(reinterpret_cast<const char*>(&six), sizeof six);
    bytes = IN6_IS_ADDR_V4MAPPED(&six) ? all.substr(12) : all.substr(0, 8);
  }
  return std::hash<std::string_view>()(bytes);
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

uint16_t port_of(int fd, NameOf name_of) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return name_of(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? port_of(address) : 0;
}

}  // namespace

SocketPorts ports_of(int fd) {
  return {.local = port_of(fd, ::getsockname), .remote = port_of(fd, ::getpeername)};
}

Socket::~Socket() { ::close(fd_); }

Moved Socket::receive(std::span<char> out) {
  return moved_of(without_interruption([&] { return ::recv(fd_, out.data(), out.size(), 0); }));
}

Moved Socket::discard(size_t limit) {
  // MSG_TRUNC discards bytes of a TCP stream in the kernel. Source: tcp(7).
  return moved_of(without_interruption([&] { return ::recv(fd_, nullptr, limit, MSG_TRUNC); }));
}

bool Socket::has_input() const {
  char byte = 0;
  return ::recv(fd_, &byte, 1, MSG_PEEK) > 0;
}

Moved Socket::send(std::span<const std::string_view> pieces, bool more) {
  TARN_CHECK(pieces.size() <= kPiecesMax);
  std::array<iovec, kPiecesMax> vectors;
  size_t used = 0;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) vectors[used++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = used;
  const int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
  return moved_of(without_interruption([&] { return ::sendmsg(fd_, &message, flags); }));
}

Moved Socket::send_file(int file, uint64_t offset, uint64_t length) {
  auto at = static_cast<off_t>(offset);
  const auto count = static_cast<size_t>(std::min(length, kSendFileBytesMax));
  return moved_of(without_interruption([&] { return ::sendfile(fd_, file, &at, count); }));
}

Moved Socket::send_pipe(int pipe, size_t length, bool more) {
  const unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | (more ? SPLICE_F_MORE : 0u);
  return moved_of(
      without_interruption([&] { return ::splice(pipe, nullptr, fd_, nullptr, length, flags); }));
}

void Socket::finish_sending() { ::shutdown(fd_, SHUT_WR); }

void Socket::cut() { ::shutdown(fd_, SHUT_RDWR); }

bool Patience::wait_readable(const Socket& socket) { return wait(socket, POLLIN); }

bool Patience::wait_writable(const Socket& socket) { return wait(socket, POLLOUT); }

bool Patience::wait(const Socket& socket, short events) {
  if (waited_in_window_ >= idle_) {
    const auto seconds = std::chrono::duration<double>(waited_in_window_).count();
    if (static_cast<double>(bytes_in_window_) <
        seconds * static_cast<double>(bytes_per_second_min_)) {
      return false;
    }
    waited_in_window_ = {};
    bytes_in_window_ = 0;
  }
  const auto started = Clock::now();
  if (started >= deadline_) return false;
  const auto most = std::min<Clock::duration>(idle_, deadline_ - started);
  const int wait_ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(most).count());
  pollfd ready{socket.fd(), events, 0};
  const WaitScope waits;
  const int count =
      static_cast<int>(without_interruption([&] { return ssize_t{::poll(&ready, 1, wait_ms)}; }));
  waited_in_window_ += Clock::now() - started;
  return count > 0;
}

bool send_all(Socket& socket, std::span<const std::string_view> pieces, bool more,
              Patience& patience) {
  std::array<std::string_view, Socket::kPiecesMax> left;
  std::copy(pieces.begin(), pieces.end(), left.begin());
  size_t first = 0;
  const size_t count = pieces.size();
  for (;;) {
    while (first < count && left[first].empty()) ++first;
    if (first == count) return true;
    const Moved moved = socket.send(std::span(left).subspan(first, count - first), more);
    if (moved.result == Moved::Result::kClosed) return false;
    if (moved.result == Moved::Result::kWouldBlock && !patience.wait_writable(socket)) return false;
    patience.moved(moved.bytes);
    for (size_t sent = moved.bytes; sent > 0;) {
      const size_t step = std::min(sent, left[first].size());
      left[first].remove_prefix(step);
      sent -= step;
      if (left[first].empty()) ++first;
    }
  }
}

Listener bind_to(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const char* node = host.empty() ? nullptr : host.c_str();
  if (const int failed = ::getaddrinfo(node, std::to_string(port).c_str(), &hints, &found)) {
    throw_unavailable(host, port, ::gai_strerror(failed));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int fd = -1;
  for (const addrinfo* one = found; one != nullptr && fd < 0; one = one->ai_next) {
    fd = bind_one(*one);
  }
  if (fd < 0) throw_unavailable(host, port, std::strerror(errno));
  return {fd, ports_of(fd).local};
}

void start_listening(int fd) {
  if (::listen(fd, kBacklog) == 0) return;
  throw Error(ErrorCode::kUnavailable,
              str_cat("listening on port ", ports_of(fd).local, ": ", std::strerror(errno)));
}

Listener adopt_listener(int fd) {
  int listens = 0;
  socklen_t size = sizeof listens;
  const bool is_socket = ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0;
  if (!is_socket || listens == 0 || ports_of(fd).local == 0) {
    throw_invalid(str_cat("taking over descriptor ", fd, ": it is no listening TCP socket"));
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("taking over descriptor ", fd, ": ", std::strerror(errno)));
  }
  return {fd, ports_of(fd).local};
}

Accepted accept_from(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) {
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return {.fd = -1, .peer = {}, .network = 0, .out_of_descriptors = exhausted};
  }
  const int on = 1;
  // Without it a small response waits 40 ms for the previous acknowledgement.
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {.fd = fd,
          .peer = text_of(address),
          .network = network_of(address),
          .out_of_descriptors = false};
}

}  // namespace tarn::http
