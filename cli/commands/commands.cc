#include "cli/commands/commands.h"

namespace tarn::cli {
namespace {

constexpr const char* kRepositoryHelp = "tarn://NAME or NAME; default --repo";
constexpr const char* kPrefixHelp = "only names that begin with this prefix";

}  // namespace

void InRepository::declare(Command& command) {
  command.optional_argument("REPOSITORY", repository, kRepositoryHelp);
}

void Names::declare(Command& command) { command.option("--prefix", prefix, kPrefixHelp); }

void NamesInRepository::declare(Command& command) {
  command.optional_argument("REPOSITORY", repository, kRepositoryHelp)
      .option("--prefix", prefix, kPrefixHelp);
}

void add_commands(CommandTree& tree) {
  tree.section("Repositories, branches and names");
  add_repo_commands(tree);
  add_branch_commands(tree);
  add_branch_cleanup_commands(tree);
  add_tag_commands(tree);
  add_alias_commands(tree);
  tree.section("Objects");
  add_fs_commands(tree);
  add_import_commands(tree);
  add_search_command(tree);
  add_checkout_path_command(tree);
  tree.section("Changes and history");
  add_status_command(tree);
  add_commit_command(tree);
  add_diff_command(tree);
  add_log_command(tree);
  add_show_command(tree);
  add_annotate_command(tree);
  add_merge_command(tree);
  add_merge_base_command(tree);
  add_revert_commands(tree);
  add_pr_commands(tree);
  tree.section("Experiments and promotion");
  add_exp_commands(tree);
  add_exp_compare_command(tree);
  add_policy_commands(tree);
  add_gate_commands(tree);
  add_promote_commands(tree);
  add_evaluation_commands(tree);
  add_runner_command(tree);
  tree.section("Automation");
  add_actions_commands(tree);
  add_webhook_commands(tree);
  add_op_commands(tree);
  add_jobs_commands(tree);
  tree.section("Storage and safety");
  add_protect_commands(tree);
  add_du_command(tree);
  add_cache_commands(tree);
  add_gc_commands(tree);
  add_hold_commands(tree);
  add_quota_commands(tree);
  add_verify_command(tree);
  add_admin_commands(tree);
  add_refs_commands(tree);
  tree.section("Access and this command");
  add_auth_commands(tree);
  add_use_command(tree);
  add_config_commands(tree);
  add_doctor_command(tree);
  add_version_command(tree);
  add_completion_command(tree);
  add_reference_command(tree);
}

}  // namespace tarn::cli
