#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/accounts_fixture.h"
#include "core/auth/administrators.h"
#include "core/auth/built_in.h"
#include "core/base/error.h"

namespace tarn::auth {
namespace {

class Administrators : public Accounts {
 protected:
  NewKey make_admin(const std::string& name) {
    const NewKey made = make_keyed_user(name);
    EXPECT_EQ(directory.groups.add_member(kAdmins, name), Outcome::kDone);
    return made;
  }
  /// Whether the removal is refused, and leaves an administrator who can sign in.
  bool refused(const std::function<void()>& removal) {
    try {
      removal();
      return false;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), "last_administrator");
      EXPECT_TRUE(here.find_key(key.id));
      EXPECT_EQ(directory.users.members(kAdmins, {}).items.size(), 1u);
      return true;
    }
  }

  NewKey key = make_admin("ann");
};

TEST_F(Administrators, LastOneCannotBeRemoved) {
  make_keyed_user("bob");  // is none
  EXPECT_TRUE(refused([&] { directory.users.remove("ann"); }));
  EXPECT_TRUE(refused([&] { directory.groups.remove_member(kAdmins, "ann"); }));
  EXPECT_TRUE(refused([&] { directory.groups.remove(kAdmins); }));
  EXPECT_TRUE(refused([&] { directory.credentials.remove("ann", key.id); }));
  EXPECT_TRUE(directory.users.remove("bob"));
  EXPECT_FALSE(directory.users.remove("bob"));
}

TEST_F(Administrators, OneWithoutAKeyDoesNotCount) {
  directory.users.create(user("bob"));
  directory.groups.add_member(kAdmins, "bob");
  EXPECT_THROW(directory.users.remove("ann"), Error);
  const NewKey other = *directory.credentials.create("bob", clock.now());
  EXPECT_TRUE(directory.users.remove("ann"));
  EXPECT_THROW(directory.credentials.remove("bob", other.id), Error);
}

TEST_F(Administrators, SecondKeyCanBeRemoved) {
  const NewKey second = *directory.credentials.create("ann", clock.now());
  EXPECT_TRUE(directory.credentials.remove("ann", second.id));
}

TEST_F(Administrators, TwoCannotRemoveEachOther) {
  for (int round = 0; round < 20; ++round) {
    make_admin("bob");
    std::atomic<int> removed{0};
    std::vector<std::jthread> threads;
    for (const char* name : {"ann", "bob"}) {
      threads.emplace_back([&, name] {
        try {
          removed += directory.users.remove(name) ? 1 : 0;
        } catch (const Error& error) {
          EXPECT_EQ(error.reason(), "last_administrator");
        }
      });
    }
    threads.clear();
    EXPECT_EQ(removed, 1);
    if (!directory.users.find("ann")) make_admin("ann");
    directory.users.remove("bob");
  }
}

}  // namespace
}  // namespace tarn::auth
