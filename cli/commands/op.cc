// tarn op list | show | wait | cancel

#include <algorithm>
#include <chrono>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/operation.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using std::chrono::seconds;
using SteadyClock = std::chrono::steady_clock;

constexpr int kStatusAccepted = 202;
/// Maximum wait of one request; proxies interrupt longer ones.
constexpr seconds kWaitPerRequest{20};

std::string operation_path(const std::string& id) { return api_path({"operations", id}); }

bool has_ended(const Json& operation) {
  const std::string state = operation.value("state", "");
  return state != "running" && state != "cancelling";
}

void print_operation(Session& session, const Json& operation) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"operation", operation.value("id", "")},
      {"state", operation.value("state", "")},
      {"request", str_cat(operation.value("operation", ""), ' ', operation.value("target", ""))},
      {"since", operation.value("created", "")}};
  if (operation.contains("result")) lines.emplace_back("result", json_text(operation["result"]));
  session.out.object("Operation", operation, lines);
}

/// The error that the request would have returned.
Error error_of(const Json& operation) {
  const Json result = operation.value("result", Json::object());
  return error_from({.status = operation.value("status", 500),
                     .headers = {{"X-Tarn-Error", result.value("code", "")}},
                     .body = json_text(result)});
}

struct ListOperations {};
void list_operations(Session& session, const ListOperations&) {
  print_list(session, {.path = "/operations"}, "Operation",
             {"operation", "state", "request", "since"}, [](const Json& item) -> Cells {
               return {item.value("id", ""), item.value("state", ""),
                       str_cat(item.value("operation", ""), ' ', item.value("target", "")),
                       item.value("created", "")};
             });
}

struct OperationTarget {
  std::string id;

  void declare(Command& command) {
    command.argument("ID", id, "id of the operation, as shown by `tarn op list`");
  }
};

void show_operation(Session& session, const OperationTarget& options) {
  print_operation(session, session.client.call({.path = operation_path(options.id)}));
}

struct WaitOperation {
  std::string id;
  std::string timeout;

  void declare(Command& command) {
    command.argument("ID", id, "id of the operation, as shown by `tarn op list`")
        .option("--timeout", timeout, "stop waiting after 90s, 30m or 2h; the operation continues");
  }
};

void wait_operation(Session& session, const WaitOperation& options) {
  const bool limited = !options.timeout.empty();
  const auto deadline =
      SteadyClock::now() + (limited ? parse_duration(options.timeout) : std::chrono::hours{0});
  for (;;) {
    seconds patience = kWaitPerRequest;
    if (limited) {
      const auto left = std::chrono::ceil<seconds>(deadline - SteadyClock::now());
      patience = std::clamp(left, seconds{0}, kWaitPerRequest);
    }
    const Json operation = session.client.call(
        {.path = operation_path(options.id),
         .headers = {{"Prefer", str_cat("wait=", static_cast<uint64_t>(patience.count()))}}});
    if (has_ended(operation)) {
      if (operation.value("state", "") != "done") throw error_of(operation);
      print_operation(session, operation);
      return;
    }
    if (limited && SteadyClock::now() >= deadline) {
      throw Error(ErrorCode::kUnavailable, kReasonTimeout,
                  str_cat("waiting for operation ", options.id, ": still ",
                          operation.value("state", "running"), " after ", options.timeout,
                          "; it goes on: tarn op wait ", options.id));
    }
  }
}

void cancel_operation(Session& session, const OperationTarget& options) {
  print_operation(session, session.client.call(delete_request(operation_path(options.id))));
}

}  // namespace

Pairs no_wait() { return {{"Prefer", "respond-async"}}; }

bool print_when_deferred(Session& session, const Answer& answer) {
  if (answer.status != kStatusAccepted) return false;
  print_operation(session, json_of(answer));
  return true;
}

void add_op_commands(CommandTree& tree) {
  tree.group("op", "Background operations");
  tree.add<ListOperations>("op list", "List your background operations, newest first",
                           list_operations);
  tree.add<OperationTarget>("op show", "Show a background operation and its result",
                            show_operation);
  tree.add<WaitOperation>("op wait",
                          "Wait for a background operation; fails as its request would have failed",
                          wait_operation);
  tree.add<OperationTarget>("op cancel", "Cancel a background operation", cancel_operation);
}

// tarn jobs list

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
