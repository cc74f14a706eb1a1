// Tests of operations that find their objects only while they run, by callers with limited access.
#include <gtest/gtest.h>

#include "core/branch/aliases.h"
#include "core/imports/refs_dump.h"
#include "core/promotion/gate_policies.h"
#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

// Verified by mutation: without asking about each object: the protected one was moved.
TEST_F(Authorisation, MoveOfAPrefixChecksEveryObjectBelowIt) {
  const auto data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  for (const char* path : {"dir/a/1", "dir/a/secret/2"}) engine.put(data, "topic", path, "x");
  const Row row{"moveObjects", "", R"({"src_prefix":"dir/a/","dest_prefix":"dir/b/"})", {}};
  for (const char* action : {"fs:DeleteObject", "fs:ReadObject", "fs:WriteObject"}) {
    const std::string hidden = action == std::string_view("fs:WriteObject") ? "b" : "a";
    const auth::Statement deny{auth::Statement::Effect::kDeny,
                               {action},
                               {arn_of("repository/data/object/dir/" + hidden + "/secret/*")},
                               {}};
    expect_refused(row, {kEverything, deny}, action);
    EXPECT_EQ(engine.keys(data, "topic"), "dir/a/1 dir/a/secret/2");
  }
  expect_let_in(row, {kEverything}, "everything");
  EXPECT_EQ(engine.keys(data, "topic"), "dir/b/1 dir/b/secret/2");
}

// Verified by mutation: without asking about each object: the hidden one was sent.
TEST_F(Authorisation, ArchiveOfAPrefixChecksEveryObjectBelowIt) {
  const auto data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  for (const char* path : {"dir/a/1", "dir/a/secret/2"}) engine.put(data, "topic", path, "x");
  const auth::Statement deny{auth::Statement::Effect::kDeny,
                             {"fs:ReadObject"},
                             {arn_of("repository/data/object/dir/a/secret/*")},
                             {}};
  for (const char* prefix : {"prefix=dir/", "prefix=", ""}) {
    expect_refused({"archivePrefix", prefix, "", {}}, {kEverything, deny}, prefix);
    expect_let_in({"archivePrefix", prefix, "", {}}, {kEverything}, prefix);
  }
  const auth::Statement list{
      auth::Statement::Effect::kAllow, {"fs:ListObjects"}, {arn_of("repository/data")}, {}};
  expect_refused({"archivePrefix", "prefix=dir/", "", {}}, {list}, "listing is not reading");
}

// Verified by mutation: without asking about each key: what was protected was replaced and deleted.
TEST_F(Authorisation, CheckoutChecksEveryObjectThatItChanges) {
  const auto data = engine.make_repository("data");
  engine.put(data, "main", "dir/secret/1", "of main");
  engine.commit(data, "main");
  engine.branch(data, "topic", "main");
  engine.put(data, "topic", "dir/secret/1", "of topic");
  engine.put(data, "topic", "dir/secret/2", "of topic");
  const Row row{"checkoutPath", "", R"({"ref":"main","paths":["dir/**"]})", {}};
  const auto denied = [](std::string action, std::string_view object) {
    return auth::Statement{auth::Statement::Effect::kDeny,
                           {std::move(action)},
                           {arn_of("repository/data/object/" + std::string(object))},
                           {}};
  };
  for (const auto& [action, object] :
       {std::pair{"fs:ReadObject", "dir/secret/1"}, std::pair{"fs:WriteObject", "dir/secret/1"},
        std::pair{"fs:DeleteObject", "dir/secret/2"}}) {
    expect_refused(row, {kEverything, denied(action, object)}, action);
    EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/1 dir/secret/2");
  }
  expect_let_in(row, {kEverything, denied("fs:DeleteObject", "dir/secret/1")}, "what is needed");
  EXPECT_EQ(engine.keys(data, "topic"), "dir/secret/1");
  EXPECT_EQ(engine.read(data, "topic", "dir/secret/1"), "of main");
}

// Verified by mutation: without asking about what is below the prefixes: a protected key was
// planted, one was removed, and a hidden source was read.
TEST_F(Authorisation, ImportOfAPrefixChecksEverythingBelowIt) {
  const auto data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  for (const char* destination : {"dir", "dir/"}) {
    const std::string body =
        R"({"paths":[{"type":"common_prefix","path":"local:///lake/in/","destination":")" +
        std::string(destination) + R"("}],"commit":{"message":"m"}})";
    const Row row{"importStart",
                  "",
                  body,
                  {{"fs:WriteObject", "repository/data/object/dir*"},
                   {"fs:DeleteObject", "repository/data/object/dir/*"},
                   {"fs:CreateCommit", "repository/data/branch/topic"},
                   {"fs:ImportFromStorage", "namespace/local:///lake/in/"}}};
    expect_let_in(row, allowing(row), "what is needed");
    Statements without_delete = allowing(row);
    without_delete.erase(without_delete.begin() + 1);
    expect_refused(row, without_delete, "it removes what is there");
    for (const auto& [action, resource] :
         {std::pair{"fs:WriteObject", "repository/data/object/dir/deny/*"},
          std::pair{"fs:WriteObject", "repository/data/ref/topic/object/dir/deny/x"},
          std::pair{"fs:DeleteObject", "repository/data/object/dir/keep"},
          std::pair{"fs:ImportFromStorage", "namespace/local:///lake/in/secret/*"}}) {
      const auth::Statement deny{auth::Statement::Effect::kDeny, {action}, {arn_of(resource)}, {}};
      expect_refused(row, {kEverything, deny}, resource);
    }
    const auth::Statement elsewhere{auth::Statement::Effect::kDeny,
                                    {"fs:WriteObject"},
                                    {arn_of("repository/data/object/dir2/*")},
                                    {}};
    expect_let_in(row, {kEverything, elsewhere}, "another prefix");
  }
}

// Verified by mutation: with a grant on "in": "in-secret/x" was read.
TEST_F(Authorisation, ImportOfANamePrefixChecksAllNamesWithThePrefix) {
  const auto data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  const auto asking = [](std::string_view granted) {
    return Row{
        "importStart",
        "",
        R"({"paths":[{"type":"common_prefix","path":"local:///lake/in","destination":"d/"}],)"
        R"("commit":{"message":"m"}})",
        {{"fs:WriteObject", "repository/data/object/d/*"},
         {"fs:DeleteObject", "repository/data/object/d/*"},
         {"fs:CreateCommit", "repository/data/branch/topic"},
         {"fs:ImportFromStorage", granted}}};
  };
  for (const char* granted : {"namespace/local:///lake/in", "namespace/local:///lake/in/*"}) {
    const Row row = asking(granted);
    expect_refused(row, allowing(row), granted);
  }
  const Row row = asking("namespace/local:///lake/in*");
  expect_let_in(row, allowing(row), "all of them");
}

// An object is put where nothing else is replaced.
TEST_F(Authorisation, ImportOfAnObjectChecksOnlyThatObject) {
  const auto data = engine.make_repository("data");
  engine.branch(data, "topic", "main");
  const Row row{"importStart",
                "",
                R"({"paths":[{"type":"object","path":"local:///lake/in/a","destination":"dir/a"}],)"
                R"("commit":{"message":"m"}})",
                {{"fs:WriteObject", "repository/data/object/dir/a"},
                 {"fs:CreateCommit", "repository/data/branch/topic"},
                 {"fs:ImportFromStorage", "namespace/local:///lake/in/a"}}};
  expect_let_in(row, allowing(row), "what is needed");
}

// Verified by mutation: without asking: anybody who may write wrote to a repository that is
// read-only.
TEST_F(Authorisation, ForceOnAReadOnlyRepositoryNeedsPermissionToChangeIt) {
  branch::RepositoryCreation creation{.name = RepositoryName("data"),
                                      .storage_namespace = "local://data"};
  creation.read_only = true;
  branch::create_repository(*engine, creation);
  const auth::Statement writes{auth::Statement::Effect::kAllow,
                               {"fs:Create*", "fs:WriteObject", "fs:DeleteObject", "fs:Revert*",
                                "fs:Read*", "fs:List*", "fs:Delete*", "fs:ImportFromStorage"},
                               {"*"},
                               {}};
  const auth::Statement changes{
      auth::Statement::Effect::kAllow, {"fs:UpdateRepository"}, {arn_of("repository/data")}, {}};
  const Row forced[] = {
      {"deleteObject", "path=a&force=true", "", {}},
      {"deleteObjects", "force=true", R"({"paths":["a"]})", {}},
      {"createBranch", "", R"({"name":"topic","source":"main","force":true})", {}},
      {"createTag", "", R"({"id":"v1","ref":"main","force":true})", {}},
      {"commit", "", R"({"message":"m","force":true})", {}},
      {"importStart", "", R"({"paths":[],"commit":{"message":"m"},"force":true})", {}},
      {"importStart", "", R"({"paths":[],"commit":{"message":"m","force":true}})", {}},
      {"deleteBranch", "force=true", "", {}},
      {"deleteRepository", "force=true", "", {}},
  };
  for (const Row& row : forced) expect_refused(row, {writes}, row.query);
  for (const Row& row : forced) expect_let_in(row, {writes, changes}, row.query);
  creation.storage_namespace = "local://data-2";
  creation.read_only = false;
  branch::create_repository(*engine, creation);
  for (const Row& row : forced) expect_let_in(row, {writes}, "not read-only");
}

// Verified by mutation: without asking about the dumped repository: its objects could be read by
// anyone with a dump's id.
TEST_F(Authorisation, RestoreNeedsPermissionToReadTheDump) {
  const auto secret = engine.make_repository("secret");
  const std::string dump = imports::dump_refs(*engine, secret);
  const std::string body = R"({"commits_meta_range_id":"commits-)" + dump +
                           R"(","tags_meta_range_id":"tags-)" + dump +
                           R"(","branches_meta_range_id":"branches-)" + dump + "\"}";
  for (const char* operation : {"restoreRefs", "restoreSubmit"}) {
    const Row row{operation, "", body, {}};
    const auth::Statement own{
        auth::Statement::Effect::kAllow, {"fs:*"}, {arn_of("repository/data")}, {}};
    expect_refused(row, {own}, "nothing of the dumped one");
    auth::Statement refs = own;
    refs.resources = {arn_of("repository/secret")};
    expect_refused(row, {own, refs}, "not its objects");
    refs.resources = {arn_of("repository/secret*")};
    const auth::Statement hidden{auth::Statement::Effect::kDeny,
                                 {"fs:ReadObject"},
                                 {arn_of("repository/secret/object/hidden/*")},
                                 {}};
    expect_refused(row, {own, refs, hidden}, "not some of its objects");
    expect_let_in(row, {own, refs}, "all of the dumped one");
  }
}

TEST_F(Authorisation, RestoreOfAliasesNeedsPermissionToSetThem) {
  const auto plain = engine.make_repository("plain");
  const auto aliased = engine.make_repository("aliased");
  branch::set_alias(*engine, aliased, {.name = AliasName("champion"), .actor = "ann"}, "main");
  const auto body = [&](const RepositoryName& source) {
    const std::string dump = imports::dump_refs(*engine, source);
    return R"({"commits_meta_range_id":"commits-)" + dump + R"(","tags_meta_range_id":"tags-)" +
           dump + R"(","branches_meta_range_id":"branches-)" + dump + "\"}";
  };
  const auto denying = [this](std::string_view resource) {
    return Statements{kEverything,
                      {auth::Statement::Effect::kDeny, {"fs:SetAlias"}, {arn_of(resource)}, {}}};
  };
  const std::string with = body(aliased);
  const std::string without = body(plain);
  for (const char* operation : {"restoreRefs", "restoreSubmit"}) {
    const Row row{operation, "", with, {}};
    expect_refused(row, denying("repository/data/alias/champion"), "not this one");
    expect_let_in(row, denying("repository/data/alias/other"), "another one");
    expect_let_in(row, denying("repository/aliased/alias/*"), "of another repository");
    expect_let_in({operation, "", without, {}}, denying("repository/data/alias/*"), "none");
  }
}

// Without the check a user who may promote to a weak branch set any alias to the winner.
TEST_F(Authorisation, PromotionWithAnAliasNeedsPermissionToSetIt) {
  const auto data = engine.make_repository("data");
  for (const char* branch : {"topic", "target", "staging"}) engine.branch(data, branch, "main");
  promotion::set_gate_policy(*engine, data, "weak",
                             {.document = "name: weak\ndestination: target\n", .author = "o"});
  promotion::set_gate_policy(
      *engine, data, "named",
      {.document = "name: named\ndestination: staging\nalias: champion\n", .author = "o"});
  const Row row{"createPromotion",
                "",
                R"({"candidates":["topic"],"destination":"target","alias":"prod","dry_run":true})",
                {{"fs:ReadPromotion", "repository/data"},
                 {"fs:Promote", "repository/data/branch/target"},
                 {"fs:SetAlias", "repository/data/alias/prod"}}};
  expect_let_in(row, allowing(row), "what is needed");
  Statements less = allowing(row);
  less.pop_back();
  expect_refused(row, less, "without fs:SetAlias");
  const Row own{
      "createPromotion",
      "",
      R"({"candidates":["topic"],"destination":"staging","alias":"champion","dry_run":true})",
      {{"fs:ReadPromotion", "repository/data"}, {"fs:Promote", "repository/data/branch/staging"}}};
  expect_let_in(own, allowing(own), "the policy's own alias");
}

}  // namespace
}  // namespace tarn::api
