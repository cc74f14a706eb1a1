// Invitations over a real database: each attack on a link, and races of two who open it.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/accounts_fixture.h"
#include "core/auth/failed_logins.h"
#include "core/auth/invitations.h"
#include "core/base/error.h"
#include "core/base/reasons.h"

namespace tarn::auth {
namespace {

class Invited : public Accounts {
 protected:
  void SetUp() override {
    make_keyed_user("root");
    may_create_keys("root");
    directory.users.create(user("ann"));
  }
  void may_create_keys(const std::string& name) {
    directory.policies.create({"keys", clock.now(), {everything()}});
    EXPECT_EQ(directory.policies.attach_to_user(name, "keys"), Outcome::kDone);
  }
  std::string invite(const std::string& name = "ann") {
    return directory.invitations.create(name, *directory.users.find("root"), "10.0.0.1")->token;
  }
  AcceptedInvitation accept(const std::string& token, const std::string& address = "10.0.0.9") {
    return directory.invitations.accept(token, here, address, clock.now());
  }
  /// The reason for which the token opens nothing; "" = it made a key.
  std::string refusal(const std::string& token, const std::string& address = "10.0.0.9") {
    try {
      accept(token, address);
      return "";
    } catch (const Error& error) {
      return std::string(error.reason());
    }
  }
  size_t keys_of(const std::string& name) {
    return directory.credentials.list(name, {.limit = 200}).items.size();
  }
  void run_sql(const char* sql) { pool.lease()->run_script(sql); }
};

TEST_F(Invited, MakesAKeyThatSignsIn) {
  const std::string token = invite();
  EXPECT_EQ(keys_of("ann"), 0u) << "no key waits for the link to be opened";
  const AcceptedInvitation accepted = accept(token);
  EXPECT_EQ(accepted.user, "ann");
  const auto signed_in = here.check_password(accepted.key.id, accepted.key.secret, "10.0.0.9");
  ASSERT_TRUE(signed_in);
  EXPECT_EQ(signed_in->user.name, "ann");
}

TEST_F(Invited, OpensOnce) {
  const std::string token = invite();
  accept(token);
  EXPECT_EQ(refusal(token), reason::kInvitationOver);
  EXPECT_EQ(keys_of("ann"), 1u);
}

TEST_F(Invited, OneOfManyAtOnceGetsTheKey) {
  for (int round = 0; round < 10; ++round) {
    const std::string token = invite();
    const size_t before = keys_of("ann");
    std::atomic<int> made{0};
    std::vector<std::thread> openers;
    for (int i = 0; i < 8; ++i) {
      openers.emplace_back([&, i] {
        if (refusal(token, "10.0.1." + std::to_string(i)).empty()) ++made;
      });
    }
    for (std::thread& opener : openers) opener.join();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(keys_of("ann"), before + 1);
  }
}

TEST_F(Invited, DoesNotOutliveItsEndByTheClockOfTheDatabase) {
  const std::string token = invite();
  clock.pass(kInvitationLife + std::chrono::hours(1));
  EXPECT_TRUE(directory.invitations.find("ann")) << "the clock of a server decides nothing";
  run_sql("UPDATE invitations SET expires_at = clock_timestamp()");
  EXPECT_EQ(refusal(token), reason::kInvitationOver);
  EXPECT_FALSE(directory.invitations.find("ann"));
  EXPECT_FALSE(directory.invitations.withdraw("ann"));
}

TEST_F(Invited, GuessesAreCountedByAddress) {
  const std::string token = invite();
  for (int i = 0; i < FailedLogins::kOfAddress.burst; ++i) {
    EXPECT_EQ(refusal("guess" + std::to_string(i)), reason::kInvitationOver);
  }
  EXPECT_EQ(refusal("another"), reason::kTooManyFailures);
  EXPECT_EQ(refusal(token), reason::kTooManyFailures)
      << "a right guess is not told from a wrong one";
  EXPECT_EQ(refusal(token, "10.0.0.10"), "");
}

TEST_F(Invited, ANewOneEndsTheEarlier) {
  const std::string first = invite();
  const std::string second = invite();
  EXPECT_EQ(refusal(first), reason::kInvitationOver);
  EXPECT_EQ(refusal(second), "");
}

TEST_F(Invited, AWithdrawnOneIsOver) {
  const std::string token = invite();
  EXPECT_EQ(directory.invitations.find("ann")->made_by, "root");
  EXPECT_TRUE(directory.invitations.withdraw("ann"));
  EXPECT_FALSE(directory.invitations.withdraw("ann"));
  EXPECT_EQ(refusal(token), reason::kInvitationOver);
}

TEST_F(Invited, EndsWithTheUser) {
  const std::string token = invite();
  EXPECT_TRUE(directory.users.remove("ann"));
  EXPECT_EQ(refusal(token), reason::kInvitationOver);
  EXPECT_EQ(directory.users.create(user("ann")), Outcome::kDone);
  EXPECT_EQ(refusal(token), reason::kInvitationOver) << "another user bears the name";
  EXPECT_EQ(keys_of("ann"), 0u);
}

TEST_F(Invited, EndsWithItsMaker) {
  make_keyed_user("boss");
  directory.policies.attach_to_user("boss", "keys");
  const std::string token = invite();
  EXPECT_TRUE(directory.users.remove("root"));
  EXPECT_EQ(refusal(token), reason::kInvitationOver);
  EXPECT_FALSE(directory.invitations.find("ann"));
}

TEST_F(Invited, UsesTheRightsThatItsMakerStillHas) {
  const std::string token = invite();
  EXPECT_TRUE(directory.policies.detach_from_user("root", "keys"));
  here.forget();
  EXPECT_EQ(refusal(token), reason::kInvitationOver);
  EXPECT_EQ(keys_of("ann"), 0u);
  EXPECT_EQ(directory.policies.attach_to_user("root", "keys"), Outcome::kDone);
  here.forget();
  EXPECT_EQ(refusal(token), "");
}

TEST_F(Invited, RightsOfTheMakerAreThoseAtTheAddressWhereItWasMade) {
  Statement office = everything();
  office.conditions = {{"IpAddress", {{"SourceIp", {"10.0.0.1/32"}}}}};
  directory.policies.update("keys", {office});
  here.forget();
  EXPECT_EQ(refusal(invite(), "192.0.2.1"), "");
}

TEST_F(Invited, AnotherOfTheMakersNameMakesNone) {
  const User gone = *directory.users.find("root");
  make_keyed_user("boss");
  directory.policies.attach_to_user("boss", "keys");
  directory.users.remove("root");
  clock.pass(std::chrono::seconds(1));
  directory.users.create(user("root"));
  EXPECT_FALSE(directory.invitations.create("ann", gone, "10.0.0.1"));
}

TEST_F(Invited, StaysOpenWhenTheUserHasTooManyKeys) {
  for (int64_t i = 0; i < kKeysPerUserMax; ++i) directory.credentials.create("ann", clock.now());
  const std::string token = invite();
  EXPECT_EQ(refusal(token), reason::kTooManyCredentials);
  const Page<KeyRow> keys = directory.credentials.list("ann", {.limit = 1});
  directory.credentials.remove("ann", keys.items.at(0).id);
  EXPECT_EQ(refusal(token), "");
}

TEST_F(Invited, TheDatabaseHasNoTokenAndNoSecret) {
  const std::string token = invite();
  const auto row = [&](const char* name, const char* sql) {
    return std::string(pool.run({name, sql}, {}, db::Pool::Retry::kRead).text(0, 0));
  };
  EXPECT_EQ(row("test_row", "SELECT invitations::text FROM invitations").find(token),
            std::string::npos);
  EXPECT_EQ(row("test_keys", R"sql(SELECT count(*)::text FROM credentials
                WHERE user_id IN (SELECT user_id FROM invitations))sql"),
            "0");
}

TEST_F(Invited, NobodyInvitesAUserWhoDoesNotExist) {
  EXPECT_FALSE(directory.invitations.create("nobody", *directory.users.find("root"), "10.0.0.1"));
  EXPECT_FALSE(directory.invitations.find("nobody"));
  EXPECT_EQ(refusal(""), reason::kInvitationOver);
}

}  // namespace
}  // namespace tarn::auth
