// Changes of a gate and its branch that evidence lists.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/branch/aliases.h"
#include "core/promotion/changes_since.h"
#include "core/promotion/promotions_fixture.h"
#include "core/versioning/merge.h"

namespace tarn::promotion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChangesSinceAPromotion : public Promotions {
 protected:
  /// The changes as texts, in the order of the evidence.
  static std::vector<std::string> changes(const Promotion& promotion) {
    const auto since = nlohmann::json::parse(promotion.evidence).at("changes_since");
    std::vector<std::string> out;
    for (const auto& one : since.at("policies"))
      out.push_back("policy " + one.at("version").dump() + (one.at("removed") ? " removed" : ""));
    for (const auto& one : since.at("aliases"))
      out.push_back("alias by " + one.at("actor").get<std::string>());
    for (const auto& one : since.at("commits"))
      out.push_back("commit by " + one.at("committer").get<std::string>());
    return out;
  }
  static nlohmann::json since(const Promotion& promotion) {
    return nlohmann::json::parse(promotion.evidence).at("changes_since");
  }
};

TEST_F(ChangesSinceAPromotion, AreWhatAnAdministratorDidMeanwhile) {
  apply_policy();
  candidate("exp-1", "0.7");
  const Promotion first = promote({"exp-1"});
  ASSERT_EQ(outcome(first), "promoted");
  EXPECT_EQ(since(first).at("promotion"), nullptr);
  EXPECT_THAT(changes(first), ElementsAre("policy 1"));
  candidate("exp-2", "0.75");
  const Promotion second = promote({"exp-2"});
  EXPECT_THAT(changes(second), IsEmpty());
  EXPECT_EQ(since(second).at("promotion"), first.id);

  remove_gate_policy(*engine, repo, "digits", "owner", {});
  engine.put(repo, "main", "by-hand", "1");
  engine.commit(repo, "main");
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "owner"}, "exp-1");
  branch::set_alias(*engine, repo, {.name = AliasName("champion"), .actor = "other"},
                    to_text(*second.result));
  apply_policy();
  candidate("exp-3", "0.8");
  const Promotion third = promote({"exp-3"});
  ASSERT_EQ(outcome(third), "promoted") << third.message;
  const std::vector<std::string> found = changes(third);
  ASSERT_EQ(found.size(), 5u) << third.evidence;
  EXPECT_EQ(found[0], "policy 3");
  EXPECT_EQ(found[1], "policy 2 removed");
  EXPECT_EQ(found[2], "alias by other");
  EXPECT_EQ(found[3], "alias by owner");
  EXPECT_EQ(found[4].substr(0, 9), "commit by");
  roll_back_promotion(*engine, repo, third.id, {"ci"}, "because");
  candidate("exp-4", "0.9");
  EXPECT_THAT(changes(promote({"exp-4"})), IsEmpty()) << "a rollback is a change of the gate's own";
}

TEST_F(ChangesSinceAPromotion, AreListedUpToALimit) {
  apply_policy();
  candidate("exp-1", "0.7");
  ASSERT_EQ(outcome(promote({"exp-1"})), "promoted");
  for (size_t i = 0; i < kChangesListedMax + 3; ++i)
    apply_policy(std::string(kPolicy) + "# " + std::to_string(i));
  candidate("exp-2", "0.8");
  const Promotion second = promote({"exp-2"});
  EXPECT_EQ(since(second).at("policies").size(), kChangesListedMax);
  EXPECT_EQ(since(second).at("more"), 3);
}

}  // namespace
}  // namespace tarn::promotion
