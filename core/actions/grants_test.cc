#include "core/actions/grants.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::actions {
namespace {

TEST(Grants, GrantExactlyTheListedVariables) {
  const Grants grants("A=one,two; B = three ;C=*;");
  EXPECT_TRUE(grants.gives("A", "one"));
  EXPECT_TRUE(grants.gives("A", "two"));
  EXPECT_TRUE(grants.gives("B", "three"));
  EXPECT_TRUE(grants.gives("C", "any"));
  EXPECT_FALSE(grants.gives("A", "three"));
  EXPECT_FALSE(grants.gives("B", "one"));
  EXPECT_FALSE(grants.gives("D", "one"));
  EXPECT_FALSE(grants.gives("", "one"));
  EXPECT_FALSE(Grants().gives("A", "one"));
  EXPECT_FALSE(Grants("").gives("A", "one"));
}

TEST(Grants, SeveralGrantsOfOneNameAdd) {
  const Grants grants("A=one;A=two");
  EXPECT_TRUE(grants.gives("A", "one"));
  EXPECT_TRUE(grants.gives("A", "two"));
}

TEST(Grants, RefuseMalformedTexts) {
  for (const char* text : {"A", "=one", "A=", "A=one,", "A=No Name", "A=o*"}) {
    EXPECT_THROW(Grants{text}, Error) << text;
  }
}

}  // namespace
}  // namespace tarn::actions
