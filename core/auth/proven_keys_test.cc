#include "core/auth/proven_keys.h"

#include <string>

#include <gtest/gtest.h>

namespace tarn::auth {
namespace {

using std::chrono::milliseconds;

TEST(ProvenKeys, AreRememberedPerAddressUntilTheyExpire) {
  ProvenKeys keys;
  const milliseconds start{};
  keys.add("AKIA1", "192.0.2.7", start);
  EXPECT_TRUE(keys.contains("AKIA1", "192.0.2.7", start));
  EXPECT_TRUE(keys.contains("AKIA1", "192.0.2.7", start + ProvenKeys::kLife - milliseconds(1)));
  EXPECT_FALSE(keys.contains("AKIA1", "192.0.2.7", start + ProvenKeys::kLife));
  EXPECT_FALSE(keys.contains("AKIA1", "192.0.2.8", start));
  EXPECT_FALSE(keys.contains("AKIA2", "192.0.2.7", start));
  keys.add("AKIA1", "192.0.2.7", start + ProvenKeys::kLife);
  EXPECT_TRUE(keys.contains("AKIA1", "192.0.2.7", start + ProvenKeys::kLife));
}

TEST(ProvenKeys, AreBounded) {
  ProvenKeys keys;
  const milliseconds start{};
  for (size_t i = 0; i < ProvenKeys::kKeysMax; ++i) keys.add(std::to_string(i), "a", start);
  keys.add("0", "a", start);  // known already
  EXPECT_TRUE(keys.contains("1", "a", start));
  keys.add("one more", "a", start);
  EXPECT_FALSE(keys.contains("1", "a", start));
  EXPECT_TRUE(keys.contains("one more", "a", start));
}

}  // namespace
}  // namespace tarn::auth
