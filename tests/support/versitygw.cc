#include "tests/support/versitygw.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tarn::testing {
namespace {

constexpr std::chrono::seconds kStartDeadline{20};
constexpr std::chrono::milliseconds kPause{20};
constexpr int kTriesMax = 5;

std::string program() {
  if (const char* chosen = std::getenv("TARN_VERSITYGW")) return chosen;
  const char* cache = std::getenv("TARN_CACHE");
  const char* home = std::getenv("HOME");
  const std::string directory =
      cache != nullptr ? cache : std::string(home != nullptr ? home : "/root") + "/.cache/tarn";
  return directory + "/bin/versitygw";
}

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("finding a free port failed");
  return ntohs(address.sin_port);
}

bool accepts_connections(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(fd);
  return connected;
}

}  // namespace

// Not in memory: it stores metadata in extended attributes, which few kernels support there.
Versitygw::Versitygw() : directory_(std::filesystem::temp_directory_path()) {
  if (::access(program().c_str(), X_OK) != 0) {
    throw std::runtime_error("the S3 server for tests is missing at " + program() +
                             ": run ./dev setup, or: GOBIN=<that directory> go install "
                             "github.com/versity/versitygw/cmd/versitygw@v1.8.0");
  }
  for (int i = 0; i < kTriesMax; ++i) {  // another process may take the port first
    if (start_on(free_port())) return;
    stop();
  }
  throw std::runtime_error("starting " + program() + " failed, see its output above");
}

Versitygw::~Versitygw() { stop(); }

bool Versitygw::start_on(uint16_t port) {
  port_ = port;
  const std::string address = "127.0.0.1:" + std::to_string(port);
  std::vector<std::string> arguments = {
      program(), "--access", kAccessKeyId, "--secret",     kSecret, "--region", kRegion,
      "--port",  address,    "--quiet",    "--keep-alive", "posix", directory()};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes must not leave a server
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(null, STDIN_FILENO);
    ::dup2(null, STDOUT_FILENO);  // its banner; errors go to standard error
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  const auto give_up = std::chrono::steady_clock::now() + kStartDeadline;
  while (std::chrono::steady_clock::now() < give_up) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return false;
    }
    if (accepts_connections(port)) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

void Versitygw::stop() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > give_up) ::kill(pid_, SIGKILL);
    std::this_thread::sleep_for(kPause);
  }
  pid_ = -1;
}

}  // namespace tarn::testing
