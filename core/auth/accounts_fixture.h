// Accounts in a database of their own, seen by two servers, for tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/authenticator.h"
#include "core/auth/directory.h"
#include "core/auth/resource.h"
#include "core/db/pool.h"
#include "tests/support/postgres_test.h"
#include "tests/support/test_clock.h"

namespace tarn::auth {

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
  testing::TestClock clock;
  std::string master_key = std::string(32, 'k');
  db::Pool pool{database.url(), {}};
  Authenticator here{pool, clock, master_key, clock.uptime()};
  Authenticator there{pool, clock, master_key, clock.uptime()};  // another server
  Directory directory{pool, master_key};
};

}  // namespace tarn::auth
