#include "server/store_checks.h"

#include <atomic>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/reasons.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_store_fixture.h"

namespace tarn::server {
namespace {

using Clock = std::chrono::steady_clock;

/// Calls a function at every look.
class WatchedStore final : public blob::BlobStore {
 public:
  explicit WatchedStore(std::function<void()> look) : look_(std::move(look)) {}
  std::unique_ptr<blob::BlobWriter> create(std::string_view key,
                                           std::optional<uint64_t> size) override {
    return bytes_.create(key, size);
  }
  std::optional<blob::BlobStat> stat(std::string_view key) override {
    look_();
    return bytes_.stat(key);
  }
  std::unique_ptr<blob::BlobReader> open(std::string_view key, blob::ByteRange range,
                                         std::string_view if_etag) override {
    return bytes_.open(key, range, if_etag);
  }
  blob::ListPage list(std::string_view prefix, std::string_view after, uint32_t limit) override {
    return bytes_.list(prefix, after, limit);
  }
  void remove(std::string_view key) override { bytes_.remove(key); }

 private:
  blob::MemoryStore bytes_;
  std::function<void()> look_;
};

class StoreChecksTest : public ::testing::Test {
 protected:
  StoreChecksTest() {
    stores.set_local_root(std::make_unique<WatchedStore>([this] { look("local"); }));
    stores.add_s3({"good", "bad"}, [this](const std::string& bucket) {
      return std::make_unique<WatchedStore>([this, bucket] { look(bucket); });
    });
  }
  void look(const std::string& name) {
    ++looks;
    if (name == "bad" && bad_hangs) std::this_thread::sleep_for(kStoreCheckWaitMax + kMargin);
    if (name == "bad" && bad_fails) {
      throw Error(ErrorCode::kUnavailable, reason::kStoreFull, "writing: full");
    }
  }

  static constexpr std::chrono::milliseconds kMargin{500};
  std::atomic<int> looks = 0;
  std::atomic<bool> bad_hangs = false;
  std::atomic<bool> bad_fails = false;
  blob::Stores stores;
  StoreChecks checks{stores};
};

TEST_F(StoreChecksTest, NamesTheStoresThatFailAndWhy) {
  EXPECT_TRUE(checks.faults({"local", "s3://good"}).empty());
  bad_fails = true;
  const std::vector<StoreFault> faults = checks.faults({"local", "s3://bad", "s3://unknown"});
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].store, "s3://unknown");
  EXPECT_EQ(faults[0].reason, kNotConfigured);
  EXPECT_EQ(faults[1].store, "s3://bad");
  EXPECT_EQ(faults[1].reason, reason::kStoreFull);
  EXPECT_EQ(faults[1].message, "writing: full");
}

TEST_F(StoreChecksTest, UsesAResultForASecond) {
  for (int i = 0; i < 100; ++i) checks.faults({"local"});
  EXPECT_EQ(looks, 1);
  std::this_thread::sleep_for(kStoreCheckAgeMax + kMargin);
  checks.faults({"local"});
  EXPECT_EQ(looks, 2);
}

TEST_F(StoreChecksTest, WaitsForNoStoreLongerThanTheLimit) {
  bad_hangs = true;
  const auto began = Clock::now();
  const std::vector<StoreFault> faults = checks.faults({"local", "s3://bad"});
  EXPECT_LT(Clock::now() - began, kStoreCheckWaitMax + kMargin);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].store, "s3://bad");
  EXPECT_EQ(faults[0].message, "no answer within 2 s");
  bad_hangs = false;
  std::this_thread::sleep_for(kMargin);
  EXPECT_TRUE(checks.faults({"local", "s3://bad"}).empty()) << "it has answered since";
}

TEST_F(StoreChecksTest, ChecksALimitedNumber) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < 2 * kCheckedStoresMax; ++i)
    names.push_back("s3://b" + std::to_string(i));
  EXPECT_EQ(checks.faults(names).size(), kCheckedStoresMax);
}

}  // namespace
}  // namespace tarn::server
