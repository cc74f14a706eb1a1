#include "server/service_manager.h"

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/error.h"
#include "tests/support/temporary_directory.h"

namespace tarn::server {
namespace {

void pass_sockets(int count, const char* names, pid_t process = ::getpid()) {
  ::setenv("LISTEN_PID", std::to_string(process).c_str(), 1);
  ::setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  ::setenv("LISTEN_FDNAMES", names, 1);
}

TEST(TakeSockets, KnowsThemByName) {
  pass_sockets(3, "main:s3:metrics");
  EXPECT_EQ(take_sockets(), (std::map<std::string, int>{{"main", 3}, {"s3", 4}, {"metrics", 5}}));
  EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr) << "programs that tarnd starts must not see it";
  EXPECT_TRUE(take_sockets().empty());
}

TEST(TakeSockets, IgnoresThoseOfAnotherProcess) {
  pass_sockets(1, "main", 1);
  EXPECT_TRUE(take_sockets().empty());
}

TEST(TakeSockets, RefusesTwoOfOneName) {
  pass_sockets(2, "main:main");
  EXPECT_THROW(take_sockets(), Error);
  pass_sockets(1000, "main");
  EXPECT_THROW(take_sockets(), Error);
}

TEST(ServiceManager, ReceivesTheState) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path() + "/notify";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  const ServiceManager manager;
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  manager.tell("READY=1");
  std::array<char, 100> text{};
  const ssize_t length = ::recv(fd, text.data(), text.size(), MSG_DONTWAIT);
  ::close(fd);
  ASSERT_EQ(length, 7);
  EXPECT_EQ(std::string(text.data(), 7), "READY=1");
}

TEST(ServiceManager, MayBeAbsent) {
  ::unsetenv("NOTIFY_SOCKET");
  ServiceManager().tell("READY=1");
}

}  // namespace
}  // namespace tarn::server
