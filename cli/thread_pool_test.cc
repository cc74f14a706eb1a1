#include "cli/thread_pool.h"

#include <atomic>
#include <csignal>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/exit_code.h"

namespace tarn::cli {
namespace {

class ThreadPoolTest : public testing::Test {
 protected:
  Settings settings_{.endpoint = {"http://127.0.0.1:9", ""}};
  Client client_{settings_};
  std::ostringstream data_;
  std::ostringstream talk_;
  Output out_{Format::kTable, data_, talk_, false};
  Session session_{settings_, client_, out_, {}};
};

/// Waits for another thread, for a while.
template <typename Condition>
bool eventually(const Condition& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

TEST_F(ThreadPoolTest, RunsAndCountsAllJobs) {
  std::atomic<int> ran = 0;
  ThreadPool pool(session_, 4, "testing");
  for (int i = 0; i < 5000; ++i) {
    pool.add("job", [&ran, i](Client&) {
      ++ran;
      return i % 5 == 0 ? Outcome::kSkipped : Outcome::kDone;
    });
  }
  const Tally tally = pool.finish();
  EXPECT_EQ(ran, 5000);
  EXPECT_EQ(tally.done, 4000u);
  EXPECT_EQ(tally.skipped, 1000u);
  EXPECT_EQ(tally.failed, 0u);
}

TEST_F(ThreadPoolTest, RunsJobsAtTheSameTime) {
  std::atomic<int> together = 0;
  ThreadPool pool(session_, 3, "testing");
  for (int i = 0; i < 3; ++i) {
    pool.add("job", [&](Client&) {
      ++together;
      return eventually([&] { return together == 3; }) ? Outcome::kDone : Outcome::kSkipped;
    });
  }
  EXPECT_EQ(pool.finish().done, 3u);
}

TEST_F(ThreadPoolTest, WarnsOfAFailureAndContinues) {
  ThreadPool pool(session_, 2, "testing");
  pool.add("a\x1b", [](Client&) -> Outcome { throw Error(ErrorCode::kNotFound, "it is gone"); });
  pool.add("b", [](Client&) -> Outcome { throw std::runtime_error("odd"); });
  pool.add("c", [](Client&) { return Outcome::kDone; });
  const Tally tally = pool.finish();
  EXPECT_EQ(tally.done, 1u);
  EXPECT_EQ(tally.failed, 2u);
  EXPECT_NE(talk_.str().find("tarn: a\\x1b: it is gone\n"), std::string::npos) << talk_.str();
  EXPECT_NE(talk_.str().find("tarn: b: odd\n"), std::string::npos) << talk_.str();
}

/// Verified by mutation: without the reasons in is_hopeless() all jobs ran.
TEST_F(ThreadPoolTest, StopsWhenThereIsNoRoom) {
  for (const char* reason : {"quota_exceeded", "store_full", "database_full"}) {
    std::atomic<int> ran = 0;
    ThreadPool pool(session_, 1, "testing");
    const auto refuse = [&ran, reason](Client&) -> Outcome {
      ++ran;
      throw Error(ErrorCode::kResourceExhausted, reason, "full");
    };
    EXPECT_THROW(
        {
          for (int i = 0; i < 100; ++i) pool.add("job", refuse);
          pool.finish();
        },
        Error)
        << reason;
    EXPECT_EQ(ran, 1) << reason;
  }
}

/// Verified by mutation: with the stop in settle() left out: all jobs ran, and finish() returned.
TEST_F(ThreadPoolTest, StopsWhenEveryJobWouldFail) {
  std::atomic<int> ran = 0;
  ThreadPool pool(session_, 1, "testing");
  const auto refuse = [&ran](Client&) -> Outcome {
    ++ran;
    throw Error(ErrorCode::kPermissionDenied, "no access");
  };
  try {
    for (int i = 0; i < 5000; ++i) pool.add("job", refuse);
    pool.finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "no access");
  }
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(talk_.str(), "");
}

/// Verified by mutation: without the check in moved() the job continues until its own deadline.
TEST_F(ThreadPoolTest, ASignalEndsJobsThatRun) {
  std::atomic<bool> begun = false;
  std::atomic<bool> ended = false;
  ThreadPool pool(session_, 1, "testing");
  pool.add("job", [&](Client&) -> Outcome {
    begun = true;
    eventually([&] {
      pool.moved(1);
      return false;
    });
    ended = true;
    return Outcome::kDone;
  });
  ASSERT_TRUE(eventually([&] { return begun.load(); }));
  std::raise(SIGTERM);
  try {
    pool.finish();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(exit_code_of(error), ExitCode::kInterrupted);
    EXPECT_NE(error.message().find("goes on with the rest"), std::string::npos);
  }
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace tarn::cli
