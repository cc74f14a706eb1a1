#include "core/auth/explanation.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tarn::auth {
namespace {

using Decision = Permissions::Decision;

Statement a_statement(Statement::Effect effect, const std::string& action,
                      const std::string& resource) {
  Statement statement;
  statement.effect = effect;
  statement.actions = {action};
  statement.resources = {resource};
  return statement;
}

const std::vector<Policy> kPolicies = {
    {.name = "read",
     .created = {},
     .statements = {a_statement(Statement::Effect::kAllow, "fs:List*", "*"),
                    a_statement(Statement::Effect::kAllow, "fs:ReadObject", "*")}},
    {.name = "own",
     .created = {},
     .statements = {a_statement(Statement::Effect::kAllow, "fs:*",
                                "arn:lakefs:fs:::repository/lake/branch/${user}")}},
    {.name = "guard",
     .created = {},
     .statements = {a_statement(Statement::Effect::kDeny, "fs:ReadObject",
                                "arn:lakefs:fs:::repository/lake/object/secret/*")}},
};

TEST(Explanation, NamesTheStatementThatDecides) {
  const ExplainedPermissions permissions("lena", kPolicies);
  const auto explain = [&](Action action, const std::string& resource) {
    return permissions.explain(action, "arn:lakefs:fs:::repository/lake" + resource, "");
  };
  const Explanation read = explain(Action::kReadObject, "/object/a");
  EXPECT_EQ(read.decision, Decision::kAllowed);
  EXPECT_EQ(read.policy, "read");
  EXPECT_EQ(read.statement, 1u);
  const Explanation denied = explain(Action::kReadObject, "/object/secret/a");
  EXPECT_EQ(denied.decision, Decision::kDenied) << "a later denial takes precedence";
  EXPECT_EQ(denied.policy, "guard");
  EXPECT_EQ(denied.statement, 0u);
  EXPECT_EQ(explain(Action::kCreateCommit, "/branch/lena").policy, "own");
  const Explanation nothing = explain(Action::kCreateCommit, "/branch/main");
  EXPECT_EQ(nothing.decision, Decision::kNotAllowed);
  EXPECT_EQ(nothing.policy, "");
}

TEST(Explanation, DecidesAsPermissionsDo) {
  std::vector<std::vector<Statement>> statements;
  for (const Policy& policy : kPolicies) statements.push_back(policy.statements);
  const Permissions together("lena", statements);
  const ExplainedPermissions apart("lena", kPolicies);
  for (size_t i = 0; i < kActionCount; ++i) {
    for (const char* resource :
         {"*", "arn:lakefs:fs:::repository/lake", "arn:lakefs:fs:::repository/lake/object/a",
          "arn:lakefs:fs:::repository/lake/object/secret/a",
          "arn:lakefs:fs:::repository/lake/ref/main/object/secret/a",
          "arn:lakefs:fs:::repository/lake/branch/lena"}) {
      const auto action = static_cast<Action>(i);
      EXPECT_EQ(apart.explain(action, resource, "").decision, together.decide(action, resource, ""))
          << name_of(action) << " on " << resource;
    }
  }
}

TEST(Explanation, FindsActionsByTheirWholeName) {
  EXPECT_EQ(find_action("fs:ReadObject"), Action::kReadObject);
  EXPECT_EQ(find_action("fs:Read*"), std::nullopt);
  EXPECT_EQ(find_action(""), std::nullopt);
}

}  // namespace
}  // namespace tarn::auth
