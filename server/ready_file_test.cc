#include "server/ready_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::server {
namespace {

TEST(ReadyFile, HasTheUrlAndIsRemovedAtStop) {
  const std::string path = testing::TempDir() + "tarn_ready_file_test";
  remove_ready_file(path);
  write_ready_file(path, "http://127.0.0.1:1");
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "http://127.0.0.1:1");
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  remove_ready_file(path);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ReadyFile, SaysWhereItCannotBeWritten) {
  EXPECT_THROW(write_ready_file("/nonexistent/ready", "x"), Error);
}

}  // namespace
}  // namespace tarn::server
