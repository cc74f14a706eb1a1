// The files of the embedded PostgreSQL, and its supervisor.
#include "core/db/embedded.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/embedded_process.h"

namespace tarn::db {
namespace {

/// A file lock that ends with the process.
class DirectoryLock {
 public:
  /// Throws: precondition_failed when another process (or another lock of ours) holds it.
  explicit DirectoryLock(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }

 private:
  int fd_;
};

/// An initialised data directory that only we may run. One thread at a time.
class Cluster {
 public:
  /// Makes `dir` and the cluster in it when they are missing. Throws: precondition_failed as
  /// EmbeddedPostgres::start.
  static Cluster open(const std::string& dir);

  /// The same as EmbeddedPostgres::url_of_running.
  static std::string url_of_running(const std::string& dir);

  const std::string& data() const { return data_; }
  const std::string& log_path() const { return log_path_; }
  std::string url() const;

  /// Stops an orphaned server that still runs on the data directory; removes a stale lock file.
  /// Throws: unavailable when it does not stop.
  void stop_orphans() const;
  /// Starts the server. The calling thread must live as long as it.
  pid_t launch() const;
  /// Whether `postmaster` reports that it accepts connections.
  bool ready(pid_t postmaster) const;
  void remove_socket_directory() const;
  /// The last FATAL line of the log, or its last line.
  std::string last_log_line() const;

 private:
  Cluster(std::string dir, PostgresUser user, DirectoryLock lock);
  void require_known_version() const;
  void initialise() const;
  std::vector<std::string> postmaster_file() const;

  PostgresUser user_;
  DirectoryLock lock_;
  std::string root_;  // <dir>/pg
  std::string data_;  // <dir>/pg/15
  std::string log_path_;
  std::string binaries_;
  std::string socket_directory_;
};

namespace fs = std::filesystem;
using std::chrono::seconds;
constexpr const char* kMajor = "15";

/// The cluster is created here and renamed when complete: a crash during initdb leaves only this.
constexpr const char* kUnfinishedPrefix = "initdb-";
constexpr const char* kSocketRecord = "socket_directory";
constexpr mode_t kPrivate = 0700;

/// The user that runs PostgreSQL may traverse the directory, not list it.
constexpr mode_t kPassage = 0711;
constexpr size_t kLogRotateBytes = 16 << 20;
constexpr seconds kOrphanFastStop{30};
constexpr seconds kOrphanHardStop{5};
constexpr std::chrono::milliseconds kPoll{20};

/// A socket's path may have 107 bytes; PostgreSQL adds "/.s.PGSQL.5432".
constexpr size_t kSocketDirectoryBytesMax = 90;

constexpr const char* kSettings[] = {
    "port=5432",  // only a part of the socket's name
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=128MB",
    "fsync=on",
    "full_page_writes=on",
    "synchronous_commit=on",
    "wal_level=replica",  // pg_basebackup and replicas stay possible
    "max_wal_senders=4",
    "max_wal_size=2GB",
    "wal_compression=lz4",
    "checkpoint_timeout=15min",
    "random_page_cost=1.1",
    "jit=off",
    "max_parallel_workers_per_gather=0",
    // Staging rows live for seconds: vacuum often and without pauses, before dead rows outnumber
    // live ones.
    "autovacuum_naptime=10s",
    "autovacuum_vacuum_cost_delay=0",
    "autovacuum_vacuum_scale_factor=0.05",
    "autovacuum_vacuum_insert_scale_factor=0.05",
    "autovacuum_analyze_scale_factor=0.05",
    "timezone=GMT",  // known without files of time zones, which small systems lack
    "log_timezone=GMT",
    "log_destination=stderr",
    "logging_collector=off",
    "log_line_prefix=%m [%p] ",
};

[[noreturn]] void refuse(std::string why) {
  throw Error(ErrorCode::kPreconditionFailed, str_cat("starting PostgreSQL: ", why));
}

[[noreturn]] void refuse_errno(std::string_view doing, std::string_view path) {
  refuse(str_cat(doing, " ", path, ": ", std::strerror(errno)));
}

/// mkdir -p with permissions independent of our umask.
void make_directories(const fs::path& path) {
  if (path.has_parent_path() && !fs::exists(path.parent_path()))
    make_directories(path.parent_path());
  if (mkdir(path.c_str(), kPassage) == 0) {
    if (chmod(path.c_str(), kPassage) != 0) refuse_errno("making", path.string());
  } else if (errno != EEXIST) {
    refuse_errno("making", path.string());
  }
}

/// Whether `path` is now a directory that only `user` may enter; takes over an existing one only if
/// it belongs to that user.
bool make_private(const std::string& path, const PostgresUser& user) {
  if (mkdir(path.c_str(), kPrivate) == 0) {
    return chmod(path.c_str(), kPrivate) == 0 && lchown(path.c_str(), user.uid, user.gid) == 0;
  }
  struct stat found = {};
  return errno == EEXIST && lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == user.uid && chmod(path.c_str(), kPrivate) == 0;
}

/// The user name of this process as the database server looks it up.
std::string own_name() {
  if (const passwd* me = getpwuid(geteuid())) return me->pw_name;
  refuse(
      str_cat("user ", geteuid(),
              " has no entry in the user database (/etc/passwd), which its authentication needs"));
}

void write_readable(const std::string& path, const std::string& text) {
  const std::string unfinished = str_cat(path, ".new");
  std::ofstream(unfinished) << text << std::flush;
  if (chmod(unfinished.c_str(), 0644) != 0 || rename(unfinished.c_str(), path.c_str()) != 0) {
    refuse_errno("writing", path);
  }
}

/// The connection rules that replace those of the data directory: only processes of our own user,
/// as the kernel identifies them.
struct AccessFiles {
  std::string hba;
  std::string ident;
};

AccessFiles write_access_files(const std::string& root) {
  AccessFiles files{str_cat(root, "/tarn_hba.conf"), str_cat(root, "/tarn_ident.conf")};
  write_readable(files.hba, "local all all peer map=tarn\n");
  write_readable(files.ident, str_cat("tarn \"", own_name(), "\" postgres\n"));
  return files;
}

std::string find_binaries() {
  const std::string from_path = output_of("pg_config --bindir 2>/dev/null");
  std::error_code ignored;
  const fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  for (const std::string& candidate : {str_cat(own.string(), "/postgresql/", kMajor, "/bin"),
                                       str_cat("/usr/lib/postgresql/", kMajor, "/bin"),
                                       str_cat("/usr/pgsql-", kMajor, "/bin"), from_path}) {
    const std::string postgres = str_cat(candidate, "/postgres");
    if (candidate.empty() || access(postgres.c_str(), X_OK) != 0) continue;
    const std::string version = output_of(str_cat("'", postgres, "' --version"));
    if (version.find(str_cat(" ", kMajor, ".")) != std::string::npos) return candidate;
  }
  refuse(str_cat("no PostgreSQL ", kMajor, " is installed: install the package postgresql-", kMajor,
                 ", or configure the URL of a running server"));
}

/// Creates a private directory with a short path. Below /tmp the name is random, because anybody
/// can create directories there.
std::string make_socket_directory(const std::string& root, const PostgresUser& user) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string base = geteuid() == 0 ? "/run" : runtime ? runtime : "";
  const std::string stable = str_cat(base, "/tarn-", to_hex(sha256(root)).substr(0, 16));
  if (!base.empty() && stable.size() <= kSocketDirectoryBytesMax && make_private(stable, user))
    return stable;

  const std::string record = str_cat(root, "/", kSocketRecord);
  std::string recorded;
  std::getline(std::ifstream(record) >> std::ws, recorded);
  std::error_code ignored;
  if (recorded.rfind("/tmp/tarn-", 0) == 0 && fs::exists(recorded, ignored) &&
      make_private(recorded, user)) {
    return recorded;
  }
  std::string fresh = "/tmp/tarn-XXXXXX";
  if (!mkdtemp(fresh.data())) refuse_errno("making", fresh);
  if (lchown(fresh.c_str(), user.uid, user.gid) != 0) refuse_errno("giving away", fresh);
  std::ofstream(record, std::ios::trunc) << fresh << '\n';
  return fresh;
}

void signal_all(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) kill(pid, signal);
}

bool emptied_within(const std::string& data, const PostgresUser& user, seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!postgres_processes_in(data, user).empty()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

/// Quotes a value for a libpq connection string.
std::string libpq_value(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "'";
}

std::string url_at(const std::string& socket_directory) {
  return str_cat("host=", libpq_value(socket_directory),
                 " port=5432 user=postgres dbname=postgres");
}

std::string absolute_path(const std::string& dir) {
  const fs::path path = fs::absolute(dir).lexically_normal();
  return path.has_filename() ? path.string() : path.parent_path().string();
}

void require_enterable(const std::string& dir, const PostgresUser& user) {
  const std::string barred = first_barred(dir, user);
  if (barred.empty()) return;
  refuse(str_cat("user ", user.name, ", who runs it, cannot enter ", barred,
                 ": choose a data directory outside it, or allow it with chmod o+x"));
}

DirectoryLock::DirectoryLock(const std::string& path)
    : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
  if (fd_ < 0) refuse_errno("opening", path);
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    close(fd_);
    refuse(str_cat("another tarnd runs on this data directory (it holds ", path,
                   "): stop it or choose another directory"));
  }
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

Cluster::Cluster(std::string dir, PostgresUser user, DirectoryLock lock)
    : user_(std::move(user)),
      lock_(std::move(lock)),
      root_(str_cat(dir, "/pg")),
      data_(str_cat(root_, "/", kMajor)),
      log_path_(str_cat(root_, "/postgres.log")),
      binaries_(find_binaries()) {}

Cluster Cluster::open(const std::string& dir) {
  const std::string path = absolute_path(dir);
  PostgresUser user = PostgresUser::find(str_cat(path, "/pg"));
  require_enterable(path, user);
  make_directories(path);
  // Processes are recognised by their working directory, which contains no symbolic links.
  const std::string real = fs::canonical(path).string();
  require_enterable(real, user);
  Cluster cluster(real, std::move(user), DirectoryLock(str_cat(real, "/lock")));
  if (!make_private(cluster.root_, cluster.user_)) {
    refuse(str_cat(cluster.root_, " is not a directory of user ", cluster.user_.name));
  }
  cluster.require_known_version();
  if (!fs::exists(cluster.data_)) cluster.initialise();
  cluster.socket_directory_ = make_socket_directory(cluster.root_, cluster.user_);
  return cluster;
}

void Cluster::require_known_version() const {
  std::string others;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_)) {
    const std::string name = entry.path().filename().string();
    if (name != kMajor && std::isdigit(static_cast<unsigned char>(name[0])) &&
        fs::exists(entry.path() / "PG_VERSION")) {
      others += str_cat(others.empty() ? "" : ", ", name);
    }
  }
  if (fs::exists(data_)) {
    if (!fs::exists(str_cat(data_, "/PG_VERSION")))
      refuse(str_cat(data_, " is no PostgreSQL data directory"));
  } else if (!others.empty()) {
    refuse(str_cat(root_, " holds data of PostgreSQL ", others, ", and this program runs ", kMajor,
                   ": move the data over with pg_upgrade or pg_dump"));
  }
}

void Cluster::initialise() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(root_)) {
    if (entry.path().filename().string().rfind(kUnfinishedPrefix, 0) == 0)
      fs::remove_all(entry.path());
  }
  if (!user_.is_other && !getpwuid(user_.uid)) {
    refuse(str_cat(user_.name,
                   " has no entry in the user database (/etc/passwd), which initdb needs"));
  }
  const std::string unfinished = str_cat(root_, "/", kUnfinishedPrefix, to_hex(random_bytes(4)));
  const pid_t child =
      spawn({.arguments = {str_cat(binaries_, "/initdb"), "--pgdata", unfinished,
                           "--username=postgres", "--auth-local=peer", "--auth-host=reject",
                           "--data-checksums", "--encoding=UTF8", "--locale=C.UTF-8"},
             .log_path = log_path_,
             .death_signal = SIGTERM},
            user_);
  const std::string failure = reap(child);
  if (!failure.empty()) {
    refuse(str_cat("making the data directory: initdb ", failure, ": ", last_log_line(), " (",
                   log_path_, ")"));
  }
  if (rename(unfinished.c_str(), data_.c_str()) != 0) refuse_errno("renaming", unfinished);
  const int directory = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  fsync(directory);
  close(directory);
  log::info("postgres_initialised", {{"directory", data_}});
}

std::string Cluster::url() const { return url_at(socket_directory_); }

std::string Cluster::url_of_running(const std::string& dir) {
  constexpr size_t kSocketLine = 4;
  constexpr size_t kStatusLine = 7;
  const std::string path = absolute_path(dir);
  // Held by the tarnd that runs it: what a killed one left behind is not running.
  const int lock = ::open(str_cat(path, "/lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return "";
  const bool is_free = flock(lock, LOCK_EX | LOCK_NB) == 0;
  close(lock);
  if (is_free) return "";
  std::vector<std::string> lines;
  std::ifstream file(str_cat(path, "/pg/", kMajor, "/postmaster.pid"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.size() <= kStatusLine || lines[kStatusLine].rfind("ready", 0) != 0) {
    refuse(str_cat("the tarnd that runs on ", path, " has no running database: wait, or stop it"));
  }
  return url_at(lines[kSocketLine]);
}

void Cluster::stop_orphans() const {
  const std::vector<pid_t> running = postgres_processes_in(data_, user_);
  if (!running.empty()) {
    log::warn("postgres_orphan_found", {{"processes", running.size()}, {"directory", data_}});
    const std::vector<std::string> file = postmaster_file();
    const pid_t postmaster = file.empty() ? 0 : std::atoi(file[0].c_str());
    const bool headed = std::find(running.begin(), running.end(), postmaster) != running.end();
    if (headed) kill(postmaster, SIGINT);  // otherwise the backends exit by themselves
    if (!emptied_within(data_, user_, headed ? kOrphanFastStop : kOrphanHardStop)) {
      signal_all(postgres_processes_in(data_, user_), SIGQUIT);
      if (!emptied_within(data_, user_, kOrphanHardStop))
        signal_all(postgres_processes_in(data_, user_), SIGKILL);
      if (!emptied_within(data_, user_, kOrphanHardStop)) {
        throw Error(ErrorCode::kUnavailable,
                    str_cat("starting PostgreSQL: an older server on ", data_, " does not stop"));
      }
    }
  }
  // The process id in a leftover lock file may now belong to another process, and PostgreSQL would
  // refuse to start.
  std::error_code ignored;
  fs::remove(str_cat(data_, "/postmaster.pid"), ignored);
}

pid_t Cluster::launch() const {
  std::error_code ignored;
  if (fs::file_size(log_path_, ignored) > kLogRotateBytes && !ignored) {
    fs::rename(log_path_, str_cat(log_path_, ".1"), ignored);
  }
  const AccessFiles access = write_access_files(root_);
  Program program{.arguments = {str_cat(binaries_, "/postgres"), "-D", data_, "-k",
                                socket_directory_, "-h", "", "-c", str_cat("hba_file=", access.hba),
                                "-c", str_cat("ident_file=", access.ident)},
                  .log_path = log_path_,
                  .death_signal = SIGINT};
  for (const char* setting : kSettings) {
    program.arguments.emplace_back("-c");
    program.arguments.emplace_back(setting);
  }
  return spawn(program, user_);
}

/// Lines of postmaster.pid: pid, data directory, start time, port, socket directory, address,
/// shared memory, status.
std::vector<std::string> Cluster::postmaster_file() const {
  std::vector<std::string> lines;
  std::ifstream file(str_cat(data_, "/postmaster.pid"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool Cluster::ready(pid_t postmaster) const {
  constexpr size_t kStatusLine = 7;
  const std::vector<std::string> lines = postmaster_file();
  return lines.size() > kStatusLine && lines[0] == std::to_string(postmaster) &&
         lines[kStatusLine].rfind("ready", 0) == 0;
}

void Cluster::remove_socket_directory() const {
  std::error_code ignored;
  fs::remove_all(socket_directory_, ignored);
}

std::string Cluster::last_log_line() const {
  constexpr std::streamoff kTailBytes = 4096;
  std::ifstream file(log_path_);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string best;
  bool fatal = false;
  for (std::string line; std::getline(file, line);) {
    const bool is_fatal =
        line.find("FATAL") != std::string::npos || line.find("error:") != std::string::npos;
    if (line.empty() || (fatal && !is_fatal)) continue;
    best = line;
    fatal = is_fatal;
  }
  return best;
}

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Recovery after a crash replays at most max_wal_size; a slow disk takes minutes for it.
constexpr seconds kStartTimeout{600};
/// Faster polling would fill the server's log.
constexpr milliseconds kReadyPoll{20};
constexpr milliseconds kRestartPauseMin{100};
constexpr milliseconds kRestartPauseMax{5000};
/// A server that ran this long did not fail at startup.
constexpr seconds kSettled{60};
constexpr seconds kFastStop{30};
constexpr seconds kHardStop{5};

/// The server's death signal is bound to the thread that starts it: one thread starts every server
/// process and lives until the last has ended.
class Supervisor final : public EmbeddedPostgres {
 public:
  explicit Supervisor(Cluster cluster)
      : cluster_(std::move(cluster)), thread_([this] { supervise(); }) {}
  ~Supervisor() override;

  void wait_for_first_start() { started_.get_future().get(); }
  std::string url() const override { return cluster_.url(); }
  int pid() const override {
    MutexLock lock(mutex_);
    return pid_;
  }

 private:
  void supervise();
  bool run_once(bool first);
  bool launch();
  std::string wait_until_ready();
  std::string wait_for_end();
  bool pause(milliseconds duration);
  bool stopped_within(seconds limit);
  void send(int signal);

  const Cluster cluster_;
  std::promise<void> started_;
  mutable Mutex mutex_;
  CondVar changed_;
  pid_t pid_ TARN_GUARDED_BY(mutex_) =
      0;  // reaped only under the lock, so it never names another process
  bool stopping_ TARN_GUARDED_BY(mutex_) = false;
  bool finished_ TARN_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last member: it uses all of the above
};

Supervisor::~Supervisor() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  send(SIGINT);
  if (!stopped_within(kFastStop)) {
    log::warn("postgres_stop_slow", {{"directory", cluster_.data()}});
    send(SIGQUIT);
    if (!stopped_within(kHardStop)) send(SIGKILL);
  }
  thread_.join();
  cluster_.remove_socket_directory();
}

void Supervisor::send(int signal) {
  MutexLock lock(mutex_);
  if (pid_ != 0) kill(pid_, signal);
}

bool Supervisor::stopped_within(seconds limit) {
  MutexLock lock(mutex_);
  return changed_.wait_for(lock, limit, [this]() TARN_REQUIRES(mutex_) { return finished_; });
}

/// Returns false if we must stop.
bool Supervisor::pause(milliseconds duration) {
  MutexLock lock(mutex_);
  return !changed_.wait_for(lock, duration, [this]() TARN_REQUIRES(mutex_) { return stopping_; });
}

void Supervisor::supervise() {
  milliseconds rest = kRestartPauseMin;
  bool first = true;
  for (;;) {
    const Clock::time_point start = Clock::now();
    const bool again = run_once(first);
    first = false;
    if (Clock::now() - start > kSettled) rest = kRestartPauseMin;
    if (!again || !pause(rest)) break;
    rest = std::min(rest * 2, kRestartPauseMax);
  }
  MutexLock lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

/// Runs the server process once. Returns false if there is to be no other.
bool Supervisor::run_once(bool first) {
  try {
    cluster_.stop_orphans();
    if (!launch()) return false;
    const std::string failure = wait_until_ready();
    if (failure.empty()) {
      if (first) {
        started_.set_value();
      } else {
        log::warn("postgres_restarted", {{"directory", cluster_.data()}});
      }
    }
    const std::string end = wait_for_end();
    if (first && !failure.empty()) {
      throw Error(ErrorCode::kPreconditionFailed,
                  str_cat("starting PostgreSQL: it ", failure, " ", end, ": ",
                          cluster_.last_log_line(), " (", cluster_.log_path(), ")"));
    }
    MutexLock lock(mutex_);
    if (stopping_) return false;
    log::error("postgres_died", {{"reason", end.empty() ? "it was told to stop, not by us" : end},
                                 {"directory", cluster_.data()}});
    return true;
  } catch (const std::exception& error) {
    if (first) {
      started_.set_exception(std::current_exception());
      return false;
    }
    log::error("postgres_restart_failed", {{"reason", error.what()}});
    return true;
  }
}

bool Supervisor::launch() {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  pid_ = cluster_.launch();
  return true;
}

/// Waits until connections are accepted; returns "" or the problem. A leftover server that answers
/// instead does not count: PostgreSQL's own file must name our child.
std::string Supervisor::wait_until_ready() {
  const int child = pid();
  const Clock::time_point deadline = Clock::now() + kStartTimeout;
  while (!has_exited(child)) {
    if (cluster_.ready(child)) {
      try {
        Connection::open(cluster_.url());
        return "";
      } catch (const DbError&) {  // between "ready" and listening, or already stopping
      }
    }
    if (Clock::now() > deadline) {
      send(SIGQUIT);
      return "did not answer in time and";
    }
    if (!pause(kReadyPoll)) return "was stopped and";
  }
  return "ended at once,";
}

std::string Supervisor::wait_for_end() {
  const int child = pid();
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  MutexLock lock(mutex_);
  pid_ = 0;
  return reap(child);
}

}  // namespace

std::unique_ptr<EmbeddedPostgres> EmbeddedPostgres::start(const std::string& dir) {
  auto supervisor = std::make_unique<Supervisor>(Cluster::open(dir));
  supervisor->wait_for_first_start();
  log::info("postgres_started", {{"pid", supervisor->pid()}});
  return supervisor;
}

std::string EmbeddedPostgres::url_of_running(const std::string& dir) {
  return Cluster::url_of_running(dir);
}

}  // namespace tarn::db
