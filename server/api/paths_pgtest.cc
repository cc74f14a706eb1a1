// Paths that strict repositories refuse, over every operation that stores objects.
#include <set>

#include "core/auth/policy.h"
#include "core/branch/repositories.h"
#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out(text);
  for (size_t at = 0; (at = out.find(what, at)) != std::string::npos; at += by.size())
    out.replace(at, what.size(), by);
  return out;
}

class StrictPaths : public Authorisation {
 protected:
  StrictPaths() {
    store({kEverything});
    engine.put(repo, "main", "dir/a", "1");
    engine.put(repo, "main", "dir/../b", "1");
    engine.commit(repo, "main");
    for (const char* branch : {"topic", "target", "other"}) engine.branch(repo, branch, "main");
    engine.remove(repo, "topic", "dir/../b");
    branch::set_strict_paths(*engine, repo, true);
  }
  std::string reason(std::string_view operation, std::string_view query, std::string_view body) {
    const http::Response response = send({operation, query, body, {}}, api);
    return std::string(response.headers.get("X-Tarn-Error"));
  }
  bool stores_objects(const Row& row) {
    for (const Permission& need : row.needs) {
      if (need.action == "fs:WriteObject") return true;
    }
    return false;
  }

  testing::TestRepository repo = engine.make_repository("data");
};

TEST_F(StrictPaths, AreRefusedByEveryOperationThatStoresObjects) {
  // These store nothing at a path that the request names.
  const std::set<std::string_view> kNone = {"abortPresignMultipartUpload", "createSymlinkFile",
                                            "updateObjectUserMetadata"};
  size_t tried = 0;
  for (const Row& row : rows()) {
    if (!stores_objects(row) || kNone.contains(row.operation)) continue;
    ++tried;
    for (const std::string unplain : {"dir/../", "./dir/", "dir//", "/dir/"}) {
      EXPECT_EQ(reason(row.operation, replaced(row.query, "dir/", unplain),
                       replaced(row.body, "dir/", unplain)),
                "unplain_path")
          << row.operation << " " << unplain;
    }
    EXPECT_NE(reason(row.operation, row.query, row.body), "unplain_path") << row.operation;
  }
  EXPECT_GE(tried, 10u);
  branch::set_strict_paths(*engine, repo, false);
  EXPECT_NE(reason("copyObject", "dest_path=x/../y", R"({"src_path":"dir/a"})"), "unplain_path");
}

TEST_F(StrictPaths, AreRefusedBelowAPrefixThatIsMovedOrCheckedOut) {
  names["branch"] = "other";
  EXPECT_EQ(reason("moveObjects", "", R"({"src_prefix":"dir/","dest_prefix":"new/"})"),
            "unplain_path");
  names["branch"] = "topic";
  EXPECT_EQ(reason("checkoutPath", "", R"({"ref":"main","paths":["dir/**"]})"), "unplain_path");
  EXPECT_EQ(reason("checkoutPath", "", R"({"ref":"main","paths":["dir/a"]})"), "");
}

TEST_F(StrictPaths, StayWhereTheyAre) {
  names["branch"] = "main";
  EXPECT_EQ(reason("updateObjectUserMetadata", "path=dir/../b", R"({"set":{}})"), "");
  EXPECT_EQ(reason("copyObject", "dest_path=b", R"({"src_path":"dir/../b"})"), "");
  EXPECT_EQ(reason("deleteObject", "path=dir/../b", ""), "");
  engine.put(repo, "main", "a//b", "what S3 stores");
}

TEST_F(StrictPaths, AreRefusedInNewRepositoriesOfRest) {
  names["repository"] = "made";
  ASSERT_EQ(reason("createRepository", "", R"({"name":"made","storage_namespace":"local://made"})"),
            "");
  EXPECT_NE(send({"getPathSettings", "", "", {}}, api).body.find(R"("paths":"strict")"),
            std::string::npos);
  ASSERT_EQ(reason("setPathSettings", "", R"({"paths":"any"})"), "");
  EXPECT_NE(send({"getPathSettings", "", "", {}}, api).body.find(R"("paths":"any")"),
            std::string::npos);
  EXPECT_EQ(reason("setPathSettings", "", R"({"paths":"some"})"), "invalid_argument");
  names["repository"] = "lax";
  ASSERT_EQ(reason("createRepository", "",
                   R"({"name":"lax","storage_namespace":"local://lax","paths":"any"})"),
            "");
  EXPECT_NE(send({"getPathSettings", "", "", {}}, api).body.find(R"("paths":"any")"),
            std::string::npos);
}

}  // namespace
}  // namespace tarn::api
