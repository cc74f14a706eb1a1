// The table of all operations of the lakeFS wire format, in the order of its public description,
// followed by Tarn's own: handler, permissions and input of each. Rows with not_implemented are
// answered with 501.
#include <array>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/api/handlers/handlers.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

using enum Method;
using enum auth::Action;

// Required access.
constexpr Access open() { return Access::open(); }
constexpr Access any_account() { return Access::any_account(); }
constexpr Access needs(auth::Action action, Resources on) { return Access::of({action, on}); }
constexpr Access kToSearchRefs =
    Access::of({kListRepositories, on_repository_globs}, {kListBranches, on_branch_globs},
               {kListObjects, on_named_refs});
constexpr Access kToDumpRefs = Access::of(
    {kListTags, on_repository}, {kListBranches, on_repository}, {kListCommits, on_repository});
constexpr Access kToJudge = Access::of({kGetGatePolicy, on_repository}, {kReadRun, on_repository},
                                       {kListBranches, on_repository});
constexpr Access kToCompare = Access::of({kReadRun, on_repository}, {kReadCommit, on_repository},
                                         {kListBranches, on_repository});
constexpr Access kToRestoreRefs = Access::of(
    {kCreateTag, on_repository}, {kCreateBranch, on_repository}, {kCreateCommit, on_repository});

// Parameters with rules; all others are free text.
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
constexpr Parameter kParts{"parts", Kind::kPartCount};
constexpr Parameter kPresign{"presign", Kind::kBoolean};
constexpr Parameter kUserMetadata{"user_metadata", Kind::kBoolean};
constexpr Parameter kShowHidden{"show_hidden", Kind::kBoolean};
constexpr Parameter kBare{"bare", Kind::kBoolean};
constexpr Parameter kEffective{"effective", Kind::kBoolean};
constexpr Parameter kEveryone{"everyone", Kind::kBoolean};
constexpr Parameter kLimit{"limit", Kind::kBoolean};
constexpr Parameter kFirstParent{"first_parent", Kind::kBoolean};
constexpr Parameter kRightStats{"include_right_stats", Kind::kBoolean};
constexpr Parameter kSince{"since", Kind::kMoment};
constexpr Parameter kUntil{"until", Kind::kMoment};
constexpr Parameter kGlob{"glob", Kind::kGlob};
constexpr Parameter kWhere{"where", Kind::kExpression};
constexpr Parameter kSort{"sort", Kind::kSort};
constexpr Parameter kSearchedRepository{"repository", Kind::kRequired};
constexpr Parameter kMinSize{"min_size", Kind::kSize};
constexpr Parameter kMaxSize{"max_size", Kind::kSize};
constexpr Parameter kModifiedAfter{"modified_after", Kind::kInstant};
constexpr Parameter kModifiedBefore{"modified_before", Kind::kInstant};
constexpr Parameter kDiffType{"type", Kind::kDiffType};
constexpr Parameter kExact{"exact", Kind::kBoolean};
constexpr Parameter kDepth{"depth", Kind::kBoolean};
constexpr Parameter kStatus{"status", Kind::kState};
constexpr Parameter kFormat{"format", Kind::kArchive};
constexpr Parameter kStrict{"strict", Kind::kBoolean};
constexpr Parameter kOpen{"open", Kind::kBoolean};
constexpr Parameter kOptional{"optional", Kind::kBoolean};
constexpr Parameter kUnused{"unused", Kind::kBoolean};
constexpr Parameter kSeen{"seen", Kind::kSize};
constexpr Parameter kWait{"wait", Kind::kWait};
constexpr Parameter kVersion{"version", Kind::kSize};
constexpr Parameter kMetric{"metric", Kind::kRequired};
constexpr Parameter kRange{"Range", Kind::kRange};

template <Input::Body body, typename... Given>
constexpr Input reads(Given... given) {
  return {.body = body, .parameters = {.list = {given...}, .count = sizeof...(given)}};
}

/// Query parameters only, no body.
template <typename... Given>
constexpr Input takes(Given... given) {
  return reads<Input::Body::kNone>(given...);
}

/// A JSON body, which the route's handler parses.
template <typename... Given>
constexpr Input takes_json(Given... given) {
  return reads<Input::Body::kJson>(given...);
}

/// The same as takes_json; the body is optional.
template <typename... Given>
constexpr Input may_take_json(Given... given) {
  return reads<Input::Body::kOptionalJson>(given...);
}

/// The same as takes_json, for bodies that may be long.
template <typename... Given>
constexpr Input takes_long_json(Given... given) {
  return reads<Input::Body::kLongJson>(given...);
}

/// A streamed body.
template <typename... Given>
constexpr Input takes_stream(Given... given) {
  return reads<Input::Body::kStream>(given...);
}

#define TARN_REPO "/repositories/{repository}"
#define TARN_BRANCH TARN_REPO "/branches/{branch}"
#define TARN_REF TARN_REPO "/refs/{ref}"
#define TARN_UPLOAD TARN_BRANCH "/staging/pmpu/{uploadId}"
#define TARN_USER "/auth/users/{userId}"
#define TARN_GROUP "/auth/groups/{groupId}"
#define TARN_EVALUATION TARN_REPO "/evaluations/{key}"
#define TARN_JOB "/evaluation-jobs/{job}"
#define TARN_PROMOTION TARN_REPO "/promotions/{promotion}"
#define TARN_WEBHOOK TARN_REPO "/webhooks/{webhook}"
#define TARN_PULL TARN_REPO "/pulls/{pull_request}"
#define TARN_ALIAS TARN_REPO "/aliases/{alias}"
#define TARN_GATE TARN_REPO "/policies/{policy}"
#define TARN_RUN TARN_REPO "/actions/runs/{run_id}"

constexpr std::string_view kNoOtherCollector =
    "another program cannot tell which objects are in use, since copies and moves share their "
    "bytes; the server collects garbage itself: POST gc/runs of the repository, or `tarn gc run`";

// clang-format off
constexpr Route kRoutes[] = {
    {kPost, "/setup_comm_prefs", "setupCommPrefs", open(), json_handler<json::check_communication_preferences, setup_comm_prefs>, takes_json()},
    {kGet, "/setup_lakefs", "getSetupState", open(), get_setup_state},
    {kPost, "/setup_lakefs", "setup", open(), json_handler<json::parse_setup, setup>, takes_json()},
    {kGet, "/user", "getCurrentUser", any_account(), get_current_user},
    {kPost, "/auth/permissions/check", "checkPermissions", needs(kReadUser, on_checked_user), json_handler<json::parse_permission_checks, check_permissions>, takes_json()},
    {kPost, "/auth/login", "login", open(), json_handler<json::parse_login, login>, takes_json()},
    {kPost, "/auth/external/principal/login", "externalPrincipalLogin", open(), not_implemented},
    {kPost, "/sts/login", "stsLogin", open(), not_implemented},
    {kGet, "/auth/capabilities", "getAuthCapabilities", open(), get_auth_capabilities},
    {kGet, "/auth/users", "listUsers", needs(kListUsers, on_everything), list_users, takes(kAmount)},
    {kPost, "/auth/users", "createUser", needs(kCreateUser, on_new_user), json_handler<json::parse_create_user, create_user>, takes_json()},
    {kGet, TARN_USER, "getUser", needs(kReadUser, on_user), get_user},
    {kDelete, TARN_USER, "deleteUser", needs(kDeleteUser, on_user), delete_user},
    {kGet, "/auth/groups", "listGroups", needs(kListGroups, on_everything), list_groups, takes(kAmount)},
    {kPost, "/auth/groups", "createGroup", needs(kCreateGroup, on_new_group), json_handler<json::parse_create_group, create_group>, takes_json()},
    {kGet, TARN_GROUP, "getGroup", needs(kReadGroup, on_group), get_group},
    {kDelete, TARN_GROUP, "deleteGroup", needs(kDeleteGroup, on_group), delete_group},
    {kGet, "/auth/policies", "listPolicies", needs(kListPolicies, on_everything), list_policies, takes(kAmount)},
    {kPost, "/auth/policies", "createPolicy", needs(kCreatePolicy, on_new_policy), json_handler<json::parse_policy, create_policy>, takes_json()},
    {kGet, "/auth/policies/{policyId}", "getPolicy", needs(kReadPolicy, on_policy), get_policy},
    {kPut, "/auth/policies/{policyId}", "updatePolicy", needs(kUpdatePolicy, on_policy), json_handler<json::parse_policy, update_policy>, takes_json()},
    {kDelete, "/auth/policies/{policyId}", "deletePolicy", needs(kDeletePolicy, on_policy), delete_policy},
    {kGet, TARN_GROUP "/members", "listGroupMembers", needs(kReadGroup, on_group), list_group_members, takes(kAmount)},
    {kPut, TARN_GROUP "/members/{userId}", "addGroupMembership", needs(kAddGroupMember, on_group), add_group_member},
    {kDelete, TARN_GROUP "/members/{userId}", "deleteGroupMembership", needs(kRemoveGroupMember, on_group), remove_group_member},
    {kGet, TARN_USER "/credentials", "listUserCredentials", needs(kListCredentials, on_user), list_user_credentials, takes(kAmount)},
    {kPost, TARN_USER "/credentials", "createCredentials", needs(kCreateCredentials, on_user), create_credentials},
    {kDelete, TARN_USER "/credentials/{accessKeyId}", "deleteCredentials", needs(kDeleteCredentials, on_user), delete_credentials},
    {kGet, TARN_USER "/credentials/{accessKeyId}", "getCredentials", needs(kReadCredentials, on_user), get_credentials},
    {kGet, TARN_USER "/groups", "listUserGroups", needs(kReadUser, on_user), list_user_groups, takes(kAmount)},
    {kGet, TARN_USER "/policies", "listUserPolicies", needs(kReadUser, on_user), list_user_policies, takes(kAmount, kEffective)},
    {kPut, TARN_USER "/policies/{policyId}", "attachPolicyToUser", needs(kAttachPolicy, on_user), attach_policy_to_user},
    {kDelete, TARN_USER "/policies/{policyId}", "detachPolicyFromUser", needs(kDetachPolicy, on_user), detach_policy_from_user},
    {kPost, TARN_USER "/external/principals", "createUserExternalPrincipal", needs(kCreateExternalPrincipal, on_user), json_handler<json::parse_principal_settings, create_external_principal>, may_take_json(kPrincipalId)},
    {kDelete, TARN_USER "/external/principals", "deleteUserExternalPrincipal", needs(kDeleteExternalPrincipal, on_user), delete_external_principal, takes(kPrincipalId)},
    {kGet, TARN_USER "/external/principals/ls", "listUserExternalPrincipals", needs(kReadExternalPrincipal, on_user), list_external_principals, takes(kAmount)},
    {kGet, "/auth/external/principals", "getExternalPrincipal", needs(kReadExternalPrincipal, on_external_principal), get_external_principal, takes(kPrincipalId)},
    {kGet, TARN_GROUP "/policies", "listGroupPolicies", needs(kReadGroup, on_group), list_group_policies, takes(kAmount)},
    {kPut, TARN_GROUP "/policies/{policyId}", "attachPolicyToGroup", needs(kAttachPolicy, on_group), attach_policy_to_group},
    {kDelete, TARN_GROUP "/policies/{policyId}", "detachPolicyFromGroup", needs(kDetachPolicy, on_group), detach_policy_from_group},
    {kPost, TARN_GROUP "/acl", "setGroupACL", needs(kAttachPolicy, on_group), json_handler<json::parse_acl, set_group_acl>, takes_json()},
    {kGet, TARN_GROUP "/acl", "getGroupACL", needs(kReadGroup, on_group), get_group_acl},

    {kGet, "/repositories", "listRepositories", needs(kListRepositories, on_everything), list_repositories, takes(kAmount)},
    {kPost, "/repositories", "createRepository", Access::of({kCreateRepository, on_new_repository}, {kAttachStorageNamespace, on_new_namespace}), json_handler<json::parse_create_repository, create_repository>, takes_json(kBare)},
    {kGet, TARN_REPO, "getRepository", needs(kReadRepository, on_repository), get_repository},
    {kDelete, TARN_REPO, "deleteRepository", needs(kDeleteRepository, on_repository), delete_repository, takes(kForce)},
    {kGet, TARN_REPO "/metadata", "getRepositoryMetadata", needs(kReadRepository, on_repository), get_repository_metadata},
    {kPost, TARN_REPO "/metadata", "setRepositoryMetadata", needs(kUpdateRepository, on_repository), json_handler<json::parse_set_metadata, set_repository_metadata>, takes_json()},
    {kDelete, TARN_REPO "/metadata", "deleteRepositoryMetadata", needs(kUpdateRepository, on_repository), json_handler<json::parse_metadata_keys, delete_repository_metadata>, takes_json()},
    {kGet, TARN_REPO "/settings/gc_rules", "getGCRules", needs(kGetCollectionRules, on_repository), get_collection_rules, takes(kOptional)},
    {kPut, TARN_REPO "/settings/gc_rules", "setGCRules", needs(kSetCollectionRules, on_repository), json_handler<json::parse_collection_rules, set_collection_rules>, takes_json()},
    {kDelete, TARN_REPO "/settings/gc_rules", "deleteGCRules", needs(kSetCollectionRules, on_repository), remove_collection_rules},
    {kGet, TARN_REPO "/settings/branch_cleanup", "getBranchCleanup", needs(kGetCollectionRules, on_repository), get_cleanup_rules},
    {kPut, TARN_REPO "/settings/branch_cleanup", "setBranchCleanup", needs(kSetCollectionRules, on_repository), json_handler<parse_cleanup_rules, set_cleanup_rules>, takes_json()},
    {kGet, TARN_REPO "/stale_branches", "listStaleBranches", needs(kListBranches, on_repository), list_stale_branches, takes(kAmount)},
    {kGet, TARN_REPO "/settings/branch_protection", "getBranchProtectionRules", needs(kGetProtectionRules, on_repository), get_protection_rules},
    {kPut, TARN_REPO "/settings/branch_protection", "setBranchProtectionRules", needs(kSetProtectionRules, on_repository), json_handler<json::parse_branch_rules, set_protection_rules>, takes_json()},
    {kPut, TARN_REPO "/refs/dump", "dumpRefs", kToDumpRefs, dump_refs},
    {kPut, TARN_REPO "/refs/restore", "restoreRefs", kToRestoreRefs, json_handler<parse_refs_restore, restore_refs>, takes_json()},
    {kPost, TARN_REPO "/dump", "dumpSubmit", kToDumpRefs, start_dump},
    {kGet, TARN_REPO "/dump", "dumpStatus", kToDumpRefs, dump_status, takes(kTaskId)},
    {kPost, TARN_REPO "/restore", "restoreSubmit", kToRestoreRefs, json_handler<parse_refs_restore, start_restore>, takes_json()},
    {kGet, TARN_REPO "/restore", "restoreStatus", kToRestoreRefs, restore_status, takes(kTaskId)},

    {kGet, TARN_REPO "/tags", "listTags", needs(kListTags, on_repository), list_tags, takes(kAmount)},
    {kPost, TARN_REPO "/tags", "createTag", needs(kCreateTag, on_new_tag), json_handler<json::parse_create_tag, create_tag>, takes_json()},
    {kGet, TARN_REPO "/tags/{tag}", "getTag", needs(kReadTag, on_tag), get_tag},
    {kDelete, TARN_REPO "/tags/{tag}", "deleteTag", needs(kDeleteTag, on_tag), delete_tag, takes(kForce)},
    {kGet, TARN_REPO "/branches", "listBranches", needs(kListBranches, on_repository), list_branches, takes(kAmount, kShowHidden)},
    {kPost, TARN_REPO "/branches", "createBranch", needs(kCreateBranch, on_new_branch), json_handler<json::parse_create_branch, create_branch>, takes_json()},
    {kGet, TARN_REF "/commits", "logCommits", needs(kReadBranch, on_ref), log_commits, takes(kAmount, kLimit, kFirstParent, kSince, kUntil), "ref: not found"},
    {kPost, TARN_BRANCH "/commits", "commit", needs(kCreateCommit, on_branch), json_handler<json::parse_create_commit, commit>, takes_json()},
    {kPost, TARN_REPO "/commits", "CreateCommitRecord", Access::of({kCreateCommit, on_repository}, {kUpdateRepository, on_repository}), json_handler<json::parse_commit_record, record_commit>, takes_json()},
    {kGet, TARN_BRANCH, "getBranch", needs(kReadBranch, on_branch), get_branch},
    {kDelete, TARN_BRANCH, "deleteBranch", needs(kDeleteBranch, on_branch), delete_branch, takes(kForce, kUnused)},
    {kPut, TARN_BRANCH, "resetBranch", needs(kRevertBranch, on_branch), json_handler<json::parse_reset_branch, reset_branch>, takes_json()},
    {kPut, TARN_BRANCH "/expiry", "setBranchExpiry", Access::of({kCreateBranch, on_branch}, {kDeleteBranch, on_branch}), json_handler<json::parse_branch_expiry, set_branch_expiry>, takes_json(kForce)},
    {kPost, TARN_BRANCH "/rename", "renameBranch", Access::of({kDeleteBranch, on_branch}, {kCreateBranch, on_renamed_branch}), json_handler<json::parse_rename_branch, rename_branch>, takes_json(kForce)},
    {kPost, TARN_BRANCH "/rebase", "rebaseBranch", Access::of({kCreateCommit, on_branch}, {kRevertBranch, on_branch}, {kReadCommit, on_repository}), json_handler<json::parse_rebase, rebase_branch>, takes_json()},
    {kPut, TARN_BRANCH "/hard_reset", "hardResetBranch", needs(kRevertBranch, on_branch), hard_reset_branch, takes(kRef, kForce)},
    {kPost, TARN_BRANCH "/revert", "revertBranch", needs(kRevertBranch, on_branch), json_handler<json::parse_revert, revert_branch>, takes_json()},
    {kPost, TARN_BRANCH "/cherry-pick", "cherryPick", Access::of({kCreateCommit, on_branch}, {kReadCommit, on_repository}), json_handler<json::parse_cherry_pick, cherry_pick>, takes_json()},
    {kPost, TARN_REPO "/refs/{sourceRef}/merge/{destinationBranch}", "mergeIntoBranch", needs(kCreateCommit, on_destination_branch), json_handler<json::parse_merge, merge_into_branch>, may_take_json()},
    {kGet, TARN_REPO "/refs/{sourceRef}/merge/{destinationBranch}", "findMergeBase", needs(kListCommits, on_repository), find_merge_base},
    {kGet, TARN_BRANCH "/diff", "diffBranch", needs(kListObjects, on_listed_branch), diff_branch, takes(kAmount)},
    {kGet, TARN_REPO "/refs/{leftRef}/diff/{rightRef}", "diffRefs", needs(kListObjects, on_compared_refs), diff_refs, takes(kAmount, kDiffType, kRightStats)},
    {kGet, TARN_REPO "/commits/{commitId}", "getCommit", needs(kReadCommit, on_repository), get_commit, {}, "commit not found"},

    {kGet, TARN_REF "/objects", "getObject", needs(kReadObject, on_object), get_object, takes(kPath, kPresign, kRange)},
    {kHead, TARN_REF "/objects", "headObject", needs(kReadObject, on_object), head_object, takes(kPath, kRange)},
    {kPost, TARN_BRANCH "/staging/pmpu", "createPresignMultipartUpload", needs(kWriteObject, on_object), create_presigned_upload, takes(kPath, kParts)},
    {kPut, TARN_UPLOAD, "completePresignMultipartUpload", needs(kWriteObject, on_object), json_handler<json::parse_complete_upload, complete_presigned_upload>, takes_json(kPath)},
    {kDelete, TARN_UPLOAD, "abortPresignMultipartUpload", needs(kWriteObject, on_object), json_handler<json::parse_upload_address, abort_presigned_upload>, takes_json(kPath)},
    {kPut, TARN_UPLOAD "/parts/{partNumber}", "uploadPart", needs(kWriteObject, on_object), json_handler<json::parse_upload_address, presign_part>, takes_json(kPath)},
    {kPut, TARN_UPLOAD "/parts/{partNumber}/copy", "uploadPartCopy", Access::of({kWriteObject, on_object}, {kReadObject, on_part_source}), json_handler<json::parse_copy_part, copy_presigned_part>, takes_json(kPath)},
    {kGet, TARN_BRANCH "/staging/backing", "getPhysicalAddress", needs(kWriteObject, on_object), get_physical_address, takes(kPath, kPresign)},
    {kPut, TARN_BRANCH "/staging/backing", "linkPhysicalAddress", needs(kWriteObject, on_object), json_handler<json::parse_link_address, link_physical_address>, takes_json(kPath)},
    {kGet, TARN_BRANCH "/import", "importStatus", needs(kReadBranch, on_branch), import_status, takes(kId)},
    {kPost, TARN_BRANCH "/import", "importStart", Access::of({kWriteObject, on_import_destinations}, {kCreateCommit, on_branch}, {kImportFromStorage, on_import_sources}), json_handler<json::parse_start_import, start_import>, takes_json()},
    {kPost, TARN_BRANCH "/import/preview", "importPreview", Access::of({kWriteObject, on_import_destinations}, {kCreateCommit, on_branch}, {kImportFromStorage, on_import_sources}), json_handler<json::parse_start_import, preview_import>, takes_json(kAmount)},
    {kDelete, TARN_BRANCH "/import", "importCancel", needs(kImportCancel, on_branch), cancel_import, takes(kId)},
    {kGet, TARN_BRANCH "/objects/stage_allowed", "uploadObjectPreflight", needs(kWriteObject, on_object), allow_upload, takes(kPath)},
    {kPut, TARN_BRANCH "/objects", "stageObject", needs(kWriteObject, on_object), json_handler<json::parse_stage_object, stage_object>, takes_json(kPath)},
    {kPost, TARN_BRANCH "/objects", "uploadObject", needs(kWriteObject, on_object), upload_object, takes_stream(kPath, kForce)},
    {kDelete, TARN_BRANCH "/objects", "deleteObject", needs(kDeleteObject, on_object), delete_object, takes(kPath, kForce, kNoTombstone)},
    {kPost, TARN_BRANCH "/objects/delete", "deleteObjects", needs(kDeleteObject, on_first_deletable), json_handler<json::parse_path_list, delete_objects>, takes_json(kForce, kNoTombstone)},
    {kPost, TARN_BRANCH "/objects/copy", "copyObject", Access::of({kReadObject, on_source_object}, {kWriteObject, on_destination_object}), json_handler<json::parse_copy_object, copy_object>, takes_json(kDestPath)},
    {kGet, TARN_REF "/objects/stat", "statObject", needs(kReadObject, on_object), stat_object, takes(kPath, kUserMetadata, kPresign)},
    {kPut, TARN_BRANCH "/objects/stat/user_metadata", "updateObjectUserMetadata", needs(kWriteObject, on_object), json_handler<json::parse_user_metadata, update_user_metadata>, takes_json(kPath)},
    {kGet, TARN_REF "/objects/underlyingProperties", "getUnderlyingProperties", needs(kReadObject, on_object), get_underlying_properties, takes(kPath)},
    {kGet, TARN_REF "/objects/ls", "listObjects", needs(kListObjects, on_listed_ref), list_objects, takes(kAmount, kUserMetadata, kPresign)},
    {kPost, TARN_REPO "/refs/{branch}/symlink", "createSymlinkFile", Access::of({kListObjects, on_repository}, {kWriteObject, on_repository}), create_symlinks},

    {kGet, TARN_REPO "/actions/runs", "listRepositoryRuns", needs(kReadAction, on_repository), list_runs, takes(kAmount)},
    {kGet, TARN_RUN, "getRun", needs(kReadAction, on_repository), get_run},
    {kGet, TARN_RUN "/hooks", "listRunHooks", needs(kReadAction, on_repository), list_run_hooks, takes(kAmount)},
    {kGet, TARN_RUN "/hooks/{hook_run_id}/output", "getRunHookOutput", needs(kReadAction, on_repository), get_hook_output},
    {kGet, TARN_REPO "/metadata/object/{type}/{object_id}", "getMetadataObject", Access::of({kListObjects, on_repository}, {kReadRepository, on_repository}), get_metadata_object, takes(kPresign)},
    {kGet, TARN_REPO "/metadata/meta_range/{meta_range}", "getMetaRange", Access::of({kListObjects, on_repository}, {kReadRepository, on_repository}), get_meta_range},
    {kGet, TARN_REPO "/metadata/range/{range}", "getRange", Access::of({kListObjects, on_repository}, {kReadRepository, on_repository}), get_range},
    {kGet, TARN_REPO "/gc/rules/set_allowed", "setGarbageCollectionRulesPreflight", needs(kSetCollectionRules, on_repository), allow_settings},
    {kGet, TARN_REPO "/gc/rules", "internalGetGarbageCollectionRules", needs(kGetCollectionRules, on_repository), get_collection_rules},
    {kPost, TARN_REPO "/gc/rules", "internalSetGarbageCollectionRules", needs(kSetCollectionRules, on_repository), json_handler<json::parse_collection_rules, set_collection_rules>, takes_json()},
    {kDelete, TARN_REPO "/gc/rules", "internalDeleteGarbageCollectionRules", needs(kSetCollectionRules, on_repository), remove_collection_rules},
    {kPost, TARN_REPO "/gc/prepare_commits", "prepareGarbageCollectionCommits", needs(kPrepareCollection, on_repository), not_implemented, {}, {}, kNoOtherCollector},
    {kPost, TARN_REPO "/gc/prepare_commits/async", "prepareGarbageCollectionCommitsAsync", needs(kPrepareCollection, on_repository), not_implemented, {}, {}, kNoOtherCollector},
    {kGet, TARN_REPO "/gc/prepare_commits/status", "prepareGarbageCollectionCommitsStatus", needs(kPrepareCollection, on_repository), not_implemented, takes(kId), {}, kNoOtherCollector},
    {kPost, TARN_REPO "/gc/prepare_uncommited", "prepareGarbageCollectionUncommitted", needs(kPrepareUncommittedCollection, on_repository), not_implemented, {}, {}, kNoOtherCollector},
    {kGet, TARN_REPO "/gc/plan", "planGarbageCollection", needs(kGetCollectionRules, on_repository), plan_collection},
    {kGet, TARN_REPO "/gc/plan/objects", "listPlannedObjects", needs(kGetCollectionRules, on_repository), list_planned_objects},
    {kGet, TARN_REPO "/gc/runs", "listGarbageCollections", needs(kGetCollectionRules, on_repository), list_collections, takes(kAmount)},
    {kPost, TARN_REPO "/gc/runs", "requestGarbageCollection", needs(kPrepareCollection, on_repository), json_handler<parse_run_request, request_collection>, may_take_json()},
    {kDelete, TARN_REPO "/gc/runs", "cancelGarbageCollection", needs(kPrepareCollection, on_repository), cancel_collection},
    {kGet, TARN_REPO "/gc/runs/{run}", "getGarbageCollection", needs(kGetCollectionRules, on_repository), get_collection},
    {kGet, "/deleted_repositories", "listDeletedRepositories", needs(kListRepositories, on_everything), list_deleted_repositories, takes(kAmount)},
    {kPost, TARN_REPO "/undelete", "undeleteRepository", needs(kDeleteRepository, on_repository), json_handler<parse_restoration, restore_repository>, may_take_json()},
    {kGet, TARN_REPO "/gc/expiries", "listExpiries", needs(kGetCollectionRules, on_repository), list_expiries, takes(kAmount)},
    {kPost, TARN_REPO "/gc/expiries", "expireCommit", needs(kSetCollectionRules, on_repository), json_handler<parse_expiry, expire_commit>, takes_json()},
    {kGet, TARN_REPO "/gc/holds", "listHolds", needs(kGetCollectionRules, on_repository), list_holds, takes(kAmount)},
    {kPost, TARN_REPO "/gc/holds", "addHold", needs(kSetCollectionRules, on_repository), json_handler<parse_hold, add_hold>, takes_json()},
    {kDelete, TARN_REPO "/gc/holds/{hold}", "removeHold", needs(kSetCollectionRules, on_repository), remove_hold},
    {kGet, TARN_REPO "/branch_protection/set_allowed", "createBranchProtectionRulePreflight", needs(kSetProtectionRules, on_repository), allow_settings},
    {kGet, TARN_REPO "/branch_protection", "internalGetBranchProtectionRules", needs(kGetProtectionRules, on_repository), get_protection_rules},
    {kPost, TARN_REPO "/branch_protection", "internalCreateBranchProtectionRule", needs(kSetProtectionRules, on_repository), json_handler<json::parse_rule_pattern, add_protection_rule>, takes_json()},
    {kDelete, TARN_REPO "/branch_protection", "internalDeleteBranchProtectionRule", needs(kSetProtectionRules, on_repository), json_handler<json::parse_rule_pattern, remove_protection_rule>, takes_json()},
    {kGet, TARN_REPO "/pulls", "listPullRequests", needs(kListPullRequests, on_repository), list_pull_requests, takes(kAmount, kStatus)},
    {kPost, TARN_REPO "/pulls", "createPullRequest", needs(kWritePullRequest, on_repository), json_handler<json::parse_create_pull_request, create_pull_request>, takes_json()},
    {kGet, TARN_PULL, "getPullRequest", needs(kReadPullRequest, on_repository), get_pull_request},
    {kPatch, TARN_PULL, "updatePullRequest", needs(kWritePullRequest, on_repository), json_handler<json::parse_update_pull_request, update_pull_request>, takes_json()},
    {kPut, TARN_PULL "/merge", "mergePullRequest", needs(kWritePullRequest, on_repository), json_handler<json::parse_merge, merge_pull_request>, may_take_json()},

    {kGet, "/healthcheck", "healthCheck", open(), health_check},
    {kGet, "/config", "getConfig", any_account(), get_config},
    {kGet, "/config/version", "getLakeFSVersion", any_account(), get_version},
    {kGet, "/config/storage", "getStorageConfig", any_account(), get_storage_config},
    {kGet, "/config/garbage-collection", "getGarbageCollectionConfig", any_account(), get_collection_config},
    {kGet, "/config/settings", "listSettings", needs(kListUsers, on_everything), list_settings},
    {kGet, "/config/servers", "listServers", needs(kListUsers, on_everything), list_servers},
    {kPost, "/statistics", "postStatsEvents", any_account(), json_handler<json::check_statistics, post_statistics>, takes_json()},
    {kGet, "/usage-report/summary", "getUsageReportSummary", any_account(), get_usage_report},
    {kGet, "/oidc/callback", "oauthCallback", open(), not_implemented},

    // Extensions of Tarn.
    {kGet, "/operations", "listOperations", any_account(), list_operations, takes(kAmount)},
    {kGet, "/jobs", "listJobs", any_account(), list_jobs, takes(kAmount, kEveryone)},
    {kGet, "/operations/{operation}", "getOperation", any_account(), get_operation},
    {kDelete, "/operations/{operation}", "cancelOperation", any_account(), cancel_operation},
    {kPost, TARN_USER "/keys", "createLimitedKey", needs(kCreateCredentials, on_user), json_handler<json::parse_key_limits, create_limited_key>, takes_json()},
    {kPost, TARN_USER "/invitations", "createInvitation", needs(kCreateCredentials, on_user), create_invitation},
    {kGet, TARN_USER "/invitations", "listInvitations", needs(kListCredentials, on_user), list_invitations, takes(kAmount)},
    {kDelete, TARN_USER "/invitations", "withdrawInvitation", needs(kDeleteCredentials, on_user), withdraw_invitation},
    {kPost, "/auth/invitations/accept", "acceptInvitation", open(), json_handler<json::parse_acceptance, accept_invitation>, takes_json()},
    {kPost, TARN_REPO "/actions/runs", "runHooks", needs(kRunAction, on_repository), json_handler<parse_run_hooks, run_hooks>, takes_json()},
    {kGet, TARN_REF "/import/verify", "verifyImport", needs(kListObjects, on_listed_ref), verify_import, takes(kAmount)},
    {kPost, TARN_REF "/cache", "warmCache", needs(kListObjects, on_listed_ref), warm_cache},
    {kPost, TARN_REPO "/verify", "startVerification", needs(kVerifyRepository, on_repository), json_handler<parse_verification, start_verification>, may_take_json()},
    {kGet, TARN_REPO "/verify/{verification}", "getVerification", needs(kVerifyRepository, on_repository), get_verification},
    {kDelete, TARN_REPO "/verify/{verification}", "cancelVerification", needs(kVerifyRepository, on_repository), cancel_verification},
    {kGet, TARN_REPO "/settings/tag_protection", "getTagProtectionRules", needs(kGetProtectionRules, on_repository), get_tag_rules},
    {kPut, TARN_REPO "/settings/tag_protection", "setTagProtectionRules", needs(kSetProtectionRules, on_repository), json_handler<json::parse_tag_rules, set_tag_rules>, takes_json()},
    {kGet, TARN_REPO "/refs/{sourceRef}/merge/{destinationBranch}/conflicts", "listMergeConflicts", needs(kListObjects, on_merged_refs), list_conflicts, takes(kAmount)},
    {kGet, TARN_REPO "/refs/{leftRef}/diff/{rightRef}/summary", "summariseDiff", needs(kListObjects, on_compared_refs), summarise_diff, takes(kDiffType)},
    {kPost, TARN_BRANCH "/objects/move", "moveObjects", Access::of({kReadObject, on_moved_source}, {kDeleteObject, on_moved_source}, {kWriteObject, on_moved_destination}), json_handler<json::parse_move_objects, move_objects>, takes_json()},
    {kGet, TARN_REPO "/webhooks", "listWebhooks", needs(kReadWebhook, on_repository), list_webhooks, takes(kAmount)},
    {kGet, TARN_WEBHOOK, "getWebhook", needs(kReadWebhook, on_repository), get_webhook},
    {kPut, TARN_WEBHOOK, "putWebhook", needs(kWriteWebhook, on_repository), json_handler<json::parse_put_webhook, put_webhook>, takes_json()},
    {kDelete, TARN_WEBHOOK, "deleteWebhook", needs(kWriteWebhook, on_repository), delete_webhook},
    {kPost, TARN_WEBHOOK ":ping", "pingWebhook", needs(kWriteWebhook, on_repository), ping_webhook},
    {kGet, TARN_WEBHOOK "/deliveries", "listWebhookDeliveries", needs(kReadWebhook, on_repository), list_deliveries, takes(kAmount)},
    {kPost, TARN_WEBHOOK "/deliveries/{delivery}:redeliver", "redeliverWebhookEvent", needs(kWriteWebhook, on_repository), redeliver_event},
    {kGet, TARN_PULL "/approvals", "listPullRequestApprovals", needs(kReadPullRequest, on_repository), list_approvals, takes(kAmount)},
    {kPost, TARN_PULL "/approvals", "approvePullRequest", needs(kWritePullRequest, on_repository), json_handler<json::parse_approve, approve_pull_request>, takes_json()},
    {kDelete, TARN_PULL "/approvals", "withdrawPullRequestApproval", needs(kWritePullRequest, on_repository), withdraw_approval},
    {kGet, TARN_PULL "/reviewers", "listPullRequestReviewers", needs(kReadPullRequest, on_repository), list_reviewers, takes(kAmount)},
    {kPut, TARN_PULL "/reviewers", "setPullRequestReviewers", needs(kWritePullRequest, on_repository), json_handler<json::parse_reviewers, ask_reviewers>, takes_json()},
    {kPost, TARN_PULL "/reviews", "reviewPullRequest", needs(kWritePullRequest, on_repository), json_handler<json::parse_review, review_pull_request>, takes_json()},
    {kDelete, TARN_PULL "/reviews", "withdrawPullRequestReview", needs(kWritePullRequest, on_repository), withdraw_review},
    {kGet, TARN_PULL "/comments", "listPullRequestComments", needs(kReadPullRequest, on_repository), list_comments, takes(kAmount)},
    {kPost, TARN_PULL "/comments", "createPullRequestComment", needs(kWritePullRequest, on_repository), json_handler<json::parse_create_comment, create_comment>, takes_json()},
    {kPatch, TARN_PULL "/comments/{comment}", "updatePullRequestComment", needs(kWritePullRequest, on_repository), json_handler<json::parse_update_comment, update_comment>, takes_json()},
    {kDelete, TARN_PULL "/comments/{comment}", "deletePullRequestComment", needs(kWritePullRequest, on_repository), delete_comment},
    {kGet, TARN_REF "/objects/search", "searchObjects", needs(kListObjects, on_listed_ref), search_objects, takes(kAmount, kUserMetadata, kPresign, kGlob, kMinSize, kMaxSize, kModifiedAfter, kModifiedBefore, kWhere, kSort)},
    {kGet, "/objects/search", "searchRefs", kToSearchRefs, search_refs, takes(kSearchedRepository, kRef, kAmount, kUserMetadata, kPresign, kGlob, kMinSize, kMaxSize, kModifiedAfter, kModifiedBefore, kWhere, kSort)},
    {kGet, TARN_REF "/objects/archive", "archivePrefix", needs(kListObjects, on_listed_ref), archive_prefix, takes(kFormat, kStrict)},
    {kPost, TARN_REF "/objects/archive", "archivePaths", needs(kReadObject, on_archived_objects), json_handler<json::parse_archive_paths, archive_paths>, takes_long_json(kFormat)},
    {kPost, TARN_BRANCH "/checkout-path", "checkoutPath", needs(kListObjects, on_repository), json_handler<json::parse_checkout_path, checkout_path>, takes_json()},
    {kGet, TARN_REPO "/promotions", "listPromotions", needs(kReadPromotion, on_repository), list_promotions, takes(kAmount, kOpen)},
    {kPost, TARN_REPO "/promotions", "createPromotion", needs(kReadPromotion, on_repository), json_handler<json::parse_create_promotion, create_promotion>, takes_json()},
    {kGet, TARN_PROMOTION, "getPromotion", needs(kReadPromotion, on_repository), get_promotion, takes(kWait, kSeen)},
    {kPost, TARN_PROMOTION "/checks/{check}", "reportCheck", needs(kReadPromotion, on_repository), json_handler<json::parse_report_check, report_check>, takes_json()},
    {kPost, TARN_PROMOTION ":approve", "approvePromotion", needs(kReadPromotion, on_repository), json_handler<json::parse_approval, approve_promotion>, takes_json()},
    {kPost, TARN_PROMOTION ":reject", "rejectPromotion", needs(kReadPromotion, on_repository), json_handler<json::parse_decision, reject_promotion>, may_take_json()},
    {kPost, TARN_PROMOTION ":cancel", "cancelPromotion", needs(kReadPromotion, on_repository), json_handler<json::parse_decision, cancel_promotion>, may_take_json()},
    {kPost, TARN_PROMOTION ":rollback", "rollBackPromotion", needs(kReadPromotion, on_repository), json_handler<json::parse_decision, roll_back_promotion>, may_take_json()},
    {kGet, TARN_REPO "/aliases", "listAliases", needs(kListTags, on_repository), list_aliases, takes(kAmount)},
    {kGet, TARN_ALIAS, "getAlias", needs(kReadTag, on_alias), get_alias},
    {kGet, TARN_ALIAS "/history", "listAliasChanges", needs(kReadTag, on_alias), list_alias_changes, takes(kAmount)},
    {kPost, TARN_ALIAS ":set", "setAlias", Access::of({kSetAlias, on_alias}, {kReadCommit, on_repository}), json_handler<json::parse_set_alias, set_alias>, takes_json()},
    {kDelete, TARN_ALIAS, "removeAlias", needs(kSetAlias, on_alias), remove_alias},

    {kGet, TARN_REPO "/policies", "listGatePolicies", needs(kGetGatePolicy, on_repository), list_gate_policies, takes(kAmount)},
    {kGet, TARN_GATE, "getGatePolicy", needs(kGetGatePolicy, on_repository), get_gate_policy, takes(kVersion)},
    {kPut, TARN_GATE, "setGatePolicy", needs(kSetGatePolicy, on_repository), set_gate_policy, takes_stream()},
    {kDelete, TARN_GATE, "removeGatePolicy", needs(kSetGatePolicy, on_repository), remove_gate_policy},
    {kGet, TARN_GATE "/versions", "listGatePolicyVersions", needs(kGetGatePolicy, on_repository), list_gate_policy_versions, takes(kAmount)},
    {kPost, TARN_GATE ":evaluate", "evaluateGatePolicy", kToJudge, json_handler<json::parse_evaluate_gate, evaluate_gate_policy>, takes_json()},
    {kPost, TARN_REPO "/compare", "compareCandidates", kToCompare, json_handler<json::parse_compare, compare_candidates>, takes_json()},

    {kGet, TARN_REPO "/evaluations", "listEvaluations", needs(kReadPromotion, on_repository), list_evaluations, takes(kAmount)},
    {kGet, TARN_EVALUATION, "getEvaluation", needs(kReadPromotion, on_repository), get_evaluation},
    {kGet, TARN_EVALUATION "/examples", "getEvaluationExamples", needs(kReadPromotion, on_repository), get_evaluation_examples, takes(kMetric)},
    {kPost, TARN_EVALUATION ":retry", "retryEvaluation", needs(kSetGatePolicy, on_repository), retry_evaluation},
    {kPost, "/evaluation-jobs/lease", "leaseEvaluation", any_account(), json_handler<json::parse_lease_evaluation, lease_evaluation>, takes_json()},
    {kPost, TARN_JOB "/renew", "renewEvaluation", any_account(), renew_evaluation},
    {kPost, TARN_JOB "/release", "releaseEvaluation", any_account(), release_evaluation},
    {kGet, TARN_JOB "/files/{part}", "getEvaluationFiles", any_account(), get_evaluation_files},
    {kPost, TARN_JOB "/result", "finishEvaluation", any_account(), finish_evaluation, takes_stream()},
    {kPost, TARN_JOB "/failure", "failEvaluation", any_account(), json_handler<json::parse_evaluation_failure, fail_evaluation>, takes_json()},

    {kPost, TARN_REPO "/experiments/{experiment}/runs", "recordRun", needs(kCreateRun, on_repository), json_handler<json::parse_record_run, record_run>, takes_json()},
    {kGet, TARN_REPO "/runs", "listExperimentRuns", needs(kListRuns, on_repository), list_experiment_runs, takes(kAmount)},
    {kGet, TARN_REPO "/run_columns", "listRunColumns", needs(kListRuns, on_repository), list_run_columns},
    {kGet, TARN_REPO "/runs/{run}", "getExperimentRun", needs(kReadRun, on_repository), get_experiment_run},
    {kPatch, TARN_REPO "/runs/{run}", "updateExperimentRun", needs(kCreateRun, on_repository), json_handler<json::parse_run_labels, update_run>, takes_json()},
    {kPost, TARN_REPO "/experiments/{experiment}/start", "startRun", needs(kCreateRun, on_repository), json_handler<json::parse_start_run, start_run>, takes_json()},
    {kPost, TARN_REPO "/runs/{run}/steps", "logRunSteps", needs(kCreateRun, on_repository), json_handler<json::parse_run_steps, log_run_steps>, takes_json()},
    {kPost, TARN_REPO "/runs/{run}/end", "endRun", needs(kCreateRun, on_repository), json_handler<json::parse_end_run, end_run>, takes_json()},
    {kGet, TARN_REPO "/commits/{commitId}/metrics", "getCommitMetrics", needs(kReadRun, on_repository), get_commit_metrics},
    {kGet, TARN_REPO "/commits/{commitId}/series", "getMetricSeries", needs(kReadRun, on_repository), get_metric_series, takes(kAmount, kMetric)},
    {kGet, TARN_REPO "/series", "listMetricSeries", needs(kReadRun, on_repository), list_metric_series, takes(kAmount, kMetric)},
    {kGet, TARN_REPO "/usage", "getUsage", needs(kListObjects, on_measured_ref), get_usage, takes(kAmount, kExact, kDepth)},
    {kGet, TARN_REPO "/usage/history", "listUsageHistory", needs(kListObjects, on_repository), list_usage_history, takes(kAmount)},
    {kGet, TARN_REPO "/quotas", "listQuotas", needs(kGetQuotas, on_repository), list_quotas, takes(kAmount)},
    {kPut, TARN_REPO "/quotas", "setQuota", needs(kSetQuotas, on_repository), json_handler<parse_quota, set_quota>, takes_json()},
    {kDelete, TARN_REPO "/quotas", "removeQuota", needs(kSetQuotas, on_repository), remove_quota},
    {kPost, TARN_REPO "/quotas/recount", "recountQuota", needs(kGetQuotas, on_repository), recount_quota},
    {kGet, "/quotas", "listUserQuotas", needs(kGetQuotas, on_everything), list_quotas, takes(kAmount)},
    {kPut, "/quotas", "setUserQuota", needs(kSetQuotas, on_everything), json_handler<parse_quota, set_quota>, takes_json()},
    {kDelete, "/quotas", "removeUserQuota", needs(kSetQuotas, on_everything), remove_quota},
    {kPost, "/quotas/recount", "recountUserQuota", needs(kGetQuotas, on_everything), recount_quota},
    {kGet, TARN_REPO "/settings/metric_files", "getMetricFiles", needs(kReadRepository, on_repository), get_metric_files},
    {kGet, TARN_REPO "/settings/paths", "getPathSettings", needs(kReadRepository, on_repository), get_path_settings},
    {kPut, TARN_REPO "/settings/paths", "setPathSettings", needs(kUpdateRepository, on_repository), json_handler<json::parse_paths, set_path_settings>, takes_json()},
    {kPut, TARN_REPO "/settings/metric_files", "setMetricFiles", needs(kUpdateRepository, on_repository), json_handler<json::parse_metric_globs, set_metric_files>, takes_json()},
};
// clang-format on

}  // namespace

std::span<const Route> routes() { return kRoutes; }

http::Response not_implemented(const Context&, Call& call) {
  const std::string_view instead = call.route.instead;
  throw Error(ErrorCode::kUnimplemented,
              instead.empty() ? "Not Implemented" : str_cat("Not Implemented: ", instead));
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
