// Accounts over a real database: rows, the first start, and how soon a revocation is seen.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/auth/authenticator.h"
#include "core/auth/built_in.h"
#include "core/auth/directory.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/db/pool.h"
#include "tests/support/postgres_test.h"

namespace tarn::auth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TestClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  void pass(std::chrono::milliseconds time) { now_ += time; }

 private:
  Instant now_ = from_millis(1'700'000'000'000);
};

class Accounts : public ::testing::Test {
 protected:
  Statement everything() { return {Statement::Effect::kAllow, {"*"}, {"*"}, {}}; }
  User user(const std::string& name) { return {name, clock.now(), {}, {}}; }
  Policy policy(const std::string& name) { return {name, clock.now(), {everything()}}; }
  std::vector<std::string> names(const Page<Policy>& page) {
    std::vector<std::string> out;
    for (const Policy& item : page.items) out.push_back(item.name);
    return out;
  }
  /// A user who may do everything, with a key.
  NewKey make_keyed_user(const std::string& name) {
    EXPECT_EQ(directory.users.create(user(name)), Outcome::kDone);
    EXPECT_EQ(directory.policies.attach_to_user(name, "FSFullAccess"), Outcome::kDone);
    return *directory.credentials.create(name, clock.now());
  }
  static bool may_list(const Principal& principal) {
    return principal.permissions->allows(Action::kListRepositories, kEverything, "127.0.0.1");
  }

  testing::TestDatabase database;
  TestClock clock;
  std::string master_key = std::string(32, 'k');
  db::Pool pool{database.url(), {}};
  Authenticator here{pool, clock, master_key};
  Authenticator there{pool, clock, master_key};  // another server
  Directory directory{pool, master_key};
};

TEST_F(Accounts, UsersAreListedInOrderAndPaged) {
  for (const char* name : {"bob", "ann", "alf", "zoe"}) {
    EXPECT_EQ(directory.users.create(user(name)), Outcome::kDone);
  }
  EXPECT_EQ(directory.users.create(user("bob")), Outcome::kExists);
  const Page<User> first = directory.users.list("", "", 2);
  ASSERT_EQ(first.items.size(), 2u);
  EXPECT_EQ(first.items[0].name, "alf");
  EXPECT_TRUE(first.has_more);
  const Page<User> second = directory.users.list("", first.next, 2);
  ASSERT_EQ(second.items.size(), 2u);
  EXPECT_EQ(second.items[0].name, "bob");
  EXPECT_FALSE(second.has_more);
  EXPECT_EQ(directory.users.list("a", "alf", 10).items.size(), 1u);
  EXPECT_TRUE(directory.users.remove("bob"));
  EXPECT_FALSE(directory.users.remove("bob"));
  EXPECT_FALSE(directory.users.find("bob"));
}

TEST_F(Accounts, NamesAreChecked) {
  for (const std::string& name :
       {std::string(), std::string("a%b"), std::string("*"), std::string("a?"),
        std::string("${user}"), std::string("a\nb"), std::string("\xff"), std::string(128, 'a')}) {
    EXPECT_THROW(directory.users.create(user(name)), Error) << name;
    EXPECT_THROW(directory.groups.create({name, "", clock.now()}), Error) << name;
    EXPECT_THROW(directory.policies.create(policy(name)), Error) << name;
  }
  EXPECT_EQ(directory.users.create(user("ann.o'neil@example.org")), Outcome::kDone);
}

TEST_F(Accounts, PoliciesHoldThroughGroupsToo) {
  directory.users.create(user("ann"));
  directory.groups.create({"team", "", clock.now()});
  directory.policies.create(policy("direct"));
  directory.policies.create(policy("shared"));
  EXPECT_EQ(directory.policies.attach_to_user("ann", "direct"), Outcome::kDone);
  EXPECT_EQ(directory.policies.attach_to_user("ann", "direct"), Outcome::kExists);
  EXPECT_EQ(directory.policies.attach_to_user("nobody", "direct"), Outcome::kNoUser);
  EXPECT_EQ(directory.policies.attach_to_user("ann", "nothing"), Outcome::kNoPolicy);
  EXPECT_EQ(directory.policies.attach_to_group("team", "shared"), Outcome::kDone);
  EXPECT_EQ(directory.groups.add_member("team", "ann"), Outcome::kDone);
  EXPECT_EQ(directory.groups.add_member("team", "ann"), Outcome::kExists);
  EXPECT_EQ(directory.groups.add_member("team", "nobody"), Outcome::kNoUser);
  EXPECT_EQ(directory.groups.add_member("nothing", "ann"), Outcome::kNoGroup);

  EXPECT_THAT(names(directory.policies.of_user("ann", false, "", "", 10)), ElementsAre("direct"));
  EXPECT_THAT(names(directory.policies.of_user("ann", true, "", "", 10)),
              ElementsAre("direct", "shared"));
  EXPECT_THAT(names(directory.policies.of_group("team", "", "", 10)), ElementsAre("shared"));
  EXPECT_EQ(directory.groups.of_user("ann", "", "", 10).items.at(0).name, "team");
  EXPECT_EQ(directory.users.members("team", "", "", 10).items.at(0).name, "ann");

  EXPECT_TRUE(directory.groups.remove_member("team", "ann"));
  EXPECT_FALSE(directory.groups.remove_member("team", "ann"));
  EXPECT_THAT(names(directory.policies.of_user("ann", true, "", "", 10)), ElementsAre("direct"));
  EXPECT_TRUE(directory.policies.remove("direct"));
  EXPECT_THAT(names(directory.policies.of_user("ann", true, "", "", 10)), IsEmpty());
}

TEST_F(Accounts, PoliciesAreReplacedWhole) {
  directory.policies.create(policy("p"));
  const Statement narrow{Statement::Effect::kDeny, {"fs:Read*"}, {repository_arn("data")}, {}};
  ASSERT_TRUE(directory.policies.update("p", {narrow}));
  const Policy found = *directory.policies.find("p");
  ASSERT_EQ(found.statements.size(), 1u);
  EXPECT_EQ(found.statements[0].effect, Statement::Effect::kDeny);
  EXPECT_FALSE(directory.policies.update("other", {narrow}));
  EXPECT_THROW(directory.policies.update("p", {}), Error);
}

TEST_F(Accounts, SecretsAreStoredSealedAndBelongToTheirKey) {
  const NewKey key = make_keyed_user("ann");
  const db::Rows rows =
      pool.run({"test_secret", "SELECT secret FROM credentials WHERE access_key_id = $1"}, {key.id},
               db::Pool::Retry::kRead);
  EXPECT_EQ(std::string(rows.bytes(0, 0)).find(key.secret), std::string::npos);
  EXPECT_EQ(here.find_key(key.id)->secret, key.secret);
  EXPECT_TRUE(here.check_password(key.id, key.secret));
  EXPECT_FALSE(here.check_password(key.id, key.secret + "x"));
  // A sealed secret moved to another key's row does not open.
  const NewKey other = *directory.credentials.create("ann", clock.now());
  pool.run({"test_move", R"sql(
      UPDATE credentials SET secret = (SELECT secret FROM credentials WHERE access_key_id = $1)
      WHERE access_key_id = $2)sql"},
           {key.id, other.id}, db::Pool::Retry::kWrite);
  EXPECT_THROW(here.find_key(other.id), Error);
}

TEST_F(Accounts, KeysOfAUserAreListedAndLimited) {
  directory.users.create(user("ann"));
  EXPECT_FALSE(directory.credentials.create("nobody", clock.now()));
  for (int i = 0; i < kKeysPerUserMax; ++i) {
    EXPECT_TRUE(directory.credentials.create("ann", clock.now()));
  }
  EXPECT_THROW(directory.credentials.create("ann", clock.now()), Error);
  const Page<KeyRow> page = directory.credentials.list("ann", "", "", 10);
  EXPECT_EQ(page.items.size(), 10u);
  EXPECT_TRUE(page.has_more);
  EXPECT_TRUE(directory.credentials.find("ann", page.items[0].id));
  EXPECT_FALSE(directory.credentials.find("bob", page.items[0].id));
  EXPECT_FALSE(directory.credentials.remove("bob", page.items[0].id));
  EXPECT_TRUE(directory.credentials.remove("ann", page.items[0].id));
}

// A second is promised; the rest of it is for a statement that was under way. Tried by making the
// cache live a whole second: both expectations failed.
TEST_F(Accounts, RevocationsAreSeenEverywhereWithin800Milliseconds) {
  constexpr std::chrono::milliseconds kBound{800};
  const NewKey key = make_keyed_user("ann");
  ASSERT_TRUE(may_list(there.find_key(key.id)->principal));
  directory.policies.detach_from_user("ann", "FSFullAccess");
  clock.pass(kBound);
  EXPECT_FALSE(may_list(there.find_key(key.id)->principal));
  directory.credentials.remove("ann", key.id);
  clock.pass(kBound);
  EXPECT_FALSE(there.find_key(key.id));
}

TEST_F(Accounts, TokensEndWithTheirUser) {
  make_keyed_user("ann");
  const std::string token = here.issue_token(*directory.users.find("ann")).token;
  EXPECT_TRUE(there.check_token(token));
  directory.users.remove("ann");
  clock.pass(std::chrono::seconds{2});
  EXPECT_FALSE(there.check_token(token));
  directory.users.create(user("ann"));
  clock.pass(std::chrono::seconds{2});
  EXPECT_FALSE(there.check_token(token)) << "the token of an earlier user of that name";
  EXPECT_TRUE(there.check_token(here.issue_token(*directory.users.find("ann")).token));
}

TEST_F(Accounts, ExternalPrincipalsStandForOneUser) {
  directory.users.create(user("ann"));
  directory.users.create(user("bob"));
  const std::string id = "arn:aws:sts::1:assumed-role/Dev";
  EXPECT_EQ(directory.external_principals.create({id, "ann", {{{"k", "v"}}, {}}}), Outcome::kDone);
  EXPECT_EQ(directory.external_principals.create({id, "bob", {}}), Outcome::kExists);
  EXPECT_EQ(directory.external_principals.create({"x", "nobody", {}}), Outcome::kNoUser);
  EXPECT_THROW(directory.external_principals.create({"", "ann", {}}), Error);
  EXPECT_EQ(directory.external_principals.find(id)->user, "ann");
  EXPECT_EQ(directory.external_principals.find(id)->settings.at(0).at("k"), "v");
  EXPECT_EQ(directory.external_principals.list("ann", "", "", 10).items.size(), 1u);
  EXPECT_FALSE(directory.external_principals.remove("bob", id));
  EXPECT_TRUE(directory.external_principals.remove("ann", id));
}

TEST_F(Accounts, OneOfManyStartingServersMakesTheAdministrator) {
  std::atomic<int> made = 0;
  std::vector<std::thread> servers;
  for (int i = 0; i < 8; ++i) {
    servers.emplace_back([&] {
      db::Pool own(database.url(), {.connections_max = 2});
      if (ensure_admin(own, master_key, "admin", "", "", clock.now())) ++made;
    });
  }
  for (std::thread& server : servers) server.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(directory.users.list("", "", 10).items.size(), 1u);
  EXPECT_EQ(directory.groups.of_user("admin", "", "", 10).items.at(0).name, kAdmins);
}

TEST_F(Accounts, BuiltInsAreMadeOnceAndStayDeleted) {
  EXPECT_EQ(directory.groups.list("", "", 10).items.size(), built_in_groups().size());
  EXPECT_EQ(directory.policies.list("", "", 100).items.size(), built_in_policies().size());
  directory.policies.remove("CatalogReadAll");
  ensure_built_ins(pool, clock.now());
  EXPECT_FALSE(directory.policies.find("CatalogReadAll"));
}

TEST_F(Accounts, BuiltInsOfAnEarlierVersionAreBroughtUpToDateOnce) {
  const auto forget = [&] {
    pool.run(
        {"test_forget_revision", "UPDATE settings SET value = '' WHERE key = 'built_in_policies'"},
        {}, db::Pool::Retry::kWrite);
  };
  const auto actions = [&] {
    return directory.policies.find("FSReadWriteAll")->statements.at(0).actions;
  };
  const std::vector<std::string> now = actions();
  const std::vector<Statement> earlier = superseded_policies().at(0).statements;
  ASSERT_EQ(superseded_policies().at(0).name, "FSReadWriteAll");
  ASSERT_LT(earlier.at(0).actions.size(), now.size());

  directory.policies.update("FSReadWriteAll", earlier);
  ensure_built_ins(pool, clock.now());
  EXPECT_EQ(actions(), earlier[0].actions) << "made so since: somebody wants it so";
  forget();
  ensure_built_ins(pool, clock.now());
  EXPECT_EQ(actions(), now);

  std::vector<Statement> edited = earlier;
  edited[0].actions.pop_back();
  directory.policies.update("FSReadWriteAll", edited);
  forget();
  ensure_built_ins(pool, clock.now());
  EXPECT_EQ(actions(), edited[0].actions);

  directory.policies.remove("FSReadWriteAll");
  forget();
  ensure_built_ins(pool, clock.now());
  EXPECT_FALSE(directory.policies.find("FSReadWriteAll"));
}

TEST_F(Accounts, UsersFromBeforePoliciesBecomeAdministrators) {
  pool.run({"test_forget_setting", "DELETE FROM settings WHERE key = 'built_in_policies'"}, {},
           db::Pool::Retry::kWrite);
  directory.users.create(user("old"));
  ensure_built_ins(pool, clock.now());
  EXPECT_EQ(directory.groups.of_user("old", "", "", 10).items.at(0).name, kAdmins);
}

TEST_F(Accounts, AccessLevelsAreSetsOfPolicies) {
  directory.groups.create({"team", "", clock.now()});
  for (const char* level : {"Read", "Write", "Super", "Admin"}) {
    EXPECT_EQ(directory.policies.set_of_group("team", policies_of_level(level)), Outcome::kDone);
    EXPECT_EQ(level_of_policies(names(directory.policies.of_group("team", "", "", 100))), level);
  }
  EXPECT_EQ(directory.policies.set_of_group("none", policies_of_level("Read")), Outcome::kNoGroup);
  EXPECT_EQ(level_of_policies({}), "");
  EXPECT_EQ(level_of_policies({"AuthFullAccess"}), std::nullopt);
  directory.policies.remove("FSReadAll");
  EXPECT_THROW(directory.policies.set_of_group("team", policies_of_level("Read")), Error);
  EXPECT_EQ(level_of_policies(names(directory.policies.of_group("team", "", "", 100))), "Admin")
      << "a change that fails changes nothing";
}

}  // namespace
}  // namespace tarn::auth
