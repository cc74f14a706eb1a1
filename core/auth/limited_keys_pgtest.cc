// Access keys with limits over a real database: an end, less rights than their user, and each way
// out of both.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/accounts_fixture.h"
#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn::auth {
namespace {

using std::chrono::seconds;

class LimitedKeys : public Accounts {
 protected:
  void SetUp() override {
    directory.users.create(user("ann"));
    directory.policies.create({"all", clock.now(), {everything()}});
    directory.policies.attach_to_user("ann", "all");
  }
  static Statement allowing(const std::string& action, const std::string& resource) {
    return {Statement::Effect::kAllow, {action}, {resource}, {}};
  }
  NewKey key(const KeyLimits& limits) {
    return *directory.credentials.create("ann", clock.now(), limits);
  }
  Principal caller(const NewKey& made) { return here.find_key(made.id)->principal; }
  static bool may(const Principal& who, Action action, const std::string& resource) {
    return who.permissions->allows(action, resource, "10.0.0.1");
  }
  void end_keys() {
    pool.lease()->run_script("UPDATE credentials SET expires_at = clock_timestamp()");
  }
};

TEST_F(LimitedKeys, MayOnlyWhatTheirUserAndTheirLimitsAllow) {
  const NewKey made = key({.statements = {allowing("fs:Read*", repository_arn("lake"))}});
  EXPECT_TRUE(may(caller(made), Action::kReadRepository, repository_arn("lake")));
  EXPECT_FALSE(may(caller(made), Action::kReadRepository, repository_arn("other")));
  EXPECT_FALSE(may(caller(made), Action::kDeleteRepository, repository_arn("lake")));
  // Limits give nothing that the user does not have.
  directory.policies.detach_from_user("ann", "all");
  here.forget();
  EXPECT_FALSE(may(caller(made), Action::kReadRepository, repository_arn("lake")));
}

TEST_F(LimitedKeys, EveryKindOfDecisionHasTheLimits) {
  const NewKey made =
      key({.statements = {allowing("fs:Read*", object_arn("lake", "main", "a/*"))}});
  const Principal who = caller(made);
  const Permissions& held = *who.permissions;
  using enum Permissions::Decision;
  EXPECT_EQ(held.decide(Action::kReadObject, object_arn("lake", "main", "b"), ""), kNotAllowed);
  EXPECT_EQ(held.decide_on_all_objects(Action::kReadObject, "lake", ""), kNotAllowed);
  EXPECT_EQ(held.decide_below(Action::kReadObject, object_arn("lake", "main", "b/"), ""),
            kNotAllowed);
  EXPECT_EQ(held.decide_on_source(Action::kReadObject, "lake", {"dev"}, "main", ""), kNotAllowed);
  EXPECT_EQ(held.decide(Action::kReadObject, object_arn("lake", "main", "a/x"), ""), kAllowed);
  EXPECT_EQ(held.decide_below(Action::kReadObject, object_arn("lake", "main", "a/b/"), ""),
            kAllowed);
}

TEST_F(LimitedKeys, ChangeNoAccounts) {
  for (const KeyLimits& limits :
       {KeyLimits{.life = seconds{60}}, KeyLimits{.statements = {everything()}}}) {
    const Principal held = caller(key(limits));
    for (size_t i = 0; i < kActionCount; ++i) {
      const auto action = static_cast<Action>(i);
      EXPECT_EQ(may(held, action, user_arn("ann")), !changes_accounts(action)) << name_of(action);
    }
    EXPECT_FALSE(may(held, Action::kCreateCredentials, user_arn("ann")));
    EXPECT_FALSE(may(held, Action::kAttachPolicy, user_arn("ann")));
    EXPECT_FALSE(may(held, Action::kCreateExternalPrincipal, user_arn("ann")));
  }
}

TEST_F(LimitedKeys, EndByTheClockOfTheDatabase) {
  const NewKey made = key({.life = seconds{3600}});
  ASSERT_TRUE(made.expires);
  EXPECT_TRUE(here.check_password(made.id, made.secret, "a"));
  const LoginToken login = here.issue_token(caller(made));
  end_keys();
  clock.pass(seconds{1});  // by which each server forgets what it knew of a key
  EXPECT_FALSE(here.find_key(made.id));
  EXPECT_FALSE(here.check_password(made.id, made.secret, "a"));
  EXPECT_FALSE(here.check_token(login.token)) << "a login ends with its key";
}

TEST_F(LimitedKeys, ALoginHasTheLimitsOfItsKey) {
  const NewKey made = key({.statements = {allowing("fs:ReadRepository", "*")}});
  const auto login = here.check_token(here.issue_token(caller(made)).token);
  ASSERT_TRUE(login);
  EXPECT_FALSE(may(*login, Action::kDeleteRepository, repository_arn("lake")));
}

TEST_F(LimitedKeys, ThoseThatHaveEndedMakeRoom) {
  for (int64_t i = 0; i < kKeysPerUserMax; ++i) key({.life = seconds{3600}});
  EXPECT_THROW(key({.life = seconds{3600}}), Error);
  end_keys();
  key({.life = seconds{3600}});
  EXPECT_EQ(directory.credentials.list("ann", {.limit = 200}).items.size(), 1u);
}

TEST_F(LimitedKeys, TheLastAdministratorKeepsAKeyWithout) {
  directory.groups.add_member("Admins", "ann");
  const NewKey whole = *directory.credentials.create("ann", clock.now());
  key({.life = seconds{3600}});
  key({.statements = {everything()}});
  EXPECT_THROW(directory.credentials.remove("ann", whole.id), Error);
}

TEST_F(LimitedKeys, AreListedWithTheirLimits) {
  key({.life = seconds{60}, .statements = {allowing("fs:Read*", "*")}});
  const KeyRow row = directory.credentials.list("ann", {.limit = 10}).items.at(0);
  ASSERT_TRUE(row.expires);
  ASSERT_EQ(row.limits.size(), 1u);
  EXPECT_EQ(row.limits[0].actions, std::vector<std::string>{"fs:Read*"});
}

TEST_F(LimitedKeys, AreRefusedWhenTheyMakeNoSense) {
  EXPECT_THROW(key({.life = seconds{0}}), Error);
  EXPECT_THROW(key({.life = kKeyLifeMax + seconds{1}}), Error);
  EXPECT_THROW(key({.statements = {allowing("fs:Nothing", "*")}}), Error);
  EXPECT_FALSE(directory.credentials.create("nobody", clock.now(), {.life = seconds{60}}));
}

}  // namespace
}  // namespace tarn::auth
