#include "core/actions/script_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stop_token>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cancellation.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Json = nlohmann::json;

/// Maximum delay before a cancellation is noticed.
constexpr std::chrono::milliseconds kPollMax{200};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

/// A child process that is killed and reaped on destruction.
class Child {
 public:
  Child(const std::string& program, int socket) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    // dup2 onto the same descriptor would keep close-on-exec; a socket of a server is never 0.
    posix_spawn_file_actions_adddup2(&files, socket, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    // The script must not inherit the server's blocked and ignored signals.
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &pipe);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string name = program;
    std::array<char*, 2> arguments = {name.data(), nullptr};
    std::array<char*, 1> environment = {nullptr};  // the server's environment may hold secrets
    const int failed = posix_spawn(&pid_, program.c_str(), &files, &attributes, arguments.data(),
                                   environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
      throw Error(ErrorCode::kUnavailable, reason::kScriptNotStarted,
                  str_cat("starting ", program, ": ", std::strerror(failed)));
    }
  }
  ~Child() {
    if (pid_ > 0) end();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Kills the process; returns the reason why it ended, for messages.
  std::string end() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    rusage used{};
    while (::wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) return "used too much processor time";
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
      return str_cat("ended by signal ", WTERMSIG(status));
    }
    const int64_t seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
    if (seconds >= kCpuSecondsSuspicious) return "used too much processor time";
    return "ended early, out of memory most likely";
  }

 private:
  /// After SIGXCPU the processor time limit sends SIGKILL, the same signal as ours; the used time
  /// tells them apart.
  static constexpr int64_t kCpuSecondsSuspicious = 29;
  pid_t pid_ = 0;
};

Message start_of(const Script& script) {
  Json json;
  json["name"] = script.name;
  json["action"] = Json::parse(script.action);
  json["args"] = Json::parse(script.args);
  json["username"] = script.username;
  json["http"] = script.http;
  return {Message::Kind::kStart, json.dump(-1, ' ', false, Json::error_handler_t::replace),
          script.text};
}

Message failure(std::string_view why) {
  return {Message::Kind::kAnswer,
          Json{{"error", why}}.dump(-1, ' ', false, Json::error_handler_t::replace), ""};
}

}  // namespace

void run_script(const std::string& program, const Script& script, std::chrono::milliseconds timeout,
                const std::function<void(std::string_view)>& print, const ScriptCall& call) {
  const SteadyClock::time_point deadline = SteadyClock::now() + timeout;
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    throw Error(ErrorCode::kUnavailable, reason::kScriptNotStarted,
                str_cat("making a socket: ", std::strerror(errno)));
  }
  const Descriptor ours(pair[0]);
  Descriptor theirs(pair[1]);
  Child child(program, theirs.get());
  theirs.close();

  const std::stop_token cancelled = cancellation_token();
  Channel channel(ours.get(), [&](bool reading) {
    for (;;) {
      // Rounded up, so that a wait ends at the deadline and not just before it.
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
      if (left.count() <= 0 || cancelled.stop_requested()) return false;
      pollfd waited{ours.get(), static_cast<short>(reading ? POLLIN : POLLOUT), 0};
      const int ready = ::poll(&waited, 1, static_cast<int>(std::min(left, kPollMax).count()));
      if (ready > 0) return true;
    }
  });
  const auto gone = [&]() {
    const std::string why = child.end();
    throw_if_cancelled();
    if (SteadyClock::now() >= deadline) {
      throw Error(ErrorCode::kResourceExhausted, reason::kScriptTimeout,
                  str_cat("the script ran longer than ", timeout.count(), " ms"));
    }
    throw Error(ErrorCode::kUnavailable, reason::kScriptDied,
                str_cat("the script's process ", why));
  };

  if (!channel.send(start_of(script))) gone();
  for (int calls = 0;;) {
    const auto message = channel.receive();
    if (!message) gone();
    switch (message->kind) {
      case Message::Kind::kPrint:
        print(message->bytes);
        break;
      case Message::Kind::kCall: {
        Message answer;
        try {
          if (++calls > kScriptCallsMax) throw_invalid("the script asks the server too often");
          answer = call(*message);
        } catch (const std::exception& error) {
          answer = failure(error.what());
        }
        answer.kind = Message::Kind::kAnswer;
        if (!channel.send(answer) && !channel.send(failure("the answer is too long"))) gone();
        break;
      }
      case Message::Kind::kDone:
        if (!message->bytes.empty()) throw_invalid(message->bytes);
        return;
      default:
        throw Error(ErrorCode::kUnavailable, reason::kScriptDied,
                    "the script's process talks nonsense");
    }
  }
}

std::string script_program() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "tarn-lua").string();
}

}  // namespace tarn::actions
