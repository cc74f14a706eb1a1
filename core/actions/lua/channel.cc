#include "core/actions/lua/channel.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace tarn::actions {
namespace {

constexpr size_t kHeadBytes = 9;  // kind, length of the JSON, length of the bytes
constexpr size_t kGrowthBytes = 1u << 20;

void put_u32(std::string& out, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

size_t read_u32(const char* from) {
  size_t value = 0;
  for (int i = 0; i < 4; ++i) value = (value << 8) | static_cast<unsigned char>(from[i]);
  return value;
}

}  // namespace

bool Channel::send(const Message& message) {
  if (message.json.size() + message.bytes.size() > kMessageBytesMax) return false;
  std::string head(1, static_cast<char>(message.kind));
  put_u32(head, message.json.size());
  put_u32(head, message.bytes.size());
  return write_exactly(head) && write_exactly(message.json) && write_exactly(message.bytes);
}

std::optional<Message> Channel::receive() {
  char head[kHeadBytes];
  if (!read_exactly(head, sizeof head)) return std::nullopt;
  Message message;
  message.kind = static_cast<Message::Kind>(head[0]);
  const size_t json = read_u32(head + 1);
  const size_t bytes = read_u32(head + 5);
  if (json > kMessageBytesMax || bytes > kMessageBytesMax - json) return std::nullopt;
  for (const auto& [part, size] : {std::pair(&message.json, json), {&message.bytes, bytes}}) {
    // The buffer grows as bytes arrive: an announced length alone allocates nothing.
    while (part->size() < size) {
      const size_t at = part->size();
      part->resize(std::min(size, at + kGrowthBytes));
      if (!read_exactly(part->data() + at, part->size() - at)) return std::nullopt;
    }
  }
  return message;
}

bool Channel::read_exactly(char* to, size_t bytes) {
  while (bytes > 0) {
    if (wait_ && !wait_(true)) return false;
    const ssize_t got = ::recv(fd_, to, bytes, wait_ ? MSG_DONTWAIT : 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool Channel::write_exactly(std::string_view bytes) {
  while (!bytes.empty()) {
    if (wait_ && !wait_(false)) return false;
    const ssize_t sent =
        ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | (wait_ ? MSG_DONTWAIT : 0));
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace tarn::actions
