#include "core/base/owner_turns.h"

#include <deque>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tarn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Work in the order of its arrival, as its owners' names.
class Work {
 public:
  explicit Work(std::deque<std::string> owners) : owners_(std::move(owners)) {}
  std::optional<std::string> take(const std::vector<std::string>& full) {
    const auto at = std::find_if(owners_.begin(), owners_.end(), [&](const std::string& owner) {
      return std::find(full.begin(), full.end(), owner) == full.end();
    });
    if (at == owners_.end()) return std::nullopt;
    std::string owner = *at;
    owners_.erase(at);
    return owner;
  }

 private:
  std::deque<std::string> owners_;
};

TEST(OwnerTurns, OneOwnerLeavesAWorkerToOthers) {
  OwnerTurns turns(4);
  Work work({"ann", "ann", "ann", "ann", "ann", "bob"});
  const auto begin = [&] {
    return turns.begin([&](const std::vector<std::string>& full) { return work.take(full); });
  };
  std::vector<OwnerTurns::Turn> held;
  for (int i = 0; i < 3; ++i) held.push_back(*begin());
  std::vector<std::string> full;
  auto of_bob = turns.begin([&](const std::vector<std::string>& given) {
    full = given;
    return work.take(given);
  });
  EXPECT_THAT(full, ElementsAre("ann"));
  ASSERT_TRUE(of_bob) << "the fourth worker";
  EXPECT_FALSE(begin()) << "only ann's is left";
  held.pop_back();
  EXPECT_TRUE(begin());
}

TEST(OwnerTurns, SingleWorkerServesAllOwners) {
  OwnerTurns turns(1);
  for (int i = 0; i < 3; ++i) {
    const auto turn = turns.begin([](const std::vector<std::string>& full) {
      EXPECT_THAT(full, IsEmpty());
      return std::optional<std::string>("ann");
    });
    EXPECT_TRUE(turn);
  }
}

TEST(OwnerTurns, ExceptionReleasesTheTurn) {
  OwnerTurns turns(2);
  EXPECT_THROW(turns.begin([](const std::vector<std::string>&) -> std::optional<std::string> {
    throw std::runtime_error("x");
  }),
               std::runtime_error);
  EXPECT_TRUE(turns.begin([](const std::vector<std::string>& full) {
    EXPECT_THAT(full, IsEmpty());
    return std::optional<std::string>("ann");
  }));
}

}  // namespace
}  // namespace tarn
