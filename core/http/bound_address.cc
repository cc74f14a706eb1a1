#include "core/http/bound_address.h"

#include <utility>

#include <unistd.h>

#include "core/http/socket.h"

namespace tarn::http {

BoundAddress BoundAddress::bind(const std::string& host, uint16_t port) {
  const Listener bound = bind_to(host, port);
  return {bound.fd, bound.port};
}

BoundAddress BoundAddress::adopt(int fd) {
  const Listener adopted = adopt_listener(fd);
  return {adopted.fd, adopted.port};
}

BoundAddress::~BoundAddress() {
  if (fd_ >= 0) ::close(fd_);
}

BoundAddress::BoundAddress(BoundAddress&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}

BoundAddress& BoundAddress::operator=(BoundAddress&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(port_, other.port_);
  return *this;
}

int BoundAddress::release() { return std::exchange(fd_, -1); }

}  // namespace tarn::http
