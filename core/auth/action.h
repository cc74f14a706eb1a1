// Actions that policies permit or deny.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tarn::auth {

/// Every permission there is, over REST and S3 alike.
enum class Action : uint8_t {
  kReadRepository,
  kCreateRepository,
  kUpdateRepository,
  kDeleteRepository,
  kListRepositories,
  kAttachStorageNamespace,
  kImportFromStorage,
  kImportCancel,
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
  kSetAlias,
  kReadConfig,
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
  kRunAction,
  kPrepareCollection,
  kPrepareUncommittedCollection,
  kGetCollectionRules,
  kSetCollectionRules,
  kGetProtectionRules,
  kSetProtectionRules,
  kReadPullRequest,
  kWritePullRequest,
  kListPullRequests,
  kReadPromotion,
  kPromote,
  kReportCheck,
  kApprovePromotion,
  kGetGatePolicy,
  kSetGatePolicy,
  kCreateRun,
  kReadRun,
  kListRuns,
  kReadWebhook,
  kWriteWebhook,
  kWriteHooks,
  kRollBack,
  kSetPublicAccess,
  kVerifyRepository,
  kGetQuotas,
  kSetQuotas,
  kRunEvaluation,
};
constexpr size_t kActionCount = static_cast<size_t>(Action::kRunEvaluation) + 1;

/// "fs:ReadRepository".
std::string_view name_of(Action action);

}  // namespace tarn::auth
