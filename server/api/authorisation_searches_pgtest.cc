// Tests of searches by callers who may not see everything.
#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "core/branch/stage.h"
#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

using Effect = auth::Statement::Effect;

auth::Statement allow(std::vector<std::string> actions, std::string_view resource) {
  return {Effect::kAllow, std::move(actions), {arn_of(resource)}, {}};
}
auth::Statement deny(std::string action, std::string_view resource) {
  return {Effect::kDeny, {std::move(action)}, {arn_of(resource)}, {}};
}

class SearchRights : public Authorisation {
 protected:
  SearchRights() {
    engine.make_repository("data");
    for (const char* branch : {"exp-1", "exp-2"})
      engine.branch(RepositoryName("data"), branch, "main");
    for (const char* path : {"dir/a", "dir/b", "other/c"}) put("data", "exp-1", path);
    put("data", "exp-2", "dir/a");
  }

  /// With tags, and as large as its path is long.
  void put(const std::string& repository, const std::string& branch, const std::string& path) {
    const RepositoryName name(repository);
    engine.put(name, branch, path, path);
    branch::change_entry(*engine, name, BranchName(branch), Key(path), false, [](Entry& entry) {
      entry.set_object_tags({{"stage", "prod"}});
    });
  }

  std::string search(const std::string& query, const Statements& statements) {
    const http::Response answer = ask({"searchRefs", query, "", {}}, statements);
    EXPECT_EQ(answer.status, 200) << query << ": " << answer.body;
    return answer.body;
  }
  std::string search_of_topic(const std::string& query, const Statements& statements) {
    const http::Response answer = ask({"searchObjects", query, "", {}}, statements);
    EXPECT_EQ(answer.status, 200) << query << ": " << answer.body;
    return answer.body;
  }
  void expect_refused_search(const std::string& query, const Statements& statements) {
    expect_refused({"searchRefs", query, "", {}}, statements, query);
  }

  /// All that searches say, in every order and of every condition.
  std::string everything(const Statements& statements) {
    std::string out;
    for (const char* where :
         {"repository=*&ref=*", "repository=data&ref=*", "repository=*&ref=exp-1",
          "repository=da*&repository=data&ref=exp-*"}) {
      for (const char* query :
           {"min_size=0", "min_size=0&amount=2", "min_size=0&amount=1&sort=size+desc",
            "min_size=0&sort=tag.stage", "where=tag.stage%3Dprod", "where=not+has+tag.stage",
            "where=path~**", "prefix=dir/", "glob=**&sort=path+desc"}) {
        out += search(str_cat(where, "&", query), statements);
      }
    }
    return out;
  }
};

const Statements kReader = {
    allow({"fs:ListRepositories"}, "*"),
    allow({"fs:ReadRepository", "fs:ListBranches", "fs:ListObjects", "fs:ReadObject"},
          "repository/data*")};

TEST_F(SearchRights, NeedsTheRightsOfTheEquivalentListings) {
  const Statements named = {allow({"fs:ListObjects", "fs:ReadObject"}, "repository/data*")};
  EXPECT_NE(search("repository=data&ref=exp-1&min_size=0", named).find("other/c"),
            std::string::npos);
  expect_refused_search("repository=data&ref=exp-*&min_size=0", named);
  expect_refused_search("repository=da*&ref=exp-1&min_size=0", named);
  expect_refused_search("repository=other&ref=exp-1&min_size=0", named);
  expect_refused_search("repository=data&repository=other&ref=exp-1&min_size=0", named);
  Statements branches = named;
  branches.push_back(allow({"fs:ListBranches"}, "repository/data"));
  EXPECT_NE(search("repository=data&ref=exp-*&min_size=0", branches).find("exp-2"),
            std::string::npos);
  branches.push_back(deny("fs:ListObjects", "repository/data/ref/exp-2"));
  expect_refused_search("repository=data&ref=exp-*&ref=exp-2&min_size=0", branches);
}

// Whether a repository or a ref is there is not answered to those who may not list it.
TEST_F(SearchRights, HiddenAndAbsentNamesGiveTheSameError) {
  engine.make_repository("hidden");
  Statements statements = kReader;
  statements.push_back(deny("fs:ListObjects", "repository/data/ref/exp-2"));
  statements.push_back(deny("fs:ListObjects", "repository/data/ref/absent"));
  // All except the requested name.
  const auto answer = [&](const std::string& query, const std::string& name) {
    http::Response response =
        ask({"searchRefs", str_cat(query, name, "&min_size=0"), "", {}}, statements);
    EXPECT_EQ(response.status, 401) << name;
    const size_t at = response.body.find(name);
    EXPECT_NE(at, std::string::npos) << response.body;
    return response.body.replace(at, name.size(), "NAME");
  };
  EXPECT_EQ(answer("ref=main&repository=", "hidden"), answer("ref=main&repository=", "missing"));
  EXPECT_EQ(answer("repository=data&ref=", "exp-2"), answer("repository=data&ref=", "absent"));
}

// Verified by mutation: asking for the repository, the branches, the ref and the object nowhere.
TEST_F(SearchRights, HiddenItemsAreNotDisclosed) {
  Statements statements = kReader;
  for (const char* ref : {"exp-secret", "exp-0"})
    statements.push_back(deny("fs:ListObjects", str_cat("repository/data/ref/", ref)));
  statements.push_back(deny("fs:ReadObject", "repository/data/object/dir/secret/*"));
  statements.push_back(deny("fs:ReadObject", "repository/data/ref/exp-2/object/other/*"));
  statements.push_back(deny("fs:ReadRepository", "repository/data-hidden"));
  statements.push_back(deny("fs:ListBranches", "repository/data-closed"));
  engine.make_repository("data-closed");
  const std::string before = everything(statements);
  for (const char* name : {"aaa", "data-hidden", "zzz"}) {
    engine.make_repository(name);
    engine.branch(RepositoryName(name), "exp-1", "main");
    put(name, "exp-1", "dir/a");
  }
  put("data-closed", "main", "dir/a");
  for (const char* ref : {"exp-secret", "exp-0"}) {
    engine.branch(RepositoryName("data"), ref, "main");
    put("data", ref, "dir/a");
  }
  for (const char* path : {"dir/secret/1", "dir/secret/2"}) put("data", "exp-1", path);
  for (const char* path : {"other/1", "other/2"}) put("data", "exp-2", path);
  EXPECT_EQ(everything(statements), before);
  EXPECT_NE(before.find("dir/b"), std::string::npos);
  EXPECT_NE(everything({kEverything}), before);
}

// A listing shows paths and metadata of objects that its reader may not read, and no tags. Verified
// by mutation: asking for the objects nowhere.
TEST_F(SearchRights, TagsOfOneRefAreOfObjectsThatTheCallerMayRead) {
  engine.branch(RepositoryName("data"), "topic", "main");
  put("data", "topic", "dir/open");
  put("data", "topic", "dir/secret/1");
  Statements statements = kReader;
  statements.push_back(deny("fs:ReadObject", "repository/data/object/dir/secret/*"));
  for (const char* query :
       {"where=tag.stage%3Dprod", "where=size>0+or+not+tag.stage%3Dprod", "where=tag.stage!%3Dtest",
        "where=size>0+or+has+tag.stage&sort=size+desc", "where=size>0&sort=tag.stage",
        "where=has+tag.stage&amount=1"}) {
    const std::string found = search_of_topic(query, statements);
    EXPECT_NE(found.find("dir/open"), std::string::npos) << query;
    EXPECT_EQ(found.find("secret"), std::string::npos) << query << found;
  }
  const std::string hidden_alone =
      search_of_topic("prefix=dir/secret/&where=has+tag.stage", statements);
  EXPECT_NE(hidden_alone.find("\"results\":0"), std::string::npos) << hidden_alone;
  EXPECT_NE(search_of_topic("where=size>0", statements).find("dir/secret/1"), std::string::npos);
}

}  // namespace
}  // namespace tarn::api
