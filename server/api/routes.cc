// The table of all operations of the lakeFS wire format, in the order of its public description:
// which are served, by what, and what is checked before. Rows with not_implemented are answered
// 501.
#include <array>

#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/account.h"
#include "server/api/json/commit.h"
#include "server/api/json/import.h"
#include "server/api/json/merge.h"
#include "server/api/json/object.h"
#include "server/api/json/ref.h"
#include "server/api/json/repository.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

using enum Method;

// Parameters that have rules; the others are any text.
using Kind = Parameter::Kind;
constexpr Parameter kAmount{"amount", Kind::kAmount};
constexpr Parameter kPath{"path", Kind::kRequired};
constexpr Parameter kDestPath{"dest_path", Kind::kRequired};
constexpr Parameter kRef{"ref", Kind::kRequired};
constexpr Parameter kId{"id", Kind::kRequired};
constexpr Parameter kTaskId{"task_id", Kind::kRequired};
constexpr Parameter kPrincipalId{"principalId", Kind::kRequired};
constexpr Parameter kForce{"force", Kind::kBoolean};
constexpr Parameter kNoTombstone{"no_tombstone", Kind::kBoolean};
constexpr Parameter kPresign{"presign", Kind::kBoolean};
constexpr Parameter kUserMetadata{"user_metadata", Kind::kBoolean};
constexpr Parameter kShowHidden{"show_hidden", Kind::kBoolean};
constexpr Parameter kBare{"bare", Kind::kBoolean};
constexpr Parameter kEffective{"effective", Kind::kBoolean};
constexpr Parameter kLimit{"limit", Kind::kBoolean};
constexpr Parameter kFirstParent{"first_parent", Kind::kBoolean};
constexpr Parameter kRightStats{"include_right_stats", Kind::kBoolean};
constexpr Parameter kSince{"since", Kind::kMoment};
constexpr Parameter kDiffType{"type", Kind::kDiffType};
constexpr Parameter kStatus{"status", Kind::kState};
constexpr Parameter kRange{"Range", Kind::kRange};

template <typename... Given>
constexpr Parameters parameters(Given... given) {
  return {.list = {given...}, .count = sizeof...(given)};
}

/// The route reads these parameters and no body.
template <typename... Given>
constexpr Input takes(Given... given) {
  return {.body = Input::Body::kNone, .check_body = nullptr, .parameters = parameters(given...)};
}

/// The route reads a JSON body that `parse` accepts.
template <auto parse, typename... Given>
constexpr Input takes_json(Given... given) {
  return {.body = Input::Body::kJson,
          .check_body = [](const json::Value& body) { static_cast<void>(parse(body)); },
          .parameters = parameters(given...)};
}

/// As takes_json; the body may be left out.
template <auto parse, typename... Given>
constexpr Input may_take_json(Given... given) {
  Input input = takes_json<parse>(given...);
  input.body = Input::Body::kOptionalJson;
  return input;
}

/// The route streams its body.
template <typename... Given>
constexpr Input takes_stream(Given... given) {
  return {.body = Input::Body::kStream, .check_body = nullptr, .parameters = parameters(given...)};
}

template <void (*check)(const json::Value&)>
constexpr Input takes_checked_json() {
  return {.body = Input::Body::kJson, .check_body = check, .parameters = {}};
}

#define TARN_REPO "/repositories/{repository}"
#define TARN_BRANCH TARN_REPO "/branches/{branch}"
#define TARN_REF TARN_REPO "/refs/{ref}"
#define TARN_UPLOAD TARN_BRANCH "/staging/pmpu/{uploadId}"
#define TARN_USER "/auth/users/{userId}"
#define TARN_GROUP "/auth/groups/{groupId}"
#define TARN_RUN TARN_REPO "/actions/runs/{run_id}"

// clang-format off
constexpr Route kRoutes[] = {
    {kPost, "/setup_comm_prefs", "setupCommPrefs", Action::kNone, setup_comm_prefs},
    {kGet, "/setup_lakefs", "getSetupState", Action::kNone, get_setup_state},
    {kPost, "/setup_lakefs", "setup", Action::kNone, setup, takes_checked_json<json::check_setup>()},
    {kGet, "/user", "getCurrentUser", Action::kReadUser, get_current_user},
    {kPost, "/auth/login", "login", Action::kNone, login, takes_json<json::parse_login>()},
    {kPost, "/auth/external/principal/login", "externalPrincipalLogin", Action::kNone, not_implemented},
    {kPost, "/sts/login", "stsLogin", Action::kNone, not_implemented},
    {kGet, "/auth/capabilities", "getAuthCapabilities", Action::kNone, get_auth_capabilities},
    {kGet, "/auth/users", "listUsers", Action::kListUsers, list_users, takes(kAmount)},
    {kPost, "/auth/users", "createUser", Action::kCreateUser, not_implemented},
    {kGet, TARN_USER, "getUser", Action::kReadUser, get_user},
    {kDelete, TARN_USER, "deleteUser", Action::kDeleteUser, not_implemented},
    {kGet, "/auth/groups", "listGroups", Action::kListGroups, not_implemented, takes(kAmount)},
    {kPost, "/auth/groups", "createGroup", Action::kCreateGroup, not_implemented},
    {kGet, TARN_GROUP, "getGroup", Action::kReadGroup, not_implemented},
    {kDelete, TARN_GROUP, "deleteGroup", Action::kDeleteGroup, not_implemented},
    {kGet, "/auth/policies", "listPolicies", Action::kListPolicies, not_implemented, takes(kAmount)},
    {kPost, "/auth/policies", "createPolicy", Action::kCreatePolicy, not_implemented},
    {kGet, "/auth/policies/{policyId}", "getPolicy", Action::kReadPolicy, not_implemented},
    {kPut, "/auth/policies/{policyId}", "updatePolicy", Action::kUpdatePolicy, not_implemented},
    {kDelete, "/auth/policies/{policyId}", "deletePolicy", Action::kDeletePolicy, not_implemented},
    {kGet, TARN_GROUP "/members", "listGroupMembers", Action::kReadGroup, not_implemented, takes(kAmount)},
    {kPut, TARN_GROUP "/members/{userId}", "addGroupMembership", Action::kAddGroupMember, not_implemented},
    {kDelete, TARN_GROUP "/members/{userId}", "deleteGroupMembership", Action::kRemoveGroupMember, not_implemented},
    {kGet, TARN_USER "/credentials", "listUserCredentials", Action::kListCredentials, not_implemented, takes(kAmount)},
    {kPost, TARN_USER "/credentials", "createCredentials", Action::kCreateCredentials, not_implemented},
    {kDelete, TARN_USER "/credentials/{accessKeyId}", "deleteCredentials", Action::kDeleteCredentials, not_implemented},
    {kGet, TARN_USER "/credentials/{accessKeyId}", "getCredentials", Action::kReadCredentials, not_implemented},
    {kGet, TARN_USER "/groups", "listUserGroups", Action::kReadUser, not_implemented, takes(kAmount)},
    {kGet, TARN_USER "/policies", "listUserPolicies", Action::kReadUser, not_implemented, takes(kAmount, kEffective)},
    {kPut, TARN_USER "/policies/{policyId}", "attachPolicyToUser", Action::kAttachPolicy, not_implemented},
    {kDelete, TARN_USER "/policies/{policyId}", "detachPolicyFromUser", Action::kDetachPolicy, not_implemented},
    {kPost, TARN_USER "/external/principals", "createUserExternalPrincipal", Action::kCreateExternalPrincipal, not_implemented, takes(kPrincipalId)},
    {kDelete, TARN_USER "/external/principals", "deleteUserExternalPrincipal", Action::kDeleteExternalPrincipal, not_implemented, takes(kPrincipalId)},
    {kGet, TARN_USER "/external/principals/ls", "listUserExternalPrincipals", Action::kReadExternalPrincipal, not_implemented, takes(kAmount)},
    {kGet, "/auth/external/principals", "getExternalPrincipal", Action::kReadExternalPrincipal, not_implemented, takes(kPrincipalId)},
    {kGet, TARN_GROUP "/policies", "listGroupPolicies", Action::kReadGroup, not_implemented, takes(kAmount)},
    {kPut, TARN_GROUP "/policies/{policyId}", "attachPolicyToGroup", Action::kAttachPolicy, not_implemented},
    {kDelete, TARN_GROUP "/policies/{policyId}", "detachPolicyFromGroup", Action::kDetachPolicy, not_implemented},
    {kPost, TARN_GROUP "/acl", "setGroupACL", Action::kAttachPolicy, not_implemented},
    {kGet, TARN_GROUP "/acl", "getGroupACL", Action::kReadGroup, not_implemented},

    {kGet, "/repositories", "listRepositories", Action::kListRepositories, list_repositories, takes(kAmount)},
    {kPost, "/repositories", "createRepository", Action::kCreateRepository, create_repository, takes_json<json::parse_create_repository>(kBare)},
    {kGet, TARN_REPO, "getRepository", Action::kReadRepository, get_repository},
    {kDelete, TARN_REPO, "deleteRepository", Action::kDeleteRepository, delete_repository, takes(kForce)},
    {kGet, TARN_REPO "/metadata", "getRepositoryMetadata", Action::kReadRepository, get_repository_metadata},
    {kPost, TARN_REPO "/metadata", "setRepositoryMetadata", Action::kUpdateRepository, set_repository_metadata, takes_json<json::parse_set_metadata>()},
    {kDelete, TARN_REPO "/metadata", "deleteRepositoryMetadata", Action::kUpdateRepository, delete_repository_metadata, takes_json<json::parse_metadata_keys>()},
    {kGet, TARN_REPO "/settings/gc_rules", "getGCRules", Action::kGetCollectionRules, get_collection_rules},
    {kPut, TARN_REPO "/settings/gc_rules", "setGCRules", Action::kSetCollectionRules, not_implemented},
    {kDelete, TARN_REPO "/settings/gc_rules", "deleteGCRules", Action::kSetCollectionRules, not_implemented},
    {kGet, TARN_REPO "/settings/branch_protection", "getBranchProtectionRules", Action::kGetProtectionRules, get_protection_rules},
    {kPut, TARN_REPO "/settings/branch_protection", "setBranchProtectionRules", Action::kSetProtectionRules, not_implemented},
    {kPut, TARN_REPO "/refs/dump", "dumpRefs", Action::kListCommits, not_implemented},
    {kPut, TARN_REPO "/refs/restore", "restoreRefs", Action::kCreateCommit, not_implemented},
    {kPost, TARN_REPO "/dump", "dumpSubmit", Action::kListCommits, not_implemented},
    {kGet, TARN_REPO "/dump", "dumpStatus", Action::kListCommits, not_implemented, takes(kTaskId)},
    {kPost, TARN_REPO "/restore", "restoreSubmit", Action::kCreateCommit, not_implemented},
    {kGet, TARN_REPO "/restore", "restoreStatus", Action::kCreateCommit, not_implemented, takes(kTaskId)},

    {kGet, TARN_REPO "/tags", "listTags", Action::kListTags, list_tags, takes(kAmount)},
    {kPost, TARN_REPO "/tags", "createTag", Action::kCreateTag, create_tag, takes_json<json::parse_create_tag>()},
    {kGet, TARN_REPO "/tags/{tag}", "getTag", Action::kReadTag, get_tag},
    {kDelete, TARN_REPO "/tags/{tag}", "deleteTag", Action::kDeleteTag, delete_tag, takes(kForce)},
    {kGet, TARN_REPO "/branches", "listBranches", Action::kListBranches, list_branches, takes(kAmount, kShowHidden)},
    {kPost, TARN_REPO "/branches", "createBranch", Action::kCreateBranch, create_branch, takes_json<json::parse_create_branch>()},
    {kGet, TARN_REF "/commits", "logCommits", Action::kReadBranch, log_commits, takes(kAmount, kLimit, kFirstParent, kSince), "ref: not found"},
    {kPost, TARN_BRANCH "/commits", "commit", Action::kCreateCommit, commit, takes_json<json::parse_create_commit>()},
    {kPost, TARN_REPO "/commits", "CreateCommitRecord", Action::kCreateCommit, not_implemented},
    {kGet, TARN_BRANCH, "getBranch", Action::kReadBranch, get_branch},
    {kDelete, TARN_BRANCH, "deleteBranch", Action::kDeleteBranch, delete_branch, takes(kForce)},
    {kPut, TARN_BRANCH, "resetBranch", Action::kRevertBranch, reset_branch, takes_json<json::parse_reset_branch>()},
    {kPut, TARN_BRANCH "/hard_reset", "hardResetBranch", Action::kRevertBranch, hard_reset_branch, takes(kRef, kForce)},
    {kPost, TARN_BRANCH "/revert", "revertBranch", Action::kRevertBranch, revert_branch, takes_json<json::parse_revert>()},
    {kPost, TARN_BRANCH "/cherry-pick", "cherryPick", Action::kCreateCommit, cherry_pick, takes_json<json::parse_cherry_pick>()},
    {kPost, TARN_REPO "/refs/{sourceRef}/merge/{destinationBranch}", "mergeIntoBranch", Action::kCreateCommit, merge_into_branch, may_take_json<json::parse_merge>()},
    {kGet, TARN_REPO "/refs/{sourceRef}/merge/{destinationBranch}", "findMergeBase", Action::kListCommits, find_merge_base},
    {kGet, TARN_BRANCH "/diff", "diffBranch", Action::kListObjects, diff_branch, takes(kAmount)},
    {kGet, TARN_REPO "/refs/{leftRef}/diff/{rightRef}", "diffRefs", Action::kListObjects, diff_refs, takes(kAmount, kDiffType, kRightStats)},
    {kGet, TARN_REPO "/commits/{commitId}", "getCommit", Action::kReadCommit, get_commit, {}, "commit not found"},

    {kGet, TARN_REF "/objects", "getObject", Action::kReadObject, get_object, takes(kPath, kPresign, kRange)},
    {kHead, TARN_REF "/objects", "headObject", Action::kReadObject, head_object, takes(kPath, kRange)},
    {kPost, TARN_BRANCH "/staging/pmpu", "createPresignMultipartUpload", Action::kWriteObject, not_implemented, takes(kPath)},
    {kPut, TARN_UPLOAD, "completePresignMultipartUpload", Action::kWriteObject, not_implemented, takes(kPath)},
    {kDelete, TARN_UPLOAD, "abortPresignMultipartUpload", Action::kWriteObject, not_implemented, takes(kPath)},
    {kPut, TARN_UPLOAD "/parts/{partNumber}", "uploadPart", Action::kWriteObject, not_implemented, takes(kPath)},
    {kPut, TARN_UPLOAD "/parts/{partNumber}/copy", "uploadPartCopy", Action::kWriteObject, not_implemented, takes(kPath)},
    {kGet, TARN_BRANCH "/staging/backing", "getPhysicalAddress", Action::kWriteObject, get_physical_address, takes(kPath, kPresign)},
    {kPut, TARN_BRANCH "/staging/backing", "linkPhysicalAddress", Action::kWriteObject, link_physical_address, takes_json<json::parse_link_address>(kPath)},
    {kGet, TARN_BRANCH "/import", "importStatus", Action::kReadBranch, import_status, takes(kId)},
    {kPost, TARN_BRANCH "/import", "importStart", Action::kImportFromStorage, start_import, takes_json<json::parse_start_import>()},
    {kDelete, TARN_BRANCH "/import", "importCancel", Action::kImportCancel, cancel_import, takes(kId)},
    {kGet, TARN_BRANCH "/objects/stage_allowed", "uploadObjectPreflight", Action::kWriteObject, allow_upload, takes(kPath)},
    {kPut, TARN_BRANCH "/objects", "stageObject", Action::kWriteObject, stage_object, takes_json<json::parse_stage_object>(kPath)},
    {kPost, TARN_BRANCH "/objects", "uploadObject", Action::kWriteObject, upload_object, takes_stream(kPath, kForce)},
    {kDelete, TARN_BRANCH "/objects", "deleteObject", Action::kDeleteObject, delete_object, takes(kPath, kForce, kNoTombstone)},
    {kPost, TARN_BRANCH "/objects/delete", "deleteObjects", Action::kDeleteObject, delete_objects, takes_json<json::parse_path_list>(kForce, kNoTombstone)},
    {kPost, TARN_BRANCH "/objects/copy", "copyObject", Action::kWriteObject, copy_object, takes_json<json::parse_copy_object>(kDestPath)},
    {kGet, TARN_REF "/objects/stat", "statObject", Action::kReadObject, stat_object, takes(kPath, kUserMetadata, kPresign)},
    {kPut, TARN_BRANCH "/objects/stat/user_metadata", "updateObjectUserMetadata", Action::kWriteObject, update_user_metadata, takes_json<json::parse_user_metadata>(kPath)},
    {kGet, TARN_REF "/objects/underlyingProperties", "getUnderlyingProperties", Action::kReadObject, get_underlying_properties, takes(kPath)},
    {kGet, TARN_REF "/objects/ls", "listObjects", Action::kListObjects, list_objects, takes(kAmount, kUserMetadata, kPresign)},
    {kPost, TARN_REPO "/refs/{branch}/symlink", "createSymlinkFile", Action::kWriteObject, not_implemented},

    {kGet, TARN_REPO "/actions/runs", "listRepositoryRuns", Action::kReadAction, list_runs, takes(kAmount)},
    {kGet, TARN_RUN, "getRun", Action::kReadAction, get_run},
    {kGet, TARN_RUN "/hooks", "listRunHooks", Action::kReadAction, get_run, takes(kAmount)},
    {kGet, TARN_RUN "/hooks/{hook_run_id}/output", "getRunHookOutput", Action::kReadAction, get_run},
    {kGet, TARN_REPO "/metadata/object/{type}/{object_id}", "getMetadataObject", Action::kReadRepository, not_implemented, takes(kPresign)},
    {kGet, TARN_REPO "/metadata/meta_range/{meta_range}", "getMetaRange", Action::kReadRepository, not_implemented},
    {kGet, TARN_REPO "/metadata/range/{range}", "getRange", Action::kReadRepository, not_implemented},
    {kGet, TARN_REPO "/gc/rules/set_allowed", "setGarbageCollectionRulesPreflight", Action::kSetCollectionRules, allow_settings},
    {kGet, TARN_REPO "/gc/rules", "internalGetGarbageCollectionRules", Action::kGetCollectionRules, get_collection_rules},
    {kPost, TARN_REPO "/gc/rules", "internalSetGarbageCollectionRules", Action::kSetCollectionRules, not_implemented},
    {kDelete, TARN_REPO "/gc/rules", "internalDeleteGarbageCollectionRules", Action::kSetCollectionRules, not_implemented},
    {kPost, TARN_REPO "/gc/prepare_commits", "prepareGarbageCollectionCommits", Action::kPrepareCollection, not_implemented},
    {kPost, TARN_REPO "/gc/prepare_commits/async", "prepareGarbageCollectionCommitsAsync", Action::kPrepareCollection, not_implemented},
    {kGet, TARN_REPO "/gc/prepare_commits/status", "prepareGarbageCollectionCommitsStatus", Action::kPrepareCollection, not_implemented, takes(kId)},
    {kPost, TARN_REPO "/gc/prepare_uncommited", "prepareGarbageCollectionUncommitted", Action::kPrepareCollection, not_implemented},
    {kGet, TARN_REPO "/branch_protection/set_allowed", "createBranchProtectionRulePreflight", Action::kSetProtectionRules, allow_settings},
    {kGet, TARN_REPO "/branch_protection", "internalGetBranchProtectionRules", Action::kGetProtectionRules, get_protection_rules},
    {kPost, TARN_REPO "/branch_protection", "internalCreateBranchProtectionRule", Action::kSetProtectionRules, not_implemented},
    {kDelete, TARN_REPO "/branch_protection", "internalDeleteBranchProtectionRule", Action::kSetProtectionRules, not_implemented},
    {kGet, TARN_REPO "/pulls", "listPullRequests", Action::kListPullRequests, not_implemented, takes(kAmount, kStatus)},
    {kPost, TARN_REPO "/pulls", "createPullRequest", Action::kWritePullRequest, not_implemented},
    {kGet, TARN_REPO "/pulls/{pull_request}", "getPullRequest", Action::kReadPullRequest, not_implemented},
    {kPatch, TARN_REPO "/pulls/{pull_request}", "updatePullRequest", Action::kWritePullRequest, not_implemented},
    {kPut, TARN_REPO "/pulls/{pull_request}/merge", "mergePullRequest", Action::kWritePullRequest, not_implemented},

    {kGet, "/healthcheck", "healthCheck", Action::kNone, health_check},
    {kGet, "/config", "getConfig", Action::kReadConfig, get_config},
    {kGet, "/config/version", "getLakeFSVersion", Action::kReadConfig, get_version},
    {kGet, "/config/storage", "getStorageConfig", Action::kReadConfig, get_storage_config},
    {kGet, "/config/garbage-collection", "getGarbageCollectionConfig", Action::kReadConfig, get_collection_config},
    {kPost, "/statistics", "postStatsEvents", Action::kReadConfig, post_statistics, takes_checked_json<json::check_statistics>()},
    {kGet, "/usage-report/summary", "getUsageReportSummary", Action::kReadConfig, get_usage_report},
    {kGet, "/oidc/callback", "oauthCallback", Action::kNone, not_implemented},
};
// clang-format on

}  // namespace

std::span<const Route> routes() { return kRoutes; }

http::Response not_implemented(const Context&, Call&) {
  throw Error(ErrorCode::kUnimplemented, "Not Implemented");
}

std::string_view name_of(Method method) {
  switch (method) {
    case kGet:
      return "GET";
    case kHead:
      return "HEAD";
    case kPost:
      return "POST";
    case kPut:
      return "PUT";
    case kDelete:
      return "DELETE";
    case kPatch:
      return "PATCH";
  }
  check_failed("Method", __FILE__, __LINE__);
}

std::optional<Method> parse_method(std::string_view text) {
  for (const Method method : {kGet, kHead, kPost, kPut, kDelete, kPatch}) {
    if (name_of(method) == text) return method;
  }
  return std::nullopt;
}

}  // namespace tarn::api
