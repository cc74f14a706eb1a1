#include "core/http/fair_queue.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tarn::http {
namespace {

using std::chrono::milliseconds;

const SteadyTime kStart{std::chrono::hours{1}};
constexpr milliseconds kActive{1'000};
constexpr milliseconds kWaitMax{5'000};

FairLimits limits() {
  return {.threads = 16,
          .alone_max = 8,
          .contended_max = 3,
          .waiting_max = 12,
          .waiting_share_max = 10,
          .wait_max = kWaitMax,
          .active_for = kActive};
}

/// A queue and requests that say who they belong to by the address of their connection.
class FairQueueTest : public ::testing::Test {
 protected:
  /// How many of `count` requests start; the others are not queued.
  int start(const std::string& share, int count) {
    int started = 0;
    for (int i = 0; i < count; ++i) {
      FairQueue::Share* running = queue_.start(share, now_);
      if (running == nullptr) break;
      running_[share].push_back(running);
      ++started;
    }
    return started;
  }
  FairQueue::Entry wait(const std::string& share) {
    connections_.push_back(std::make_unique<Connection>(-1, share));
    return queue_.wait(share, connections_.back().get(), now_);
  }
  void wait(const std::string& share, int count) {
    for (int i = 0; i < count; ++i) ASSERT_EQ(wait(share), FairQueue::Entry::kWaits);
  }
  /// The shares whose turns come, until no request may start.
  std::string turns() {
    std::string names;
    while (const auto turn = queue_.next(now_)) {
      names += turn->connection->peer;
      running_[turn->connection->peer].push_back(turn->share);
    }
    return names;
  }
  void finish(const std::string& share, int count = 1) {
    for (int i = 0; i < count; ++i) {
      queue_.leave(running_.at(share).back(), now_);
      running_.at(share).pop_back();
    }
  }

  FairQueue queue_{limits()};
  SteadyTime now_ = kStart;
  std::map<std::string, std::vector<FairQueue::Share*>> running_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

TEST_F(FairQueueTest, OneShareAloneHasItsWholeAllowance) {
  EXPECT_EQ(start("a", 20), 8);
  wait("a", 2);
  EXPECT_EQ(turns(), "");
  finish("a");
  EXPECT_EQ(turns(), "a");
  finish("a", 2);
  EXPECT_EQ(turns(), "a");
  EXPECT_EQ(start("a", 20), 1);
}

TEST_F(FairQueueTest, AnotherShareStartsAtOnceAndTheFirstShrinks) {
  EXPECT_EQ(start("a", 20), 8);
  wait("a", 5);
  EXPECT_EQ(start("b", 20), 3);
  finish("a", 5);
  EXPECT_EQ(turns(), "") << "three of a run, and three is its allowance now";
  finish("a");
  EXPECT_EQ(turns(), "a");
}

TEST_F(FairQueueTest, AShareIsActiveForAWhileAfterItsLastRequest) {
  EXPECT_EQ(start("b", 1), 1);
  finish("b");
  now_ += kActive - milliseconds{1};
  EXPECT_EQ(start("a", 20), 3);
  wait("a", 6);
  EXPECT_EQ(turns(), "");
  now_ += milliseconds{1};
  EXPECT_EQ(turns(), "aaaaa");
}

TEST_F(FairQueueTest, ProbesTakeNothingFromAShare) {
  EXPECT_EQ(start("", 1), 1);
  EXPECT_EQ(start("a", 20), 8);
  EXPECT_EQ(start("", 20), 3) << "and they leave threads, as all do";
}

TEST_F(FairQueueTest, RequestsOfAShareStayInOrder) {
  EXPECT_EQ(start("a", 8), 8);
  wait("a", 1);
  finish("a");
  EXPECT_EQ(start("a", 1), 0);
  EXPECT_EQ(turns(), "a");
}

TEST_F(FairQueueTest, ShareWithTheFewestRunningIsNext) {
  EXPECT_EQ(start("a", 3), 3);
  wait("a", 2);
  wait("b", 4);
  wait("c", 4);
  EXPECT_EQ(turns(), "bcbcbc");
  finish("a", 3);
  finish("b", 3);
  EXPECT_EQ(turns(), "aba") << "c runs three, and the last turn of a is longer ago than that of b";
}

TEST_F(FairQueueTest, TheQueueIsBoundedPerShareAndOverall) {
  EXPECT_EQ(start("a", 8), 8);
  wait("a", 10);
  EXPECT_EQ(wait("a"), FairQueue::Entry::kShareFull);
  EXPECT_EQ(wait("b"), FairQueue::Entry::kWaits);
  EXPECT_EQ(wait("c"), FairQueue::Entry::kWaits);
  EXPECT_EQ(wait("d"), FairQueue::Entry::kFull);
  EXPECT_EQ(turns(), "bc");
  EXPECT_EQ(wait("d"), FairQueue::Entry::kWaits);
}

TEST_F(FairQueueTest, SharesThatNeverEndLeaveThreadsForOthers) {
  EXPECT_EQ(start("a", 20), 8);
  for (const char* share : {"b", "c"}) EXPECT_EQ(start(share, 20), 3) << share;
  // Two threads are left, then one.
  EXPECT_EQ(start("d", 20), 1);
  EXPECT_EQ(start("e", 20), 1);
  EXPECT_EQ(start("f", 20), 0) << "all are taken";
  wait("f", 1);
  EXPECT_EQ(turns(), "");
  finish("a");
  EXPECT_EQ(turns(), "f");
}

TEST_F(FairQueueTest, ReportsWorkForAnotherThread) {
  EXPECT_EQ(start("a", 8), 8);
  wait("a", 2);
  finish("a", 3);
  const auto first = queue_.next(now_);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->more);
  const auto second = queue_.next(now_);
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->more);
}

TEST_F(FairQueueTest, RequestsThatWaitTooLongAreRemoved) {
  EXPECT_EQ(start("a", 8), 8);
  wait("a", 2);
  now_ += milliseconds{1};
  wait("a", 1);
  now_ += kWaitMax - milliseconds{2};
  EXPECT_TRUE(queue_.take_expired(now_).empty());
  now_ += milliseconds{1};
  EXPECT_EQ(queue_.take_expired(now_).size(), 2u);
  EXPECT_TRUE(queue_.anyone_waits());
  EXPECT_EQ(queue_.take_all().size(), 1u);
  EXPECT_FALSE(queue_.anyone_waits());
  finish("a", 8);
  EXPECT_EQ(start("a", 20), 8);
}

/// Random requests of random shares: every request that may start does, none is lost, shares keep
/// their order.
TEST_F(FairQueueTest, InvariantsHoldInRandomOrders) {
  std::mt19937 random(7);
  std::map<std::string, std::deque<Connection*>> expected;
  size_t waiting = 0;
  size_t running = 0;
  for (int step = 0; step < 50'000; ++step) {
    now_ += milliseconds{random() % 50};
    const std::string share(1, static_cast<char>('a' + random() % 6));
    if (random() % 2 == 0) {
      if (start(share, 1) == 1) {
        ++running;
        ASSERT_TRUE(expected[share].empty());
      } else if (wait(share) == FairQueue::Entry::kWaits) {
        expected[share].push_back(connections_.back().get());
        ++waiting;
      } else {
        ASSERT_TRUE(waiting == 12 || expected[share].size() == 10);
      }
    } else if (!running_[share].empty()) {
      finish(share);
      --running;
    }
    while (const auto turn = queue_.next(now_)) {
      auto& mine = expected[turn->connection->peer];
      ASSERT_EQ(turn->connection, mine.front());
      mine.pop_front();
      running_[turn->connection->peer].push_back(turn->share);
      --waiting;
      ++running;
    }
    ASSERT_LE(running, 16u);
    ASSERT_EQ(queue_.anyone_waits(), waiting > 0);
    for (const auto& [name, queued] : expected) {
      if (queued.empty()) continue;
      const size_t mine = running_[name].size();
      ASSERT_TRUE(mine >= 3 || mine >= 16 - running) << name << " waits and could run";
    }
  }
}

}  // namespace
}  // namespace tarn::http
