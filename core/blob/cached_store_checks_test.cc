// Copies whose bytes are compared with what was recorded, or with the store's own mark.
#include <string>

#include <gmock/gmock.h>

#include "core/blob/cached_store_fixture.h"

namespace tarn::testing {
namespace {

TEST_F(CachedStoreTest, AWrongAnswerIsAskedForAgainAndNeverKept) {
  int number = 0;
  for (const Harm harm : {Harm::kFlips, Harm::kRepeats, Harm::kReorders}) {
    for (const bool by_etag : {false, true}) {
      for (const int answers : {1, 2, 3}) {
        const std::string key = std::to_string(++number);
        SCOPED_TRACE(key);
        const std::string bytes = put_new(key, 500);
        const std::string etag = by_etag ? memory_.stat(key)->etag : "";
        counting_->harm = harm;
        counting_->wrong_answers = answers;
        const int before = opens();
        const std::string first = read(key, 500, {0, 500}, etag);
        EXPECT_EQ(first == bytes, answers < 3) << "the store has the last word";
        EXPECT_EQ(opens() - before, answers == 1 ? 2 : 3);
        restart();
        EXPECT_EQ(read(key, 500, {0, 500}, etag), bytes);
        EXPECT_EQ(read(key, 500, {100, 7}, etag), bytes.substr(100, 7));
        EXPECT_EQ(opens(), answers == 1 ? 0 : 1) << "the right answer is kept";
      }
    }
  }
}

TEST_F(CachedStoreTest, ARefusingStoreServesNoRangeOfWrongBytes) {
  refuses_ = true;
  restart();
  const std::string bytes = put_new("a", 500);
  counting_->harm = Harm::kFlips;
  counting_->wrong_answers = 2;
  try {
    read("a", 500, {0, 10});
    ADD_FAILURE() << "bytes of an object that is known to be wrong";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), "object_corrupt");
  }
  EXPECT_EQ(read("a", 500, {0, 10}), bytes.substr(0, 10));
}

TEST_F(CachedStoreTest, AnAnswerThatIsCutIsNotKept) {
  const std::string bytes = put_new("a", 500);
  memory_.remove("a");
  ASSERT_TRUE(put(memory_, "a", bytes.substr(0, 300)));
  EXPECT_THROW(read("a", 500), Error);
  replace("a", bytes);
  EXPECT_EQ(read("a", 500), bytes);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(CachedStoreTest, WhatNothingCanBeComparedWithIsNotKept) {
  const std::string bytes = put_new("a", 100);
  for (int n = 1; n <= 2; ++n) {
    const auto reader =
        cached_->open_unchanging("a", {.size_bytes = 100, .etag = {}, .check = {}}, {0, 100});
    char got[100];
    EXPECT_EQ(reader->read(got), 100U);
    EXPECT_EQ(opens(), n);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(CachedStoreTest, EtagsThatAreNoMd5sStopBeingCompared) {
  put_new("a", 100);
  const blob::RecordedBytes bytes{
      .size_bytes = 100, .etag = {}, .check = [] { return std::unique_ptr<blob::BytesCheck>(); }};
  EXPECT_TRUE(cached_->open_unchanging("a", bytes, {0, 100}));
  EXPECT_TRUE(files().empty());
  // Wrong answers look like the etags of a store that encrypts.
  const std::string etag = memory_.stat("a")->etag;
  counting_->harm = Harm::kFlips;
  counting_->wrong_answers = 1000;
  for (int n = 0; n < 8; ++n) read("a", 100, {0, 100}, etag);
  const int before = opens();
  read("a", 100, {0, 100}, etag);
  EXPECT_EQ(opens(), before + 1) << "one request for each read";
}

TEST_F(CachedStoreTest, CopiesOfEarlierVersionsAreNotServed) {
  const std::string bytes = put_new("a", 100);
  read("a", 100);
  ASSERT_EQ(files().size(), 1U);
  std::fstream file(files().front(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(100 + 7);
  file.put('1');
  file.close();
  restart();
  EXPECT_EQ(read("a", 100), bytes);
  EXPECT_EQ(opens(), 1);
}

// Such a copy cannot be made by a store any more: the digest of another entry stands for it.
TEST_F(CachedStoreTest, ACheckOfCopiesRemovesThoseOfOtherBytes) {
  const std::string bytes = put_new("a", 100);
  EXPECT_TRUE(cached_->check_copy("a", recorded("a", 100))) << "there is none";
  read("a", 100);
  EXPECT_TRUE(cached_->check_copy("a", recorded("a", 100)));
  EXPECT_EQ(files().size(), 1U);
  replace("a", std::string(100, 'x'));
  EXPECT_FALSE(cached_->check_copy("a", recorded("a", 100)));
  EXPECT_TRUE(files().empty());
  read("a", 100);
  std::filesystem::resize_file(files().front(), 50);
  EXPECT_FALSE(cached_->check_copy("a", recorded("a", 100)));
  EXPECT_EQ(cache_->bytes(), 0U);
}

}  // namespace
}  // namespace tarn::testing
