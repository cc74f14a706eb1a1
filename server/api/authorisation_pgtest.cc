// Every operation asked by callers with too little, just enough, and a denial: allowed only where
// it must be. A route without a row in operation_permissions.cc fails.
#include <set>

#include <gtest/gtest.h>

#include "server/api/authorisation_fixture.h"

namespace tarn::api {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  if (const size_t at = text.find(what); at != std::string::npos) {
    text.replace(at, what.size(), with);
  }
  return text;
}

TEST_F(Authorisation, HasARowForEveryRoute) {
  std::multiset<std::string_view> rowed;
  for (const Row& row : rows()) rowed.insert(row.operation);
  std::multiset<std::string_view> routed;
  for (const Route& route : routes()) routed.insert(route.operation);
  EXPECT_EQ(rowed, routed);
}

TEST_F(Authorisation, WithoutAnAccountOnlyOpenOperationsAnswer) {
  for (const Row& row : rows()) {
    const http::Response response = ask(row, {}, /*signed_in=*/false);
    const bool unauthenticated = response.status == 401;
    // Wrong keys at login are a 401 of their own.
    if (row.operation == "login") continue;
    EXPECT_EQ(unauthenticated, !is(row, kNeedsNothing)) << row.operation << ": " << response.body;
  }
}

TEST_F(Authorisation, WithoutAPolicyNothingIsAllowedButWhatEveryAccountMay) {
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing)) continue;
    if (is(row, kNeedsAnAccount)) {
      expect_let_in(row, {}, "any account");
    } else {
      expect_refused(row, {}, "no policy");
    }
  }
}

TEST_F(Authorisation, ExactlyWhatIsNeededIsEnoughAndNothingLess) {
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing) || is(row, kNeedsAnAccount)) continue;
    expect_let_in(row, allowing(row), "the right policy");
    for (size_t left_out = 0; left_out < row.needs.size(); ++left_out) {
      Statements less = allowing(row);
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(left_out));
      expect_refused(row, less, std::string("without ") + std::string(row.needs[left_out].action));
    }
  }
}

TEST_F(Authorisation, TheSamePermissionOnSomethingElseIsNotEnough) {
  struct Swap {
    std::string_view what;
    std::string_view with;
  };
  constexpr Swap kSwaps[] = {{"repository/data", "repository/other"},
                             {"/branch/topic", "/branch/other"},
                             {"/branch/target", "/branch/other"},
                             {"/object/dir/", "/object/elsewhere/"},
                             {"/tag/v1", "/tag/v2"},
                             {"/alias/champion", "/alias/other"},
                             {"user/someone", "user/other"},
                             {"group/team", "group/other"},
                             {"policy/rule", "policy/other"},
                             {"externalPrincipal/role", "externalPrincipal/other"},
                             {"namespace/", "namespace/x"},
                             {"*", "repository/*"}};
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing) || is(row, kNeedsAnAccount)) continue;
    bool swapped = false;
    for (const Swap& swap : kSwaps) {
      bool changed = false;
      const Statements other = allowing(row, [&](std::string resource) {
        std::string out = replaced(resource, swap.what, swap.with);
        changed = changed || out != resource;
        return out;
      });
      if (!changed) continue;
      swapped = true;
      expect_refused(row, other, swap.with);
    }
    EXPECT_TRUE(swapped) << row.operation;
  }
}

TEST_F(Authorisation, WhoChoosesTheParentsOfACommitMustBeAllowedToMoveTheBranch) {
  const Row row{"commit",
                "",
                R"({"message":"m","parents":["main"]})",
                {{"fs:CreateCommit", "repository/data/branch/topic"},
                 {"fs:RevertBranch", "repository/data/branch/topic"}}};
  expect_let_in(row, allowing(row), "both");
  Statements less = allowing(row);
  less.pop_back();
  expect_refused(row, less, "without fs:RevertBranch");
}

TEST_F(Authorisation, ADenialWinsOverEverything) {
  for (const Row& row : rows()) {
    if (is(row, kNeedsNothing) || is(row, kNeedsAnAccount)) continue;
    for (const Statements& allowed : {allowing(row), Statements{kEverything}}) {
      Statements denied = allowed;
      auth::Statement deny = allowing(row).front();
      deny.effect = auth::Statement::Effect::kDeny;
      denied.push_back(deny);
      expect_refused(row, denied, "denied");
    }
  }
}

}  // namespace
}  // namespace tarn::api
