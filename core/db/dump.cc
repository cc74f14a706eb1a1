#include "core/db/dump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/descriptor.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::db {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 256 * 1024;
/// Longest text that is kept of the messages of a program that failed.
constexpr size_t kMessageBytesMax = 2'000;
constexpr const char* kProgramsDirectory = "/usr/lib/postgresql";

[[noreturn]] void fail(std::string_view doing, int error) {
  throw Error(ErrorCode::kUnavailable, str_cat(doing, ": ", std::strerror(error)));
}

/// A connection string without its password, which travels in the environment.
struct Target {
  std::string connection;
  std::string password;
};

std::string quoted(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "'";
}

Target target_of(const std::string& url) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), &message), PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> text(message, PQfreemem);
  if (!options) throw_invalid(str_cat("reading the database's URL: ", message ? message : ""));
  Target out;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    if (std::string_view(option->keyword) == "password") {
      out.password = option->val;
    } else {
      out.connection += str_cat(option->keyword, "=", quoted(option->val), " ");
    }
  }
  return out;
}

/// The newest installed version: it reads servers and archives of all older ones.
std::string program_path(const std::string& name) {
  int best = 0;
  std::string path;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(kProgramsDirectory, error)) {
    const std::string candidate = (entry.path() / "bin" / name).string();
    const int version = std::atoi(entry.path().filename().c_str());
    if (version > best && ::access(candidate.c_str(), X_OK) == 0) {
      best = version;
      path = candidate;
    }
  }
  return path.empty() ? name : path;  // in the PATH
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("making a pipe", errno);
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  Descriptor read;
  Descriptor write;
};

/// A running child, killed unless wait() was called.
class Child {
 public:
  /// `in`, `out`: its standard input and output.
  Child(const std::string& name, std::vector<std::string> arguments, const Target& target, int in,
        int out)
      : name_(name), messages_(::memfd_create("messages", MFD_CLOEXEC)) {
    if (messages_.get() < 0) fail(str_cat("starting ", name_), errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, messages_.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment.emplace_back(*variable);
    }
    if (!target.password.empty()) environment.push_back(str_cat("PGPASSWORD=", target.password));
    arguments.insert(arguments.begin(), program_path(name));
    if (!target.connection.empty()) {
      arguments.push_back(str_cat("--dbname=", target.connection));
    }
    const int error = posix_spawnp(&pid_, arguments[0].c_str(), &actions, &attributes,
                                   pointers_to(arguments).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT) {
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("starting ", name_,
                          ": it is not installed: install the package "
                          "postgresql-client of the server's version"));
    }
    if (error != 0) fail(str_cat("starting ", name_), error);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Throws unless it succeeded.
  void wait() {
    if (reap() == 0) return;
    throw Error(ErrorCode::kUnavailable, str_cat("running ", name_, ": ", last_messages()));
  }

 private:
  static std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> out;
    for (std::string& s : strings) out.push_back(s.data());
    out.push_back(nullptr);
    return out;
  }

  int reap() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

  std::string last_messages() const {
    const off_t size = ::lseek(messages_.get(), 0, SEEK_END);
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(kMessageBytesMax));
    std::string out(static_cast<size_t>(size - from), '\0');
    const ssize_t count = ::pread(messages_.get(), out.data(), out.size(), from);
    out.resize(count < 0 ? 0 : static_cast<size_t>(count));
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out.empty() ? "it failed without a message" : out;
  }

  const std::string name_;
  Descriptor messages_;
  pid_t pid_ = 0;
};

Descriptor open_file(const char* path, int flags) {
  Descriptor out(::open(path, flags | O_CLOEXEC));
  if (out.get() < 0) fail(str_cat("opening ", path), errno);
  return out;
}

/// Empty at the end.
std::string_view read_piece(int fd, std::vector<char>& buffer) {
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count >= 0) return {buffer.data(), static_cast<size_t>(count)};
    if (errno != EINTR) fail("reading from a child process", errno);
  }
}

/// false: the reader has ended. SIGPIPE must be ignored.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EPIPE) return false;
    if (count < 0) fail("writing to a child process", errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

void dump_database(const std::string& url, const std::string& snapshot,
                   const std::function<void(std::string_view)>& sink) {
  const Target target = target_of(url);
  Pipe pipe;
  const Descriptor nothing = open_file("/dev/null", O_RDONLY);
  Child child("pg_dump",
              {"--format=custom", "--no-owner", "--no-privileges", "--no-password",
               str_cat("--snapshot=", snapshot)},
              target, nothing.get(), pipe.write.get());
  pipe.write.reset();
  std::vector<char> buffer(kPieceBytes);
  for (;;) {
    const std::string_view piece = read_piece(pipe.read.get(), buffer);
    if (piece.empty()) break;
    sink(piece);
  }
  child.wait();
}

void restore_database(const std::string& url, const std::string& archive,
                      const std::string& statements) {
  const Target target = target_of(url);
  const Descriptor file = open_file(archive.c_str(), O_RDONLY);
  const Descriptor nothing = open_file("/dev/null", O_WRONLY);
  Pipe script;
  Pipe input;
  // pg_restore writes the script to its standard output only without a database.
  Child writer("pg_restore", {"--no-owner", "--no-privileges", "--file=-"}, {}, file.get(),
               script.write.get());
  script.write.reset();
  Child psql("psql",
             {"--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1", "--file=-"},
             target, input.read.get(), nothing.get());
  input.read.reset();
  std::vector<char> buffer(kPieceBytes);
  bool open = write_all(input.write.get(), "BEGIN;\n");
  while (open) {
    const std::string_view piece = read_piece(script.read.get(), buffer);
    if (piece.empty()) break;
    open = write_all(input.write.get(), piece);
  }
  if (open) {
    writer.wait();  // before COMMIT: an incomplete script is rolled back
    write_all(input.write.get(), str_cat("RESET search_path;\n", statements, "\nCOMMIT;\n"));
  }
  input.write.reset();
  psql.wait();
}

}  // namespace tarn::db
