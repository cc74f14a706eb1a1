// Where imports may read from.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/blob/local_store.h"
#include "core/imports/import.h"
#include "core/imports/import_verify.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/postgres_test.h"
#include "tests/support/repository_test.h"
#include "tests/support/temporary_directory.h"

namespace tarn::imports {
namespace {

// Compared by whole directories, "vic-1" read what the repository at "vic-12" keeps.
TEST(ImportSources, CannotReadANamespace) {
  const testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  const testing::TestRepository repo = engine.make_repository("lake");
  static constexpr db::Query kMove{"test_move_namespace",
                                   "UPDATE repositories SET storage_namespace = $1"};
  const auto reason = [&](const std::string& url, ImportPath::Kind kind) {
    ImportRequest request;
    request.paths = {{kind, url, "x/"}};
    return testing::reason_of([&] { start_import(*engine, repo, BranchName("main"), request); });
  };
  struct Source {
    std::string url;
    bool prefix;  ///< refused as a prefix
    bool object;  ///< refused as one object
  };
  engine.pool.run(kMove, {"s3://bucket/team/vic-12"}, db::Pool::Retry::kWrite);
  for (const Source& source : std::vector<Source>{{"s3://bucket", true, true},
                                                  {"s3://bucket/", true, false},
                                                  {"s3://bucket/t", true, false},
                                                  {"s3://bucket/team", true, true},
                                                  {"s3://bucket/team/", true, false},
                                                  {"s3://bucket/team/vic-1", true, false},
                                                  {"s3://bucket/team/vic-12", true, true},
                                                  {"s3://bucket/team/vic-12/", true, true},
                                                  {"s3://bucket/team/vic-12//", true, true},
                                                  {"s3://bucket//team/vic-1", true, false},
                                                  {"s3://bucket/team//vic-12/data/a", true, true},
                                                  {"s3://bucket/team/vic-12/data/a", true, true},
                                                  {"s3://bucket/team/vic-123", false, false},
                                                  {"s3://bucket/team/vic-1/", false, false},
                                                  {"s3://bucket/team/VIC-12/", false, false},
                                                  {"s3://bucket/team/%76ic-12/", false, false},
                                                  {"s3://buck", false, false},
                                                  {"s3://bucket-2", false, false}}) {
    EXPECT_EQ(reason(source.url, ImportPath::Kind::kPrefix),
              source.prefix ? "invalid_import_source" : "done")
        << source.url;
    EXPECT_EQ(reason(source.url, ImportPath::Kind::kObject),
              source.object ? "invalid_import_source" : "done")
        << source.url;
  }
  engine.pool.run(kMove, {"local://lake"}, db::Pool::Retry::kWrite);
  for (const char* url :
       {"local://lake", "local://lak", "local://l", "local://", "local://other"}) {
    EXPECT_EQ(reason(url, ImportPath::Kind::kPrefix), "invalid_import_source") << url;
  }
}

using GoneSources = testing::RepositoryTest;

TEST_F(GoneSources, VerificationNamesAnUnreadableSource) {
  const testing::TemporaryDirectory place;
  const std::string root = place / "photos";
  std::filesystem::create_directories(root + "/set");
  std::ofstream(root + "/set/1") << "x";
  engine.stores.add_import_root(root, blob::LocalStore::open(root, blob::LocalMode::kImportRoot));
  ImportRequest request;
  request.paths = {{ImportPath::Kind::kPrefix, "local://" + root + "/set/", "raw"}};
  start_import(*engine, repo, BranchName("main"), request);
  ASSERT_TRUE(run_one_import(*engine, {}));
  ASSERT_NE(engine.keys(repo, "main"), "");
  std::filesystem::remove_all(root);
  try {
    verify_import(*engine, repo, "main", {});
    FAIL() << "a root that was removed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPreconditionFailed);
    EXPECT_EQ(error.reason(), "source_not_readable");
    EXPECT_NE(error.message().find("local://" + root + "/set/1"), std::string::npos);
    EXPECT_NE(error.message().find("restart the server"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace tarn::imports
