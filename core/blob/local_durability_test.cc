// In which order LocalStore makes things durable, and what it does when the disk refuses. This
// program's own fsync stands before the C library's.
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/blob/local_store.h"
#include "tests/support/blob_objects.h"
#include "tests/support/temporary_directory.h"

namespace {

struct Synced {
  ino_t inode;
  bool readable;  // by its owner, when it was synced
};

tarn::Mutex synced_mutex;
std::vector<Synced> synced;
std::atomic<int> fail_sync = 0;  // the n-th from now

}  // namespace

extern "C" int fsync(int fd) {
  if (fail_sync > 0 && --fail_sync == 0) {
    errno = EIO;
    return -1;
  }
  struct stat status {};
  ::fstat(fd, &status);
  tarn::MutexLock lock(synced_mutex);
  synced.push_back({status.st_ino, (status.st_mode & S_IRUSR) != 0});
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace tarn::blob {
namespace {

using testing::put;

class LocalDurabilityTest : public ::testing::Test {
 protected:
  void SetUp() override { synced.clear(); }
  ino_t inode(const std::string& path) const {
    struct stat status {};
    ::stat((root_ + path).c_str(), &status);
    return status.st_ino;
  }
  static std::vector<ino_t> synced_inodes() {
    std::vector<ino_t> out;
    for (const Synced& one : synced) out.push_back(one.inode);
    return out;
  }

  testing::TemporaryDirectory directory_;
  const std::string root_ = directory_.path();
  std::unique_ptr<LocalStore> store_ = LocalStore::open(root_, LocalMode::kObjects);
};

TEST_F(LocalDurabilityTest, FileThenItsDirectoryAreSyncedBeforeFinishReturns) {
  const auto writer = store_->create("data/aa/k", 1);
  // The new directories are durable in their parents before anything is in them.
  EXPECT_EQ(synced_inodes(), (std::vector<ino_t>{inode("/"), inode("/data")}));
  synced.clear();
  writer->write("v");
  EXPECT_EQ(synced_inodes(), std::vector<ino_t>{});
  ASSERT_TRUE(writer->finish());
  EXPECT_EQ(synced_inodes(), (std::vector<ino_t>{inode("/data/aa/k"), inode("/data/aa")}));
  EXPECT_TRUE(synced[0].readable) << "the mode that makes it an object must be durable too";
}

TEST_F(LocalDurabilityTest, KnownDirectoriesAreNotSyncedAgainAboveTheFile) {
  ASSERT_TRUE(put(*store_, "data/aa/k", "v"));
  synced.clear();
  ASSERT_TRUE(put(*store_, "data/aa/k2", "v"));
  EXPECT_EQ(synced_inodes(), (std::vector<ino_t>{inode("/data/aa/k2"), inode("/data/aa")}));
}

TEST_F(LocalDurabilityTest, DirectoryMadeByAnotherProcessIsSyncedBeforeItsFirstUse) {
  std::filesystem::create_directories(root_ + "/data/aa");
  const auto writer = store_->create("data/aa/k", 1);
  EXPECT_EQ(synced_inodes(), (std::vector<ino_t>{inode("/"), inode("/data")}));
}

TEST_F(LocalDurabilityTest, ObjectThatCouldNotBeSyncedDoesNotExist) {
  ASSERT_TRUE(put(*store_, "aa/first", "v"));
  for (const int failing : {1, 2}) {  // the file, the directory
    fail_sync = failing;
    EXPECT_THROW(put(*store_, "aa/k", "v"), Error);
    EXPECT_EQ(fail_sync, 0);
    EXPECT_EQ(store_->stat("aa/k"), std::nullopt);
    EXPECT_FALSE(std::filesystem::exists(root_ + "/aa/k"));
  }
  EXPECT_TRUE(put(*store_, "aa/k", "v"));
}

TEST_F(LocalDurabilityTest, DirectoryThatCouldNotBeSyncedIsNotWrittenInto) {
  fail_sync = 1;
  EXPECT_THROW(put(*store_, "aa/k", "v"), Error);
  EXPECT_EQ(store_->stat("aa/k"), std::nullopt);
  synced.clear();
  EXPECT_TRUE(put(*store_, "aa/k", "v"));
  EXPECT_EQ(synced_inodes().front(), inode("/"));
}

}  // namespace
}  // namespace tarn::blob
