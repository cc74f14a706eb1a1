// A database of its own for every test that needs PostgreSQL.
#pragma once

#include <string>

namespace tarn::testing {

/// A fresh database, dropped at the end. Make one per test, or one static per test program where
/// tests do not get in each other's way: it takes about 0.1 s. The server is, in this order: that
/// of TARN_TEST_DSN (whose user may create databases), the one that ctest's fixture "postgres"
/// started, one this program starts for itself. Throws when there is none: a test that needs
/// PostgreSQL fails without it.
class TestDatabase {
 public:
  enum class Schema {
    kMigrated,  ///< as after all migrations
    kEmpty,
  };
  explicit TestDatabase(Schema schema = Schema::kMigrated);
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  /// libpq connection string of this database.
  const std::string& url() const { return url_; }

 private:
  std::string name_;
  std::string url_;
};

}  // namespace tarn::testing
