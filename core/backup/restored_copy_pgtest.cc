// Rows about processes of the original, which a restored copy leaves out.
#include <gtest/gtest.h>

#include "core/backup/backup_fixture.h"
#include "core/meta/servers.h"

namespace tarn::backup {
namespace {

class RestoredCopy : public BackupTest {
 protected:
  /// The answer of `count` in a copy of this installation.
  int64_t rows_in_copy(const db::Query& count) {
    take(true);
    blob::MemoryStore store;
    Copy copy(&store);
    restore_backup(copy.stores, target, restore_options(copy.database.url()));
    db::Pool restored(copy.database.url(), {});
    return restored.run(count, {}, db::Pool::Retry::kRead).integer(0, 0);
  }
};

TEST_F(RestoredCopy, ServersOfTheOriginalAreNotListedInACopy) {
  meta::Servers(engine.pool).announce({.id = "aa", .version = "1.0.0", .host = "original"});
  EXPECT_EQ(rows_in_copy({"test_count_servers", "SELECT count(*) FROM servers"}), 0);
}

// Writers of the copy would wait for servers that know nothing of it.
TEST_F(RestoredCopy, ReadLeasesOfTheOriginalEndInACopy) {
  run_sql(
      "INSERT INTO read_leases (branch_id, holder, number, repo_id) "
      "SELECT branch_id, 5, 5, repo_id FROM branches");
  EXPECT_EQ(rows_in_copy({"test_count_read_leases", "SELECT count(*) FROM read_leases"}), 0);
}

// A link that was used in the original would make a second key in the copy.
TEST_F(RestoredCopy, InvitationsOfTheOriginalEndInACopy) {
  run_sql(
      "INSERT INTO users (name, created_ms) VALUES ('ann', 1);\n"
      "INSERT INTO invitations (user_id, token_digest, made_by, made_from, expires_at) "
      "SELECT user_id, 'x', user_id, '', 'infinity' FROM users");
  EXPECT_EQ(rows_in_copy({"test_count_invitations", "SELECT count(*) FROM invitations"}), 0);
}

}  // namespace
}  // namespace tarn::backup
