// tarn verify
#include <algorithm>
#include <chrono>
#include <optional>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kFirstPoll{100};
constexpr milliseconds kSlowestPoll{2000};

struct VerifyOptions {
  std::string repository;
  std::string ref;
  std::string objects;
  std::string timeout;
  std::string resume;
  bool deep = false;
  bool repair = false;
  bool yes = false;
  bool no_wait = false;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--ref", ref, "only this branch, tag or commit; default: the whole repository")
        .option("--objects", objects,
                "objects to look up in the stores: none, sample (10,000; default) or all")
        .flag("--deep", deep, "also read these objects and compare their checksums")
        .flag("--repair", repair,
              "list the rows that can be repaired without guessing; with --yes also repair them, "
              "then verify")
        .flag("-y,--yes", yes, "repair instead of listing only")
        .flag("--no-wait", no_wait, "do not wait; print the id of the import")
        .option("--timeout", timeout,
                "stop waiting after 90s, 30m or 2h; the verification continues")
        .option("--resume", resume,
                "wait for the verification with this id instead of starting one");
  }
};

std::string job_path(const Uri& uri, const std::string& id) {
  return api_path({"repositories", uri.repository, "verify", id});
}

std::string start_verify(Session& session, const Uri& uri, const VerifyOptions& options) {
  Json body{{"deep", options.deep}};
  if (!options.ref.empty()) body["ref"] = options.ref;
  if (!options.objects.empty()) body["objects"] = options.objects;
  if (options.repair) body["repair"] = options.yes ? "apply" : "plan";
  const Json answer =
      session.client.call(post_request(api_path({"repositories", uri.repository, "verify"}), body));
  return answer.at("id").get<std::string>();
}

bool has_ended(const Json& status) {
  const std::string state = status.value("state", "");
  return state != "queued" && state != "running";
}

uint64_t examined(const Json& status) {
  const Json counts = status.value("examined", Json::object());
  return counts.value("entries", uint64_t{0}) + counts.value("objects_checked", uint64_t{0});
}

/// Waits for the end. An interrupt cancels the job, which changes nothing.
Json wait_for(Session& session, const Uri& uri, const std::string& id,
              const VerifyOptions& options) {
  std::optional<SteadyClock::time_point> deadline;
  if (!options.timeout.empty()) deadline = SteadyClock::now() + parse_duration(options.timeout);
  const InterruptWatch watch;
  Progress progress(str_cat("verifying ", to_string(uri)), Unit::kObjects, 0,
                    session.terminal.shows_progress);
  for (milliseconds pause = kFirstPoll;; pause = std::min(pause * 2, kSlowestPoll)) {
    Json status = session.client.call({.path = job_path(uri, id)});
    if (has_ended(status)) return status;
    progress.set(examined(status));
    if (watch.sleep(pause)) {
      session.client.ask(delete_request(job_path(uri, id)));
      throw Error(ErrorCode::kUnavailable, kReasonInterrupted,
                  str_cat("verification ", id, ": interrupted and cancelled"));
    }
    if (deadline && SteadyClock::now() >= *deadline) {
      throw Error(ErrorCode::kUnavailable, kReasonTimeout,
                  str_cat("verification ", id, ": not done in time; it goes on, to wait again: ",
                          "tarn verify ", to_string(uri), " --resume ", id));
    }
  }
}

std::string joined_texts(const Json& texts) {
  std::string out;
  for (const Json& text : texts) out += (out.empty() ? "" : " ") + text.get<std::string>();
  return out;
}

/// Where a finding is: the refs that show it, else the commit.
std::string place_of(const Json& finding) {
  const std::string refs = joined_texts(finding.value("refs", Json::array()));
  return refs.empty() ? finding.value("commit", "") : refs;
}

void print_findings(Output& out, const Json& status) {
  ListWriter rows =
      out.list("FindingList", {"severity", "kind", "path", "shown by", "address", "problem"});
  for (const Json& finding : status.value("findings", Json::array())) {
    rows.add(finding, {finding.value("severity", ""), finding.value("kind", ""),
                       finding.value("path", ""), place_of(finding), finding.value("address", ""),
                       str_cat("expected ", finding.value("expected", ""), "; found ",
                               finding.value("found", ""))});
  }
  rows.finish();
}

void print_repairs(Session& session, const Json& status) {
  const bool made = status.value("repair", "") == "apply";
  for (const Json& repair : status.value("repairs", Json::array())) {
    const std::string subject = repair.value("address", place_of(repair));
    session.out.remark(str_cat(made ? "repaired " : "would repair ", repair.value("kind", ""),
                               " of ", subject, ": ", repair.value("found", ""), " -> ",
                               repair.value("expected", "")));
  }
  if (!made && !status.value("repairs", Json::array()).empty())
    session.out.remark("nothing was changed; to repair: --repair --yes");
}

std::string summary(const Json& status) {
  const Json counts = status.value("examined", Json::object());
  const auto count = [&counts](const char* name) {
    return std::to_string(counts.value(name, uint64_t{0}));
  };
  return str_cat(status.value("errors", uint64_t{0}), " errors, ",
                 status.value("warnings", uint64_t{0}), " warnings: ", count("commits"),
                 " commits, ", count("nodes"), " nodes, ", count("entries"), " entries, ",
                 count("objects_checked"), " of ", count("objects"), " objects, ",
                 count("objects_compared"), " of them read");
}

ExitCode print(Session& session, const Json& status) {
  const std::string state = status.value("state", "");
  if (state != "done") {
    throw Error(ErrorCode::kInternal, str_cat("verification ", status.value("id", ""), ": ",
                                              status.value("/error/message"_json_pointer, state)));
  }
  const uint64_t errors = status.value("errors", uint64_t{0});
  const uint64_t warnings = status.value("warnings", uint64_t{0});
  if (is_document(session.out.format())) {
    session.out.object("Verification", status, {});
  } else if (errors + warnings > 0) {
    print_findings(session.out, status);
  }
  if (errors + warnings > status.value("findings", Json::array()).size())
    session.out.warn("not all findings are listed");
  print_repairs(session, status);
  session.out.remark(summary(status));
  if (errors > 0) return ExitCode::kDamaged;
  return warnings > 0 ? ExitCode::kWarnings : ExitCode::kOk;
}

ExitCode run_verify(Session& session, const VerifyOptions& options) {
  if (options.yes && !options.repair) throw usage_error("verifying: --yes belongs to --repair");
  if (!options.timeout.empty()) parse_duration(options.timeout);
  const Uri uri = session.repository(options.repository);
  const std::string id =
      options.resume.empty() ? start_verify(session, uri, options) : options.resume;
  if (options.no_wait) {
    session.out.object("Verification", {{"id", id}}, {{"verification", id}});
    return ExitCode::kOk;
  }
  return print(session, wait_for(session, uri, id, options));
}

}  // namespace

void add_verify_command(CommandTree& tree) {
  tree.add<VerifyOptions>("verify",
                          "Verify that nothing of a repository is lost or damaged (exit status 22: "
                          "errors, 21: warnings only)",
                          run_verify);
}

}  // namespace tarn::cli
