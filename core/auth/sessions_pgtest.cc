// Logins: how long they last, what ends them, and how many wrong secrets are taken.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "core/auth/accounts_fixture.h"
#include "core/auth/setup.h"
#include "core/base/error.h"
#include "core/base/metrics.h"

namespace tarn::auth {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kAddress = "192.0.2.7";
constexpr milliseconds kSeenEverywhere{800};

class Sessions : public Accounts {
 protected:
  std::string log_in(const NewKey& key) {
    return here.issue_token(*here.check_password(key.id, key.secret, kAddress)).token;
  }
  /// "right", "wrong" or the reason of a refusal.
  std::string attempt(const std::string& id, const std::string& secret,
                      std::string_view address = kAddress) {
    try {
      return here.check_password(id, secret, address) ? "right" : "wrong";
    } catch (const Error& error) {
      return std::string(error.reason());
    }
  }
};

TEST_F(Sessions, EndWithTheKeyTheyWereOpenedWith) {
  const NewKey key = make_keyed_user("ann");
  const NewKey other = *directory.credentials.create("ann", clock.now());
  const std::string token = log_in(key);
  const std::string kept = log_in(other);
  ASSERT_TRUE(there.check_token(token));
  EXPECT_EQ(there.check_token(token)->access_key_id, key.id);
  directory.credentials.remove("ann", key.id);
  clock.pass(kSeenEverywhere);
  EXPECT_FALSE(here.check_token(token));
  EXPECT_FALSE(there.check_token(token));
  EXPECT_TRUE(there.check_token(kept));
}

TEST_F(Sessions, TellWhenTheyExpired) {
  make_keyed_user("ann");
  const LoginToken made = here.issue_token(*here.find_user("ann"));
  EXPECT_FALSE(here.expiry_of_expired(made.token));
  clock.pass(kSessionLife);
  EXPECT_EQ(there.expiry_of_expired(made.token), floor<seconds>(made.expires));
  EXPECT_FALSE(there.expiry_of_expired(made.token + "x")) << "forged";
  EXPECT_FALSE(there.expiry_of_expired("none"));
}

TEST_F(Sessions, EndWithTheirUser) {
  const NewKey key = make_keyed_user("ann");
  const std::string token = log_in(key);
  EXPECT_TRUE(there.check_token(token));
  directory.users.remove("ann");
  clock.pass(milliseconds{1});
  directory.users.create(user("ann"));  // in the same second
  const std::string keyless = here.issue_token(*here.find_user("ann")).token;
  clock.pass(kSeenEverywhere);
  EXPECT_FALSE(there.check_token(token));
  EXPECT_FALSE(there.check_token(keyless)) << "of the earlier user, remembered here";
  EXPECT_TRUE(there.check_token(here.issue_token(*here.find_user("ann")).token));
}

TEST_F(Sessions, EndWhenTheUserLogsOut) {
  const NewKey key = make_keyed_user("ann");
  const std::string one = log_in(key);
  const std::string two = log_in(key);
  const std::string of_bob = log_in(make_keyed_user("bob"));
  here.end_sessions("forged");
  EXPECT_TRUE(here.check_token(one));
  here.end_sessions(one);
  EXPECT_FALSE(here.check_token(one));
  clock.pass(kSeenEverywhere);
  EXPECT_FALSE(there.check_token(one));
  EXPECT_FALSE(there.check_token(two)) << "in another browser";
  EXPECT_TRUE(there.check_token(of_bob));
  EXPECT_TRUE(there.check_token(log_in(key)));
}

// A restored backup has the user as of before the login.
TEST_F(Sessions, EndAlsoWhereTheDatabaseIsOlderThanTheLogin) {
  const NewKey key = make_keyed_user("ann");
  const std::string one = log_in(key);
  here.end_sessions(one);
  clock.pass(kSeenEverywhere);
  const std::string two = log_in(key);
  db::Connection::open(database.url())
      ->run_script("UPDATE users SET sessions_valid_from_ms = 0 WHERE name = 'ann'");
  clock.pass(kSeenEverywhere);
  ASSERT_TRUE(there.check_token(two));
  here.end_sessions(two);
  clock.pass(kSeenEverywhere);
  EXPECT_FALSE(there.check_token(two));
}

TEST_F(Sessions, ServerWithASlowClockStartsNewOnes) {
  const NewKey key = make_keyed_user("ann");
  clock.pass(seconds{5});
  here.end_sessions(log_in(key));
  clock.jump(seconds{-5});
  here.forget();
  EXPECT_TRUE(here.check_token(log_in(key)));
}

TEST_F(Sessions, EndWhenTheUserLogsOutAfterTheClockWasSetBack) {
  const NewKey key = make_keyed_user("ann");
  for (const char* logout : {"first", "second"}) {
    SCOPED_TRACE(logout);
    const std::string one = log_in(key);
    const std::string two = log_in(key);
    clock.jump(-hours{24});
    here.end_sessions(one);
    clock.pass(kSeenEverywhere);
    for (Authenticator* server : {&here, &there}) {
      EXPECT_FALSE(server->check_token(one));
      EXPECT_FALSE(server->check_token(two)) << "in another browser";
    }
  }
}

// The other server remembers the user of before the logout.
TEST_F(Sessions, ANewOneBeginsAndEndsOnAnyServerRightAfterALogout) {
  const NewKey key = make_keyed_user("ann");
  const std::string old = log_in(key);
  ASSERT_TRUE(there.check_token(old));
  here.end_sessions(old);
  const std::string next = log_in(key);
  EXPECT_TRUE(there.check_token(next));
  const std::string at_other =
      there.issue_token(*there.check_password(key.id, key.secret, kAddress)).token;
  there.end_sessions(next);
  clock.pass(kSeenEverywhere);
  for (Authenticator* server : {&here, &there}) {
    EXPECT_FALSE(server->check_token(next));
    EXPECT_FALSE(server->check_token(at_other));
    EXPECT_TRUE(server->check_token(log_in(key)));
  }
}

TEST_F(Sessions, LastTwelveHoursUnlessTheyAreRenewed) {
  const NewKey key = make_keyed_user("ann");
  std::string token = log_in(key);
  EXPECT_FALSE(here.renewed(token)) << "too young";
  clock.pass(kRenewalAge);
  const std::optional<LoginToken> next = here.renewed(token);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->expires, clock.now() + kSessionLife);
  clock.pass(kSessionLife - kRenewalAge);
  EXPECT_FALSE(there.check_token(token));
  EXPECT_TRUE(there.check_token(next->token));
  clock.pass(kRenewalAge);
  EXPECT_FALSE(there.check_token(next->token));
}

TEST_F(Sessions, AreRenewedForAWeekAtMost) {
  const NewKey key = make_keyed_user("ann");
  std::string token = log_in(key);
  const Instant began = clock.now();
  int renewals = 0;
  for (; renewals < 1000; ++renewals) {
    clock.pass(hours{6});
    const std::optional<LoginToken> next = here.renewed(token);
    if (!next) break;
    EXPECT_LE(next->expires, began + kSessionLifeMax);
    token = next->token;
  }
  EXPECT_EQ(renewals, 26);
  EXPECT_TRUE(here.check_token(token));
  clock.pass(began + kSessionLifeMax - clock.now());
  EXPECT_FALSE(here.check_token(token));
}

TEST_F(Sessions, ARenewedOneEndsWithItsLogin) {
  const NewKey key = make_keyed_user("ann");
  const std::string token = log_in(key);
  clock.pass(kRenewalAge);
  const std::string next = here.renewed(token)->token;
  here.end_sessions(token);
  EXPECT_FALSE(here.check_token(next));
  directory.credentials.remove("ann", key.id);
  clock.pass(kSeenEverywhere);
  EXPECT_FALSE(there.check_token(next));
}

double failures_counted(const std::string& reason) {
  const std::string text = metrics::text();
  const std::string line = "tarn_login_failures_total{reason=\"" + reason + "\"} ";
  const size_t at = text.find(line);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size()));
}

TEST_F(Sessions, WrongSecretsAreLimited) {
  const double wrong_before = failures_counted("wrong_secret");
  const double refused_before = failures_counted("too_many");
  const NewKey key = make_keyed_user("ann");
  for (int i = 0; i < 10; ++i) ASSERT_EQ(attempt(key.id, "wrong"), "wrong");
  EXPECT_EQ(attempt(key.id, "wrong"), "too_many_failures");
  EXPECT_EQ(attempt(key.id, key.secret), "too_many_failures") << "nor is the right one told";
  EXPECT_EQ(attempt(key.id, key.secret, "198.51.100.1"), "right") << "the owner, elsewhere";
  clock.pass(seconds{6});
  EXPECT_EQ(attempt(key.id, key.secret), "right");
  EXPECT_EQ(failures_counted("wrong_secret"), wrong_before + 10);
  EXPECT_EQ(failures_counted("too_many"), refused_before + 2);
}

TEST_F(Sessions, FailuresOfOthersAtTheSameAddressDoNotLockOut) {
  const NewKey key = make_keyed_user("ann");
  ASSERT_EQ(attempt(key.id, key.secret), "right");
  for (int i = 0; i < 50; ++i) ASSERT_EQ(attempt(key.id, "wrong"), "wrong");
  EXPECT_EQ(attempt(key.id, key.secret), "right");
}

TEST_F(Sessions, UnknownKeysAreLimited) {
  make_keyed_user("ann");
  std::string last;
  int attempts = 0;
  while (last != "too_many_failures" && attempts < 1000) {
    last = attempt("AKIA" + std::to_string(attempts++), "guess");
  }
  EXPECT_EQ(attempts, 101);
}

TEST_F(Sessions, ASignatureIsRememberedForItsAddress) {
  const NewKey key = make_keyed_user("ann");
  ASSERT_TRUE(here.find_key(key.id));
  EXPECT_FALSE(here.remembered_signer(key.id, kAddress));
  here.note_signature(key.id, kAddress);
  EXPECT_EQ(here.remembered_signer(key.id, kAddress), "ann");
  EXPECT_FALSE(here.remembered_signer(key.id, "198.51.100.1"));
  EXPECT_EQ(here.remembered_owner(key.id, key.secret), "ann");
  EXPECT_FALSE(here.remembered_owner(key.id, key.secret + "x"));
  EXPECT_FALSE(there.remembered_owner(key.id, key.secret)) << "never looked up there";
}

TEST_F(Sessions, ShortSecretsAreRefused) {
  const auto choose = [&](size_t length) {
    return directory.ensure_admin("admin", "AKIATESTTESTTESTTESQ", std::string(length, 's'),
                                  clock.now());
  };
  EXPECT_THROW(choose(kSecretBytesMin - 1), Error);
  EXPECT_FALSE(directory.has_users());
  EXPECT_TRUE(choose(kSecretBytesMin));
}

}  // namespace
}  // namespace tarn::auth
