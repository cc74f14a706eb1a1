// Operations that meet objects of which only they know, asked by callers who may not have them all.
#include <gtest/gtest.h>

#include "core/versioning/refs_dump.h"
#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

// Tried without asking about each object: the protected one was moved.
TEST_F(Authorisation, AMoveOfAPrefixAsksAboutEveryObjectBelowIt) {
  const RepositoryName data = engine.make_repository("data");
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

// Tried without asking about each object: the hidden one was sent.
TEST_F(Authorisation, AnArchiveOfAPrefixAsksAboutEveryObjectBelowIt) {
  const RepositoryName data = engine.make_repository("data");
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

// Tried without asking about each key: what was protected was replaced and deleted.
TEST_F(Authorisation, ACheckoutAsksAboutEveryObjectThatItChanges) {
  const RepositoryName data = engine.make_repository("data");
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

// Tried without asking about the dumped repository: its objects could be read by anyone with a
// dump's id.
TEST_F(Authorisation, RestoringNeedsTheRightToReadWhatWasDumped) {
  const RepositoryName secret = engine.make_repository("secret");
  const std::string dump = versioning::dump_refs(*engine, secret);
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
    expect_let_in(row, {own, refs}, "all of the dumped one");
  }
}

}  // namespace
}  // namespace tarn::api
