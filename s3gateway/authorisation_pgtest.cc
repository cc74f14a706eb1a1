// Every operation of the dispatch table asked in every role, on two servers: allowed only where it
// must be, and with no effect where it is refused.
#include <string>
#include <utility>
#include <vector>

#include "core/branch/repositories.h"
#include "s3gateway/role_matrix_fixture.h"
#include "tests/support/table_digests.h"

namespace tarn::s3 {
namespace {

using testing::Statements;

TEST_F(S3RoleMatrix, UnsignedRequestsAreRefused) {
  for (const Row& row : rows()) {
    for (Server* server : {&first, &second}) {
      EXPECT_TRUE(is_refused(send(row, *server, /*is_signed=*/false))) << row.operation;
    }
  }
}

TEST_F(S3RoleMatrix, FewerPermissionsAreRefusedAndChangeNothing) {
  const std::string granted = "{policies,user_policies}";
  grant_and_wait({});
  const std::string before = testing::table_digests(first.engine.pool, granted);
  size_t asked = 0;
  for (const Row& row : rows()) {
    if (!needs_a_policy(row)) continue;
    for (const testing::Role& role : testing::refused_roles(row.needs)) {
      grant_and_wait(role.statements);
      expect_refused_everywhere(row, role.name);
      ++asked;
    }
  }
  EXPECT_GT(asked, 150u);
  EXPECT_EQ(testing::table_digests(first.engine.pool, granted), before);
}

TEST_F(S3RoleMatrix, ExactPermissionsSufficeUntilRevoked) {
  for (const Row& row : rows()) {
    grant_and_wait(needs_a_policy(row) ? testing::allowing(row.needs) : Statements{});
    expect_let_in_everywhere(row, "allowed");
    if (!needs_a_policy(row)) continue;
    grant_and_wait({});
    expect_refused_everywhere(row, "revoked");
  }
}

/// Texts and what stands in their place in another request.
using Names = std::vector<std::pair<std::string, std::string>>;

std::string replaced(std::string text, const Names& names) {
  for (const auto& [from, to] : names) {
    size_t at = 0;
    while ((at = text.find(from, at)) != std::string::npos) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  return text;
}

Row about(Row row, const Names& names) {
  row.target = replaced(row.target, names);
  row.body = replaced(row.body, names);
  http::Headers headers;
  for (const auto& [name, value] : row.headers.all()) headers.add(name, replaced(value, names));
  row.headers = headers;
  if (row.operation == "DeleteObjects") row.headers.set("Content-MD5", to_base64(md5(row.body)));
  return row;
}

/// An answer to about(row, names), as if it were to the row.
std::string shown(const http::Response& response, const Names& names) {
  Names back;
  for (const auto& [from, to] : names) {
    const bool rooted = to.starts_with('/');  // messages name buckets and keys without it
    back.emplace_back(to.substr(rooted ? 1 : 0), from.substr(rooted ? 1 : 0));
  }
  return str_cat(response.status, " ", replaced(response.body, back));
}

// The names differ from those of things that exist: a bucket of branches, one with a default
// branch at its root, a ref and a key.
TEST_F(S3RoleMatrix, WithoutPermissionMissingThingsAnswerAsOthersDo) {
  struct Pair {
    Names there;
    Names missing;
  };
  branch::create_repository(*first.engine, {.name = RepositoryName("roost"),
                                            .storage_namespace = "local://roost",
                                            .default_branch = BranchName("trunk"),
                                            .bucket_kind = BucketKind::kRooted});
  const Pair pairs[] = {
      {{}, {{"/data", "/gone"}}},
      {{}, {{"topic/", "tulip/"}}},
      {{}, {{"dir/a", "dir/z"}}},
      {{{"/data", "/roost"}}, {{"/data", "/ghost"}}},
      {{{"/data/topic", "/data.topic"}}, {{"/data/topic", "/gone.topic"}}},
  };
  size_t compared = 0;
  grant_and_wait({});
  for (const Row& row : rows()) {
    // A new repository's name is taken or not whatever the caller may do.
    if (!needs_a_policy(row)) continue;
    for (const auto& [there, missing] : pairs) {
      const Row one = about(row, there);
      const Row other = about(row, missing);
      if (one.target == other.target && one.body == other.body) continue;
      EXPECT_EQ(shown(send(one, first), there), shown(send(other, first), missing))
          << one.target << " and " << other.target;
      ++compared;
    }
  }
  EXPECT_GT(compared, 120u);
}

TEST_F(S3RoleMatrix, WithoutPermissionOnItMissingSourceAnswersAsOthersDo) {
  for (const Row& row : rows()) {
    if (row.needs.size() < 2 || row.headers.find("x-amz-copy-source") == nullptr) continue;
    grant_and_wait(testing::allowing({row.needs[0]}));
    const http::Response there = send(row, first);
    EXPECT_EQ(there.status, 403) << row.operation;
    const Names others = {{"/other", "/ghost"}, {"/main", "/moon"}, {"/src", "/sea"}};
    for (const auto& name : others) {
      EXPECT_EQ(shown(there, {}), shown(send(about(row, {name}), first), {name}))
          << row.operation << name.second;
    }
  }
}

TEST_F(S3RoleMatrix, DeletedKeyIsRefused) {
  grant_and_wait({testing::allowing_everything()});
  for (const Row& row : rows()) {
    expect_let_in_everywhere(row, "allowed everything");
    directory.credentials.remove("ann", key.id);
    clock.pass(std::chrono::seconds{1});
    for (Server* server : {&first, &second}) {
      EXPECT_EQ(send(row, *server).status, 403) << row.operation << ", key deleted";
    }
    key = *directory.credentials.create("ann", clock.now());
  }
}

}  // namespace
}  // namespace tarn::s3
