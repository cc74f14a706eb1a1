// Tests of the sandbox. Each test body runs in a separate process that has entered it.
#include "core/actions/lua/sandbox.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tarn::actions {
namespace {

/// The body's result, or minus the signal that ended it.
int confined(const SandboxLimits& limits, const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    enter_sandbox(limits);
    _exit(body());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

class Sandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kSandboxWorks) GTEST_SKIP() << "sanitizers cannot work in the sandbox";
  }
};

TEST_F(Sandbox, AllowsComputation) {
  EXPECT_EQ(confined({},
                     [] {
                       std::vector<char> bytes(1 << 20, 'x');
                       return bytes[1000] == 'x' ? 7 : 0;
                     }),
            7);
}

TEST_F(Sandbox, OpensNoFileAndNoSocket) {
  EXPECT_EQ(confined({}, [] { return open("/etc/passwd", O_RDONLY) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(
      confined({},
               [] { return open("/tmp/tarn-sandbox", O_CREAT | O_WRONLY, 0600) < 0 ? errno : 0; }),
      EPERM);
  EXPECT_EQ(confined({}, [] { return socket(AF_INET, SOCK_STREAM, 0) < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(confined({}, [] { return dup(0) < 0 ? errno : 0; }), EPERM);
}

TEST_F(Sandbox, StartsNoProcessAndNoProgram) {
  EXPECT_EQ(confined({}, [] { return fork() < 0 ? errno : 0; }), EPERM);
  EXPECT_EQ(confined({},
                     [] {
                       char name[] = "/bin/true";
                       char* arguments[] = {name, nullptr};
                       execv(name, arguments);
                       return errno;
                     }),
            EPERM);
  EXPECT_EQ(confined({}, [] { return kill(getppid(), 0) < 0 ? errno : 0; }), EPERM);
}

TEST_F(Sandbox, LimitsProcessorTime) {
  const int ended = confined({.cpu_seconds = 1}, [] {
    volatile bool forever = true;
    while (forever) {
    }
    return 0;
  });
  EXPECT_TRUE(ended == -SIGXCPU || ended == -SIGKILL) << ended;
}

TEST_F(Sandbox, LimitsMemory) {
  EXPECT_EQ(confined({.memory_bytes = 256u << 20},
                     [] {
                       void* got = mmap(nullptr, 512u << 20, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                       return got == MAP_FAILED ? errno : 0;
                     }),
            ENOMEM);
}

}  // namespace
}  // namespace tarn::actions
