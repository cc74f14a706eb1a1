#include "core/base/memory_share.h"

#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

constexpr size_t kHalf = kAnswerBytesPerUserMax / 2;

std::string_view refusal_of(size_t bytes) {
  try {
    const MemoryHold hold(bytes);
    return "";
  } catch (const Error& error) {
    return error.reason() == "overloaded" ? "overloaded" : "another";
  }
}

TEST(MemoryShare, CountsThePiecesOfAllRequestsOfAUser) {
  const MemoryScope scope("ann");
  MemoryHold first(kHalf);
  std::thread([] {
    const MemoryScope beside("ann");
    EXPECT_EQ(refusal_of(kHalf + 1), "overloaded");
    EXPECT_EQ(refusal_of(kHalf), "");
  }).join();
  EXPECT_EQ(refusal_of(kHalf + 1), "overloaded");
  first = MemoryHold();
  EXPECT_EQ(refusal_of(kAnswerBytesPerUserMax), "");
}

TEST(MemoryShare, AnAnswerOfAChangeIsCountedAndNotRefused) {
  const MemoryScope scope("ann");
  {
    const MemoryHold held(kAnswerBytesPerUserMax);
    const MemoryHold of_change = MemoryHold::unlimited(kHalf);
  }
  const MemoryHold of_change = MemoryHold::unlimited(kHalf);
  EXPECT_EQ(refusal_of(kHalf + 1), "overloaded");
  EXPECT_EQ(refusal_of(kHalf), "");
}

TEST(MemoryShare, UsersDoNotShare) {
  const MemoryScope scope("ann");
  const MemoryHold held(kAnswerBytesPerUserMax);
  const MemoryScope inner("bob");
  EXPECT_EQ(refusal_of(kAnswerBytesPerUserMax), "");
}

TEST(MemoryShare, APieceMayOutliveItsRequest) {
  MemoryHold kept;
  {
    const MemoryScope scope("ann");
    kept = MemoryHold(kAnswerBytesPerUserMax);
  }
  {
    const MemoryScope scope("ann");
    EXPECT_EQ(refusal_of(kAnswerPieceBytesMin), "overloaded");
  }
  kept = MemoryHold();
  const MemoryScope scope("ann");
  EXPECT_EQ(refusal_of(kAnswerPieceBytesMin), "");
}

TEST(MemoryShare, SmallPiecesAndOtherThreadsAreNotCounted) {
  EXPECT_EQ(refusal_of(2 * kAnswerBytesPerUserMax), "") << "no request";
  const MemoryScope scope("ann");
  const MemoryHold held(kAnswerBytesPerUserMax);
  EXPECT_EQ(refusal_of(kAnswerPieceBytesMin - 1), "");
  const MemoryScope nobody;
  EXPECT_EQ(refusal_of(kAnswerPieceBytesMin), "");
}

}  // namespace
}  // namespace tarn
