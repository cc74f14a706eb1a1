// Runs every operation in every role, on two servers: permitted only where it must be, and without
// effect where it is refused. A route without a row in operation_permissions_fixture.cc fails.
#include <set>

#include <gtest/gtest.h>

#include "core/auth/explanation.h"
#include "core/branch/refs.h"
#include "server/api/authorisation_fixture.h"
#include "tests/support/table_digests.h"
#include "tests/support/test_clock.h"

namespace tarn::api {
namespace {

TEST_F(Authorisation, HasARowForEveryRoute) {
  std::multiset<std::string_view> rowed;
  for (const Row& row : rows()) rowed.insert(row.operation);
  std::multiset<std::string_view> routed;
  for (const Route& route : routes()) routed.insert(route.operation);
  EXPECT_EQ(rowed, routed);
}

/// Two servers, which notice what a third changes when a second has passed.
class RoleMatrix : public Authorisation {
 protected:
  RoleMatrix() {
    const auto data = engine.make_repository("data");
    const auto other = engine.make_repository("other");
    engine.put(other, "main", "src", "source");
    engine.put(data, "main", "dir/a", "bytes");
    engine.put(data, "main", "dir/b", "bytes");
    engine.commit(data, "main");
    for (const char* branch : {"topic", "target", "other"}) engine.branch(data, branch, "main");
    engine.put(data, "topic", "dir/a", "of topic");
    branch::create_tag(*engine, data, TagName("v1"), "main", false);
    service.directory.users.create({"someone", clock.now(), {}, {}});
    service.directory.groups.create({"team", "", clock.now()});
    service.directory.policies.create({"rule", clock.now(), {kEverything}});
  }

  /// From now on, on both servers.
  void grant_and_wait(const Statements& statements) {
    grant(statements);
    clock.pass(std::chrono::seconds{1});
  }
  /// Limits of ann's key from now on.
  void limit_and_wait(const Statements& statements) {
    static constexpr db::Query kLimit{
        "test_limit_key", "UPDATE credentials SET limits = $2 WHERE access_key_id = $1"};
    const std::string limits = auth::encode_statements(statements);
    engine.pool.run(kLimit, {key.id, db::Bytes{limits}}, db::Pool::Retry::kWrite);
    clock.pass(std::chrono::seconds{1});
  }
  static bool changes_accounts(const Row& row) {
    for (const auto& need : row.needs) {
      const auto action = auth::find_action(need.action);
      if (action && auth::changes_accounts(*action)) return true;
    }
    return false;
  }
  void expect_refused_everywhere(const Row& row, const std::string& role) {
    for (Api* server : {&first, &second}) {
      const http::Response response = send(row, *server);
      EXPECT_EQ(response.status, 401) << row.operation << ", " << role;
      EXPECT_EQ(response.headers.get("X-Tarn-Error"), "insufficient_permissions")
          << row.operation << ", " << role;
    }
  }
  void expect_let_in_everywhere(const Row& row, const std::string& role) {
    for (Api* server : {&first, &second}) {
      const http::Response response = send(row, *server);
      EXPECT_NE(response.status, 401) << row.operation << ", " << role << ": " << response.body;
      EXPECT_NE(response.status, 500) << row.operation << ", " << role << ": " << response.body;
    }
  }
  static bool needs_a_policy(const Row& row) {
    return !is(row, kNeedsNothing) && !is(row, kNeedsAnAccount);
  }

  testing::TestClock clock;
  TestService first_service{engine, clock, clock.uptime()};
  Api first{first_service.context};
  testing::TestEngine second_engine{database.url(), engine.store};
  TestService second_service{second_engine, clock, clock.uptime()};
  Api second{second_service.context};
};

TEST_F(RoleMatrix, UnauthenticatedCallersReachOpenOperationsOnly) {
  for (const Row& row : rows()) {
    // Wrong keys at login are a 401 of their own.
    if (row.operation == "login") continue;
    for (Api* server : {&first, &second}) {
      const http::Response response = send(row, *server, /*signed_in=*/false);
      EXPECT_EQ(response.status == 401, !is(row, kNeedsNothing))
          << row.operation << ": " << response.body;
    }
  }
}

TEST_F(RoleMatrix, FewerPermissionsAreRefusedAndChangeNothing) {
  // The policies that are tried, and when each role was granted.
  const std::string granted = "{policies,user_policies}";
  grant_and_wait({});
  const std::string before = testing::table_digests(engine.pool, granted);
  size_t asked = 0;
  for (const Row& row : rows()) {
    if (!needs_a_policy(row)) continue;
    for (const testing::Role& role : testing::refused_roles(row.needs)) {
      grant_and_wait(role.statements);
      expect_refused_everywhere(row, role.name);
      ++asked;
    }
  }
  EXPECT_GT(asked, 4 * rows().size());
  EXPECT_EQ(testing::table_digests(engine.pool, granted), before);
}

TEST_F(RoleMatrix, ExactPermissionsSufficeUntilRevoked) {
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing)) continue;
    grant_and_wait(needs_a_policy(row) ? allowing(row) : Statements{});
    expect_let_in_everywhere(row, "allowed");
    if (!needs_a_policy(row)) continue;
    grant_and_wait({});
    expect_refused_everywhere(row, "revoked");
  }
}

// The user may do everything. Limits of their key refuse what policies of a user would refuse, and
// all changes of accounts besides.
TEST_F(RoleMatrix, LimitsOfAKeyRefuseAsPoliciesDo) {
  grant({kEverything});
  size_t asked = 0;
  for (const Row& row : rows()) {
    if (!needs_a_policy(row)) continue;
    for (const testing::Role& role : testing::refused_roles(row.needs)) {
      if (role.statements.empty()) continue;  // a key without limits
      limit_and_wait(role.statements);
      expect_refused_everywhere(row, role.name);
      ++asked;
    }
    limit_and_wait(allowing(row));
    if (changes_accounts(row)) {
      expect_refused_everywhere(row, "an account");
    } else {
      expect_let_in_everywhere(row, "allowed by the limits");
    }
  }
  EXPECT_GT(asked, 3 * rows().size());
}

TEST_F(RoleMatrix, AKeyWithLimitsLearnsWhatItMay) {
  grant({kEverything});
  limit_and_wait({{auth::Statement::Effect::kAllow, {"fs:Read*"}, {"*"}, {}}});
  const auto asked = [&](const std::string& action) {
    const std::string body = R"({"checks":[{"action":")" + action +
                             R"(","resource":"arn:lakefs:fs:::repository/data"}]})";
    return send({"checkPermissions", "", body, {}}, first).body;
  };
  EXPECT_NE(asked("fs:ReadRepository").find(R"("allowed":true)"), std::string::npos);
  EXPECT_NE(asked("fs:DeleteRepository").find(R"("allowed":false)"), std::string::npos);
}

TEST_F(RoleMatrix, DeletedKeyIsRefused) {
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing)) continue;
    grant_and_wait({kEverything});
    expect_let_in_everywhere(row, "allowed everything");
    service.directory.credentials.remove("ann", key.id);
    clock.pass(std::chrono::seconds{1});
    for (Api* server : {&first, &second}) {
      EXPECT_EQ(send(row, *server).status, 401) << row.operation << ", key deleted";
    }
    key = *service.directory.credentials.create("ann", clock.now());
  }
}

TEST_F(Authorisation, ChoosingParentsOfACommitNeedsPermissionToMoveTheBranch) {
  const Row row{"commit",
                "",
                R"({"message":"m","parents":["main"]})",
                {{"fs:CreateCommit", "repository/data/branch/topic"},
                 {"fs:RevertBranch", "repository/data/branch/topic"}}};
  expect_let_in(row, allowing(row), "both");
  Statements less = allowing(row);
  less.pop_back();
  expect_refused(row, less, "without fs:RevertBranch");
}

}  // namespace
}  // namespace tarn::api
