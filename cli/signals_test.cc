#include "cli/signals.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/client.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// A connection whose other side is closed.
int broken_connection() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ::close(ends[1]);
  return ends[0];
}

/// SIGPIPE ends the program, as in a shell; who started the tests may have turned it off.
class NoPipeSignalTest : public testing::Test {
 protected:
  ~NoPipeSignalTest() override { std::signal(SIGPIPE, before_); }

 private:
  void (*before_)(int) = std::signal(SIGPIPE, SIG_DFL);
};

TEST_F(NoPipeSignalTest, MakesABrokenConnectionAnError) {
  const int connection = broken_connection();
  {
    const NoPipeSignal unless_broken;
    EXPECT_EQ(::send(connection, "x", 1, 0), -1);
    EXPECT_EQ(errno, EPIPE);
  }
  EXPECT_EXIT(::send(connection, "x", 1, 0), testing::KilledBySignal(SIGPIPE), "");
  ::close(connection);
}

// Verified by mutation: taking the signal in any case.
TEST_F(NoPipeSignalTest, KeepsASignalThatWasAlreadyBlocked) {
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::raise(SIGPIPE);
  { const NoPipeSignal unless_broken; }
  sigset_t waiting;
  sigpending(&waiting);
  EXPECT_EQ(sigismember(&waiting, SIGPIPE), 1);
  const timespec at_once{};
  sigtimedwait(&pipe, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Takes the head of each request and hangs up.
class Quitter {
 public:
  Quitter() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      char head[64];
      for (int fd; (fd = ::accept(listener_, nullptr, nullptr)) >= 0; ::close(fd)) {
        EXPECT_GT(::recv(fd, head, sizeof head, 0), 0);
        ::send(fd, "HTTP/1.1 412", 12, MSG_NOSIGNAL);  // else the client sees the end first
        ::shutdown(fd, SHUT_WR);                       // after it, a reset is EPIPE
      }
    });
  }
  ~Quitter() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  int port = 0;

 private:
  int listener_;
  std::thread thread_;
};

// Without NoPipeSignal in Client this test program ends with SIGPIPE, as the command did.
TEST_F(NoPipeSignalTest, ClientSurvivesAServerThatHangsUpInABody) {
  Quitter server;
  Client client({.endpoint = {str_cat("http://127.0.0.1:", server.port), ""}},
                {.sleep = [](std::chrono::milliseconds) {}});
  const std::string piece(1 << 18, 'x');
  const Upload upload{.request = {.method = Method::kPost, .path = "/x"},
                      .content_type = "text/plain",
                      .size_bytes = 1 << 26,
                      .open = [&piece] { return [&piece] { return std::string_view(piece); }; }};
  EXPECT_THROW(client.upload(upload), Error);
}

}  // namespace
}  // namespace tarn::cli
