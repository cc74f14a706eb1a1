#include "cli/child_program.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr int kSignalBase = 128;

/// How a program starts: with its own standard input, and obeying ^C.
class Preparation {
 public:
  explicit Preparation(int input) {
    posix_spawn_file_actions_init(&files_);
    if (input >= 0) posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t obeyed;
    sigemptyset(&obeyed);
    sigaddset(&obeyed, SIGINT);
    posix_spawnattr_setsigdefault(&attributes_, &obeyed);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~Preparation() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

pid_t start_program(const std::string& command, const std::vector<std::string>& arguments,
                    int input) {
  std::vector<std::string> words{"sh", "-c", str_cat(command, " \"$@\""), command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Preparation preparation(input);
  pid_t program = 0;
  const int failure = ::posix_spawn(&program, "/bin/sh", preparation.files(),
                                    preparation.attributes(), argv.data(), environ);
  if (failure != 0) {
    throw Error(ErrorCode::kInternal, str_cat("starting ", command, ": ", std::strerror(failure)));
  }
  return program;
}

int wait_for_program(pid_t program) {
  int status = 0;
  while (::waitpid(program, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
}

IgnoredInterrupts::IgnoredInterrupts() : before_(std::signal(SIGINT, SIG_IGN)) {}

IgnoredInterrupts::~IgnoredInterrupts() { std::signal(SIGINT, before_); }

}  // namespace tarn::cli
