#include "core/db/embedded_process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::db {
namespace {

namespace fs = std::filesystem;

/// Exit statuses of a child that failed before running its program.
constexpr int kCannotChangeUser = 120;
constexpr int kParentGone = 121;
constexpr int kCannotExecute = 122;
/// Directories above a data directory that are checked: as many as the exit statuses below those
/// can count.
constexpr size_t kStepsMax = 119;

/// Only async-signal-safe calls are allowed between fork and exec, so everything is prepared before
/// the fork.
struct Launch {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const char* log_path;
  int death_signal;
  pid_t parent;
};

/// Raw system calls: glibc's wrappers would signal the threads that exist only in the parent.
bool become(const PostgresUser& user) {
  if (!user.is_other) return true;
  return syscall(SYS_setgroups, user.groups.size(), user.groups.data()) == 0 &&
         syscall(SYS_setgid, user.gid) == 0 && syscall(SYS_setuid, user.uid) == 0;
}

void take_files(const char* log_path) {
  int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (log < 0) log = open("/dev/null", O_WRONLY);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  constexpr unsigned kFirst = 3;
  if (syscall(SYS_close_range, kFirst, ~0U, 0) == 0) return;
  const long last = sysconf(_SC_OPEN_MAX);
  for (int fd = kFirst; fd < last; ++fd) close(fd);
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction defaults = {};
    defaults.sa_handler = SIG_DFL;
    sigaction(signal, &defaults, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void run_child(const Launch& launch, const PostgresUser& user) {
  if (!become(user)) _exit(kCannotChangeUser);
  // Set after the change of user, which clears it. The parent may have died before.
  prctl(PR_SET_PDEATHSIG, launch.death_signal);
  if (getppid() != launch.parent) _exit(kParentGone);
  setsid();  // Ctrl-C at our terminal must reach only us
  umask(077);
  take_files(launch.log_path);
  reset_signals();
  if (chdir("/") != 0) _exit(kCannotExecute);
  execve(launch.arguments[0], launch.arguments.data(), launch.environment.data());
  _exit(kCannotExecute);
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

/// Forks with all signals blocked, so that none of our handlers runs in the child.
pid_t fork_quietly() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  const int why = errno;
  if (child != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    throw Error(ErrorCode::kUnavailable, str_cat("starting a child process: ", std::strerror(why)));
  }
  return child;
}

/// Accesses files as `user`, in this thread. Only the user of a process and holders of
/// CAP_SYS_PTRACE can read its links in /proc, and root in a container lacks that capability.
class LookAs {
 public:
  explicit LookAs(const PostgresUser& user) {
    if (!user.is_other) return;
    group_ = setfsgid(user.gid);
    user_ = setfsuid(user.uid);
    changed_ = true;
  }
  ~LookAs() {
    if (!changed_) return;
    setfsuid(static_cast<uid_t>(user_));
    setfsgid(static_cast<gid_t>(group_));
  }
  LookAs(const LookAs&) = delete;
  LookAs& operator=(const LookAs&) = delete;

 private:
  bool changed_ = false;
  int user_ = 0;
  int group_ = 0;
};

std::string link_target(const fs::path& link) {
  std::error_code ignored;
  return fs::read_symlink(link, ignored).string();
}

}  // namespace

PostgresUser PostgresUser::find(const std::string& cluster,
                                const std::vector<std::string>& accounts) {
  if (geteuid() != 0) {
    const passwd* me = getpwuid(geteuid());
    return {geteuid(), getegid(), {}, me ? me->pw_name : str_cat("user ", geteuid()), false};
  }
  struct stat found = {};
  const bool exists = lstat(cluster.c_str(), &found) == 0;
  PostgresUser user{0, 0, {}, "", true};
  for (const std::string& name : accounts) {
    const passwd* entry = getpwnam(name.c_str());
    if (!entry || !(user.name.empty() || (exists && entry->pw_uid == found.st_uid))) continue;
    user.uid = entry->pw_uid;
    user.gid = entry->pw_gid;
    user.name = name;
  }
  if (user.name.empty()) {
    throw Error(ErrorCode::kPreconditionFailed,
                "starting PostgreSQL: it refuses to run as root, and there is no user \"postgres\" "
                "to run it: "
                "install the package postgresql-15, add the user, or start as another user");
  }
  int count = 0;
  getgrouplist(user.name.c_str(), user.gid, nullptr, &count);
  user.groups.resize(static_cast<size_t>(count));
  getgrouplist(user.name.c_str(), user.gid, user.groups.data(), &count);
  return user;
}

pid_t spawn(const Program& program, const PostgresUser& user) {
  std::vector<std::string> arguments = program.arguments;
  // The environment is replaced: PostgreSQL would obey PGPORT, PGDATA and similar variables.
  std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8"};
  const Launch launch{pointers_to(arguments), pointers_to(environment), program.log_path.c_str(),
                      program.death_signal, getpid()};
  const pid_t child = fork_quietly();
  if (child == 0) run_child(launch, user);
  return child;
}

bool has_exited(pid_t child) {
  siginfo_t info = {};
  const int result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  return result != 0 || info.si_pid == child;
}

std::string reap(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return str_cat("was killed by signal ", WTERMSIG(status));
  switch (WEXITSTATUS(status)) {
    case 0:
      return "";
    case kCannotChangeUser:
      return "could not change to its user";
    case kCannotExecute:
      return "could not be executed";
    default:
      return str_cat("exited with status ", WEXITSTATUS(status));
  }
}

std::string first_barred(const std::string& path, const PostgresUser& user) {
  std::vector<std::string> steps;
  fs::path step;
  for (const fs::path& name : fs::path(path)) steps.push_back((step /= name).string());
  const pid_t child = fork_quietly();  // to check as that user
  if (child == 0) {
    if (!become(user)) _exit(kCannotChangeUser);
    for (size_t i = 0; i < steps.size() && i < kStepsMax; ++i) {
      if (access(steps[i].c_str(), X_OK) != 0 && errno == EACCES) _exit(static_cast<int>(i) + 1);
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const auto barred = static_cast<size_t>(WIFEXITED(status) ? WEXITSTATUS(status) : 0);
  return barred == 0 || barred > steps.size() ? "" : steps[barred - 1];
}

std::vector<pid_t> postgres_processes_in(const std::string& data, const PostgresUser& user) {
  const LookAs its_user(user);
  std::vector<pid_t> out;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ptr != name.data() + name.size() || pid == 0) continue;
    if (link_target(entry.path() / "cwd") != data) continue;
    // The process may be a user's shell in that directory. After an upgrade of the package the name
    // ends in " (deleted)".
    if (link_target(entry.path() / "exe").find("/postgres") != std::string::npos)
      out.push_back(pid);
  }
  return out;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"), pclose);
  std::string out;
  char piece[256];
  while (pipe && std::fgets(piece, sizeof piece, pipe.get())) out += piece;
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace tarn::db
