// Tests of ranges and metaranges over REST: location, bytes, and permissions.
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/versioning/metadata_files.h"
#include "server/api/authorisation_fixture.h"
#include "server/api/json/commit.h"

namespace tarn::api {
namespace {

std::string body_of(const http::Response& response) {
  if (!response.source) return response.body;
  std::string out;
  char buffer[4096];
  while (const size_t got = response.source->read(buffer)) out.append(buffer, got);
  return out;
}

class MetadataFilesApi : public ApiTest {
 protected:
  MetadataFilesApi() {
    engine.put(repo, "main", "a", "bytes");
    engine.commit(repo, "main");
    // A tree of one leaf: its only range has the same hash.
    id = json::metarange_id(branch::resolve_commit(*engine, repo, "main").root);
  }
  std::string id;
};

TEST_F(MetadataFilesApi, AreLocatedAndSent) {
  expect_message(get(here + "/metadata/range/" + id), 404, "range " + id + ": not found");
  for (const char* type : {"meta_range", "range"}) {
    const http::Response located = get(here + "/metadata/" + type + "/" + id);
    ASSERT_EQ(located.status, 200) << located.body;
    const std::string location(located.headers.get("Location"));
    EXPECT_TRUE(location.starts_with("_tarn/sstables/")) << location;
    EXPECT_EQ(located.body, "{\"location\":\"" + location + "\"}\n");
    const http::Response sent = get(here + "/metadata/object/" + type + "/" + id + "?presign=true");
    ASSERT_EQ(sent.status, 200) << sent.body;
    EXPECT_EQ(sent.headers.get("Content-Type"), "application/octet-stream");
    const std::string bytes = body_of(sent);
    EXPECT_EQ(bytes.size(), sent.content_length.value());
    const auto stat = engine.store->stat(repo.str() + "/" + location);
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->size_bytes, bytes.size());
    EXPECT_TRUE(bytes.ends_with("\xf7\xcf\xf4\x85\xb7\x41\xe2\x88"));
    EXPECT_NE(bytes.find(type == std::string_view("range") ? "ranges" : "metaranges"),
              std::string::npos);
  }
}

TEST_F(MetadataFilesApi, RefusesInvalidIds) {
  for (const std::string& bad :
       {std::string("x"), std::string(64, 'g'), std::string(64, '0'), "../" + id, id + "0",
        std::string(32, 'a') + std::string(32, 'b')}) {
    for (const char* path : {"/metadata/range/", "/metadata/meta_range/", "/metadata/object/range/",
                             "/metadata/object/meta_range/"}) {
      EXPECT_EQ(get(here + path + percent_encode(bad)).status, 404) << path << bad;
    }
  }
  EXPECT_EQ(get(here + "/metadata/object/commit/" + id).status, 400);
  EXPECT_EQ(get("/repositories/absent/metadata/range/" + id).status, 404);
  EXPECT_EQ(get(here + "/metadata/object/range/" + id + "?presign=perhaps").status, 400);
}

/// Rights to the metarange of "topic", which needs reading every object of the repository.
class MetadataFilesRights : public Authorisation {
 protected:
  MetadataFilesRights() {
    engine.branch(data, "topic", "main");
    engine.put(data, "topic", "secret/salaries", "bytes");
    engine.commit(data, "topic");
    const TreeRoot root = branch::resolve_commit(*engine, data, "topic").root;
    id = json::metarange_id(root);
    for (const char* name : {"meta_range", "range", "object_id"}) names[name] = id;
    // The range is known from now on.
    versioning::metadata_file(*engine, data, versioning::SstableKind::kMetarange, root.hash);
  }

  void expect_hidden(const Statements& statements, std::string_view why) {
    for (const std::string_view operation : kOperations)
      expect_refused({operation, "", "", {}}, statements, why);
  }

  static constexpr std::string_view kOperations[] = {"getMetaRange", "getRange",
                                                     "getMetadataObject"};
  static auth::Statement allow(std::vector<std::string> actions,
                               std::vector<std::string> resources) {
    for (std::string& resource : resources) resource = arn_of(resource);
    return {auth::Statement::Effect::kAllow, std::move(actions), std::move(resources), {}};
  }
  static auth::Statement deny(std::string_view action, std::string_view resource) {
    return {auth::Statement::Effect::kDeny, {std::string(action)}, {arn_of(resource)}, {}};
  }

  testing::TestRepository data = engine.make_repository("data");
  std::string id;
};

// Verified by mutation: without asking about all objects: each of these callers read the path
// "secret/salaries".
TEST_F(MetadataFilesRights, PathsAreNotShownToThoseWhoMayNotReadThem) {
  const auth::Statement look = allow({"fs:ListObjects", "fs:ReadRepository"}, {"repository/data"});
  const auth::Statement all = allow({"fs:ReadObject"}, {"repository/data/object/*"});
  for (const std::string_view operation : kOperations) {
    const Row row{operation, "", "", {}};
    ASSERT_EQ(ask(row, {look, all}).status, 200) << operation;
    ASSERT_EQ(ask(row, {allow({"fs:*"}, {"repository/data*"})}).status, 200) << operation;
  }
  expect_hidden({look}, "no object");
  expect_hidden({look, allow({"fs:ReadObject"}, {"repository/data/object/public/*"})},
                "one folder");
  expect_hidden({look, allow({"fs:ReadObject"}, {"repository/data/ref/main/object/*"})}, "one ref");
  expect_hidden({look, all, deny("fs:ReadObject", "repository/data/object/secret/*")},
                "but one folder");
  expect_hidden({look, all, deny("fs:ReadObject", "repository/data/ref/topic/object/*")},
                "but one ref");
  expect_hidden({look, all, deny("fs:ListObjects", "repository/data/ref/topic")}, "not listed");
  expect_hidden({look, all, deny("fs:ListObjects", "repository/data/ref/t*")}, "not listed");
  expect_hidden({all, allow({"fs:ReadRepository"}, {"repository/data"}),
                 allow({"fs:ListObjects"}, {"repository/data/ref/main"})},
                "one ref is listed");
  expect_hidden({all, allow({"fs:ListObjects"}, {"repository/data"})}, "not the repository");
  expect_hidden({}, "nothing");
}

}  // namespace
}  // namespace tarn::api
