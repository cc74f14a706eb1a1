// A non-blocking TCP socket, and waiting for it with the limits that keep slow peers from holding a
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tarn::http {

/// The result of one system call. kClosed covers the end of the stream and every error: the answer
/// is the same.
struct Moved {
  enum class Result { kBytes, kWouldBlock, kClosed };
  Result result = Result::kClosed;
  size_t bytes = 0;
};

/// Owns a connected socket. Calls never block. One thread at a time, but for `cut`.
/// A TLS connection would be a second kind of this class; nothing else touches the descriptor.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int fd() const { return fd_; }
  Moved receive(std::span<char> out);
  /// Drops at most `limit` bytes that have arrived, without copying them.
  Moved discard(size_t limit);
  /// Whether bytes wait to be received.
  bool has_input() const;
  static constexpr size_t kPiecesMax = 4;
  /// `more`: further bytes follow at once, so the kernel may wait for them.
  Moved send(std::span<const std::string_view> pieces, bool more);
  Moved send_file(int file, uint64_t offset, uint64_t length);
  /// From a pipe that holds at least `length` bytes.
  Moved send_pipe(int pipe, size_t length, bool more);
  void finish_sending();
  /// Ends the connection under the thread that uses it. Safe from any thread while the object
  /// lives.
  void cut();

 private:
  const int fd_;
};

/// Limits on waiting for one body, in one direction. Only time spent waiting counts: a slow handler
/// is not a slow peer. One thread at a time.
class Patience {
 public:
  /// Gives up when nothing moves for `idle`, or when fewer than `bytes_per_second_min` move over
  /// `idle` of waiting.
  Patience(std::chrono::milliseconds idle, uint64_t bytes_per_second_min)
      : idle_(idle), bytes_per_second_min_(bytes_per_second_min) {}

  void moved(size_t bytes) { bytes_in_window_ += bytes; }
  /// Waits also end at `deadline`.
  void end_by(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }
  /// False: the peer is too slow.
  bool wait_readable(const Socket& socket);
  bool wait_writable(const Socket& socket);

 private:
  bool wait(const Socket& socket, short events);

  std::chrono::milliseconds idle_;
  uint64_t bytes_per_second_min_;
  std::chrono::nanoseconds waited_in_window_{0};
  uint64_t bytes_in_window_ = 0;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

/// Sends all bytes; false if the peer is gone or too slow.
bool send_all(Socket& socket, std::span<const std::string_view> pieces, bool more,
              Patience& patience);

/// A socket with an address; `port` is the one taken.
struct Listener {
  int fd = -1;
  uint16_t port = 0;
};
/// Connections are refused until start_listening. Throws unavailable, naming the address.
Listener bind_to(const std::string& host, uint16_t port);
/// Throws unavailable, naming the port, for example if another socket began to listen there first.
void start_listening(int fd);
/// A TCP socket that another program opened and that listens already. Throws invalid_argument for
/// any other descriptor, unavailable.
Listener adopt_listener(int fd);

/// 0 where the socket has none.
struct SocketPorts {
  uint16_t local = 0;
  uint16_t remote = 0;
};
SocketPorts ports_of(int fd);

struct Accepted {
  int fd = -1;  ///< non-blocking; -1 if no connection waits
  std::string peer;
  /// A hash of the peer's IPv4 address or /64 of IPv6, since one host has a whole /64.
  size_t network = 0;
  bool out_of_descriptors = false;
};
Accepted accept_from(int listener);

}  // namespace tarn::http
