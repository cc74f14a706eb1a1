// The contract on an S3 server, as it is and with every n-th exchange failing.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/base/str_cat.h"
#include "core/blob/s3_answers.h"
#include "core/blob/s3_store.h"
#include "tests/contract/blob_store_contract.h"
#include "tests/support/faulty_client.h"
#include "tests/support/versitygw.h"

namespace tarn::testing {
namespace {

/// One server for all tests, a bucket for each.
Versitygw& server() {
  static Versitygw instance;
  return instance;
}

std::string new_bucket_name() {
  static std::atomic<int> count = 0;
  return str_cat("bucket-", ++count);
}

blob::S3Options options_for(std::string bucket, std::string prefix) {
  return {.endpoint = server().endpoint(),
          .region = Versitygw::kRegion,
          .key = {.id = Versitygw::kAccessKeyId, .secret = Versitygw::kSecret},
          .bucket = std::move(bucket),
          .prefix = std::move(prefix),
          .single_put_bytes_max = 24'000'000,  // larger test objects go in parts
          .part_size_bytes = blob::kS3PartBytesMin,
          .retries_max = 50,  // racing threads can be unlucky many times over
          .backoff_first = std::chrono::milliseconds(1),
          .backoff_longest = std::chrono::milliseconds(10)};
}

void create_bucket(const blob::S3Options& options, http::Client& client) {
  const blob::S3Answer answer =
      blob::S3Bucket(options, client).send({.operation = "create_bucket", .method = "PUT"});
  if (!answer.ok()) throw std::runtime_error("creating the bucket: " + answer.body);
}

class S3UnderTest final : public StoreUnderTest {
 public:
  S3UnderTest(std::string prefix, uint64_t fail_every, Fault fault)
      : options_(options_for(new_bucket_name(), std::move(prefix))) {
    create_bucket(options_, *client_);
    faulty_.fail_every(fail_every, fault);
    store_.emplace(options_, faulty_);
  }
  blob::BlobStore& store() override { return *store_; }

 private:
  std::unique_ptr<http::Client> client_ = http::Client::create({});
  FaultyClient faulty_{*client_};
  blob::S3Options options_;
  std::optional<blob::S3Store> store_;
};

BlobStoreCase s3_case(std::string name, std::string prefix, uint64_t fail_every = 0,
                      Fault fault = Fault::kFails) {
  return {.name = std::move(name),
          // This server keeps objects as files.
          .traits = {.pathless_keys = PathlessKeys::kServerDecides,
                     .holds_key_below_key = false,
                     .is_faulty = fail_every > 0},
          .make = [prefix, fail_every, fault] {
            return std::make_unique<S3UnderTest>(prefix, fail_every, fault);
          }};
}

INSTANTIATE_TEST_SUITE_P(
    S3, BlobStoreContract,
    ::testing::Values(s3_case("versitygw", ""), s3_case("versitygw_prefix", "some/ +dir/"),
                      s3_case("versitygw_every_third_fails", "", 3),
                      s3_case("versitygw_every_third_answer_lost", "", 3, Fault::kLosesAnswer)),
    name_of_case);

class S3ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { create_bucket(options_, *client_); }
  static std::string reason(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.reason());
    }
    return "";
  }

  std::unique_ptr<http::Client> client_ = http::Client::create({});
  blob::S3Options options_ = options_for(new_bucket_name(), "");
  blob::S3Store store_{options_, *client_};
  const Instant future_ = SystemClock().now() + std::chrono::hours(1);
};

TEST_F(S3ServerTest, AbandonedUploadKeepsNoPartsOnTheServer) {
  {
    const auto writer = store_.create("k", std::nullopt);
    write_in_pieces(*writer, patterned_bytes(12'000'000));
  }
  EXPECT_EQ(store_.remove_unfinished("", future_), 0u);
}

TEST_F(S3ServerTest, BodiesThatAreDamagedInTransitAreSentAgain) {
  FaultyClient faulty(*client_);
  blob::S3Store store(options_, faulty);
  const std::string small = patterned_bytes(2'000'000);
  faulty.damage_bodies(1);
  EXPECT_TRUE(put(store, "whole", small));
  EXPECT_TRUE(get(store_, "whole") == small);
  const std::string large = patterned_bytes(12'000'000);
  const auto writer = store.create("parts", std::nullopt);
  faulty.damage_bodies(2);
  write_in_pieces(*writer, large);
  EXPECT_TRUE(writer->finish());
  EXPECT_TRUE(get(store_, "parts") == large);
}

TEST_F(S3ServerTest, UploadOfAKilledWriterIsRemovedWhenItIsOld) {
  blob::S3Bucket bucket(options_, *client_);
  for (const char* key : {"data/a b+", "data/c", "other/d"}) {
    const blob::S3Answer answer = bucket.send(
        {.operation = "create_upload", .method = "POST", .key = key, .query = {{"uploads", ""}}});
    ASSERT_TRUE(answer.ok()) << answer.body;
  }
  EXPECT_EQ(store_.remove_unfinished("data/", SystemClock().now() - std::chrono::hours(1)), 0u);
  EXPECT_EQ(store_.remove_unfinished("data/", future_), 2u);
  EXPECT_EQ(store_.remove_unfinished("", future_), 1u);
}

TEST_F(S3ServerTest, WalkGoesOverManyPages) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2'300; ++i) {
    keys.push_back("d" + std::to_string(i % 11) + "/" + std::to_string(i));
    // As the server keeps them: one file each. Two thousand PUTs would take as long as all other
    // tests.
    const std::string path = server().directory() + "/" + options_.bucket + "/" + keys.back();
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << i;
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(walk_keys(store_) == keys);
  EXPECT_TRUE(walk_keys(store_, "d3/", "d3/2") == filtered(keys, "d3/", "d3/2"));
  std::vector<std::string> first;
  store_.walk("", "", [&](const blob::BlobStat& item) {
    return first.push_back(item.key), first.size() < 5;
  });
  EXPECT_EQ(first, std::vector<std::string>(keys.begin(), keys.begin() + 5));
}

TEST_F(S3ServerTest, MissingBucketIsNamedByEveryVerb) {
  blob::S3Store missing(options_for("no-such-bucket", ""), *client_);
  EXPECT_EQ(reason([&] { missing.stat("k"); }), "bucket_not_found");
  EXPECT_EQ(reason([&] { missing.open("k", {.offset = 0, .length = 1}, ""); }), "bucket_not_found");
  EXPECT_EQ(reason([&] { missing.list("", "", 1); }), "bucket_not_found");
  EXPECT_EQ(reason([&] { missing.remove("k"); }), "bucket_not_found");
  EXPECT_EQ(reason([&] { put(missing, "k", "v"); }), "bucket_not_found");
  EXPECT_EQ(reason([&] { put(missing, "k", patterned_bytes(12'000'000)); }), "bucket_not_found");
  EXPECT_EQ(reason([&] { walk_keys(missing); }), "bucket_not_found");
}

TEST_F(S3ServerTest, WrongCredentialsAreDeniedWithoutRetry) {
  blob::S3Options wrong = options_;
  wrong.key.secret = "wrong";
  blob::S3Store store(wrong, *client_);
  EXPECT_EQ(reason([&] { store.list("", "", 1); }), "store_denied");
  EXPECT_EQ(reason([&] { store.stat("k"); }), "store_denied");
  EXPECT_EQ(reason([&] { put(store, "k", "v"); }), "store_denied");
}

// Requests to URLs by a client without keys.
class S3DirectTest : public S3ServerTest {
 protected:
  http::ClientResponse use(const std::string& method, const std::string& url,
                           const std::string& body = "") {
    return client_->send({.method = method, .url = url, .body = body}, 1 << 20);
  }
  std::string part_etag(const blob::DirectPart& part, const std::string& bytes) {
    const auto answer = use("PUT", direct().url_to_write_part(part, now()), bytes);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return blob::unquoted_etag(answer.headers.get("ETag"));
  }
  std::string read_all(const std::string& key) { return get(store_, key).value_or("<absent>"); }
  static blob::UrlTerms now() { return {SystemClock().now(), std::chrono::minutes(15)}; }
  blob::DirectAccess& direct() { return *store_.direct(); }

  const std::string key_ = "data/a b+/\xc3\xa4%&=x";
};

TEST_F(S3DirectTest, UrlIsValidForOneObjectMethodAndTimeOnly) {
  EXPECT_EQ(use("PUT", direct().url_to_write(key_, now()), "hello").status, 200);
  EXPECT_EQ(read_all(key_), "hello");
  const std::string url =
      direct().url_to_read({.key = key_, .content_type = "text/x; charset=utf-8"}, now());
  const http::ClientResponse read = use("GET", url);
  EXPECT_EQ(read.status, 200) << read.body;
  EXPECT_EQ(read.body, "hello");
  EXPECT_EQ(read.headers.get("Content-Type"), "text/x; charset=utf-8");
  EXPECT_EQ(use("PUT", url, "x").status, 403);
  std::string elsewhere = url;
  elsewhere.replace(elsewhere.find("/data/"), 6, "/dbta/");
  EXPECT_EQ(use("GET", elsewhere).status, 403);
  const blob::UrlTerms past{SystemClock().now() - std::chrono::minutes(2), std::chrono::minutes(1)};
  EXPECT_EQ(use("GET", direct().url_to_read({.key = key_}, past)).status, 403);
  EXPECT_EQ(read_all(key_), "hello");
}

TEST_F(S3DirectTest, PartThatIsDamagedInTransitIsSentAgain) {
  FaultyClient faulty(*client_);
  blob::S3Store store(options_, faulty);
  const std::string id = direct().begin_upload(key_);
  const std::string bytes = patterned_bytes(12'000'000);  // more than the signature includes
  faulty.damage_bodies(1);
  const std::string etag = store.direct()->put_part({key_, id, 1}, bytes);
  const std::vector<blob::SentPart> parts{{1, etag}};
  direct().complete_upload(key_, id, parts);
  EXPECT_TRUE(read_all(key_) == bytes);
}

TEST_F(S3DirectTest, UrlsIncludeTheStoresPrefix) {
  blob::S3Options below = options_;
  below.prefix = "some/ +dir/";
  blob::S3Store store(below, *client_);
  EXPECT_EQ(use("PUT", store.direct()->url_to_write("k", now()), "v").status, 200);
  EXPECT_EQ(read_all("some/ +dir/k"), "v");
}

TEST_F(S3DirectTest, AWholeObjectComesWithItsDigests) {
  put(store_, key_, "123456789");
  const blob::WholeRead read = direct().open_whole(key_, 9, store_.stat(key_)->etag);
  ASSERT_EQ(read.digests.size(), 1u);
  // 0xe3069283: the check value of CRC-32C, which the store's own writer sends.
  EXPECT_EQ(read.digests[0].algorithm + read.digests[0].text, "crc32c4waSgw==");
  EXPECT_EQ(testing::read_to_end(*read.reader), "123456789");
}

TEST_F(S3DirectTest, PartsBecomeOneObject) {
  const std::string first = patterned_bytes(blob::kS3PartBytesMin);
  const std::string copied = patterned_bytes(blob::kS3PartBytesMin + 9).substr(9);
  put(store_, "source", "123456789" + copied + "behind");
  const std::string source_etag = store_.stat("source")->etag;
  const std::string id = direct().begin_upload(key_);
  std::vector<blob::SentPart> parts;
  parts.push_back({1, part_etag({key_, id, 1}, first)});
  parts.push_back({2, *direct().copy_part(
                          {key_, id, 2}, direct(),
                          {.key = "source", .range = {9, copied.size()}, .if_etag = source_etag})});
  parts.push_back({7, direct().put_part({key_, id, 7}, "end")});
  direct().complete_upload(key_, id, parts);
  EXPECT_EQ(read_all(key_), first + copied + "end");
  EXPECT_TRUE(store_.stat(key_)->etag.ends_with("-3")) << store_.stat(key_)->etag;
}

TEST_F(S3DirectTest, WrongPartsAreNamed) {
  const std::string id = direct().begin_upload(key_);
  const std::string etag = part_etag({key_, id, 1}, "small");
  const std::string second = part_etag({key_, id, 2}, "end");
  const auto completing = [&](std::vector<blob::SentPart> parts) {
    return reason([&] { direct().complete_upload(key_, id, parts); });
  };
  EXPECT_EQ(completing({{1, second}}), "invalid_part");
  EXPECT_EQ(completing({{3, etag}}), "invalid_part");
  EXPECT_EQ(completing({{1, "a<b"}}), "invalid_part");
  EXPECT_EQ(completing({{1, etag}, {2, second}}), "entity_too_small");
  EXPECT_EQ(read_all(key_), "<absent>");
}

TEST_F(S3DirectTest, AnEndedUploadTakesNothing) {
  const std::string id = direct().begin_upload(key_);
  const std::string url = direct().url_to_write_part({key_, id, 1}, now());
  direct().abort_upload(key_, id);
  direct().abort_upload(key_, id);
  EXPECT_EQ(use("PUT", url, "x").status, 404);
  EXPECT_EQ(reason([&] { direct().put_part({key_, id, 1}, "x"); }), "no_such_upload");
  const std::vector<blob::SentPart> parts = {{1, "0123"}};
  EXPECT_EQ(reason([&] { direct().complete_upload(key_, id, parts); }), "no_such_upload");
  put(store_, "source", "x");
  EXPECT_EQ(reason([&] {
              direct().copy_part({key_, id, 1}, direct(), {.key = "source", .range = {0, 1}});
            }),
            "no_such_upload");
}

TEST_F(S3DirectTest, PartIsCopiedOnlyFromAnUnchangedSourceInTheSameStore) {
  put(store_, "source", "now");
  const std::string id = direct().begin_upload(key_);
  EXPECT_EQ(reason([&] {
              direct().copy_part({key_, id, 1}, direct(),
                                 {.key = "source", .range = {0, 3}, .if_etag = "0123"});
            }),
            "source_changed");
  blob::S3Options other = options_;
  other.region = "elsewhere";
  blob::S3Store elsewhere(other, *client_);
  EXPECT_EQ(
      direct().copy_part({key_, id, 1}, *elsewhere.direct(), {.key = "source", .range = {0, 3}}),
      std::nullopt);
}

}  // namespace
}  // namespace tarn::testing
