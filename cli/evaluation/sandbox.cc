#include "cli/evaluation/sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/evaluation/control_group.h"
#include "cli/evaluation/syscall_filter.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "core/base/descriptor.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kProcessesMax = 512;  ///< threads count
constexpr uint64_t kOpenFilesMax = 1024;
/// The end of what a program printed that is kept.
constexpr size_t kPrintedBytesMax = 4 << 10;
constexpr size_t kInfoBytesMax = 4 << 10;
constexpr std::chrono::milliseconds kLookEvery{100};
constexpr uint64_t kPageBytes = 4096;
constexpr int kSignalBase = 128;
constexpr const char* kNobody = "65534";

/// Runs the program and then prints its output; "+" before both shows that the sandbox stands. The
/// status is that of the program.
constexpr const char* kScript =
    "printf +; \"$@\" >&2 </dev/null; s=$?; "
    "[ ! -f \"$TARN_OUTPUT\" ] || cat <\"$TARN_OUTPUT\"; exit $s";

[[noreturn]] void fail(std::string_view doing) {
  throw Error(ErrorCode::kInternal, str_cat(doing, ": ", std::strerror(errno)));
}

// The C library of Debian 12 declares no such functions for C++.
Descriptor open_process(pid_t process) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("making a pipe");
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read;
  Descriptor write;
};

Descriptor file_with(std::string_view bytes) {
  Descriptor file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file ||
      ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0) {
    fail("keeping the filter of system calls");
  }
  return file;
}

/// Valid UTF-8: bytes that are not become '?', and so does the rest of a character that was cut.
std::string as_utf8(std::string text) {
  for (size_t i = 0; i < text.size();) {
    size_t length = 1;
    while (length <= 4 && !is_utf8(std::string_view(text).substr(i, length))) ++length;
    if (length > 4) {
      text[i] = '?';
      length = 1;
    }
    i += length;
  }
  std::replace(text.begin(), text.end(), '\0', '?');
  return text;
}

using Words = std::vector<std::string>;

void add(Words& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
}

/// The system's programs and libraries: /usr, what Debian keeps beside it, and nothing of /etc but
/// what the loader reads.
void add_system(Words& words) {
  add(words, {"--ro-bind", "/usr", "/usr"});
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code absent;
    if (fs::is_symlink(path, absent)) {
      add(words, {"--symlink", fs::read_symlink(path).string(), path});
    } else {
      add(words, {"--ro-bind-try", path, path});
    }
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/alternatives"}) {
    add(words, {"--ro-bind-try", path, path});
  }
}

/// A folder in memory.
void add_tmpfs(Words& words, uint64_t bytes, const char* path) {
  add(words, {"--size", std::to_string(std::max(bytes, kPageBytes)), "--tmpfs", path});
}

Words arguments_of(const SandboxSettings& settings, const SandboxedProgram& program,
                   const SandboxLimits& limits) {
  Words words{"bwrap",
              "--unshare-all",
              "--unshare-user",
              "--die-with-parent",
              "--new-session",
              "--cap-drop",
              "ALL",
              "--uid",
              kNobody,
              "--gid",
              kNobody,
              "--hostname",
              "sandbox",
              "--clearenv"};
  add_system(words);
  for (const std::string& folder : settings.with) add(words, {"--ro-bind", folder, folder});
  add(words, {"--proc", "/proc", "--dev", "/dev"});
  for (const std::string& device : settings.devices) add(words, {"--dev-bind", device, device});
  add(words, {"--remount-ro", "/dev", "--remount-ro", "/proc"});
  add_tmpfs(words, limits.memory_bytes / 2, "/dev/shm");
  add_tmpfs(words, limits.memory_bytes / 2, "/tmp");
  for (const auto& [source, target] : program.mounts) {
    add(words, {"--ro-bind", source.string(), target});
  }
  // A page more than allowed, so that an output that is too large can be told from a full folder.
  add_tmpfs(words, limits.output_bytes + kPageBytes, kSandboxOutput);
  add(words, {"--remount-ro", "/", "--chdir", "/tmp"});
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                                        {"HOME", "/tmp"},
                                                        {"USER", "nobody"},
                                                        {"LANG", "C.UTF-8"},
                                                        {"TARN_OUTPUT", program.output}}) {
    add(words, {"--setenv", name, value});
  }
  for (const auto& [name, value] : program.environment) add(words, {"--setenv", name, value});
  return words;
}

/// A sandbox whose processes all end with it.
class Sandbox {
 public:
  Sandbox(Words words, const SandboxedProgram& program, const SandboxSettings& settings,
          const SandboxLimits& limits)
      : Sandbox(ControlGroup::try_make(limits.memory_bytes, kProcessesMax)) {
    start(std::move(words), program, settings);
    limit(limits);
    release_.write.reset();
  }
  ~Sandbox() { end(); }
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  int output() const { return output_.read.get(); }
  int printed() const { return printed_.read.get(); }
  /// Readable once the program has ended.
  int ended() const { return monitor_.get(); }
  bool ran_out_of_memory() const { return group_ && group_->ran_out_of_memory(); }

  /// Ends every process in the sandbox and returns the exit status of the program, or 128 and the
  /// number of the signal that ended it.
  int end() {
    if (pid_ <= 0) return status_;
    // The first process of the namespace has ended when the kernel has ended all others.
    const Descriptor& first = first_ ? first_ : monitor_;
    ::syscall(SYS_pidfd_send_signal, first.get(), SIGKILL, nullptr, 0);
    pollfd wait{first.get(), POLLIN, 0};
    while (::poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
    return status_;
  }

 private:
  /// Complete, so that the destructor runs when the rest of a construction throws.
  explicit Sandbox(std::unique_ptr<ControlGroup> group) : group_(std::move(group)) {}

  void start(Words words, const SandboxedProgram& program, const SandboxSettings& settings) {
    Pipe info;
    const Descriptor filter = file_with(syscall_filter());
    add(words,
        {"--seccomp", std::to_string(filter.get()), "--info-fd", std::to_string(info.write.get()),
         "--block-fd", std::to_string(release_.read.get()), "--", "/bin/sh", "-c", kScript, "sh"});
    if (program.program.ends_with(".py")) words.push_back(settings.python);
    words.push_back(program.program);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);

    // Programs in the sandbox can read that of its first process, so it has no key of this one.
    std::string path = "PATH=/usr/bin:/bin";
    std::array<char*, 2> environment{path.data(), nullptr};

    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output_.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, printed_.write.get(), STDERR_FILENO);
    for (const int kept : {filter.get(), info.write.get(), release_.read.get()}) {
      posix_spawn_file_actions_adddup2(&files, kept, kept);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    // A ^C of the terminal is for this process, which then ends the sandbox.
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const int error =
        ::posix_spawnp(&pid_, "bwrap", &files, &attributes, pointers.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) {
      pid_ = 0;
      throw Error(ErrorCode::kPreconditionFailed, kReasonSandboxUnavailable,
                  error == ENOENT ? "starting bwrap: it is not installed: install the package "
                                    "bubblewrap"
                                  : str_cat("starting bwrap: ", std::strerror(error)));
    }
    monitor_ = open_process(pid_);
    for (Pipe* pipe : {&output_, &printed_, &info}) pipe->write.reset();
    release_.read.reset();

    std::string told(kInfoBytesMax, '\0');
    size_t length = 0;
    for (ssize_t got = 1; got > 0 && length < told.size();) {
      got = ::read(info.read.get(), told.data() + length, told.size() - length);
      if (got > 0) length += static_cast<size_t>(got);
      if (got < 0 && errno == EINTR) got = 1;
    }
    told.resize(length);
    const nlohmann::json told_of = parse_json(told);
    if (told_of.is_object()) {
      first_pid_ = told_of.value("child-pid", 0);
      first_ = open_process(first_pid_);
    }
  }

  /// Without a control group each process has the limit of memory for itself.
  void limit(const SandboxLimits& limits) {
    if (!first_) return;  // no sandbox; what bwrap printed says why
    if (group_ && !group_->take(first_pid_)) group_.reset();
    const auto set = [&](__rlimit_resource resource, uint64_t value) {
      const rlimit both{value, value};
      if (::prlimit(first_pid_, resource, &both, nullptr) != 0 && errno != ESRCH)
        fail("limiting a program");
    };
    if (!group_) set(RLIMIT_DATA, limits.memory_bytes);
    set(RLIMIT_NPROC, kProcessesMax);
    set(RLIMIT_NOFILE, kOpenFilesMax);
    set(RLIMIT_CORE, 0);
  }

  std::unique_ptr<ControlGroup> group_;
  Pipe output_;
  Pipe printed_;
  Pipe release_;  ///< the program starts when it is closed
  pid_t pid_ = 0;
  pid_t first_pid_ = 0;
  Descriptor monitor_;
  Descriptor first_;  ///< the first process of the namespace
  int status_ = 0;
};

/// Keeps what comes out of a sandbox.
class Received {
 public:
  Received(const fs::path& file, uint64_t bytes_max)
      : file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)),
        left_(bytes_max) {
    if (!file_) fail(str_cat("writing ", file.string()));
  }

  /// Reads once; returns false at the end.
  bool take_output(int from) {
    const ssize_t got = ::read(from, buffer_.data(), buffer_.size());
    if (got <= 0) return got < 0 && errno == EINTR;
    std::string_view piece(buffer_.data(), static_cast<size_t>(got));
    if (!started_) piece.remove_prefix(1);
    started_ = true;
    if (piece.size() > left_) {
      too_large_ = true;
      return false;
    }
    left_ -= piece.size();
    taken_ += piece.size();
    while (!piece.empty()) {
      const ssize_t written = ::write(file_.get(), piece.data(), piece.size());
      if (written < 0 && errno != EINTR) fail("keeping the output of a program");
      if (written > 0) piece.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }
  bool take_printed(int from) {
    const ssize_t got = ::read(from, buffer_.data(), buffer_.size());
    if (got <= 0) return got < 0 && errno == EINTR;
    printed_.append(buffer_.data(), static_cast<size_t>(got));
    if (printed_.size() > kPrintedBytesMax) printed_.erase(0, printed_.size() - kPrintedBytesMax);
    return true;
  }

  bool started() const { return started_; }
  bool too_large() const { return too_large_; }
  bool empty() const { return taken_ == 0; }
  ProgramEnd failure(std::string_view code, std::string_view line) const {
    return {code, str_cat(line, '\n', as_utf8(printed_))};
  }
  std::string printed() const { return as_utf8(printed_); }

 private:
  Descriptor file_;
  uint64_t left_;
  uint64_t taken_ = 0;
  bool started_ = false;
  bool too_large_ = false;
  std::string printed_;
  std::array<char, 64 << 10> buffer_{};
};

std::string in_words(int status) {
  return status > kSignalBase ? str_cat("signal ", status - kSignalBase)
                              : str_cat("exit status ", status);
}

}  // namespace

ProgramEnd run_in_sandbox(const SandboxSettings& settings, const SandboxedProgram& program,
                          const SandboxLimits& limits, const std::function<bool()>& stop) {
  Received received(program.result, limits.output_bytes);
  const auto deadline = SteadyClock::now() + limits.timeout;
  Sandbox sandbox(arguments_of(settings, program, limits), program, settings, limits);
  std::array<pollfd, 3> waits{pollfd{sandbox.output(), POLLIN, 0},
                              pollfd{sandbox.printed(), POLLIN, 0},
                              pollfd{sandbox.ended(), POLLIN, 0}};
  bool late = false;
  while (waits[2].revents == 0 && !received.too_large() && !late) {
    if (::poll(waits.data(), waits.size(), static_cast<int>(kLookEvery.count())) < 0) {
      if (errno != EINTR) fail("waiting for a program");
      continue;
    }
    if (waits[0].revents != 0 && !received.take_output(waits[0].fd)) waits[0].fd = -1;
    if (waits[1].revents != 0 && !received.take_printed(waits[1].fd)) waits[1].fd = -1;
    if (stop()) {
      throw Error(ErrorCode::kUnavailable, kReasonInterrupted, "running a program: interrupted");
    }
    late = SteadyClock::now() >= deadline;
  }
  const int status = sandbox.end();
  while (!received.too_large() && received.take_output(sandbox.output())) {
  }
  while (received.take_printed(sandbox.printed())) {
  }
  if (!received.started() && !late) {
    throw Error(ErrorCode::kPreconditionFailed, kReasonSandboxUnavailable,
                str_cat("making a sandbox: the kernel must permit user namespaces to this user, "
                        "and each folder must be readable: ",
                        received.printed()));
  }
  if (sandbox.ran_out_of_memory()) {
    return received.failure("memory", str_cat("more memory than ", limits.memory_bytes, " bytes"));
  }
  if (late)
    return received.failure("timeout", str_cat("not done after ", limits.timeout.count(), " ms"));
  if (received.too_large()) {
    return received.failure("output_too_large",
                            str_cat("more output than ", limits.output_bytes, " bytes"));
  }
  if (status != 0) return received.failure("program_failed", in_words(status));
  if (received.empty()) {
    return received.failure("output_invalid",
                            "it wrote no file, or an empty one, to the path in TARN_OUTPUT");
  }
  return {};
}

}  // namespace tarn::cli
