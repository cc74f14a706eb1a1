// The permission a request needs, as policies name it.
#pragma once

#include <string_view>

namespace tarn::api {

enum class Action {
  kNone,  ///< for calls that need no account
  kReadRepository,
  kCreateRepository,
  kUpdateRepository,
  kDeleteRepository,
  kListRepositories,
  kReadObject,
  kWriteObject,
  kDeleteObject,
  kListObjects,
  kCreateCommit,
  kReadCommit,
  kListCommits,
  kCreateBranch,
  kDeleteBranch,
  kReadBranch,
  kRevertBranch,
  kListBranches,
  kCreateTag,
  kDeleteTag,
  kReadTag,
  kListTags,
  kReadConfig,
  kImportFromStorage,
  kImportCancel,
  kReadUser,
  kCreateUser,
  kDeleteUser,
  kListUsers,
  kReadGroup,
  kCreateGroup,
  kDeleteGroup,
  kListGroups,
  kAddGroupMember,
  kRemoveGroupMember,
  kReadPolicy,
  kCreatePolicy,
  kUpdatePolicy,
  kDeletePolicy,
  kListPolicies,
  kAttachPolicy,
  kDetachPolicy,
  kReadCredentials,
  kCreateCredentials,
  kDeleteCredentials,
  kListCredentials,
  kCreateExternalPrincipal,
  kDeleteExternalPrincipal,
  kReadExternalPrincipal,
  kReadAction,
  kPrepareCollection,
  kGetCollectionRules,
  kSetCollectionRules,
  kGetProtectionRules,
  kSetProtectionRules,
  kReadPullRequest,
  kWritePullRequest,
  kListPullRequests,
};

/// "fs:ReadRepository"; "" for kNone.
std::string_view name_of(Action action);

}  // namespace tarn::api
