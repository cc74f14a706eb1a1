// Operations that put what one ref holds onto another, asked by callers whose policies let them
// read some refs only.
#include <gtest/gtest.h>

#include "core/branch/refs.h"
#include "core/versioning/pull_requests.h"
#include "server/api/authorisation_fixture.h"
#include "server/api/json/commit.h"

namespace tarn::api {
namespace {

class Refs : public Authorisation {
 protected:
  Refs() {
    for (const char* branch : {"topic", "target", "secret"}) engine.branch(data, branch, "main");
    engine.put(data, "secret", "a", "secret");
    hidden = to_text(engine.commit(data, "secret").id);
    engine.put(data, "topic", "b", "topic");
    engine.commit(data, "topic");
  }

  /// May change everything and read what is below these refs.
  static Statements reading(const std::vector<std::string>& refs) {
    Statements out = {{auth::Statement::Effect::kAllow,
                       {"fs:Create*", "fs:Revert*", "fs:SetAlias", "fs:ReadCommit", "fs:Promote",
                        "fs:ReadPromotion", "pr:*"},
                       {"*"},
                       {}}};
    for (const std::string& ref : refs) {
      out.push_back({auth::Statement::Effect::kAllow,
                     {"fs:ReadObject", "fs:ListObjects"},
                     {arn_of("repository/data/ref/" + ref)},
                     {}});
    }
    return out;
  }

  /// `row` puts what `source` holds onto `destination`.
  void expect_asks_about_source(const Row& row, const std::string& source,
                                const std::string& destination) {
    expect_refused(row, reading({destination + "*"}), source);
    const auth::Statement denied{auth::Statement::Effect::kDeny,
                                 {"fs:ReadObject"},
                                 {arn_of("repository/data/ref/" + source + "/*")},
                                 {}};
    expect_refused(row, {kEverything, denied}, source);
    expect_let_in(row, reading({}), "nothing can be read there");
    expect_let_in(row, reading({"other*"}), "nothing can be read there");
    expect_let_in(row, reading({destination + "*", source + "*"}), "both can be read");
    expect_let_in(row, {kEverything}, "everything can be read");
  }

  const testing::TestRepository data = engine.make_repository("data");
  std::string hidden;  ///< the commit of secret
};

// Verified by mutation: without asking about the source: what a policy kept the caller from reading
// was read on a ref that it let them read.
TEST_F(Refs, ANewBranchNeedsTheRightToReadItsSource) {
  expect_asks_about_source({"createBranch", "", R"({"name":"main-1","source":"secret"})", {}},
                           "secret", "main");
  // In every form of its name.
  for (const std::string& source :
       {hidden, hidden.substr(0, 12), std::string("secret~0"), std::string("secret@")}) {
    const std::string body = R"({"name":"main-2","source":")" + source + "\"}";
    expect_refused({"createBranch", "", body, {}}, reading({"main*"}), source);
  }
}

TEST_F(Refs, ANewTagNeedsTheRightToReadWhatItNames) {
  expect_asks_about_source({"createTag", "", R"({"id":"main-1","ref":"secret"})", {}}, "secret",
                           "main");
}

TEST_F(Refs, AnAliasNeedsTheRightToReadWhereItIsSet) {
  expect_asks_about_source({"setAlias", "", R"({"to":"secret"})", {}}, "secret", "@champion");
}

TEST_F(Refs, AMergeNeedsTheRightToReadItsSource) {
  expect_asks_about_source({"mergeIntoBranch", "", "", {}}, "topic", "target");
}

TEST_F(Refs, AMergedPullRequestNeedsTheRightToReadItsSource) {
  names["pull_request"] = versioning::create_pull_request(*engine, data,
                                                          {.title = "t",
                                                           .author = "ann",
                                                           .source = BranchName("secret"),
                                                           .destination = BranchName("target")})
                              .id;
  expect_asks_about_source({"mergePullRequest", "", "", {}}, "secret", "target");
}

// It may name files whose numbers the caller could not read.
TEST_F(Refs, JudgingByADocumentNeedsTheRightToSetPolicies) {
  const Row row{
      "evaluateGatePolicy", "", R"({"candidates":["topic"],"document":"destination: main"})", {}};
  const auth::Statement denied{
      auth::Statement::Effect::kDeny, {"branches:SetGatePolicy"}, {"*"}, {}};
  EXPECT_EQ(ask(row, {kEverything, denied}).status, 401);
  EXPECT_EQ(ask(row, {kEverything}).status, 200);
}

TEST_F(Refs, CopyingOntoABranchNeedsTheRightToReadTheSource) {
  expect_asks_about_source({"cherryPick", "", R"({"ref":"secret"})", {}}, "secret", "topic");
  expect_asks_about_source({"revertBranch", "", R"({"ref":"secret","parent_number":0})", {}},
                           "secret", "topic");
  expect_asks_about_source({"hardResetBranch", "ref=secret", "", {}}, "secret", "topic");
}

TEST_F(Refs, TheParentsOfACommitNeedTheRightToReadThem) {
  expect_asks_about_source(
      {"commit", "", R"({"message":"m","allow_empty":true,"parents":["topic","secret"]})", {}},
      "secret", "topic");
}

// No ref names a tree, so that it may be any.
TEST_F(Refs, ACommitOfATreeNeedsTheRightToReadAllRefs) {
  const std::string query =
      "source_metarange=" + json::metarange_id(branch::resolve_commit(*engine, data, hidden).root);
  const Row row{"commit", query, R"({"message":"m"})", {}};
  expect_refused(row, reading({"topic*"}), "its own");
  expect_refused(row, reading({"topic*", "secret*"}), "two");
  expect_let_in(row, reading({"other*"}), "nothing can be read there");
  expect_let_in(row, reading({"topic/*", "*"}), "all");
  expect_let_in(row, {kEverything}, "everything");
}

// The branches of a glob are found later, and the gate says which alias and tag follow.
TEST_F(Refs, APromotionNeedsTheRightToReadItsCandidates) {
  const auto asked = [](std::string_view candidates) {
    return R"({"destination":"target","candidates":[)" + std::string(candidates) + "]}";
  };
  const std::string one = asked(R"("topic","secret")");
  const std::string glob = asked(R"("topic","s*")");
  const std::string braces = asked(R"("{secret,s-topic}")");
  for (const std::string& body : {one, glob, braces}) {
    const Row row{"createPromotion", "", body, {}};
    expect_refused(row, reading({"target*", "topic*"}), body);
    expect_refused(row, reading({"@champion*"}), body);
    expect_let_in(row, reading({}), body);
    expect_let_in(row, reading({"*"}), body);
    expect_let_in(row, {kEverything}, body);
  }
  expect_let_in({"createPromotion", "", one, {}}, reading({"topic*", "secret*"}), "both");
  expect_let_in({"createPromotion", "", glob, {}}, reading({"topic*", "s*"}), "more");
  expect_refused({"createPromotion", "", glob, {}}, reading({"topic*", "secret*"}), "not all");
  expect_refused({"createPromotion", "", braces, {}}, reading({"*topic*"}), "not all");
}

// Policies that leave refs out hold on every ref.
TEST_F(Refs, PoliciesThatNameNoRefAskForNothingMore) {
  const Row row{"mergeIntoBranch", "", "", {}};
  for (const char* resource : {"repository/data/object/a/*", "repository/*/object/a/*",
                               "repository/*/object/*", "repository/data/*", "*"}) {
    Statements statements = reading({});
    for (const auto effect : {auth::Statement::Effect::kAllow, auth::Statement::Effect::kDeny}) {
      statements.push_back({effect, {"fs:ReadObject"}, {arn_of(resource)}, {}});
      expect_let_in(row, statements, resource);
    }
  }
}

}  // namespace
}  // namespace tarn::api
