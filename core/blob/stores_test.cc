#include "core/blob/stores.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/memory_store_fixture.h"

namespace tarn::blob {
namespace {

class StoresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    local_ = add(stores_, [&](auto store) { stores_.set_local_root(std::move(store)); });
    imports_ =
        add(stores_, [&](auto store) { stores_.add_import_root("/data/in", std::move(store)); });
    stores_.add_s3({"named"}, [&](const std::string& bucket) { return made("named:" + bucket); });
    stores_.add_s3({}, [&](const std::string& bucket) { return made("any:" + bucket); });
  }
  template <typename Give>
  static BlobStore* add(Stores&, const Give& give) {
    auto store = std::make_unique<MemoryStore>();
    BlobStore* const raw = store.get();
    give(std::move(store));
    return raw;
  }
  std::unique_ptr<BlobStore> made(const std::string& what) {
    made_ += what + " ";
    return std::make_unique<MemoryStore>();
  }
  std::string reason(const std::string& url) {
    try {
      stores_.locate(url);
    } catch (const Error& error) {
      return std::string(error.reason());
    }
    return "";
  }
  std::string namespace_reason(const std::string& url) {
    try {
      stores_.check_namespace(url);
    } catch (const Error& error) {
      return std::string(error.reason());
    }
    return "";
  }

  Stores stores_;
  BlobStore* local_ = nullptr;
  BlobStore* imports_ = nullptr;
  std::string made_;
};

TEST_F(StoresTest, FindsTheStoreAndTheKeyInIt) {
  EXPECT_EQ(stores_.locate("local://repo/data/k").store, local_);
  EXPECT_EQ(stores_.locate("local://repo/data/k").key, "repo/data/k");
  EXPECT_EQ(stores_.locate("local:///data/in/a b/c").store, imports_);
  EXPECT_EQ(stores_.locate("local:///data/in/a b/c").key, "a b/c");
  EXPECT_EQ(stores_.locate("local:///data/in").key, "");
  EXPECT_EQ(stores_.locate("s3://bucket/some//key/../x").key, "some//key/../x");
  EXPECT_EQ(stores_.locate("s3://bucket").key, "");
}

TEST_F(StoresTest, MakesTheStoreOfABucketOnce) {
  BlobStore* const first = stores_.locate("s3://named/k").store;
  EXPECT_EQ(stores_.locate("s3://named/k2").store, first);
  EXPECT_NE(stores_.locate("s3://other/k").store, first);
  EXPECT_EQ(made_, "named:named any:other ");
}

TEST_F(StoresTest, KeepsLocalPathsInsideTheirRoots) {
  for (const char* url : {"local:///data/inside", "local:///data/in-2/k", "local:///data",
                          "local:///etc/passwd", "local:///"}) {
    EXPECT_EQ(reason(url), "forbidden_path") << url;
  }
  for (const char* url :
       {"local:///data/in/../secret", "local:///data/in/a/..", "local:///data/in//a",
        "local:///data/./in/a", "local://repo/../../etc", "local://../x", "local://"}) {
    EXPECT_EQ(reason(url), "invalid_argument") << url;
  }
  EXPECT_EQ(reason(std::string("local://a\0b", 11)), "invalid_argument");
}

TEST_F(StoresTest, RefusesUnknownSchemesAndBuckets) {
  EXPECT_EQ(reason("gs://bucket/k"), "invalid_argument");
  EXPECT_EQ(reason("s3://"), "invalid_argument");
  EXPECT_EQ(reason("/data/in/k"), "invalid_argument");
  EXPECT_EQ(reason("local://" + std::string(5000, 'k')), "invalid_argument");
}

TEST_F(StoresTest, NamespacesAreBelowTheLocalRootOrInABucket) {
  EXPECT_EQ(stores_.check_namespace("local://repo//"), "local://repo");
  EXPECT_EQ(stores_.check_namespace("s3://bucket/prefix/"), "s3://bucket/prefix");
  for (const char* url : {"local:///data/in/x", "local://", "local://a/../b", "local://.hidden",
                          "s3://a//b", "gs://b", "", "s3:/"}) {
    EXPECT_EQ(namespace_reason(url), "invalid_argument") << url;
  }
}

}  // namespace
}  // namespace tarn::blob
