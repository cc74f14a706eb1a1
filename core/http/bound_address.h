// An address that the process owns before a server serves it.
#pragma once

#include <cstdint>
#include <string>

namespace tarn::http {

/// Owns the descriptor of a TCP socket. One thread at a time.
class BoundAddress {
 public:
  /// Takes the address, so that no other program can; connections are refused until a Server is
  /// started on it. Port 0 takes a free one. Throws unavailable, naming the address.
  static BoundAddress bind(const std::string& host, uint16_t port);
  /// Takes over a listening socket that another program opened, for example systemd: connections
  /// wait in it until a Server is started. Throws invalid_argument for any other descriptor.
  static BoundAddress adopt(int fd);
  ~BoundAddress();
  BoundAddress(BoundAddress&& other) noexcept;
  BoundAddress& operator=(BoundAddress&& other) noexcept;

  uint16_t port() const { return port_; }
  /// The caller closes the descriptor.
  int release();

 private:
  BoundAddress(int fd, uint16_t port) : fd_(fd), port_(port) {}
  int fd_;
  uint16_t port_;
};

}  // namespace tarn::http
