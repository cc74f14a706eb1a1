// The commands, one function per noun (or verb that stands alone), and options that several take.
#pragma once

#include <cstdint>
#include <string>

#include "cli/arguments.h"

namespace tarn::cli {

/// The default of an option whose values are not negative.
constexpr int64_t kNotGiven = -1;

struct InRepository {
  std::string repository;

  void declare(Command& command);
};

struct Names {
  std::string prefix;

  void declare(Command& command);
};

struct NamesInRepository {
  std::string repository;
  std::string prefix;

  void declare(Command& command);
};

/// Declares all of the below, in the order in which help lists them.
void add_commands(CommandTree& tree);

void add_repo_commands(CommandTree& tree);
void add_branch_commands(CommandTree& tree);
void add_branch_cleanup_commands(CommandTree& tree);  // after add_branch_commands
void add_tag_commands(CommandTree& tree);
void add_alias_commands(CommandTree& tree);
void add_protect_commands(CommandTree& tree);
void add_cache_commands(CommandTree& tree);
void add_gc_commands(CommandTree& tree);  ///< with the next
void add_gc_run_commands(CommandTree& tree);
void add_hold_commands(CommandTree& tree);
void add_quota_commands(CommandTree& tree);
void add_refs_commands(CommandTree& tree);
void add_commit_command(CommandTree& tree);
void add_log_command(CommandTree& tree);
void add_search_command(CommandTree& tree);
void add_diff_command(CommandTree& tree);
void add_du_command(CommandTree& tree);
void add_merge_command(CommandTree& tree);
void add_merge_base_command(CommandTree& tree);
void add_show_command(CommandTree& tree);
void add_annotate_command(CommandTree& tree);
void add_webhook_commands(CommandTree& tree);
void add_pr_commands(CommandTree& tree);
void add_promote_commands(CommandTree& tree);
void add_promotion_vote_commands(CommandTree& tree);
void add_exp_commands(CommandTree& tree);
void add_policy_commands(CommandTree& tree);
void add_gate_commands(CommandTree& tree);
void add_exp_compare_command(CommandTree& tree);
void add_evaluation_commands(CommandTree& tree);
void add_runner_command(CommandTree& tree);
void add_actions_commands(CommandTree& tree);
void add_op_commands(CommandTree& tree);
void add_jobs_commands(CommandTree& tree);
void add_revert_commands(CommandTree& tree);
void add_checkout_path_command(CommandTree& tree);
void add_import_commands(CommandTree& tree);
void add_verify_command(CommandTree& tree);
void add_fs_commands(CommandTree& tree);  ///< with the five below
void add_fs_copy_commands(CommandTree& tree);
void add_fs_upload_command(CommandTree& tree);
void add_fs_download_command(CommandTree& tree);
void add_fs_stage_command(CommandTree& tree);
void add_fs_archive_command(CommandTree& tree);
void add_auth_commands(CommandTree& tree);  ///< with the four below
void add_auth_user_commands(CommandTree& tree);
void add_auth_group_commands(CommandTree& tree);
void add_auth_policy_commands(CommandTree& tree);
void add_auth_credential_commands(CommandTree& tree);
void add_admin_commands(CommandTree& tree);
void add_config_commands(CommandTree& tree);
void add_status_command(CommandTree& tree);
void add_use_command(CommandTree& tree);
void add_version_command(CommandTree& tree);
void add_doctor_command(CommandTree& tree);
void add_completion_command(CommandTree& tree);
void add_reference_command(CommandTree& tree);

}  // namespace tarn::cli
