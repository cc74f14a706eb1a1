// The contract on the stores that need nothing but memory and a directory.
#include "core/blob/local_store.h"
#include "tests/contract/blob_store_contract.h"
#include "tests/support/memory_store_fixture.h"
#include "tests/support/temporary_directory.h"

namespace tarn::testing {
namespace {

class MemoryUnderTest final : public StoreUnderTest {
 public:
  blob::BlobStore& store() override { return store_; }

 private:
  blob::MemoryStore store_;
};

class LocalUnderTest final : public StoreUnderTest {
 public:
  blob::BlobStore& store() override { return *store_; }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<blob::LocalStore> store_ =
      blob::LocalStore::open(directory_ / "root", blob::LocalMode::kObjects);
};

INSTANTIATE_TEST_SUITE_P(
    Stores, BlobStoreContract,
    ::testing::Values(
        BlobStoreCase{"memory", {}, [] { return std::make_unique<MemoryUnderTest>(); }},
        BlobStoreCase{"local",
                      {.pathless_keys = PathlessKeys::kRefused, .holds_key_below_key = false},
                      [] { return std::make_unique<LocalUnderTest>(); }}),
    name_of_case);

}  // namespace
}  // namespace tarn::testing
