#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/auth/authenticator.h"
#include "core/auth/recovery.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/db/pool.h"
#include "server/first_admin.h"
#include "tests/support/postgres_test.h"
#include "tests/support/temporary_directory.h"

namespace tarn::server {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

mode_t mode_of(const std::string& path) {
  struct stat facts = {};
  EXPECT_EQ(::lstat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

class FirstAdmin : public ::testing::Test {
 protected:
  FirstAdmin() {
    for (const char* name :
         {"TARN_ADMIN_ACCESS_KEY_ID", "TARN_ADMIN_SECRET_ACCESS_KEY", "TARN_SETUP_TOKEN"}) {
      ::unsetenv(name);
    }
  }
  std::string path(const std::string& name) { return data.path() + "/" + name; }

  testing::TestDatabase database;
  testing::TemporaryDirectory data;
  SystemClock clock;
  std::string master_key = std::string(32, 'k');
  db::Pool pool{database.url(), {}};
  auth::Authenticator authenticator{pool, clock, master_key};
  auth::Directory directory{pool, master_key};
};

TEST_F(FirstAdmin, GeneratedKeysAreInAFileOfTheOwnersAlone) {
  make_admin(directory, clock.now(), data.path());
  EXPECT_EQ(mode_of(path("admin-credentials")), 0600u);
  const std::string text = text_of(path("admin-credentials"));
  const std::string id = directory.credentials.list("admin", {}).items.at(0).id;
  const std::string secret = authenticator.find_key(id)->secret;
  EXPECT_EQ(text,
            "credentials:\n  access_key_id: " + id + "\n  secret_access_key: " + secret + "\n");
  ::unlink(path("admin-credentials").c_str());
  make_admin(directory, clock.now(), data.path());
  EXPECT_NE(::access(path("admin-credentials").c_str(), F_OK), 0) << "once";
}

TEST_F(FirstAdmin, GivenKeysAreInNoFile) {
  ::setenv("TARN_ADMIN_ACCESS_KEY_ID", "AKIATESTTESTTESTTESQ", 1);
  ::setenv("TARN_ADMIN_SECRET_ACCESS_KEY", "too-short", 1);
  EXPECT_THROW(make_admin(directory, clock.now(), data.path()), Error);
  ::setenv("TARN_ADMIN_SECRET_ACCESS_KEY", "long-enough-for-a-secret", 1);
  make_admin(directory, clock.now(), data.path());
  EXPECT_NE(::access(path("admin-credentials").c_str(), F_OK), 0);
  EXPECT_TRUE(authenticator.check_password("AKIATESTTESTTESTTESQ", "long-enough-for-a-secret", ""));
}

TEST_F(FirstAdmin, SetupTokenIsValidUntilThereIsAUser) {
  const std::string token = make_setup_token(directory, data.path());
  EXPECT_EQ(token.size(), 64u);
  EXPECT_EQ(text_of(path("setup-token")), token + "\n");
  EXPECT_EQ(mode_of(path("setup-token")), 0600u);
  EXPECT_NE(make_setup_token(directory, data.path()), token) << "made at each start";
  ::setenv("TARN_SETUP_TOKEN", "short", 1);
  EXPECT_THROW(make_setup_token(directory, data.path()), Error);
  ::setenv("TARN_SETUP_TOKEN", "a-token-that-was-chosen", 1);
  EXPECT_EQ(make_setup_token(directory, data.path()), "a-token-that-was-chosen");
  directory.ensure_admin("root", "", "", clock.now());
  EXPECT_EQ(make_setup_token(directory, data.path()), "");
  EXPECT_NE(::access(path("setup-token").c_str(), F_OK), 0);
}

TEST_F(FirstAdmin, KeyFileReplacesAFileOfOthers) {
  std::ofstream(path("elsewhere")) << "kept";
  ASSERT_EQ(::symlink(path("elsewhere").c_str(), path("secret").c_str()), 0);
  write_private_file(path("secret"), "s");
  EXPECT_EQ(text_of(path("elsewhere")), "kept");
  EXPECT_EQ(text_of(path("secret")), "s");
  EXPECT_EQ(mode_of(path("secret")), 0600u);
  EXPECT_THROW(write_private_file(path("missing/secret"), "s"), Error);
}

TEST_F(FirstAdmin, IsMadeAgainWhenKeyUserAndGroupAreGone) {
  make_admin(directory, clock.now(), data.path());
  const std::string old = directory.credentials.list("admin", {}).items.at(0).id;
  pool.run({"test_lose_admins", "DELETE FROM groups WHERE name = 'Admins'"}, {},
           db::Pool::Retry::kWrite);
  const auth::NewKey key = auth::recover_admin(pool, master_key, "admin", clock.now());
  const auto found = authenticator.find_key(key.id);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->secret, key.secret);
  EXPECT_TRUE(found->principal.permissions->allows(auth::Action::kCreateUser, auth::user_arn("x"),
                                                   "127.0.0.1"));
  EXPECT_TRUE(directory.credentials.find("admin", old)) << "other keys stay";
  pool.run({"test_lose_user", "DELETE FROM users WHERE name = 'admin'"}, {},
           db::Pool::Retry::kWrite);
  EXPECT_TRUE(
      authenticator.find_key(auth::recover_admin(pool, master_key, "admin", clock.now()).id));
}

TEST_F(FirstAdmin, SecretsMayComeFromFiles) {
  const std::string file = path("secret");
  write_private_file(file, "a-secret-of-more-than-twenty\n");
  ::setenv("TARN_ADMIN_ACCESS_KEY_ID", "AKIAGIVEN", 1);
  ::setenv("TARN_ADMIN_SECRET_ACCESS_KEY_FILE", file.c_str(), 1);
  make_admin(directory, clock.now(), data.path());
  ::unsetenv("TARN_ADMIN_SECRET_ACCESS_KEY_FILE");
  EXPECT_EQ(authenticator.find_key("AKIAGIVEN")->secret, "a-secret-of-more-than-twenty");
}

}  // namespace
}  // namespace tarn::server
