// A separate database for every test that needs PostgreSQL.
#pragma once

#include <string>

namespace tarn::testing {

/// A fresh database, dropped by the destructor. Takes about 0.1 s: create one per test, or one
/// static per program if tests do not interfere. The server is the first of: TARN_TEST_DSN (whose
/// user must be able to create databases), ctest's fixture "postgres", one that this program
/// starts. Throws if there is none: a test that needs PostgreSQL fails without it.
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
