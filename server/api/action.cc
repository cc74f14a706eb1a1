#include "server/api/action.h"

#include "core/base/error.h"

namespace tarn::api {

std::string_view name_of(Action action) {
  switch (action) {
    case Action::kNone: return "";
    case Action::kReadRepository: return "fs:ReadRepository";
    case Action::kCreateRepository: return "fs:CreateRepository";
    case Action::kUpdateRepository: return "fs:UpdateRepository";
    case Action::kDeleteRepository: return "fs:DeleteRepository";
    case Action::kListRepositories: return "fs:ListRepositories";
    case Action::kReadObject: return "fs:ReadObject";
    case Action::kWriteObject: return "fs:WriteObject";
    case Action::kDeleteObject: return "fs:DeleteObject";
    case Action::kListObjects: return "fs:ListObjects";
    case Action::kCreateCommit: return "fs:CreateCommit";
    case Action::kReadCommit: return "fs:ReadCommit";
    case Action::kListCommits: return "fs:ListCommits";
    case Action::kCreateBranch: return "fs:CreateBranch";
    case Action::kDeleteBranch: return "fs:DeleteBranch";
    case Action::kReadBranch: return "fs:ReadBranch";
    case Action::kRevertBranch: return "fs:RevertBranch";
    case Action::kListBranches: return "fs:ListBranches";
    case Action::kCreateTag: return "fs:CreateTag";
    case Action::kDeleteTag: return "fs:DeleteTag";
    case Action::kReadTag: return "fs:ReadTag";
    case Action::kListTags: return "fs:ListTags";
    case Action::kReadConfig: return "fs:ReadConfig";
    case Action::kImportFromStorage: return "fs:ImportFromStorage";
    case Action::kImportCancel: return "fs:ImportCancel";
    case Action::kReadUser: return "auth:ReadUser";
    case Action::kCreateUser: return "auth:CreateUser";
    case Action::kDeleteUser: return "auth:DeleteUser";
    case Action::kListUsers: return "auth:ListUsers";
    case Action::kReadGroup: return "auth:ReadGroup";
    case Action::kCreateGroup: return "auth:CreateGroup";
    case Action::kDeleteGroup: return "auth:DeleteGroup";
    case Action::kListGroups: return "auth:ListGroups";
    case Action::kAddGroupMember: return "auth:AddGroupMember";
    case Action::kRemoveGroupMember: return "auth:RemoveGroupMember";
    case Action::kReadPolicy: return "auth:ReadPolicy";
    case Action::kCreatePolicy: return "auth:CreatePolicy";
    case Action::kUpdatePolicy: return "auth:UpdatePolicy";
    case Action::kDeletePolicy: return "auth:DeletePolicy";
    case Action::kListPolicies: return "auth:ListPolicies";
    case Action::kAttachPolicy: return "auth:AttachPolicy";
    case Action::kDetachPolicy: return "auth:DetachPolicy";
    case Action::kReadCredentials: return "auth:ReadCredentials";
    case Action::kCreateCredentials: return "auth:CreateCredentials";
    case Action::kDeleteCredentials: return "auth:DeleteCredentials";
    case Action::kListCredentials: return "auth:ListCredentials";
    case Action::kCreateExternalPrincipal: return "auth:CreateUserExternalPrincipal";
    case Action::kDeleteExternalPrincipal: return "auth:DeleteUserExternalPrincipal";
    case Action::kReadExternalPrincipal: return "auth:ReadExternalPrincipal";
    case Action::kReadAction: return "ci:ReadAction";
    case Action::kPrepareCollection: return "retention:PrepareGarbageCollectionCommits";
    case Action::kGetCollectionRules: return "retention:GetGarbageCollectionRules";
    case Action::kSetCollectionRules: return "retention:SetGarbageCollectionRules";
    case Action::kGetProtectionRules: return "branches:GetBranchProtectionRules";
    case Action::kSetProtectionRules: return "branches:SetBranchProtectionRules";
    case Action::kReadPullRequest: return "pr:ReadPullRequest";
    case Action::kWritePullRequest: return "pr:WritePullRequest";
    case Action::kListPullRequests: return "pr:ListPullRequests";
  }
  check_failed("Action", __FILE__, __LINE__);
}

}  // namespace tarn::api
