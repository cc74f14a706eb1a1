// The handlers of all implemented operations, by resource. Each reads its parameters, calls a verb
// of the core and encodes the result; the table in routes.cc says which checks run
// before. A JsonHandler takes a JSON body.
#pragma once

#include "server/api/route.h"

namespace tarn::api {

// account.cc
http::Response get_setup_state(const Context& context, Call& call);
JsonHandler setup();
JsonHandler setup_comm_prefs();
JsonHandler login();
http::Response get_current_user(const Context& context, Call& call);
http::Response get_auth_capabilities(const Context& context, Call& call);

// permission_checks.cc
JsonHandler check_permissions();

// users.cc
http::Response list_users(const Context& context, Call& call);
JsonHandler create_user();
http::Response get_user(const Context& context, Call& call);
http::Response delete_user(const Context& context, Call& call);
http::Response list_user_groups(const Context& context, Call& call);
http::Response list_user_policies(const Context& context, Call& call);
http::Response attach_policy_to_user(const Context& context, Call& call);
http::Response detach_policy_from_user(const Context& context, Call& call);

// branch_cleanup.cc
http::Response get_cleanup_rules(const Context& context, Call& call);
JsonHandler set_cleanup_rules();
http::Response list_stale_branches(const Context& context, Call& call);

// quotas.cc
http::Response list_quotas(const Context& context, Call& call);
JsonHandler set_quota();
http::Response remove_quota(const Context& context, Call& call);
http::Response recount_quota(const Context& context, Call& call);

// groups.cc
http::Response list_groups(const Context& context, Call& call);
JsonHandler create_group();
http::Response get_group(const Context& context, Call& call);
http::Response delete_group(const Context& context, Call& call);
http::Response list_group_members(const Context& context, Call& call);
http::Response add_group_member(const Context& context, Call& call);
http::Response remove_group_member(const Context& context, Call& call);
http::Response list_group_policies(const Context& context, Call& call);
http::Response attach_policy_to_group(const Context& context, Call& call);
http::Response detach_policy_from_group(const Context& context, Call& call);
JsonHandler set_group_acl();
http::Response get_group_acl(const Context& context, Call& call);

// policies.cc
http::Response list_policies(const Context& context, Call& call);
JsonHandler create_policy();
http::Response get_policy(const Context& context, Call& call);
JsonHandler update_policy();
http::Response delete_policy(const Context& context, Call& call);

// credentials.cc
http::Response list_user_credentials(const Context& context, Call& call);
http::Response create_credentials(const Context& context, Call& call);
http::Response get_credentials(const Context& context, Call& call);
http::Response delete_credentials(const Context& context, Call& call);
JsonHandler create_external_principal();
http::Response delete_external_principal(const Context& context, Call& call);
http::Response list_external_principals(const Context& context, Call& call);
http::Response get_external_principal(const Context& context, Call& call);

// configuration.cc
http::Response get_config(const Context& context, Call& call);
http::Response get_version(const Context& context, Call& call);
http::Response get_storage_config(const Context& context, Call& call);
http::Response get_collection_config(const Context& context, Call& call);
http::Response list_settings(const Context& context, Call& call);
http::Response list_servers(const Context& context, Call& call);
http::Response health_check(const Context& context, Call& call);
JsonHandler post_statistics();
http::Response get_usage_report(const Context& context, Call& call);

// repositories.cc
http::Response list_repositories(const Context& context, Call& call);
JsonHandler create_repository();
http::Response get_repository(const Context& context, Call& call);
http::Response delete_repository(const Context& context, Call& call);
http::Response list_deleted_repositories(const Context& context, Call& call);
JsonHandler restore_repository();
http::Response get_repository_metadata(const Context& context, Call& call);
JsonHandler set_repository_metadata();
JsonHandler delete_repository_metadata();

// settings.cc
http::Response get_protection_rules(const Context& context, Call& call);
JsonHandler set_protection_rules();
JsonHandler add_protection_rule();
JsonHandler remove_protection_rule();
http::Response get_tag_rules(const Context& context, Call& call);
JsonHandler set_tag_rules();
http::Response plan_collection(const Context& context, Call& call);
http::Response list_planned_objects(const Context& context, Call& call);
http::Response list_collections(const Context& context, Call& call);
JsonHandler request_collection();
http::Response get_collection(const Context& context, Call& call);
http::Response cancel_collection(const Context& context, Call& call);
JsonHandler add_hold();
http::Response list_expiries(const Context& context, Call& call);
JsonHandler expire_commit();
http::Response list_holds(const Context& context, Call& call);
http::Response remove_hold(const Context& context, Call& call);
http::Response get_collection_rules(const Context& context, Call& call);
JsonHandler set_collection_rules();
http::Response remove_collection_rules(const Context& context, Call& call);
http::Response allow_settings(const Context& context, Call& call);

// branches.cc
http::Response summarise_diff(const Context& context, Call& call);
JsonHandler record_commit();
http::Response create_symlinks(const Context& context, Call& call);
http::Response dump_refs(const Context& context, Call& call);
JsonHandler restore_refs();
http::Response start_dump(const Context& context, Call& call);
http::Response dump_status(const Context& context, Call& call);
JsonHandler start_restore();
http::Response restore_status(const Context& context, Call& call);
http::Response list_branches(const Context& context, Call& call);
JsonHandler create_branch();
http::Response get_branch(const Context& context, Call& call);
JsonHandler set_branch_expiry();
http::Response delete_branch(const Context& context, Call& call);
JsonHandler reset_branch();
http::Response hard_reset_branch(const Context& context, Call& call);
JsonHandler revert_branch();
JsonHandler cherry_pick();
http::Response diff_branch(const Context& context, Call& call);

// tags.cc
http::Response list_tags(const Context& context, Call& call);
JsonHandler create_tag();
http::Response get_tag(const Context& context, Call& call);
http::Response delete_tag(const Context& context, Call& call);

// aliases.cc
http::Response list_aliases(const Context& context, Call& call);
http::Response get_alias(const Context& context, Call& call);
http::Response list_alias_changes(const Context& context, Call& call);
JsonHandler set_alias();
http::Response remove_alias(const Context& context, Call& call);

// verifications.cc
JsonHandler start_verification();
http::Response get_verification(const Context& context, Call& call);
http::Response cancel_verification(const Context& context, Call& call);

// metadata_files.cc
http::Response get_meta_range(const Context& context, Call& call);
http::Response get_range(const Context& context, Call& call);
http::Response get_metadata_object(const Context& context, Call& call);

// commits.cc
JsonHandler commit();
http::Response get_commit(const Context& context, Call& call);
http::Response log_commits(const Context& context, Call& call);

// refs.cc
http::Response diff_refs(const Context& context, Call& call);
JsonHandler merge_into_branch();
http::Response list_conflicts(const Context& context, Call& call);
http::Response find_merge_base(const Context& context, Call& call);

// object_reads.cc
http::Response get_object(const Context& context, Call& call);
http::Response head_object(const Context& context, Call& call);
http::Response stat_object(const Context& context, Call& call);
http::Response list_objects(const Context& context, Call& call);
http::Response get_underlying_properties(const Context& context, Call& call);

// searches.cc
http::Response search_objects(const Context& context, Call& call);
http::Response search_refs(const Context& context, Call& call);

// archives.cc
http::Response archive_prefix(const Context& context, Call& call);
JsonHandler archive_paths();

// object_writes.cc
http::Response upload_object(const Context& context, Call& call);
http::Response allow_upload(const Context& context, Call& call);
JsonHandler stage_object();
http::Response delete_object(const Context& context, Call& call);
JsonHandler delete_objects();
JsonHandler copy_object();
JsonHandler move_objects();
JsonHandler checkout_path();
JsonHandler update_user_metadata();

// staging.cc
http::Response get_physical_address(const Context& context, Call& call);
JsonHandler link_physical_address();

// presigned_uploads.cc
http::Response create_presigned_upload(const Context& context, Call& call);
JsonHandler presign_part();
JsonHandler copy_presigned_part();
JsonHandler complete_presigned_upload();
JsonHandler abort_presigned_upload();

// caches.cc
http::Response warm_cache(const Context& context, Call& call);

// imports.cc
JsonHandler preview_import();
JsonHandler start_import();
http::Response import_status(const Context& context, Call& call);
http::Response cancel_import(const Context& context, Call& call);
http::Response verify_import(const Context& context, Call& call);

// operations.cc
http::Response list_operations(const Context& context, Call& call);
http::Response list_jobs(const Context& context, Call& call);
http::Response get_operation(const Context& context, Call& call);
http::Response cancel_operation(const Context& context, Call& call);

http::Response list_webhooks(const Context& context, Call& call);
http::Response get_webhook(const Context& context, Call& call);
JsonHandler put_webhook();
http::Response delete_webhook(const Context& context, Call& call);
http::Response ping_webhook(const Context& context, Call& call);
http::Response list_deliveries(const Context& context, Call& call);
http::Response redeliver_event(const Context& context, Call& call);

// pull_requests.cc
http::Response list_pull_requests(const Context& context, Call& call);
JsonHandler create_pull_request();
http::Response get_pull_request(const Context& context, Call& call);
JsonHandler update_pull_request();
JsonHandler merge_pull_request();
http::Response list_approvals(const Context& context, Call& call);
JsonHandler approve_pull_request();
http::Response list_promotions(const Context& context, Call& call);
JsonHandler create_promotion();
http::Response get_promotion(const Context& context, Call& call);
JsonHandler report_check();
JsonHandler approve_promotion();
JsonHandler reject_promotion();
JsonHandler cancel_promotion();
JsonHandler roll_back_promotion();
http::Response withdraw_approval(const Context& context, Call& call);

// runs.cc
JsonHandler record_run();
http::Response list_experiment_runs(const Context& context, Call& call);
http::Response list_run_columns(const Context& context, Call& call);
http::Response get_experiment_run(const Context& context, Call& call);
http::Response get_commit_metrics(const Context& context, Call& call);
http::Response get_metric_series(const Context& context, Call& call);
http::Response list_metric_series(const Context& context, Call& call);
http::Response get_metric_files(const Context& context, Call& call);
JsonHandler set_metric_files();

// usage.cc
http::Response get_usage(const Context& context, Call& call);
http::Response list_usage_history(const Context& context, Call& call);

// actions.cc
http::Response list_runs(const Context& context, Call& call);
http::Response get_run(const Context& context, Call& call);
http::Response list_run_hooks(const Context& context, Call& call);
http::Response get_hook_output(const Context& context, Call& call);
JsonHandler run_hooks();

// gate_policies.cc
http::Response list_gate_policies(const Context& context, Call& call);
http::Response list_gate_policy_versions(const Context& context, Call& call);
http::Response get_gate_policy(const Context& context, Call& call);
http::Response set_gate_policy(const Context& context, Call& call);
http::Response remove_gate_policy(const Context& context, Call& call);
JsonHandler evaluate_gate_policy();

// compare.cc
JsonHandler compare_candidates();

}  // namespace tarn::api
