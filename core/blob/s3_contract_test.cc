// The contract on an S3 server, as it is and with every n-th exchange failing.
#include <atomic>

#include "core/base/str_cat.h"
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
          .part_size_bytes = blob::kS3PartBytesMin,
          .backoff_first = std::chrono::milliseconds(1),
          .backoff_longest = std::chrono::milliseconds(10)};
}

void create_bucket(const blob::S3Options& options, http::Client& client) {
  const blob::S3Answer answer = blob::S3Bucket(options, client).send({.operation = "create_bucket", .method = "PUT"});
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

BlobStoreCase s3_case(std::string name, std::string prefix, uint64_t fail_every = 0, Fault fault = Fault::kFails) {
  return {.name = std::move(name),
          // This server keeps objects as files.
          .traits = {.pathless_keys = PathlessKeys::kServerDecides, .holds_key_below_key = false},
          .make = [prefix, fail_every, fault] { return std::make_unique<S3UnderTest>(prefix, fail_every, fault); }};
}

INSTANTIATE_TEST_SUITE_P(S3, BlobStoreContract,
                         ::testing::Values(s3_case("versitygw", ""), s3_case("versitygw_prefix", "some/ +dir/"),
                                           s3_case("versitygw_every_third_fails", "", 3),
                                           s3_case("versitygw_every_third_answer_lost", "", 3, Fault::kLosesAnswer)),
                         name_of_case);

}  // namespace
}  // namespace tarn::testing
