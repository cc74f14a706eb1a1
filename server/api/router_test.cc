#include "server/api/router.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api {
namespace {

std::string found(Method method, std::string_view path) {
  static const Router router(routes());
  const Router::Match match = router.find(method, path);
  if (match.route == nullptr) return "none";
  std::string out(match.route->operation);
  for (size_t i = 0; i < match.values.count; ++i) {
    out += " " + std::string(match.values.names[i]) + "=" + match.values.values[i];
  }
  return out;
}

std::string failure_of(Method method, std::string_view path) {
  try {
    return found(method, path);
  } catch (const Error& error) {
    return error.message();
  }
}

std::string failure(std::string_view path) { return failure_of(Method::kGet, path); }

TEST(Router, ExtractsPathParameters) {
  EXPECT_EQ(found(Method::kGet, "/repositories/lake"), "getRepository repository=lake");
  EXPECT_EQ(found(Method::kPost, "/repositories/lake/refs/dev/merge/main"),
            "mergeIntoBranch repository=lake sourceRef=dev destinationBranch=main");
  EXPECT_EQ(found(Method::kPut, "/repositories/l/branches/b/staging/pmpu/u/parts/3/copy"),
            "uploadPartCopy repository=l branch=b uploadId=u partNumber=3");
}

TEST(Router, PrefersALiteralToAParameter) {
  EXPECT_EQ(found(Method::kPut, "/repositories/lake/refs/dump"), "dumpRefs repository=lake");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/metadata/range/r"),
            "getRange repository=lake range=r");
}

TEST(Router, MatchesAVerbAfterAValue) {
  EXPECT_EQ(found(Method::kPost, "/repositories/lake/aliases/champion:set"),
            "setAlias repository=lake alias=champion");
  EXPECT_EQ(found(Method::kPost, "/repositories/lake/aliases/a%3Aset:set"),
            "setAlias repository=lake alias=a:set");
  EXPECT_EQ(found(Method::kPost, "/repositories/lake/aliases/a:b:set"),
            "setAlias repository=lake alias=a:b");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/aliases/a%3Aset"),
            "getAlias repository=lake alias=a:set");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/aliases/a:other"),
            "getAlias repository=lake alias=a:other");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/aliases/a/history"),
            "listAliasChanges repository=lake alias=a");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/aliases/a:set"), "none");
  EXPECT_EQ(found(Method::kPost, "/repositories/lake/aliases/a:set/history"), "none");
  EXPECT_EQ(found(Method::kPost, "/repositories/lake/aliases/champion"), "none");
}

TEST(Router, DecodesEachSegmentOnceAfterSplitting) {
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/commits/main%7E1%5E2"),
            "getCommit repository=lake commitId=main~1^2");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/commits/a%2Fb"),
            "getCommit repository=lake commitId=a/b");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/commits/a%252Fb"),
            "getCommit repository=lake commitId=a%2Fb");
  EXPECT_EQ(found(Method::kGet, "/repositories/lake/commits/a+b"),
            "getCommit repository=lake commitId=a+b");
}

TEST(Router, RefusesOtherPathsAndMethods) {
  for (const char* path :
       {"", "/", "/nope", "/repositories/", "/repositories/lake/", "/repositories/lake/nope",
        "//repositories", "/repositories/lake/branches/b/staging/pmpu/"}) {
    EXPECT_EQ(found(Method::kGet, path), "none") << path;
  }
  EXPECT_EQ(found(Method::kPatch, "/repositories/lake"), "none");
  EXPECT_EQ(found(Method::kHead, "/repositories/lake"), "none");
}

TEST(Router, RefusesBrokenParameters) {
  EXPECT_EQ(failure("/repositories/lake/refs//objects"),
            "parameter \"ref\" in path has an error: empty value is not allowed");
  EXPECT_EQ(failure("/repositories/lake/commits/%zz"),
            "parameter \"commitId\" in path has an error: is not percent-encoded");
  EXPECT_EQ(failure("/repositories/lake/commits/%00"),
            "parameter \"commitId\" in path has an error: holds a NUL byte");
  EXPECT_EQ(failure("/repositories/lake/commits/%ff"),
            "parameter \"commitId\" in path has an error: is not UTF-8");
  EXPECT_EQ(failure_of(Method::kPost, "/repositories/lake/aliases/:set"),
            "parameter \"alias\" in path has an error: empty value is not allowed");
}

}  // namespace
}  // namespace tarn::api
