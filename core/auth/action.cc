#include "core/auth/action.h"

#include <array>

namespace tarn::auth {
namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kActionCount> kNames = {
    "fs:ReadRepository",
    "fs:CreateRepository",
    "fs:UpdateRepository",
    "fs:DeleteRepository",
    "fs:ListRepositories",
    "fs:AttachStorageNamespace",
    "fs:ImportFromStorage",
    "fs:ImportCancel",
    "fs:ReadObject",
    "fs:WriteObject",
    "fs:DeleteObject",
    "fs:ListObjects",
    "fs:CreateCommit",
    "fs:ReadCommit",
    "fs:ListCommits",
    "fs:CreateBranch",
    "fs:DeleteBranch",
    "fs:ReadBranch",
    "fs:RevertBranch",
    "fs:ListBranches",
    "fs:CreateTag",
    "fs:DeleteTag",
    "fs:ReadTag",
    "fs:ListTags",
    "fs:SetAlias",
    "fs:ReadConfig",
    "auth:ReadUser",
    "auth:CreateUser",
    "auth:DeleteUser",
    "auth:ListUsers",
    "auth:ReadGroup",
    "auth:CreateGroup",
    "auth:DeleteGroup",
    "auth:ListGroups",
    "auth:AddGroupMember",
    "auth:RemoveGroupMember",
    "auth:ReadPolicy",
    "auth:CreatePolicy",
    "auth:UpdatePolicy",
    "auth:DeletePolicy",
    "auth:ListPolicies",
    "auth:AttachPolicy",
    "auth:DetachPolicy",
    "auth:ReadCredentials",
    "auth:CreateCredentials",
    "auth:DeleteCredentials",
    "auth:ListCredentials",
    "auth:CreateUserExternalPrincipal",
    "auth:DeleteUserExternalPrincipal",
    "auth:ReadExternalPrincipal",
    "ci:ReadAction",
    "ci:RunAction",
    "retention:PrepareGarbageCollectionCommits",
    "retention:PrepareGarbageCollectionUncommitted",
    "retention:GetGarbageCollectionRules",
    "retention:SetGarbageCollectionRules",
    "branches:GetBranchProtectionRules",
    "branches:SetBranchProtectionRules",
    "pr:ReadPullRequest",
    "pr:WritePullRequest",
    "pr:ListPullRequests",
    "fs:ReadPromotion",
    "fs:Promote",
    "fs:ReportCheck",
    "fs:ApprovePromotion",
    "branches:GetGatePolicy",
    "branches:SetGatePolicy",
    "fs:CreateRun",
    "fs:ReadRun",
    "fs:ListRuns",
    "ci:ReadWebhook",
    "ci:WriteWebhook",
};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view name_of(Action action) { return kNames[static_cast<size_t>(action)]; }

}  // namespace tarn::auth
