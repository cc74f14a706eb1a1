// Tables, read again by RocksDB's own reader.
#include "core/sstable/table_writer.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "tests/support/temporary_directory.h"

namespace tarn::sstable {
namespace {

using Rows = std::map<std::string, std::string>;

std::string table_of(const Rows& rows, std::string_view type = kRangesType) {
  std::string out;
  TableWriter writer(type, [&out](std::string_view bytes) { out.append(bytes); });
  for (const auto& [key, value] : rows) writer.add(key, value);
  writer.finish();
  return out;
}

class Table : public ::testing::Test {
 protected:
  void open(const std::string& bytes) {
    const std::string path = directory.path() + "/table.sst";
    std::ofstream(path, std::ios::binary) << bytes;
    const rocksdb::Status status = reader.Open(path);
    ASSERT_TRUE(status.ok()) << status.ToString();
    const rocksdb::Status sums = reader.VerifyChecksum();
    ASSERT_TRUE(sums.ok()) << sums.ToString();
  }
  Rows rows() {
    Rows out;
    const std::unique_ptr<rocksdb::Iterator> at(reader.NewIterator(rocksdb::ReadOptions()));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      out.emplace(at->key().ToString(), at->value().ToString());
    }
    EXPECT_TRUE(at->status().ok()) << at->status().ToString();
    return out;
  }

  testing::TemporaryDirectory directory;
  rocksdb::SstFileReader reader{rocksdb::Options()};
};

TEST_F(Table, ContainsTheAddedEntries) {
  Rows rows_in;
  for (int i = 0; i < 20'000; ++i) {
    rows_in.emplace(str_cat("data/part-", 100'000 + i, ".parquet"), std::string(100, 'v'));
  }
  rows_in.emplace(std::string(1024, 'k'), std::string(1 << 20, 'x'));
  rows_in.emplace(std::string("zero\0byte", 9), "");
  const std::string bytes = table_of(rows_in);
  EXPECT_LT(bytes.size(), 1'000'000u) << "compressed";
  open(bytes);
  EXPECT_EQ(rows(), rows_in);
}

TEST_F(Table, HasThePropertiesOfLakeFS) {
  open(table_of({{"b", "2"}, {"a", "1"}, {"c/d", "3"}}, kMetarangesType));
  const auto properties = reader.GetTableProperties();
  const auto& user = properties->user_collected_properties;
  EXPECT_EQ(user.at("type"), "metaranges");
  EXPECT_EQ(user.at("min_key"), "a");
  EXPECT_EQ(user.at("max_key"), "c/d");
  EXPECT_EQ(user.at("count"), "3");
  EXPECT_EQ(user.at("estimated_size_bytes"), "8") << "keys and values";
  EXPECT_EQ(properties->db_host_id, "");
  EXPECT_EQ(properties->compression_name, "Snappy");
  EXPECT_EQ(properties->comparator_name, "leveldb.BytewiseComparator");
}

TEST_F(Table, FooterHasTheFormatVersionThatOldReadersExpect) {
  const std::string bytes = table_of({{"a", "1"}});
  const std::string magic = "\xf7\xcf\xf4\x85\xb7\x41\xe2\x88";
  ASSERT_GT(bytes.size(), 53u);
  EXPECT_EQ(bytes.substr(bytes.size() - 8), magic);
  EXPECT_EQ(bytes.substr(bytes.size() - 12, 4), std::string("\2\0\0\0", 4)) << "format version";
  EXPECT_EQ(bytes[bytes.size() - 53], '\1') << "CRC-32C";
}

TEST(TableWriter, RefusesKeysOutOfOrderAndEmptyTables) {
  const auto ignore = [](std::string_view) {};
  TableWriter writer(kRangesType, ignore);
  writer.add("b", "");
  EXPECT_THROW(writer.add("a", ""), Error);
  EXPECT_THROW(writer.add("b", ""), Error);
  TableWriter empty(kRangesType, ignore);
  EXPECT_THROW(empty.finish(), Error);
}

// The error of a store that fails in the middle is thrown, and RocksDB keeps working.
TEST(TableWriter, ThrowsWhatTheSinkThrows) {
  int calls = 0;
  const auto fill = [&calls](int fail_at) {
    calls = 0;
    TableWriter writer(kRangesType, [&](std::string_view) {
      if (++calls == fail_at) throw std::runtime_error("the disk is full");
    });
    for (int i = 0; i < 30'000; ++i) {
      // Values that do not compress, so that more than one write is made.
      std::string value(100, ' ');
      uint64_t mix = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15 + 1;
      for (char& c : value) c = static_cast<char>((mix = mix * 6364136223846793005u + 1) >> 56);
      writer.add(str_cat("k", 100'000 + i), value);
    }
    writer.finish();
  };
  fill(0);
  const int writes = calls;
  ASSERT_GT(writes, 2);
  for (const int at : {1, 2, writes}) EXPECT_THROW(fill(at), std::runtime_error) << at;
}

// RocksDB removes the file of a table that failed by the name that it was given.
TEST_F(Table, NeverTouchesFilesOfTheDisk) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  std::ofstream("table") << "somebody's";
  TableWriter writer(kRangesType, [](std::string_view) { throw std::runtime_error("full"); });
  writer.add("a", "1");
  EXPECT_THROW(writer.finish(), std::runtime_error);
  EXPECT_EQ(std::filesystem::file_size("table"), 10u);
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace tarn::sstable
