#include "core/db/embedded.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/embedded_process.h"

namespace tarn::db {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr seconds kPatience{60};
constexpr Query kCount{"test_count_kept", "SELECT count(*) FROM kept"};

template <typename Condition>
bool soon(Condition&& condition) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    if (!mkdtemp(path_.data())) abort();
    chmod(path_.c_str(), 0711);
  }
  ~TemporaryDirectory() {
    chmod(path_.c_str(), 0711);
    fs::remove_all(path_);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/tarn-embedded-XXXXXX";
};

/// Copies a cluster that was started and stopped once: initdb is most of a test's time.
void copy_cluster(const std::string& dir) {
  static const TemporaryDirectory original;
  if (!fs::exists(original.path() + "/pg")) EmbeddedPostgres::start(original.path()).reset();
  fs::create_directories(dir);
  ASSERT_EQ(std::system(str_cat("cp -a ", original.path(), "/pg '", dir, "'").c_str()), 0);
}

class Embedded : public ::testing::Test {
 protected:
  /// Starts on an initialised directory.
  std::unique_ptr<EmbeddedPostgres> start() const {
    if (!fs::exists(data())) copy_cluster(dir_);
    return EmbeddedPostgres::start(dir_);
  }

  std::string data() const { return dir_ + "/pg/15"; }
  std::vector<pid_t> processes() const {
    return postgres_processes_in(data(), PostgresUser::find(dir_ + "/pg"));
  }
  std::string refusal() const {
    try {
      EmbeddedPostgres::start(dir_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPreconditionFailed);
      return error.message();
    }
    return "started";
  }
  /// nullopt while the server does not answer.
  static std::optional<int64_t> kept(const EmbeddedPostgres& server) {
    try {
      return Connection::open(server.url())->run(kCount).integer(0, 0);
    } catch (const DbError&) {
      return std::nullopt;
    }
  }
  static void keep_three(const EmbeddedPostgres& server) {
    Connection::open(server.url())->run_script("CREATE TABLE kept AS SELECT generate_series(1, 3)");
  }
  /// A process that runs `dir_`, as a program of ours does; returns when its server answers.
  pid_t start_owner() const {
    int ends[2];
    if (pipe(ends) != 0) abort();
    copy_cluster(dir_);
    const pid_t owner = fork();
    if (owner == 0) {
      const auto server = EmbeddedPostgres::start(dir_);
      if (write(ends[1], "+", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return owner;
  }
  /// An unsupervised PostgreSQL on `dir_`. It is not waited for: once dead it remains a zombie.
  pid_t start_orphan() const {
    fs::create_directory(base_ + "/orphan-socket");
    const PostgresUser user = PostgresUser::find(dir_ + "/pg");
    if (chown((base_ + "/orphan-socket").c_str(), user.uid, user.gid) != 0) abort();
    const pid_t orphan = spawn({.arguments = {"/usr/lib/postgresql/15/bin/postgres", "-D", data(),
                                              "-h", "", "-k", base_ + "/orphan-socket"},
                                .log_path = dir_ + "/pg/orphan.log",
                                .death_signal = 0},
                               user);
    EXPECT_TRUE(soon([&] { return fs::exists(base_ + "/orphan-socket/.s.PGSQL.5432"); }));
    return orphan;
  }

  const TemporaryDirectory temporary_;
  const std::string base_ = temporary_.path();
  std::string dir_ = base_ + "/data";
};

TEST_F(Embedded, StartsFromNothingWithASafeCluster) {
  umask(077);  // a service's umask must not shut PostgreSQL's user out
  const auto server = EmbeddedPostgres::start(dir_);
  umask(022);
  const auto c = Connection::open(server->url());
  const Rows rows = c->run({"test_cluster", R"sql(
      SELECT current_setting('data_checksums') || ' ' || current_setting('fsync') || ' '
          || current_setting('synchronous_commit') || ' '
          || current_setting('server_encoding') || ' ' || current_setting('lc_collate') || ' '
          || current_setting('data_directory') || ' ['
          || current_setting('listen_addresses') || ']')sql"});
  EXPECT_EQ(rows.text(0, 0), str_cat("on on on UTF8 C.UTF-8 ", data(), " []"));
}

TEST_F(Embedded, KeepsDataOverARestartAndLeavesNothingRunning) {
  std::string url;
  {
    const auto server = start();
    url = server->url();
    keep_three(*server);
  }
  EXPECT_THAT(processes(), IsEmpty());
  EXPECT_THROW(Connection::open(url), DbError);
  const auto server = start();
  EXPECT_EQ(kept(*server), 3);
}

TEST_F(Embedded, ComesBackAfterTheServerIsKilled) {
  const auto server = start();
  keep_three(*server);
  for (int round = 0; round < 2; ++round) {
    const int killed = server->pid();
    ASSERT_GT(killed, 0);  // kill(0) would be for all of us
    kill(killed, SIGKILL);
    ASSERT_TRUE(soon([&] { return server->pid() != killed && kept(*server).has_value(); }));
    EXPECT_EQ(kept(*server), 3);
  }
}

TEST_F(Embedded, ComesBackWhenABackendIsKilled) {
  const auto server = start();
  keep_three(*server);
  const auto busy = Connection::open(server->url());
  const auto victim = busy->run({"test_pid", "SELECT pg_backend_pid()"}).integer(0, 0);
  const auto witness = Connection::open(server->url());
  kill(static_cast<pid_t>(victim), SIGKILL);  // PostgreSQL itself restarts all backends
  EXPECT_TRUE(
      soon([&] { return !witness->alive(); }));  // it has noticed; before that all still answers
  EXPECT_TRUE(soon([&] { return kept(*server) == 3; }));
}

TEST_F(Embedded, EndsWithItsOwnerAndTheNextStartIsClean) {
  const pid_t owner = start_owner();
  ASSERT_FALSE(processes().empty());
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(soon([&] { return processes().empty(); }));
  const auto server = start();
  keep_three(*server);
  EXPECT_EQ(kept(*server), 3);
}

TEST_F(Embedded, ReplacesAnOrphan) {
  copy_cluster(dir_);
  const pid_t orphan = start_orphan();
  const auto server = start();
  EXPECT_NE(server->pid(), orphan);
  EXPECT_TRUE(has_exited(orphan));
  EXPECT_EQ(reap(orphan), "");
  std::ifstream log(dir_ + "/pg/orphan.log");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(log), {}),
              HasSubstr("received fast shutdown request"));
  keep_three(*server);
  EXPECT_EQ(kept(*server), 3);
}

/// Takes all capabilities but CAP_SETUID and CAP_SETGID from the calling thread.
void keep_two_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  data[0].permitted = data[0].effective = 1u << CAP_SETUID | 1u << CAP_SETGID;
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

// Root without CAP_SYS_PTRACE, as in containers, saw no orphan and could not start.
TEST_F(Embedded, IsSeenByRootWithoutItsPrivileges) {
  if (geteuid() != 0) GTEST_SKIP() << "the server runs as this user";
  const auto server = start();
  std::jthread([&] {
    keep_two_capabilities();
    const std::vector<pid_t> seen = processes();
    EXPECT_THAT(seen, Contains(server->pid()));
    EXPECT_GT(seen.size(), 1u) << "its backends too";
    EXPECT_EQ(access("/proc/1/root", R_OK), -1) << "root's other rights are gone";
  }).join();
}

TEST_F(Embedded, IgnoresALockFileOfAnotherProcess) {
  copy_cluster(dir_);
  const PostgresUser user = PostgresUser::find(dir_ + "/pg");
  const pid_t other = spawn(
      {.arguments = {"/bin/sleep", "60"}, .log_path = "/dev/null", .death_signal = SIGKILL}, user);
  const std::string lock = data() + "/postmaster.pid";
  std::ofstream(lock) << other << '\n' << data() << "\n0\n5432\n\n\n  0  0\nready   \n";
  ASSERT_EQ(chown(lock.c_str(), user.uid, user.gid), 0);
  {
    const auto server = start();
    EXPECT_NE(server->pid(), other);
  }
  EXPECT_FALSE(has_exited(other));
  kill(other, SIGKILL);
  reap(other);
}

TEST_F(Embedded, DiscardsAnInterruptedInitialisation) {
  copy_cluster(dir_);
  fs::rename(data(), dir_ + "/pg/initdb-cut");
  fs::remove(dir_ + "/pg/initdb-cut/PG_VERSION");
  const auto server = EmbeddedPostgres::start(dir_);
  EXPECT_FALSE(fs::exists(dir_ + "/pg/initdb-cut"));
  keep_three(*server);
}

TEST_F(Embedded, RootTakesAnAccountThatTheSystemHasAndKeepsTheOwnerOfACluster) {
  const std::string cluster = base_ + "/pg";
  if (geteuid() != 0) {
    EXPECT_FALSE(PostgresUser::find(cluster).is_other);
    GTEST_SKIP() << "only root takes another account";
  }
  const auto name = [&](const std::vector<std::string>& accounts) {
    return PostgresUser::find(cluster, accounts).name;
  };
  EXPECT_EQ(name({"absent-account", "daemon"}), "daemon");
  EXPECT_EQ(name({"sys", "daemon"}), "sys");
  EXPECT_THROW(PostgresUser::find(cluster, {"absent-account"}), Error);
  fs::create_directory(cluster);
  EXPECT_EQ(name({"sys", "daemon"}), "sys") << "the owner is root, which is none of them";
  const PostgresUser daemon = PostgresUser::find(cluster, {"daemon"});
  ASSERT_EQ(chown(cluster.c_str(), daemon.uid, daemon.gid), 0);
  EXPECT_EQ(name({"sys", "daemon"}), "daemon");
}

TEST_F(Embedded, RefusesASecondOwner) {
  const auto server = start();
  EXPECT_THAT(refusal(), HasSubstr("another tarnd runs on this data directory"));
  keep_three(*server);
}

TEST_F(Embedded, RefusesADirectoryThatItsUserCannotEnter) {
  chmod(base_.c_str(), 0);
  EXPECT_THAT(refusal(),
              HasSubstr(str_cat("cannot enter ", base_, ": choose a data directory outside it")));
}

TEST_F(Embedded, RefusesDataOfAnotherVersion) {
  fs::create_directories(dir_ + "/pg/14");
  std::ofstream(dir_ + "/pg/14/PG_VERSION") << "14\n";
  const PostgresUser user = PostgresUser::find(dir_ + "/pg");
  ASSERT_EQ(chown((dir_ + "/pg").c_str(), user.uid, user.gid), 0);
  EXPECT_THAT(refusal(), HasSubstr("holds data of PostgreSQL 14, and this program runs 15"));
}

TEST_F(Embedded, FailedStartQuotesTheServerLog) {
  copy_cluster(dir_);
  std::ofstream(data() + "/postgresql.conf", std::ios::app) << "no_such_setting = 1\n";
  EXPECT_THAT(refusal(), HasSubstr("FATAL"));
  EXPECT_THAT(processes(), IsEmpty());
}

TEST_F(Embedded, WorksWithAPathTooLongForASocket) {
  dir_ = base_ + "/" + std::string(120, 'x') + "/a \"data\" directory";
  const auto server = start();
  keep_three(*server);
  EXPECT_EQ(kept(*server), 3);
}

// Its files belong to that account of the system, so that only authentication can refuse it.
TEST_F(Embedded, OtherProcessesOfItsAccountAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "the server runs as this user";
  const auto server = start();
  const passwd* account = getpwnam("postgres");
  ASSERT_NE(account, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(account->pw_gid) != 0 || setuid(account->pw_uid) != 0) _exit(3);
    try {
      Connection::open(server->url());
      _exit(0);
    } catch (const DbError& error) {
      _exit(error.message().find("Peer authentication failed") == std::string::npos ? 2 : 1);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  keep_three(*server);
}

TEST_F(Embedded, CostsNothingWhileIdle) {
  const auto server = start();
  const auto cpu_seconds = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  };
  const double before = cpu_seconds();
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

}  // namespace
}  // namespace tarn::db
