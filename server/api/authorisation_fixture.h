// A caller with the permissions that a test grants, who requests one operation after another.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/auth/policy.h"
#include "server/api/api_fixture.h"
#include "server/api/operation_permissions_fixture.h"
#include "server/api/route.h"

namespace tarn::api {

using testing::arn_of;
using testing::Statements;

inline const Route& route_of(std::string_view operation) {
  for (const Route& route : routes()) {
    if (route.operation == operation) return route;
  }
  ADD_FAILURE() << "no route " << operation;
  return routes()[0];
}

class Authorisation : public ::testing::Test {
 protected:
  Authorisation() {
    service.directory.users.create({"ann", engine.clock.now(), {}, {}});
    key = *service.directory.credentials.create("ann", engine.clock.now());
    service.directory.policies.create({"tried", engine.clock.now(), {kEverything}});
    service.directory.policies.attach_to_user("ann", "tried");
  }

  /// The answer to one operation for a caller with these statements; none = a user without policy.
  http::Response ask(const Row& row, const Statements& statements) {
    grant(statements);
    service.authenticator.forget();
    return send(row, api);
  }
  void grant(const Statements& statements) {
    if (statements.empty()) {
      service.directory.policies.detach_from_user("ann", "tried");
    } else {
      service.directory.policies.attach_to_user("ann", "tried");
      store(statements);
    }
  }
  http::Response send(const Row& row, Api& server, bool signed_in = true) {
    const Route& route = route_of(row.operation);
    http::Request request;
    request.method = name_of(route.method);
    std::string path(route.pattern);
    for (size_t open; (open = path.find('{')) != std::string::npos;) {
      const size_t end = path.find('}', open);
      const std::string name = path.substr(open + 1, end - open - 1);
      const auto named = names.find(name);
      path.replace(open, end - open + 1, named == names.end() ? value_of(name) : named->second);
    }
    request.target = std::string(kBasePath) + path;
    if (!row.query.empty()) request.target += "?" + std::string(row.query);
    request.id = "request-1";
    request.peer = "127.0.0.1";
    if (signed_in) {
      request.headers.add("Authorization", basic(key.id, key.secret));
    }
    if (!row.body.empty()) request.headers.add("Content-Type", "application/json");
    request.content_length = row.body.size();
    request.body = http::string_body(std::string(row.body));
    return server.handle(request);
  }
  void expect_refused(const Row& row, const Statements& statements, std::string_view why) {
    const http::Response response = ask(row, statements);
    EXPECT_EQ(response.status, 401) << row.operation << ": " << why;
    EXPECT_EQ(response.headers.get("X-Tarn-Error"), "insufficient_permissions")
        << row.operation << ": " << why;
  }
  void expect_let_in(const Row& row, const Statements& statements, std::string_view why) {
    const http::Response response = ask(row, statements);
    EXPECT_NE(response.status, 401) << row.operation << ": " << why << ": " << response.body;
    EXPECT_NE(response.status, 500) << row.operation << ": " << why << ": " << response.body;
  }

  static Statements allowing(const Row& row) { return testing::allowing(row.needs); }

  /// Stores the policy unchecked.
  void store(const Statements& statements) {
    static constexpr db::Query kStore{"test_store_policy",
                                      "UPDATE policies SET body = $2 WHERE name = $1"};
    const std::string body = auth::encode_statements(statements);
    engine.pool.run(kStore, {"tried", db::Bytes{body}}, db::Pool::Retry::kWrite);
  }

  std::map<std::string, std::string> names;  ///< in paths, where they are not value_of's
  const auth::Statement kEverything = testing::allowing_everything();
  testing::TestDatabase database;
  testing::TestEngine engine{database.url()};
  TestService service{engine};
  auth::NewKey key;
  Api api{service.context};
};

}  // namespace tarn::api
