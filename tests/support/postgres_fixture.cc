// ctest's fixture "postgres": one private server for all test programs of a run.
//   postgres_fixture start FILE   starts it in the background and writes its URL, process and
//   directory to FILE postgres_fixture stop FILE    stops it and removes its directory and FILE
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/db/embedded.h"

namespace {

namespace fs = std::filesystem;

/// Ends a server that a killed run did not stop.
constexpr unsigned kLifetimeSeconds = 2 * 60 * 60;
constexpr std::chrono::seconds kStopTimeout{40};
/// Size of /dev/shm, which may take half of the machine's memory. A run took 0.3 GB of it.
constexpr uintmax_t kMemoryBytesMin = uintmax_t{4} << 30;

/// In memory where there is plenty: on a disk, tests mostly wait for fsync. They kill servers,
/// never the machine, so they need no disk.
std::string scratch_template() {
  std::error_code missing;
  const bool plenty = fs::space("/dev/shm", missing).available >= kMemoryBytesMin && !missing;
  return plenty ? "/dev/shm/tarn-ctest-XXXXXX" : "/tmp/tarn-ctest-XXXXXX";
}

/// Serves until it is stopped. Writes a byte to `ready` once FILE exists.
int serve(const fs::path& file, const std::string& directory, int ready) {
  sigset_t stop;
  sigemptyset(&stop);
  for (const int signal : {SIGTERM, SIGINT, SIGALRM}) sigaddset(&stop, signal);
  pthread_sigmask(SIG_BLOCK, &stop,
                  nullptr);  // before there are threads, which the signal would kill
  try {
    const auto server = tarn::db::EmbeddedPostgres::start(directory);
    const fs::path unfinished = fs::path(file) += ".new";
    std::ofstream(unfinished) << server->url() << '\n' << getpid() << '\n' << directory << '\n';
    fs::rename(unfinished, file);
    if (write(ready, "+", 1) != 1) return 1;
    close(ready);
    alarm(kLifetimeSeconds);
    int signal = 0;
    sigwait(&stop, &signal);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  fs::remove(file);
  fs::remove_all(directory);
  return 0;
}

/// ctest waits for every process that holds its pipes.
void leave_terminal(const std::string& log) {
  setsid();
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
}

int stop(const fs::path& file) {
  std::ifstream in(file);
  std::string url;
  pid_t pid = 0;
  if (!std::getline(in, url) || !(in >> pid)) return 0;
  if (kill(pid, SIGTERM) != 0) {
    fs::remove(file);
    return 0;
  }
  const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
  while (fs::exists(file) || kill(pid, 0) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

int start(const fs::path& file) {
  if (stop(file) != 0) return 1;
  std::string directory = scratch_template();
  if (!mkdtemp(directory.data())) return 1;
  chmod(directory.c_str(), 0711);  // the user that runs PostgreSQL must be able to traverse it
  const std::string log = directory + "/fixture.log";
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return 1;
  if (fork() == 0) {
    close(ends[0]);
    leave_terminal(log);
    _exit(serve(file, directory, ends[1]));
  }
  close(ends[1]);
  char byte = 0;
  if (read(ends[0], &byte, 1) == 1) return 0;
  std::ifstream said(log);
  for (std::string line; std::getline(said, line);) std::fprintf(stderr, "%s\n", line.c_str());
  fs::remove_all(directory);
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 3 && std::strcmp(arguments[1], "start") == 0) return start(arguments[2]);
  if (count == 3 && std::strcmp(arguments[1], "stop") == 0) return stop(arguments[2]);
  std::fprintf(stderr, "usage: %s start|stop FILE\n", arguments[0]);
  return 2;
}
