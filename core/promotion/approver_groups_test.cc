#include "core/promotion/approver_groups.h"

#include <map>

#include <gmock/gmock.h>

namespace tarn::promotion {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kLegal = 1;
constexpr int64_t kLeads = 2;
constexpr int64_t kRisk = 3;

std::vector<std::vector<std::string>> divide(
    const std::vector<GroupApprovals>& groups,
    const std::map<std::string, std::vector<int64_t>>& members) {
  std::vector<GateApproval> approvals;
  for (const auto& [user, of] : members) {
    GateApproval& approval = approvals.emplace_back();
    approval.user = user;
    approval.groups = of;
  }
  std::vector<const GateApproval*> given;
  for (const GateApproval& approval : approvals) given.push_back(&approval);
  return divide_among(groups, given);
}

TEST(ApproverGroups, UserCountsForOneGroupOnly) {
  const std::vector<GroupApprovals> groups = {{"legal", 1, kLegal}, {"leads", 1, kLeads}};
  EXPECT_THAT(divide(groups, {{"ann", {kLegal, kLeads}}}),
              ElementsAre(ElementsAre("ann"), IsEmpty()));
  EXPECT_THAT(divide(groups, {{"ann", {kLegal, kLeads}}, {"ben", {kLegal}}}),
              ElementsAre(ElementsAre("ben"), ElementsAre("ann")))
      << "ann leaves her place to ben";
  EXPECT_THAT(divide(groups, {{"ann", {kLegal}}, {"ben", {kLegal}}}),
              ElementsAre(ElementsAre("ann"), IsEmpty()));
}

TEST(ApproverGroups, PlacesAreFoundOverSeveralGroups) {
  const std::vector<GroupApprovals> groups = {
      {"legal", 2, kLegal}, {"leads", 1, kLeads}, {"risk", 1, kRisk}};
  EXPECT_THAT(divide(groups, {{"a", {kLegal, kLeads}},
                              {"b", {kLegal, kRisk}},
                              {"c", {kLegal, kLeads}},
                              {"d", {kLegal}}}),
              ElementsAre(::testing::SizeIs(2), ::testing::SizeIs(1), ElementsAre("b")));
}

TEST(ApproverGroups, GroupThatDidNotExistHasNoMembers) {
  EXPECT_THAT(divide({{"legal", 1, 0}}, {{"ann", {kLegal}}, {"ben", {}}}), ElementsAre(IsEmpty()));
  EXPECT_THAT(divide({}, {{"ann", {kLegal}}}), IsEmpty());
}

}  // namespace
}  // namespace tarn::promotion
