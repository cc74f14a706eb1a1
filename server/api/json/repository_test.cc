#include "server/api/json/repository.h"

#include <gtest/gtest.h>

#include "server/api/json/codec_fixture.h"

namespace tarn::api::json {
namespace {

TEST(RepositoryBody, NeverLeavesTheStorageIdOut) {
  Repository repository;
  repository.name = RepositoryName("lake");
  repository.storage_namespace = "local://lake";
  repository.default_branch = BranchName("main");
  repository.created = from_millis(1'700'000'000'000);
  EXPECT_EQ(
      repository_body(repository),
      R"({"creation_date":1700000000,"default_branch":"main","id":"lake","read_only":false,"storage_id":"",)"
      R"("storage_namespace":"local://lake"})"
      "\n");
}

TEST(CreateRepositoryBody, ChecksNameAndScheme) {
  const auto ok = parsed(parse_create_repository,
                         R"({"name":"lake","storage_namespace":"s3://b/p","read_only":true})");
  EXPECT_EQ(ok.name.str(), "lake");
  EXPECT_TRUE(ok.read_only);
  EXPECT_EQ(ok.default_branch, "");
  EXPECT_TRUE(ok.strict_paths) << "unless the client says otherwise";
  EXPECT_FALSE(parsed(parse_create_repository,
                      R"({"name":"lake","storage_namespace":"s3://b/p","paths":"any"})")
                   .strict_paths);
  EXPECT_NE(failure(parse_create_repository,
                    R"({"name":"lake","storage_namespace":"s3://b/p","paths":"lax"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"A_b","storage_namespace":"s3://b/p"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"ab","storage_namespace":"s3://b/p"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"lake","storage_namespace":"ftp://b/p"})"),
            "");
  EXPECT_NE(failure(parse_create_repository, R"({"name":"lake"})"), "");
}

}  // namespace
}  // namespace tarn::api::json
