// The fixture of tests of versioning: each has its own repository, all share one database.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/support/engine_fixture.h"

namespace tarn::testing {

inline const BranchName kMain("main");
inline const BranchName kDev("dev");

/// The reason of the error that `body` throws, or "done".
template <typename Body>
std::string reason_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return std::string(error.reason());
  }
  return "done";
}

/// The message of the error that `body` throws, or "done".
template <typename Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "done";
}

/// For tests that read only their own repository. Tests that count jobs, branches or rows of the
/// whole database need their own TestDatabase.
class RepositoryTest : public ::testing::Test {
 protected:
  /// The database of all such tests in this process.
  static const std::string& shared_url() {
    static const TestDatabase database;
    return database.url();
  }
  static std::string fresh_name() {
    static int count = 0;
    return "lake" + std::to_string(100 + count++);
  }

  TestEngine engine{shared_url()};
  testing::TestRepository repo = engine.make_repository(fresh_name());
};

}  // namespace tarn::testing
