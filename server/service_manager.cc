#include "server/service_manager.h"

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"

namespace tarn::server {
namespace {

/// The first descriptor that a manager passes.
constexpr int kFirstDescriptor = 3;
constexpr int kSocketsMax = 16;

std::string taken_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string out = value == nullptr ? "" : value;
  ::unsetenv(name);
  return out;
}

int number(const std::string& text) {
  int out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace

std::map<std::string, int> take_sockets() {
  const std::string process = taken_variable("LISTEN_PID");
  const int count = number(taken_variable("LISTEN_FDS"));
  std::string names = taken_variable("LISTEN_FDNAMES");
  std::map<std::string, int> out;
  if (number(process) != ::getpid() || count <= 0) return out;
  if (count > kSocketsMax) {
    throw_invalid(str_cat("LISTEN_FDS: more than ", kSocketsMax, " sockets were passed"));
  }
  for (int i = 0; i < count; ++i) {
    const int fd = kFirstDescriptor + i;
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    const size_t colon = std::min(names.find(':'), names.size());
    const std::string name = names.substr(0, colon);
    names.erase(0, colon + 1);
    if (!out.emplace(name, fd).second) {
      throw_invalid(str_cat("LISTEN_FDNAMES: two sockets are called \"", name, '"'));
    }
  }
  return out;
}

ServiceManager::ServiceManager() : socket_(taken_variable("NOTIFY_SOCKET")) {}

void ServiceManager::tell(std::string_view state) const {
  if (socket_.empty()) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // a name without a file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool sent = fd >= 0 && ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                                        reinterpret_cast<const sockaddr*>(&address), length) >= 0;
  if (!sent) log::warn("service_manager_not_told", {{"error", std::strerror(errno)}});
  if (fd >= 0) ::close(fd);
}

bool output_is_journal() { return std::getenv("JOURNAL_STREAM") != nullptr; }

}  // namespace tarn::server
