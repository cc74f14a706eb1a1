// A server that is stopped: every wait for it ends, and the pool leaves it.
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/str_cat.h"
#include "core/db/pool.h"
#include "core/db/startup.h"
#include "tests/support/postgres_test.h"

namespace tarn::db {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLimit{300};

constexpr Query kPid{"test_pid", "SELECT pg_backend_pid()"};
constexpr Query kCountHanging{"test_count", "SELECT count(*) FROM hanging"};
constexpr Query kInsert{"test_insert", "INSERT INTO hanging VALUES ($1)"};
constexpr Query kInsertWithPosition{
    "test_insert_with_position", "INSERT INTO hanging VALUES ($1) RETURNING " TARN_COMMIT_POSITION,
    /*has_position=*/true};
constexpr Query kSleep{"test_sleep", "SELECT pg_sleep($1)"};
constexpr Query kPidOfProbe{"test_pid_of_probe", R"sql(
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND query = 'SELECT 1' AND pid <> pg_backend_pid())sql"};

/// A backend that does not run while this lives. The tests run as root or as PostgreSQL's user.
class Stopped {
 public:
  explicit Stopped(int64_t pid) : pid_(static_cast<pid_t>(pid)) {
    EXPECT_EQ(kill(pid_, SIGSTOP), 0);
  }
  ~Stopped() { kill(pid_, SIGCONT); }

 private:
  const pid_t pid_;
};

class HangTest : public ::testing::Test {
 protected:
  static const std::string& url() {
    static const testing::TestDatabase database(testing::TestDatabase::Schema::kEmpty);
    return database.url();
  }
  /// The value of `keyword` in the URL.
  static std::string own(std::string_view keyword) {
    const size_t at = url().find(str_cat(keyword, '=')) + keyword.size() + 1;
    std::string value = url().substr(at, url().find(' ', at) - at);
    std::erase(value, '\'');
    return value;
  }
  static void SetUpTestSuite() {
    Connection::open(url())->run_script("CREATE TABLE hanging (n int8)");
  }
  /// Stops the server's end, runs `body`, which must fail for want of an answer.
  void expect_no_answer(bool in_doubt, const std::function<void(Connection&)>& body,
                        const std::function<void(Connection&)>& before = {}) {
    connection_ = Connection::open(url(), {.answer_limit = kLimit});
    const int64_t pid = connection_->run(kPid).integer(0, 0);
    if (before) before(*connection_);
    const Stopped stopped(pid);
    const Clock::time_point start = Clock::now();
    try {
      body(*connection_);
      ADD_FAILURE() << "an answer";
    } catch (const DbError& error) {
      EXPECT_EQ(error.sqlstate(), kStateNoAnswer);
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
      EXPECT_EQ(error.in_doubt(), in_doubt) << error.message();
      EXPECT_EQ(error.reason(), in_doubt ? kInDoubt : "unavailable");
    }
    EXPECT_TRUE(connection_->broken());
    EXPECT_GE(Clock::now() - start, kLimit);
    EXPECT_LT(Clock::now() - start, seconds(20));
  }

  std::unique_ptr<Connection> connection_;  ///< outlives what a test makes of it
};

TEST_F(HangTest, EndsAStatement) {
  expect_no_answer(true, [](Connection& c) { c.run(kInsert, {int64_t{1}}); });
}

TEST_F(HangTest, EndsAPreparedStatement) {
  const auto insert = [](Connection& c) { c.run(kInsert, {int64_t{1}}); };
  expect_no_answer(true, insert, insert);
}

TEST_F(HangTest, EndsAStatementOfATransactionWithoutDoubt) {
  expect_no_answer(false, [](Connection& c) {
    c.begin();
    c.run(kInsert, {int64_t{1}});
  });
}

TEST_F(HangTest, EndsACommit) {
  expect_no_answer(
      true, [](Connection& c) { c.commit(); },
      [](Connection& c) {
        c.begin();
        c.run(kInsert, {int64_t{1}});
      });
}

TEST_F(HangTest, EndsAScript) {
  expect_no_answer(true, [](Connection& c) { c.run_script("INSERT INTO hanging VALUES (1)"); });
}

TEST_F(HangTest, EndsACopyToTheServerThatItDoesNotTake) {
  std::optional<Connection::CopyIn> copy;
  expect_no_answer(
      false,
      [&](Connection&) {
        for (int i = 0; i < 2'000'000; ++i) copy->row({int64_t{i}});
      },
      [&](Connection& c) { copy.emplace(c, "COPY hanging (n) FROM STDIN BINARY"); });
}

TEST_F(HangTest, EndsTheEndOfACopyToTheServer) {
  std::optional<Connection::CopyIn> copy;
  expect_no_answer(
      true, [&](Connection&) { copy->finish(); },
      [&](Connection& c) { copy.emplace(c, "COPY hanging (n) FROM STDIN BINARY"); });
}

TEST_F(HangTest, InterruptingEndsAWait) {
  const auto connection = Connection::open(url());
  std::jthread other([&] {
    while (!connection->waits_since()) std::this_thread::yield();
    connection->interrupt();
  });
  const Clock::time_point start = Clock::now();
  EXPECT_THROW(connection->run(kSleep, {30.0}), DbError);
  EXPECT_LT(Clock::now() - start, seconds(10));
  EXPECT_TRUE(connection->broken());
}

TEST_F(HangTest, AnswersOfManyKilobytesAndStatementsOfManyMegabytesPass) {
  const auto connection = Connection::open(url(), {.answer_limit = seconds(30)});
  const std::string large(8 << 20, 'x');
  for (int run = 0; run < 4; ++run) {  // the first prepares
    const Rows rows = connection->run({"test_echo_text", "SELECT $1::text"}, {large});
    EXPECT_EQ(rows.text(0, 0).size(), large.size());
  }
}

TEST_F(HangTest, AProbeThatIsNotAnsweredBreaksTheOtherConnections) {
  Pool pool(url(), {});
  pool.probe();
  pool.probe();
  const int64_t probe = Connection::open(url())->run(kPidOfProbe).integer(0, 0);
  std::atomic<bool> in_doubt = false;
  Pool::Lease busy = pool.lease();
  std::jthread waiting([&] {
    try {
      busy->run(kSleep, {50.0});
    } catch (const DbError& error) {
      in_doubt = error.in_doubt();
    }
  });
  while (!busy->waits_since()) std::this_thread::yield();
  {
    const Stopped stopped(probe);
    pool.probe();
  }
  waiting.join();
  EXPECT_TRUE(in_doubt);
  // The probe found a server again: the same.
  EXPECT_EQ(pool.run(kCountHanging, {}, Pool::Retry::kRead).size(), 1u);
}

TEST_F(HangTest, ALongStatementIsLeftAloneWhileTheDatabaseAnswers) {
  Pool pool(url(), {});
  std::atomic<bool> done = false;
  std::jthread waiting([&] {
    pool.run(kSleep, {3.0}, Pool::Retry::kWrite);
    done = true;
  });
  while (!done) {
    pool.probe();
    std::this_thread::sleep_for(milliseconds(50));
  }
}

TEST_F(HangTest, RefusingDatabaseIsNotHung) {
  Pool pool("host=/nonexistent port=1", {});
  pool.probe();
  try {
    pool.lease();
    ADD_FAILURE() << "a connection";
  } catch (const DbError& error) {
    EXPECT_NE(error.sqlstate(), kStateNoAnswer);
  }
}

/// A listening socket whose connections are never accepted, like a load balancer that still routes
/// to a server that hangs.
class SilentServer {
 public:
  SilentServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(socket_); }
  int port() const { return port_; }
  /// Connections that arrived since the last call; closes them.
  int take_connections() {
    int count = 0;
    for (int client = 0; (client = accept(socket_, nullptr, nullptr)) >= 0; ++count) close(client);
    return count;
  }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  int port_ = 0;
};

TEST_F(HangTest, OpeningEndsAtItsLimit) {
  const SilentServer silent;
  const Clock::time_point start = Clock::now();
  try {
    Connection::open(str_cat("host=127.0.0.1 port=", silent.port()), {.connect_limit = kLimit});
    ADD_FAILURE() << "a session";
  } catch (const DbError& error) {
    EXPECT_EQ(error.sqlstate(), kStateNoAnswer);
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_FALSE(error.in_doubt());
  }
  EXPECT_GE(Clock::now() - start, kLimit);
  EXPECT_LT(Clock::now() - start, kLimit + seconds(20));
  EXPECT_TRUE(Connection::open(url(), {.connect_limit = seconds(5)})->alive());
  EXPECT_THROW(Connection::open("host=/nonexistent", {.connect_limit = seconds(5)}), DbError);
}

TEST_F(HangTest, AProbeThatIsNotConnectedTriesTheNextHost) {
  SilentServer silent;
  // The later keyword wins.
  const std::string hosts = str_cat(" host=127.0.0.1,", own("host"));
  const std::string ports = str_cat(" port=", silent.port(), ',', own("port"));
  Pool pool(str_cat(url(), hosts, ports), {});
  pool.probe();  // in vain
  EXPECT_EQ(silent.take_connections(), 1);
  pool.probe();
  EXPECT_EQ(pool.run(kCountHanging, {}, Pool::Retry::kRead).size(), 1u);
  EXPECT_EQ(silent.take_connections(), 0);
}

TEST_F(HangTest, TheHostThatIsAskedFirstCanBeChosen) {
  // The later keyword wins.
  const std::string two = str_cat(url(), " host=/nonexistent,", own("host"));
  EXPECT_EQ(Connection::open(two)->host(), 1u);
  EXPECT_EQ(Connection::open(two, {.first_host = 1})->host(), 1u);
  EXPECT_EQ(Connection::open(two, {.first_host = 2})->host(), 1u);
  EXPECT_EQ(Connection::open(url())->host(), 0u);
}

TEST_F(HangTest, ASessionWithoutAStatementTimeoutIsRefused) {
  EXPECT_THROW(Connection::open(str_cat(url(), " options='-c statement_timeout=0'")), Error);
}

TEST_F(HangTest, AServerWithoutAPoolerPassesTheCheck) { check_pooler(url()); }

/// Refuses a server `refusals` times, and acknowledges commits while `acknowledges`.
struct FakeWitness : Witness {
  void enter(Connection& connection) override {
    hosts.push_back(connection.host());
    if (refusals == 0) return;
    --refusals;
    throw DbError(ErrorCode::kUnavailable, std::string(kStateWentBack), "lacks commits", false);
  }
  std::optional<size_t> newer_host(const Connection&) override { return newer; }
  bool permits(Connection&) override { return permitted; }
  bool acknowledge(const Connection&, const CommitPosition& commit) override {
    commits.push_back(commit);
    return acknowledges;
  }
  void close(const Connection&) noexcept override { ++closed; }

  std::optional<size_t> newer;
  int refusals = 0;
  bool permitted = true;
  bool acknowledges = true;
  std::vector<size_t> hosts;
  std::vector<CommitPosition> commits;
  int closed = 0;
};

std::string outcome_of(Pool& pool, const Query& query) {
  try {
    pool.run(query, {int64_t{1}}, Pool::Retry::kWrite);
  } catch (const DbError& error) {
    return str_cat(error.reason(), error.in_doubt() ? " in doubt" : "");
  }
  return "";
}

TEST_F(HangTest, AServerIsEnteredOnce) {
  FakeWitness witness;
  Pool pool(url(), {.witness = &witness});
  const Pool::Lease first = pool.lease();
  const Pool::Lease second = pool.lease();
  EXPECT_EQ(witness.hosts.size(), 1u);
}

TEST_F(HangTest, TheNextHostIsTriedWhenOneIsRefused) {
  FakeWitness witness;
  witness.refusals = 1;
  // Two names of one server. The later keyword wins.
  Pool pool(str_cat(url(), " host=", own("host"), ',', own("host"), "/."), {.witness = &witness});
  EXPECT_EQ(pool.lease()->host(), 1u);
  EXPECT_EQ(witness.hosts, (std::vector<size_t>{0, 1}));
  EXPECT_FALSE(pool.went_back());
}

TEST_F(HangTest, AHostOnALaterTimelineIsTriedFirst) {
  FakeWitness witness;
  witness.newer = 1;
  const std::string two = str_cat(url(), " host=", own("host"), ',', own("host"), "/.");
  Pool pool(two, {.witness = &witness});
  EXPECT_EQ(pool.lease()->host(), 1u);
  EXPECT_EQ(witness.hosts, (std::vector<size_t>{1}));

  FakeWitness refuses;
  refuses.newer = 1;
  refuses.refusals = 1;
  Pool other(two, {.witness = &refuses});
  EXPECT_EQ(other.lease()->host(), 0u) << "which lacks nothing";
  EXPECT_EQ(refuses.hosts, (std::vector<size_t>{1, 0}));
}

TEST_F(HangTest, APoolWithoutAnotherHostSaysThatTheDatabaseWentBack) {
  FakeWitness witness;
  witness.refusals = 1;
  Pool pool(str_cat(url(), " host=", own("host"), ",/nonexistent"), {.witness = &witness});
  EXPECT_EQ(outcome_of(pool, kInsert), "database_went_back");
  EXPECT_EQ(outcome_of(pool, kInsert), "database_went_back");  // at once, for a while
  EXPECT_EQ(witness.hosts.size(), 1u);
  EXPECT_TRUE(pool.went_back());
  pool.probe();  // the other host, in vain
  std::this_thread::sleep_for(kRefusedPause);
  EXPECT_EQ(pool.run(kCountHanging, {}, Pool::Retry::kRead).size(), 1u);
  EXPECT_FALSE(pool.went_back());
}

TEST_F(HangTest, AProbeLeavesADatabaseThatIsNoLongerPermitted) {
  FakeWitness witness;
  Pool pool(url(), {.witness = &witness});
  const int64_t pid = pool.run(kPid, {}, Pool::Retry::kRead).integer(0, 0);
  pool.probe();
  EXPECT_EQ(pool.run(kPid, {}, Pool::Retry::kRead).integer(0, 0), pid);
  witness.permitted = false;
  pool.probe();
  witness.permitted = true;
  EXPECT_NE(pool.run(kPid, {}, Pool::Retry::kRead).integer(0, 0), pid);
  EXPECT_EQ(witness.hosts.size(), 2u);
}

TEST_F(HangTest, AWitnessIsToldOfEveryCommit) {
  FakeWitness witness;
  {
    Pool pool(url(), {.witness = &witness});
    pool.run(kCountHanging, {}, Pool::Retry::kRead);
    pool.run(kCountHanging, {}, Pool::Retry::kWrite);
    pool.transaction([](Connection& connection) { connection.run(kCountHanging); });
    EXPECT_EQ(witness.commits.size(), 0u) << "of statements that wrote nothing";
    pool.run(kInsert, {int64_t{1}}, Pool::Retry::kWrite);
    pool.run(kInsert, {int64_t{1}}, Pool::Retry::kRepeatable);
    pool.transaction([](Connection& connection) {
      connection.run(kInsert, {int64_t{1}});
      connection.run(kInsert, {int64_t{2}});
    });
    pool.run(kInsertWithPosition, {int64_t{1}}, Pool::Retry::kWrite);
  }
  ASSERT_EQ(witness.commits.size(), 4u);
  for (size_t i = 1; i < witness.commits.size(); ++i) {
    EXPECT_GT(witness.commits[i].transaction, witness.commits[i - 1].transaction);
    EXPECT_GT(witness.commits[i].log, witness.commits[i - 1].log);
  }
  EXPECT_EQ(witness.closed, 1);
}

TEST_F(HangTest, ACommitThatTheWitnessDoesNotTakeIsInDoubt) {
  FakeWitness witness;
  witness.acknowledges = false;
  Pool pool(url(), {.witness = &witness});
  EXPECT_EQ(outcome_of(pool, kInsert), "in_doubt in doubt");
  EXPECT_EQ(outcome_of(pool, kInsertWithPosition), "in_doubt in doubt");
  try {
    pool.transaction([](Connection& connection) { connection.run(kInsert, {int64_t{1}}); });
    FAIL() << "acknowledged";
  } catch (const DbError& error) {
    EXPECT_TRUE(error.in_doubt());
  }
}

}  // namespace
}  // namespace tarn::db
