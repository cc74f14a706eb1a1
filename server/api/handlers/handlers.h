// The handlers of all operations that are served, by file. Each reads its parameters, calls a verb
// of the core and encodes the result; the table in routes.cc has the parsers of their bodies, and
// the checks that run before.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/auth/policy.h"
#include "core/events/hook_runs.h"
#include "core/model/branch_cleanup.h"
#include "core/model/quota.h"
#include "core/verify/verify.h"
#include "server/api/json/account.h"
#include "server/api/json/commit.h"
#include "server/api/json/evaluation.h"
#include "server/api/json/import.h"
#include "server/api/json/merge.h"
#include "server/api/json/object.h"
#include "server/api/json/promotion.h"
#include "server/api/json/ref.h"
#include "server/api/json/repository.h"
#include "server/api/json/run.h"
#include "server/api/json/values.h"
#include "server/api/route.h"

namespace tarn::api {

/// The type of a handler that takes no JSON body.
using Plain = http::Response(const Context& context, Call& call);
/// The type of a handler that takes a JSON body, which the row in the table parses.
template <typename Body>
using Reads = http::Response(const Context& context, Call& call, Body given);

// accounts.cc
Plain get_setup_state, get_current_user, get_auth_capabilities, list_users, get_user, delete_user,
    list_user_groups, list_user_policies, attach_policy_to_user, detach_policy_from_user,
    list_groups, get_group, delete_group, list_group_members, add_group_member, remove_group_member,
    list_group_policies, attach_policy_to_group, detach_policy_from_group, get_group_acl,
    list_policies, get_policy, delete_policy, list_user_credentials, create_credentials,
    get_credentials, delete_credentials, delete_external_principal, list_external_principals,
    get_external_principal, create_invitation, list_invitations, withdraw_invitation;
Reads<json::Setup> setup;
Reads<json::Checked> setup_comm_prefs;
Reads<json::Login> login;
Reads<json::CreateUser> create_user;
Reads<json::CreateGroup> create_group;
Reads<std::string> set_group_acl, accept_invitation;
Reads<auth::KeyLimits> create_limited_key;
Reads<auth::Policy> create_policy, update_policy;
Reads<std::vector<std::map<std::string, std::string>>> create_external_principal;
Reads<json::PermissionChecks> check_permissions;

// actions.cc
struct RunHooks {
  events::HandRun run;
  bool dry_run = false;
};
RunHooks parse_run_hooks(const json::Value& body);
Plain list_runs, get_run, list_run_hooks, get_hook_output;
Reads<RunHooks> run_hooks;

// archives.cc
Plain archive_prefix;
Reads<json::ArchivePaths> archive_paths;

// collections.cc
struct ExpiryBody {
  std::string ref;
  std::string reason;
};
struct RunRequest {
  uint32_t share_max = 0;
  bool adopt = false;
};
struct HoldBody {
  std::string ref;
  std::string reason;
  std::string path{};
  std::optional<json::Deadline> until{};
};
RunRequest parse_run_request(const json::Value& body);
ExpiryBody parse_expiry(const json::Value& body);
HoldBody parse_hold(const json::Value& body);
Plain plan_collection, list_planned_objects, list_collections, get_collection, cancel_collection,
    list_expiries, list_holds, remove_hold;
Reads<RunRequest> request_collection;
Reads<ExpiryBody> expire_commit;
Reads<HoldBody> add_hold;

// commits.cc
Plain get_commit, log_commits, get_meta_range, get_range, get_metadata_object;
Reads<json::CreateCommit> commit;
Reads<json::CommitRecord> record_commit;

// configuration.cc
Plain get_config, get_version, get_storage_config, get_collection_config, list_settings,
    list_servers, health_check, get_usage_report, get_usage, list_usage_history;
Reads<json::Checked> post_statistics;

// imports.cc
Plain import_status, cancel_import, verify_import;
Reads<json::StartImport> preview_import, start_import;

// merges.cc
Plain diff_refs, summarise_diff, list_conflicts, find_merge_base, list_pull_requests,
    get_pull_request, list_approvals, withdraw_approval, list_reviewers, withdraw_review,
    list_comments, delete_comment;
Reads<json::Merge> merge_into_branch, merge_pull_request;
Reads<json::CreatePullRequest> create_pull_request;
Reads<json::UpdatePullRequest> update_pull_request;
Reads<CommitId> approve_pull_request;
Reads<PullComment> create_comment;
Reads<json::UpdateComment> update_comment;
Reads<json::Reviewing> review_pull_request;
Reads<std::vector<std::string>> ask_reviewers;

// evaluations.cc
Plain list_evaluations, get_evaluation, get_evaluation_examples, retry_evaluation, renew_evaluation,
    release_evaluation, get_evaluation_files, finish_evaluation;
Reads<json::LeaseEvaluation> lease_evaluation;
Reads<evaluation::Failure> fail_evaluation;

// objects.cc
Plain get_object, head_object, stat_object, list_objects, get_underlying_properties,
    create_symlinks, upload_object, allow_upload, delete_object, get_physical_address;
Reads<json::StagedBytes> stage_object, link_physical_address;
Reads<std::vector<std::string>> delete_objects;
Reads<json::CopyObject> copy_object;
Reads<json::MoveObjects> move_objects;
Reads<json::CheckoutPath> checkout_path;
Reads<Metadata> update_user_metadata;

// operations.cc
verify::RepositoryVerification parse_verification(const json::Value& body);
Plain list_operations, list_jobs, get_operation, cancel_operation, get_verification,
    cancel_verification, warm_cache;
Reads<verify::RepositoryVerification> start_verification;

// presigned_uploads.cc
Plain create_presigned_upload;
Reads<std::string> presign_part, abort_presigned_upload;
Reads<json::CopyPart> copy_presigned_part;
Reads<json::CompleteUpload> complete_presigned_upload;

// promotions.cc
Plain list_promotions, get_promotion, list_gate_policies, list_gate_policy_versions,
    get_gate_policy, set_gate_policy, remove_gate_policy;
Reads<json::CreatePromotion> create_promotion;
Reads<promotion::PromotionCheck> report_check;
Reads<json::Decision> approve_promotion, reject_promotion, cancel_promotion, roll_back_promotion;
Reads<json::EvaluateGate> evaluate_gate_policy;
Reads<promotion::CompareQuestion> compare_candidates;

// refs.cc
struct RestoreRefs {
  std::string dump;
  bool force = false;
};
RestoreRefs parse_refs_restore(const json::Value& body);
Plain list_branches, get_branch, delete_branch, hard_reset_branch, diff_branch, list_tags, get_tag,
    delete_tag, list_aliases, get_alias, list_alias_changes, remove_alias, dump_refs, start_dump,
    dump_status, restore_status;
Reads<json::CreateBranch> create_branch;
Reads<std::optional<json::Deadline>> set_branch_expiry;
Reads<json::RenameBranch> rename_branch;
Reads<json::Rebase> rebase_branch;
Reads<json::ResetBranch> reset_branch;
Reads<json::Revert> revert_branch;
Reads<json::CherryPick> cherry_pick;
Reads<json::CreateTag> create_tag;
Reads<json::SetAlias> set_alias;
Reads<RestoreRefs> restore_refs, start_restore;

// repositories.cc
struct RestoreBody {
  std::optional<RepositoryName> as{};
  std::string id{};
};
RestoreBody parse_restoration(const json::Value& body);
Plain list_repositories, get_repository, delete_repository, list_deleted_repositories,
    get_repository_metadata, get_path_settings;
Reads<json::CreateRepository> create_repository;
Reads<RestoreBody> restore_repository;
Reads<Metadata> set_repository_metadata;
Reads<bool> set_path_settings;
Reads<std::vector<std::string>> delete_repository_metadata;

// runs.cc
Plain list_experiment_runs, list_run_columns, get_experiment_run, get_commit_metrics,
    get_metric_series, list_metric_series, get_metric_files;
Reads<json::RecordRun> record_run;
Reads<runs::RunLabelsChange> update_run;
Reads<runs::RunStart> start_run;
Reads<runs::RunBatch> log_run_steps;
Reads<RunState> end_run;
Reads<std::vector<std::string>> set_metric_files;

// searches.cc
Plain search_objects, search_refs;

// settings.cc
struct QuotaBody {
  QuotaScope scope{};
  QuotaLimits limits{};
};
CleanupRules parse_cleanup_rules(const json::Value& body);
QuotaBody parse_quota(const json::Value& body);
Plain get_protection_rules, get_tag_rules, get_collection_rules, remove_collection_rules,
    allow_settings, get_cleanup_rules, list_stale_branches, list_quotas, remove_quota,
    recount_quota;
Reads<std::vector<BranchRule>> set_protection_rules;
Reads<Glob> add_protection_rule, remove_protection_rule;
Reads<std::vector<TagRule>> set_tag_rules;
Reads<CollectionRules> set_collection_rules;
Reads<CleanupRules> set_cleanup_rules;
Reads<QuotaBody> set_quota;

// webhooks.cc
Plain list_webhooks, get_webhook, delete_webhook, ping_webhook, list_deliveries, redeliver_event;
Reads<json::PutWebhook> put_webhook;

}  // namespace tarn::api
