// tarn jobs list
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/session.h"

namespace tarn::cli {
namespace {

struct ListJobs {
  bool everyone = false;

  void declare(Command& command) {
    command.flag("--everyone", everyone, "jobs of all users; needs the permission auth:ListUsers");
  }
};

/// "lake/main", "lake", "(deleted)" or "(not readable)".
std::string target_of(const Json& job) {
  if (job.value("hidden", false)) return "(not readable)";
  const std::string repository = job.value("repository", "");
  if (repository.empty()) return "(deleted)";
  const std::string branch = job.value("branch", "");
  return branch.empty() ? repository : repository + '/' + branch;
}

void list_jobs(Session& session, const ListJobs& options) {
  Request request{.path = "/jobs"};
  if (options.everyone) request.query.emplace_back("everyone", "true");
  print_list(session, request, "JobList",
             {"job", "kind", "state", "on", "objects", "user", "since", "error"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""),
                       item.value("kind", ""),
                       item.value("state", ""),
                       target_of(item),
                       std::to_string(item.value("progress", int64_t{0})),
                       item.value("user", ""),
                       item.value("created", ""),
                       item.value("error", "")};
             });
}

}  // namespace

void add_jobs_commands(CommandTree& tree) {
  tree.group("jobs", "Imports, verifications and dumps of refs in the background");
  tree.add<ListJobs>("jobs list", "List your background jobs, newest first", list_jobs);
}

}  // namespace tarn::cli
