#include "core/actions/condition.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::actions {
namespace {

std::string condition_problem(const std::string& text) {
  try {
    check_condition_text(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Condition, SeesFailuresOfEarlierHooks) {
  EXPECT_TRUE(holds("success()", false));
  EXPECT_FALSE(holds("success()", true));
  EXPECT_FALSE(holds("failure()", false));
  EXPECT_TRUE(holds(" failure ( ) ", true));
  EXPECT_TRUE(holds("!failure()", false));
  EXPECT_TRUE(holds("not success()", true));
}

TEST(Condition, JoinsBySignsAndByWords) {
  for (const bool failed : {false, true}) {
    EXPECT_TRUE(holds("success() || failure()", failed));
    EXPECT_TRUE(holds("success() or failure()", failed));
    EXPECT_FALSE(holds("success() && failure()", failed));
    EXPECT_FALSE(holds("success() and failure()", failed));
    EXPECT_TRUE(holds("true", failed));
    EXPECT_FALSE(holds("false", failed));
  }
}

TEST(Condition, BindsNotBeforeAndBeforeOr) {
  EXPECT_TRUE(holds("true || false && false", false));
  EXPECT_FALSE(holds("(true || false) && false", false));
  EXPECT_TRUE(holds("!false && true", false));
  EXPECT_FALSE(holds("!(false || true)", false));
  EXPECT_FALSE(holds("not not false", false));
}

TEST(Condition, ComparesLiterals) {
  EXPECT_TRUE(holds("1 == 1.0", false));
  EXPECT_TRUE(holds("-2 != 2", false));
  EXPECT_TRUE(holds("'a' == \"a\"", false));
  EXPECT_FALSE(holds("'1' == 1", false));
  EXPECT_TRUE(holds("nil == nil", false));
  EXPECT_TRUE(holds("success() == true", false));
}

TEST(Condition, IsAnErrorWhenItIsNeitherTrueNorFalse) {
  for (const char* text : {"1", "'true'", "nil", "!1", "success() && 1", "'a' || true"}) {
    EXPECT_EQ(condition_problem(text), "") << text;
    EXPECT_THROW(holds(text, false), Error) << text;
  }
}

TEST(Condition, ErrorsNameThePosition) {
  EXPECT_EQ(condition_problem("success() &&"),
            "if: \"success() &&\": at byte 12: a value was expected");
  EXPECT_EQ(condition_problem("success"),
            "if: \"success\": at byte 7: success is called as success()");
  EXPECT_EQ(condition_problem("(true"), "if: \"(true\": at byte 5: a ')' was expected");
  EXPECT_EQ(condition_problem("true false"),
            "if: \"true false\": at byte 5: an operator or the end was expected");
  EXPECT_EQ(condition_problem("always()"),
            "if: \"always()\": at byte 0: \"always\" means nothing here; there are success() and "
            "failure()");
  EXPECT_NE(condition_problem("'a"), "");
  EXPECT_NE(condition_problem(""), "");
  EXPECT_NE(condition_problem("true = true"), "");
}

TEST(Condition, HasLimits) {
  EXPECT_NE(condition_problem(std::string(kConditionBytesMax + 1, ' ')), "");
  EXPECT_NE(condition_problem(std::string(500, '(') + "true" + std::string(500, ')')), "");
  EXPECT_NE(condition_problem(std::string(500, '!') + "true"), "");
  EXPECT_TRUE(holds("!!!!!!!!!!true", false));
}

}  // namespace
}  // namespace tarn::actions
