// The operation getUsage: its answers, and who may ask for which.
#include <gtest/gtest.h>

#include "core/accounting/usage_history.h"
#include "server/api/api_fixture.h"
#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

class Usage : public ApiTest {
 protected:
  Usage() {
    engine.put(repo, "main", "a/1", "12345");
    engine.put(repo, "main", "a/2", "123");
    engine.put(repo, "main", "top", "1");
    engine.commit(repo, "main");
    engine.branch(repo, "dev", "main");
    engine.put(repo, "dev", "a/2", "1234");
  }
  std::string usage(const std::string& query) {
    const http::Response response = get(here + "/usage?" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    return response.body;
  }
};

TEST_F(Usage, OfARefCountsUncommittedChanges) {
  EXPECT_NE(usage("ref=main").find(R"("logical":{"objects":3,"bytes":9})"), std::string::npos);
  EXPECT_NE(usage("ref=dev").find(R"("logical":{"objects":3,"bytes":10})"), std::string::npos);
  EXPECT_NE(usage("ref=dev%40").find(R"("logical":{"objects":3,"bytes":9})"), std::string::npos);
  EXPECT_NE(usage("ref=dev&prefix=a/").find(R"("logical":{"objects":2,"bytes":9})"),
            std::string::npos);
  EXPECT_EQ(usage("ref=dev").find("stored"), std::string::npos);
}

TEST_F(Usage, OfARepositoryListsItsBranchesInPages) {
  EXPECT_NE(
      usage("").find(R"("results":[{"path":"dev","path_type":"branch","objects":3,"bytes":10},)"
                     R"({"path":"main","path_type":"branch","objects":3,"bytes":9}])"),
      std::string::npos);
  const std::string second = usage("amount=1&after=dev");
  EXPECT_EQ(second.find("dev"), std::string::npos) << second;
  EXPECT_NE(second.find(R"("path":"main")"), std::string::npos) << second;
}

TEST_F(Usage, HasAnItemForEachFirstLevelPrefix) {
  const std::string all = usage("ref=dev&depth=1");
  EXPECT_NE(
      all.find(R"("results":[{"path":"a/","path_type":"common_prefix","objects":2,"bytes":9},)"
               R"({"path":"top","path_type":"object","objects":1,"bytes":1}])"),
      std::string::npos)
      << all;
  const std::string page = usage("ref=dev&depth=1&amount=1");
  EXPECT_NE(page.find(R"("has_more":true)"), std::string::npos) << page;
  EXPECT_NE(page.find(R"("next_offset":"a/")"), std::string::npos) << page;
}

TEST_F(Usage, IsExactOnRequest) {
  const std::string exact = usage("ref=dev&exact=true");
  EXPECT_NE(exact.find(R"("own":{"objects":3,"bytes":10},"shared":{"objects":2,"bytes":6})"),
            std::string::npos)
      << exact;
  EXPECT_NE(exact.find(R"("freed":{"objects":1,"bytes":4})"), std::string::npos) << exact;
  EXPECT_NE(usage("exact=true").find(R"("own":{"objects":4,"bytes":13})"), std::string::npos);
}

TEST_F(Usage, ContinuesInTheBackgroundWhereTheClientPrefersIt) {
  Sent sent{.path = here + "/usage?ref=dev&exact=true"};
  sent.headers.add("Prefer", "wait=30");
  const http::Response response = send(std::move(sent));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.get("Preference-Applied"), "wait=30");
  EXPECT_NE(response.body.find("freed"), std::string::npos) << response.body;
}

TEST_F(Usage, RefusesWhatMeansNothing) {
  EXPECT_EQ(get(here + "/usage?ref=nowhere").status, 404);
  EXPECT_EQ(get(here + "/usage?ref=nowhere&exact=1").status, 404);
  EXPECT_EQ(get(here + "/usage?prefix=a/").status, 400);
  EXPECT_EQ(get(here + "/usage?ref=main&depth=2").status, 400);
  EXPECT_EQ(get("/repositories/no-such-lake/usage").status, 404);
}

TEST_F(Usage, HasAHistoryByDay) {
  EXPECT_NE(get(here + "/usage/history").body.find(R"("results":[])"), std::string::npos);
  while (accounting::measure_usage_of_today(*engine, {})) {
  }
  const std::string body = get(here + "/usage/history").body;
  EXPECT_NE(body.find(R"("objects":3,"bytes":9)"), std::string::npos) << body;
  EXPECT_EQ(get(here + "/usage/history?after=today").status, 400);
}

class UsageRights : public Authorisation {
 protected:
  UsageRights() {
    engine.make_repository("data");
    engine.put(RepositoryName("data"), "main", "secret/a", "12345");
    engine.branch(RepositoryName("data"), "topic", "main");
  }
  static auth::Statement listing(std::string_view resource) {
    return {auth::Statement::Effect::kAllow, {"fs:ListObjects"}, {arn_of(resource)}, {}};
  }
  int status(const std::string& query, const Statements& statements) {
    return ask({"getUsage", query, "", {}}, statements).status;
  }
};

TEST_F(UsageRights, SizesNeedTheRightToListTheirRef) {
  const Statements topic = {listing("repository/data/ref/topic")};
  EXPECT_EQ(status("ref=topic", topic), 200);
  EXPECT_EQ(status("ref=topic&prefix=secret/&depth=1", topic), 200);
  for (const char* query : {"ref=main", "ref=main&prefix=secret/", "ref=topic~1", "ref=%40best",
                            "ref=main%40", "", "exact=true"}) {
    expect_refused({"getUsage", query, "", {}}, topic, query);
  }
}

TEST_F(UsageRights, ExactSizesNeedTheRightToListTheRepository) {
  const Statements topic = {listing("repository/data/ref/topic")};
  for (const char* query : {"ref=topic&exact=true", "ref=topic&exact=1&prefix=secret/"}) {
    expect_refused({"getUsage", query, "", {}}, topic, query);
  }
  expect_refused({"listUsageHistory", "", "", {}}, topic, "of the default branch");
  Statements all = {listing("repository/data")};
  EXPECT_EQ(status("ref=topic&exact=true", all), 200);
  EXPECT_EQ(status("ref=main", all), 200);
  expect_refused({"getUsage", "exact=true", "", {}}, all, "names of branches");
  all.push_back(
      {auth::Statement::Effect::kAllow, {"fs:ListBranches"}, {arn_of("repository/data")}, {}});
  EXPECT_EQ(status("exact=true", all), 200);
}

}  // namespace
}  // namespace tarn::api
