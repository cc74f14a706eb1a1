// The permissions that every operation of REST requires, for the tests that call them one after
// another.
#pragma once

#include <string_view>
#include <vector>

#include "tests/support/role_matrix.h"

namespace tarn::api {

using testing::Permission;

/// A call of an operation and all that it needs; kNeedsNothing and kNeedsAnAccount stand alone.
struct Row {
  std::string_view operation;
  std::string_view query;
  std::string_view body;
  std::vector<Permission> needs;
};

extern const std::vector<Permission> kNeedsNothing;
extern const std::vector<Permission> kNeedsAnAccount;

/// One row for every operation of routes().
const std::vector<Row>& rows();

/// The value of the parameter `name` in a path.
std::string_view value_of(std::string_view name);

bool is(const Row& row, const std::vector<Permission>& special);

}  // namespace tarn::api
