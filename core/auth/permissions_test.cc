#include "core/auth/permissions.h"

#include <gtest/gtest.h>

#include "core/auth/resource.h"
#include "core/base/error.h"

namespace tarn::auth {
namespace {

using Effect = Statement::Effect;
using Decision = Permissions::Decision;
constexpr std::string_view kHere = "127.0.0.1";

Statement allow(std::vector<std::string> actions, std::vector<std::string> resources) {
  return {Effect::kAllow, std::move(actions), std::move(resources), {}};
}
Statement deny(std::vector<std::string> actions, std::vector<std::string> resources) {
  return {Effect::kDeny, std::move(actions), std::move(resources), {}};
}

TEST(WildcardMatch, FollowsStarsAndQuestionMarks) {
  EXPECT_TRUE(wildcard_match("*", ""));
  EXPECT_TRUE(wildcard_match("a*b*c", "a-b-b-c"));
  EXPECT_TRUE(wildcard_match("repository/data?", "repository/data1"));
  EXPECT_FALSE(wildcard_match("repository/data?", "repository/data"));
  EXPECT_FALSE(wildcard_match("a*b", "a-c"));
  EXPECT_FALSE(wildcard_match("", "a"));
  EXPECT_TRUE(wildcard_match("", ""));
  // Linear: this would take for ever with a matcher that tries everything.
  const std::string text(100'000, 'a');
  EXPECT_FALSE(wildcard_match("*a*a*a*a*a*a*a*a*b", text));
}

TEST(AddressBlock, KnowsBothFamilies) {
  EXPECT_TRUE(in_address_block("10.1.2.3", "10.0.0.0/8"));
  EXPECT_FALSE(in_address_block("11.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(in_address_block("::ffff:10.1.2.3", "10.0.0.0/8"));
  EXPECT_TRUE(in_address_block("2001:db8::5", "2001:db8::/32"));
  EXPECT_FALSE(in_address_block("2001:db9::5", "2001:db8::/32"));
  EXPECT_FALSE(in_address_block("10.1.2.3", "::/0"));
  EXPECT_TRUE(in_address_block("10.1.2.3", "10.1.2.3"));
  for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "ten", "", "::/129"}) {
    EXPECT_FALSE(is_address_block(bad)) << bad;
  }
}

TEST(Resource, LeavesOutTheRef) {
  EXPECT_EQ(without_ref(object_arn("data", "main", "a/b")), object_arn("data", "a/b"));
  EXPECT_EQ(without_ref(ref_arn("data", "main")), repository_arn("data"));
  EXPECT_EQ(without_ref(object_arn("data", "a")), "");
  EXPECT_EQ(without_ref(object_arn("data", "ref/main/object/a")), "");
  EXPECT_EQ(without_ref(branch_arn("data", "main")), "");
  EXPECT_EQ(without_ref(kEverything), "");
  // No ref can pretend to be a path.
  EXPECT_EQ(without_ref(object_arn("data", "main/object/public", "secret")),
            object_arn("data", "secret"));
}

TEST(Permissions, MayBeLimitedToARef) {
  const std::string main = ref_arn("data", "main");
  const Permissions p(
      "ann", {{allow({"fs:ReadObject"}, {main + "/object/*"}), allow({"fs:ListObjects"}, {main}),
               allow({"fs:WriteObject"}, {repository_arn("data") + "/object/*"}),
               deny({"fs:WriteObject"}, {main + "/object/*"})}});
  EXPECT_TRUE(p.allows(Action::kReadObject, object_arn("data", "main", "a"), kHere));
  EXPECT_FALSE(p.allows(Action::kReadObject, object_arn("data", "main2", "a"), kHere));
  EXPECT_FALSE(p.allows(Action::kReadObject, object_arn("data", "a"), kHere));
  EXPECT_FALSE(p.allows(Action::kReadObject, object_arn("data", "ref/main/object/a"), kHere));
  EXPECT_TRUE(p.allows(Action::kListObjects, ref_arn("data", "main"), kHere));
  EXPECT_FALSE(p.allows(Action::kListObjects, ref_arn("data", "dev"), kHere));
  EXPECT_FALSE(p.allows(Action::kListObjects, repository_arn("data"), kHere));
  EXPECT_TRUE(p.allows(Action::kWriteObject, object_arn("data", "dev", "a"), kHere));
  EXPECT_EQ(p.decide(Action::kWriteObject, object_arn("data", "main", "a"), kHere),
            Decision::kDenied);
}

// An alias is a separate ref: permission to read a branch does not permit reading through an alias,
// wherever it points, nor the other way round.
TEST(Permissions, AliasPermissionsUseItsName) {
  const std::string arn = "arn:lakefs:fs:::repository/data/ref/@champion";
  EXPECT_EQ(ref_arn("data", "@champion"), arn);
  EXPECT_EQ(without_ref(object_arn("data", "@champion", "a")), object_arn("data", "a"));
  EXPECT_EQ(alias_arn("data", "champion"), "arn:lakefs:fs:::repository/data/alias/champion");
  const auto reads = [](const std::string& ref, const std::string& of) {
    const Permissions p("ann", {{allow({"fs:*"}, {ref_arn("data", of) + "/object/*"})}});
    return p.allows(Action::kReadObject, object_arn("data", ref, "a"), kHere);
  };
  EXPECT_TRUE(reads("@champion", "@champion"));
  EXPECT_TRUE(reads("main", "main"));
  EXPECT_FALSE(reads("@champion", "main"));
  EXPECT_FALSE(reads("main", "@champion"));
  EXPECT_FALSE(reads("champion", "@champion"));
  EXPECT_FALSE(reads("@champion", "champion"));
  EXPECT_FALSE(reads("@champion~1", "@champion")) << "an expression is another ref";
  EXPECT_FALSE(reads("@challenger", "@champion"));
  EXPECT_FALSE(reads("@champion/object/x", "@champion")) << "no ref can pretend to be a path";
}

TEST(Permissions, NothingIsAllowedByDefault) {
  EXPECT_EQ(Permissions().decide(Action::kReadObject, object_arn("data", "a"), kHere),
            Decision::kNotAllowed);
}

TEST(Permissions, MatchActionAndResourceTogether) {
  const Permissions p("ann", {{allow({"fs:Read*"}, {repository_arn("data") + "/object/models/*"}),
                               allow({"fs:ListObjects"}, {repository_arn("data")})}});
  EXPECT_TRUE(p.allows(Action::kReadObject, object_arn("data", "models/a/b"), kHere));
  EXPECT_FALSE(p.allows(Action::kReadObject, object_arn("data", "raw/a"), kHere));
  EXPECT_FALSE(p.allows(Action::kReadObject, object_arn("other", "models/a"), kHere));
  EXPECT_FALSE(p.allows(Action::kWriteObject, object_arn("data", "models/a"), kHere));
  EXPECT_TRUE(p.allows(Action::kListObjects, repository_arn("data"), kHere));
  EXPECT_FALSE(p.allows(Action::kListObjects, repository_arn("data2"), kHere));
}

TEST(Permissions, DenyTakesPrecedence) {
  const Statement all = allow({"*"}, {"*"});
  const Statement none = deny({"fs:DeleteObject"}, {repository_arn("data") + "/*"});
  for (const auto& policies :
       {std::vector<std::vector<Statement>>{{all}, {none}}, {{none}, {all}}, {{all, none}}}) {
    const Permissions p("ann", policies);
    EXPECT_EQ(p.decide(Action::kDeleteObject, object_arn("data", "a"), kHere), Decision::kDenied);
    EXPECT_EQ(p.decide(Action::kDeleteObject, object_arn("date", "a"), kHere), Decision::kAllowed);
  }
}

TEST(Permissions, EverythingIsGrantedByTheStarAlone) {
  const Permissions narrow("ann", {{allow({"fs:*"}, {repository_arn("*")})}});
  EXPECT_FALSE(narrow.allows(Action::kListRepositories, kEverything, kHere));
  const Permissions wide("ann", {{allow({"fs:List*"}, {"*"})}});
  EXPECT_TRUE(wide.allows(Action::kListRepositories, kEverything, kHere));
}

TEST(Permissions, TakeWildcardsOnlyInTheLastPartOfAnArn) {
  const Permissions p("ann", {{allow({"*"}, {"arn:lakefs:*:::user/*"})}});
  EXPECT_FALSE(p.allows(Action::kReadUser, user_arn("ann"), kHere));
}

TEST(Permissions, ReplaceTheUserInResources) {
  const Permissions p("ann", {{allow({"auth:*"}, {user_arn("${user}")})}});
  EXPECT_TRUE(p.allows(Action::kCreateCredentials, user_arn("ann"), kHere));
  EXPECT_FALSE(p.allows(Action::kCreateCredentials, user_arn("bob"), kHere));
}

TEST(Permissions, KeysWithStarsAreText) {
  const Permissions p("ann", {{allow({"fs:ReadObject"}, {object_arn("data", "a")})}});
  EXPECT_FALSE(p.allows(Action::kReadObject, object_arn("data", "*"), kHere));
}

TEST(WildcardMatch, MatchesAllOrSomeTextsWithAPrefix) {
  for (const char* pattern : {"*", "a*", "a/*", "?/*", "a/**"}) {
    EXPECT_TRUE(wildcard_matches_all(pattern, "a/")) << pattern;
  }
  for (const char* pattern : {"", "a/", "a/?", "a/?*", "a/b*", "*/", "a/*b", "a/*?"}) {
    EXPECT_FALSE(wildcard_matches_all(pattern, "a/")) << pattern;
  }
  for (const char* pattern : {"*", "a*", "a/", "a/b", "a/?", "?/x", "*b", "*/c/*", "a?x", "a*/x"}) {
    EXPECT_TRUE(wildcard_matches_some(pattern, "a/")) << pattern;
  }
  for (const char* pattern : {"", "a", "b*", "b/a/*", "?", "ab*"}) {
    EXPECT_FALSE(wildcard_matches_some(pattern, "a/")) << pattern;
  }
}

TEST(Permissions, AllObjectsNeedOneStatementThatAllowsAllAndNoDenial) {
  const std::string data = repository_arn("data");
  const auto decide = [&](const std::vector<Statement>& statements) {
    return Permissions("ann", {statements})
        .decide_on_all_objects(Action::kReadObject, "data", kHere);
  };
  for (const std::string& pattern : {std::string("*"), data + "/object/*", data + "/*",
                                     repository_arn("d*"), repository_arn("?ata/object/*")}) {
    EXPECT_EQ(decide({allow({"fs:Read*"}, {pattern})}), Decision::kAllowed) << pattern;
  }
  for (const std::string& pattern :
       {data, data + "/object/?", data + "/object/a*", data + "/object/*.csv",
        data + "/ref/*/object/*", repository_arn("data2/*"), std::string("arn:lakefs:fs:::*x")}) {
    EXPECT_EQ(decide({allow({"fs:Read*"}, {pattern})}), Decision::kNotAllowed) << pattern;
  }
  EXPECT_EQ(decide({allow({"fs:WriteObject"}, {"*"})}), Decision::kNotAllowed);
  const Statement all = allow({"*"}, {"*"});
  for (const std::string& pattern :
       {std::string("*"), data + "/object/a", data + "/*secret*", data + "/ref/main/object/*",
        data + "/r*", repository_arn("*/object/x/*")}) {
    EXPECT_EQ(decide({all, deny({"fs:ReadObject"}, {pattern})}), Decision::kDenied) << pattern;
  }
  for (const std::string& pattern :
       {data, data + "/branch/main", data + "/tag/*", repository_arn("data2/*")}) {
    EXPECT_EQ(decide({all, deny({"fs:ReadObject"}, {pattern})}), Decision::kAllowed) << pattern;
  }
  EXPECT_EQ(decide({all, deny({"fs:WriteObject"}, {"*"})}), Decision::kAllowed);
}

TEST(Permissions, PrefixNeedsOneStatementThatAllowsAllAndNoDenial) {
  const std::string data = repository_arn("data");
  const auto decide = [&](const std::vector<Statement>& statements) {
    return Permissions("ann", {statements})
        .decide_below(Action::kWriteObject, object_arn("data", "main", "in/"), kHere);
  };
  for (const std::string& pattern : {std::string("*"), data + "/object/in/*", data + "/object/i*",
                                     data + "/ref/main/*", data + "/ref/*/object/*"}) {
    EXPECT_EQ(decide({allow({"fs:*"}, {pattern})}), Decision::kAllowed) << pattern;
  }
  for (const std::string& pattern : {data + "/object/in/", data + "/object/in/a*",
                                     data + "/ref/dev/*", data + "/object/in/*.csv"}) {
    EXPECT_EQ(decide({allow({"fs:*"}, {pattern})}), Decision::kNotAllowed) << pattern;
  }
  const Statement all = allow({"*"}, {"*"});
  for (const std::string& pattern : {data + "/object/in/deny/*", data + "/ref/main/object/in/x",
                                     data + "/*/deny", std::string("*")}) {
    EXPECT_EQ(decide({all, deny({"fs:*"}, {pattern})}), Decision::kDenied) << pattern;
  }
  for (const std::string& pattern : {data + "/object/out/*", data + "/object/in",
                                     data + "/ref/dev/object/in/x", data + "/branch/main"}) {
    EXPECT_EQ(decide({all, deny({"fs:*"}, {pattern})}), Decision::kAllowed) << pattern;
  }
}

/// Of putting what is at `source` onto `destination`.
Decision moved(const std::vector<Statement>& statements, const RefScope& source,
               std::string_view destination, std::string_view from = kHere) {
  return Permissions("ann", {statements})
      .decide_on_source(Action::kReadObject, "data", source, destination, from);
}

TEST(Permissions, SourceNeedsTheReadRightsOfTheDestination) {
  const auto at = [](const std::string& rest) {
    return allow({"fs:Read*"}, {repository_arn("data/") + rest});
  };
  // Nothing that names a ref.
  for (const char* rest : {"*", "object/a/*", "object/*.csv", "object/?", "ref/*",
                           "ref/*/object/a/*", "branch/main", "r*"}) {
    EXPECT_EQ(moved({at(rest)}, {"dev"}, "main"), Decision::kAllowed) << rest;
  }
  EXPECT_EQ(moved({allow({"*"}, {repository_arn("*/object/a/*")})}, {"dev"}, "main"),
            Decision::kAllowed);
  EXPECT_EQ(moved({}, {"dev"}, "main"), Decision::kAllowed);

  const std::vector<Statement> main = {at("ref/main*")};
  EXPECT_EQ(moved(main, {"dev"}, "main"), Decision::kNotAllowed);
  EXPECT_EQ(moved(main, {"dev"}, "main2"), Decision::kNotAllowed);
  EXPECT_EQ(moved(main, {"dev"}, ""), Decision::kNotAllowed);
  EXPECT_EQ(moved(main, {"dev"}, "other"), Decision::kAllowed) << "cannot be read either";
  EXPECT_EQ(moved(main, {"main2"}, "main"), Decision::kAllowed);
  EXPECT_EQ(moved(main, {"main~1"}, "main"), Decision::kAllowed);

  // All of what is allowed at the destination, by whatever statements.
  EXPECT_EQ(moved({at("ref/main/*"), at("ref/dev/*")}, {"dev"}, "main"), Decision::kAllowed);
  EXPECT_EQ(moved({at("ref/main/*"), at("ref/dev/object/a/*")}, {"dev"}, "main"),
            Decision::kNotAllowed);
  EXPECT_EQ(moved({at("ref/main/object/a/*"), at("object/a/*")}, {"dev"}, "main"),
            Decision::kAllowed);
  EXPECT_EQ(moved({at("ref/main/object/a/*"), at("object/b/*")}, {"dev"}, "main"),
            Decision::kNotAllowed);
  EXPECT_EQ(moved({at("ref/main/*"), allow({"*"}, {"*"})}, {"dev"}, "main"), Decision::kAllowed);
  EXPECT_EQ(moved({at("ref/main*"), at("ref/dev/*")}, {"dev"}, "main"), Decision::kNotAllowed)
      << "main~1 can be read and dev~1 not";
}

TEST(Permissions, SourceOfManyRefsNeedsRightsOnAll) {
  const auto at = [](const std::string& rest) {
    return allow({"fs:Read*"}, {repository_arn("data/ref/") + rest});
  };
  const RefScope all{"", true};
  const RefScope exp{"exp-", true};
  EXPECT_EQ(moved({at("main*")}, all, "main"), Decision::kNotAllowed);
  EXPECT_EQ(moved({at("main*"), at("*")}, all, "main"), Decision::kAllowed);
  EXPECT_EQ(moved({at("main*"), at("exp-*")}, exp, "main"), Decision::kAllowed);
  EXPECT_EQ(moved({at("main*"), at("exp-1*")}, exp, "main"), Decision::kNotAllowed);
  EXPECT_EQ(moved({at("main/*"), at("exp-/*")}, exp, "main"), Decision::kNotAllowed);
  EXPECT_EQ(moved({at("*-main*")}, exp, "a-main"), Decision::kNotAllowed);
  EXPECT_EQ(moved({at("*-main*")}, exp, ""), Decision::kNotAllowed);
  EXPECT_EQ(moved({at("*/object/a/*")}, exp, ""), Decision::kAllowed);
}

TEST(Permissions, SourceDenialsCount) {
  const Statement every = allow({"*"}, {"*"});
  const auto without = [&](const std::string& rest) {
    return std::vector<Statement>{every, deny({"fs:*"}, {repository_arn("data/") + rest})};
  };
  for (const char* rest : {"ref/dev/*", "ref/d*", "ref/dev/object/a"}) {
    EXPECT_EQ(moved(without(rest), {"dev"}, "main"), Decision::kDenied) << rest;
    EXPECT_EQ(moved(without(rest), {"dev"}, ""), Decision::kDenied) << rest;
    EXPECT_EQ(moved(without(rest), {"", true}, "main"), Decision::kDenied) << rest;
    EXPECT_EQ(moved(without(rest), {"other"}, "main"), Decision::kAllowed) << rest;
  }
  for (const char* rest : {"object/a", "*", "ref/*", "ref/*/object/a", "ref/main/*", "*/a/*"})
    EXPECT_EQ(moved(without(rest), {"dev"}, "main"), Decision::kAllowed) << rest;
}

// The destination may be read from another address, later.
TEST(Permissions, SourceConditionsAreEvaluated) {
  Statement main = allow({"fs:Read*"}, {repository_arn("data/ref/main/*")});
  Statement paths = allow({"fs:Read*"}, {repository_arn("data/*")});
  for (Statement* one : {&main, &paths}) one->conditions["IpAddress"]["SourceIp"] = {"10.0.0.0/8"};
  EXPECT_EQ(moved({main}, {"dev"}, "main"), Decision::kNotAllowed);
  EXPECT_EQ(moved({paths}, {"dev"}, "main"), Decision::kAllowed);
  main.conditions.clear();
  EXPECT_EQ(moved({main, paths}, {"dev"}, "main"), Decision::kNotAllowed);
  EXPECT_EQ(moved({main, paths}, {"dev"}, "main", "10.1.1.1"), Decision::kAllowed);
}

TEST(Permissions, HoldConditionsOnTheAddress) {
  Statement office = allow({"fs:*"}, {"*"});
  office.conditions["IpAddress"]["SourceIp"] = {"10.0.0.0/8", "192.168.1.1"};
  office.conditions["StringNotLike"]["SourceIp"] = {"10.9.*"};
  const Permissions p("ann", {{office}});
  const auto allows = [&](std::string_view from) {
    return p.allows(Action::kListRepositories, kEverything, from);
  };
  EXPECT_TRUE(allows("10.1.1.1"));
  EXPECT_TRUE(allows("192.168.1.1"));
  EXPECT_FALSE(allows("10.9.1.1"));
  EXPECT_FALSE(allows("8.8.8.8"));
  EXPECT_FALSE(allows(""));

  Statement away = deny({"fs:*"}, {"*"});
  away.conditions["NotIpAddress"]["SourceIp"] = {"10.0.0.0/8"};
  const Permissions q("ann", {{allow({"*"}, {"*"}), away}});
  EXPECT_EQ(q.decide(Action::kListRepositories, kEverything, "10.1.1.1"), Decision::kAllowed);
  EXPECT_EQ(q.decide(Action::kListRepositories, kEverything, "8.8.8.8"), Decision::kDenied);
  EXPECT_EQ(q.decide(Action::kListRepositories, kEverything, "nowhere"), Decision::kDenied);
}

std::string complaint(const std::vector<Statement>& statements) {
  try {
    check_statements(statements);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.reason(), "invalid_policy");
    return error.message();
  }
}

TEST(Policy, ErrorsNameThePlace) {
  EXPECT_EQ(complaint({allow({"fs:Read*", "catalog:GetTable"}, {"*"})}), "");
  EXPECT_EQ(complaint({}), "policy: has no statement");
  EXPECT_EQ(complaint({allow({}, {"*"})}), "policy: statement 1: names no action");
  EXPECT_EQ(complaint({allow({"*"}, {"*"}), allow({"*"}, {})}),
            "policy: statement 2: names no resource");
  EXPECT_NE(complaint({allow({"fs:Raed*"}, {"*"})}), "");
  EXPECT_NE(complaint({allow({"disk:*"}, {"*"})}), "");
  for (const char* bad : {"repository/data", "arn:lakefs:fs::repository/data", "arn:aws:fs:::x",
                          "arn:lakefs:fs:::", ""}) {
    EXPECT_NE(complaint({allow({"*"}, {bad})}), "") << bad;
  }
  Statement odd = allow({"*"}, {"*"});
  odd.conditions["IpAddress"]["SourceIp"] = {"10.0.0.0/99"};
  EXPECT_EQ(complaint({odd}),
            "policy: statement 1: \"10.0.0.0/99\" is no IP address or CIDR block");
  odd.conditions = {{"DateGreaterThan", {{"SourceIp", {"1"}}}}};
  EXPECT_NE(complaint({odd}), "");
  odd.conditions = {{"IpAddress", {{"User", {"10.0.0.1"}}}}};
  EXPECT_NE(complaint({odd}), "");
  EXPECT_NE(complaint(std::vector<Statement>(kStatementsMax + 1, allow({"*"}, {"*"}))), "");
  EXPECT_NE(complaint({allow({"*"}, std::vector<std::string>(kPatternsMax + 1, "*"))}), "");
  EXPECT_NE(complaint({allow({"*"}, {user_arn(std::string(kPatternBytesMax, 'x'))})}), "");
}

TEST(Policy, DoesNotDenyReadingByTheNameOfARef) {
  const std::string data = repository_arn("data");
  for (const std::string& pattern :
       {data + "/ref/main", data + "/ref/main/*", data + "/ref/*secret*/object/*",
        data + "/re?/main/*", repository_arn("*/ref/${user}-*"),
        data + "/ref/@champion/object/a"}) {
    EXPECT_NE(complaint({deny({"fs:*"}, {pattern})}).find(pattern), std::string::npos);
    EXPECT_NE(complaint({deny({"fs:List*"}, {data, pattern})}), "");
    EXPECT_EQ(complaint({deny({"fs:WriteObject", "fs:DeleteObject"}, {pattern})}), "");
    EXPECT_EQ(complaint({allow({"fs:*"}, {pattern})}), "");
  }
  for (const std::string& pattern :
       {std::string("*"), data, data + "/*", data + "/object/ref/main/*", data + "/ref/*",
        data + "/ref/*/object/secret/*", data + "/*/main/*", data + "/branch/main",
        repository_arn("*/object/secret/*"), namespace_arn("s3://lake/ref/main/*")}) {
    EXPECT_EQ(complaint({deny({"fs:*"}, {pattern})}), "") << pattern;
  }
}

TEST(Policy, StoredFormComesBackOrIsDataLoss) {
  Statement statement = deny({"fs:*", "auth:ReadUser"}, {"*", user_arn("${user}")});
  statement.conditions["StringLike"]["SourceIp"] = {"10.*"};
  const std::string bytes = encode_statements({statement, allow({"*"}, {"*"})});
  const std::vector<Statement> back = decode_statements(bytes);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].effect, Effect::kDeny);
  EXPECT_EQ(back[0].actions, statement.actions);
  EXPECT_EQ(back[0].resources, statement.resources);
  EXPECT_EQ(back[0].conditions, statement.conditions);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(decode_statements(std::string_view(bytes).substr(0, size)), Error);
  }
}

TEST(Actions, NamesAreUnique) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kActionCount; ++i) names.push_back(name_of(static_cast<Action>(i)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const std::string_view name : names) EXPECT_NE(name.find(':'), std::string_view::npos);
}

}  // namespace
}  // namespace tarn::auth
