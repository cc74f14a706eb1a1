// tarn doctor
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/examination.h"
#include "cli/session.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct DoctorOptions : ExaminationOptions {
  void declare(Command& command) {
    command
        .optional_argument("REPOSITORY", repository,
                           "the repository whose store is checked, tarn://NAME or NAME; default "
                           "--repo, or the first repository")
        .flag("--write", write,
              "also write, read and delete a small object on a temporary hidden branch")
        .flag("--server", server,
              "as an administrator: also check what a server for a team needs: HTTPS, a known "
              "proxy, a second administrator, one version, backups")
        .option("--metrics", metrics,
                "URL of the server's metrics, such as http://127.0.0.1:9000/metrics; default "
                "/metrics at the endpoint")
        .flag("--fix", fix,
              "repair what can be repaired safely: the mode of the configuration file, leftover "
              "branches of this command, deliveries of webhooks that were given up");
  }
};

Finding outcome_of(Examination& examination, Finding (Examination::*check)(), bool may_be_hidden) {
  try {
    return (examination.*check)();
  } catch (const Error& error) {
    // A job with few rights has nothing to mend; what it needs is checked by itself.
    if (may_be_hidden && error.reason() == reason::kInsufficientPermissions) {
      return {FindingState::kUnknown, str_cat("may not be looked at: ", error.message())};
    }
    return failed_check(error, "");
  } catch (const Json::exception& error) {
    return failed_check(Error(ErrorCode::kInternal, error.what()),
                        "something else answers there: give the URL of a Tarn server");
  }
}

std::string_view word_for(FindingState state) {
  switch (state) {
    case FindingState::kFine:
      return "yes";
    case FindingState::kBad:
      return "no";
    case FindingState::kUnknown:
      return "-";
  }
  return "";
}

ExitCode run_doctor(Session& session, const DoctorOptions& options) {
  struct Check {
    const char* name;
    Finding (Examination::*run)();
    bool ends_it;  ///< after its failure later checks would only fail too
  };
  std::vector<Check> checks{{"server", &Examination::server, true},
                            {"clock", &Examination::clock, false},
                            {"credentials", &Examination::credentials, true},
                            {"version", &Examination::version, false},
                            {"permissions", &Examination::permissions, true},
                            {"store", &Examination::store_reads, false}};
  if (options.write) checks.push_back({"store writes", &Examination::store_writes, false});
  checks.insert(checks.end(), {{"settings file", &Examination::settings_file, false},
                               {"server state", &Examination::server_state, false},
                               {"disk", &Examination::disk, false},
                               {"master key", &Examination::master_key, false},
                               {"hooks", &Examination::hooks, false},
                               {"webhooks", &Examination::webhooks, false},
                               {"policies", &Examination::policies, false},
                               {"leftovers", &Examination::leftovers, false}});
  if (options.server) {
    checks.insert(checks.end(), {{"https", &Examination::https, false},
                                 {"proxy", &Examination::proxy, false},
                                 {"operators' pages", &Examination::operators_pages, false},
                                 {"administrators", &Examination::administrators, false},
                                 {"servers", &Examination::servers, false},
                                 {"backups", &Examination::backups, false}});
  }
  Examination examination(session, options);
  ListWriter rows = session.out.list("Doctor", {"check", "ok", "found", "what to do"});
  ExitCode worst = ExitCode::kOk;
  for (const Check& check : checks) {
    const Finding finding = outcome_of(examination, check.run, !check.ends_it);
    Json ok = nullptr;
    if (finding.state != FindingState::kUnknown) ok = finding.state == FindingState::kFine;
    rows.add({{"check", check.name},
              {"ok", ok},
              {"found", finding.found},
              {"advice", finding.advice},
              {"fixed", finding.fixed}},
             {check.name, std::string(word_for(finding.state)), finding.found,
              finding.fixed.empty() ? finding.advice : str_cat("fixed: ", finding.fixed)});
    if (worst == ExitCode::kOk) worst = finding.code;
    if (finding.state == FindingState::kBad && check.ends_it) break;
  }
  rows.finish();
  return worst;
}

}  // namespace

void add_doctor_command(CommandTree& tree) {
  tree.add<DoctorOptions>("doctor",
                          "Check server, clock, credentials, store, hooks, webhooks and policies",
                          run_doctor);
}

}  // namespace tarn::cli
