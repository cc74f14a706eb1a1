#include "server/master_key.h"

#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/base/mutex.h"

namespace tarn::server {
namespace {

class MasterKey : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    config_.data = directory_;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_ = testing::TempDir() + "tarn_master_key_test";
  Config config_;
};

TEST_F(MasterKey, IsMadeOnceAndKeptPrivate) {
  const std::string first = load_master_key(config_);
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(load_master_key(config_), first);
  struct stat status {};
  ASSERT_EQ(::stat((directory_ + "/master.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_))
    ++files;
  EXPECT_EQ(files, 1u) << "nothing unfinished stays behind";
}

TEST_F(MasterKey, ProblemsOfItsFileAreFound) {
  const std::string key = load_master_key(config_);
  const std::string path = directory_ + "/master.key";
  EXPECT_EQ(master_key_problem(config_, key), "");
  ::chmod(path.c_str(), 0604);
  EXPECT_EQ(master_key_problem(config_, key), "readable_by_others");
  ::chmod(path.c_str(), 0640);
  EXPECT_EQ(master_key_problem(config_, key), "");
  EXPECT_EQ(master_key_problem(config_, std::string(32, 'x')), "file_differs");
  std::filesystem::remove(path);
  EXPECT_EQ(master_key_problem(config_, key), "file_missing");
  config_.auth_master_key = std::string(64, 'a');
  EXPECT_EQ(master_key_problem(config_, key), "");
}

TEST_F(MasterKey, IsTheSameForServersThatStartAtOnce) {
  constexpr int kServers = 8;
  std::latch start(kServers);
  Mutex mutex;
  std::set<std::string> keys;
  {
    std::vector<std::jthread> servers;
    for (int i = 0; i < kServers; ++i) {
      servers.emplace_back([&] {
        start.arrive_and_wait();
        const std::string key = load_master_key(config_);
        MutexLock lock(mutex);
        keys.insert(key);
      });
    }
  }
  EXPECT_EQ(keys.size(), 1u);
}

TEST_F(MasterKey, ComesFromTheConfigurationWhenGiven) {
  config_.auth_master_key = std::string(64, 'f');
  EXPECT_EQ(load_master_key(config_), std::string(32, '\xff'));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/master.key"));
}

TEST_F(MasterKey, RefusesAFileWithoutAKey) {
  std::ofstream(directory_ + "/master.key") << "short\n";
  EXPECT_THROW(load_master_key(config_), Error);
}

}  // namespace
}  // namespace tarn::server
