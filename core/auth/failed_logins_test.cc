#include "core/auth/failed_logins.h"

#include <string>

#include <gtest/gtest.h>

namespace tarn::auth {
namespace {

constexpr std::chrono::milliseconds kStart = std::chrono::hours{24};

int failures_until_refused(FailedLogins& logins, const std::string& key, const std::string& address,
                           std::chrono::milliseconds now) {
  int count = 0;
  for (; count < 1000 && logins.allows_another(key, address, now); ++count) {
    logins.add(key, address, now);
  }
  return count;
}

TEST(FailedLogins, AreLimitedPerKeyAndRefillSlowly) {
  FailedLogins logins;
  EXPECT_EQ(failures_until_refused(logins, "AKIA1", "a", kStart), 10);
  EXPECT_TRUE(logins.allows_another("AKIA2", "a", kStart)) << "another key";
  EXPECT_TRUE(logins.allows_another("AKIA1", "b", kStart)) << "its owner, elsewhere";
  const auto later = kStart + FailedLogins::kOfKey.one_per;
  EXPECT_FALSE(logins.allows_another("AKIA1", "a", later - std::chrono::milliseconds(1)));
  EXPECT_EQ(failures_until_refused(logins, "AKIA1", "a", later), 1);
  EXPECT_EQ(failures_until_refused(logins, "AKIA1", "a", kStart + std::chrono::hours(1)), 10);
}

TEST(FailedLogins, AreLimitedPerAddress) {
  FailedLogins logins;
  int count = 0;
  while (count < 1000 && logins.allows_another(std::to_string(count), "a", kStart)) {
    logins.add(std::to_string(count++), "a", kStart);
  }
  EXPECT_EQ(count, 100);
  EXPECT_FALSE(logins.allows_another("", "a", kStart));
  EXPECT_TRUE(logins.allows_another("", "b", kStart));
  EXPECT_TRUE(logins.allows_another("", "a", kStart + FailedLogins::kOfAddress.one_per));
}

TEST(FailedLogins, TakeLittleMemory) {
  FailedLogins logins;
  failures_until_refused(logins, "AKIA1", "a", kStart);
  for (size_t i = 0; i < FailedLogins::kCountedMax; ++i) {
    logins.add("", std::to_string(i), kStart);
  }
  EXPECT_FALSE(logins.allows_another("AKIA1", "a", kStart)) << "keys are counted apart";
  EXPECT_EQ(failures_until_refused(logins, "", "a", kStart), 100) << "forgotten";
}

}  // namespace
}  // namespace tarn::auth
