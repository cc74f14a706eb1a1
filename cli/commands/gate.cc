// tarn gate check
#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/promotion_record.h"
#include "cli/exit_code.h"
#include "cli/github.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct CheckGate {
  std::vector<std::string> candidates;
  std::string policy;
  std::string champion;
  bool all = false;
  bool github = false;

  void declare(Command& command) {
    command
        .arguments("CANDIDATE", candidates,
                   "tarn://repository/branch, a glob of branches such as 'exp-*', or another ref "
                   "in --repo")
        .option("--policy", policy, "name of the gate policy; default: the repository's only one")
        .option("--champion", champion, "the ref to compare with; default: the policy's alias")
        .flag("--all", all, "also show the rules that hold")
        .flag("--github", github, "write outputs, summary and annotations for GitHub Actions");
  }
};

/// The status for all candidates: a failure takes precedence over waiting. Missing metrics have a
/// separate status, so that a job can measure and retry.
ExitCode exit_code_of(const Json& answer) {
  bool failed = false;
  bool only_missing = true;
  bool pending = false;
  for (const Json& candidate : answer["results"]) {
    const std::string verdict = candidate.value("verdict", "");
    pending = pending || verdict == "pending";
    failed = failed || verdict == "failed";
    only_missing = only_missing && lacks_metrics_only(candidate);
  }
  if (failed) return only_missing ? ExitCode::kMetricMissing : ExitCode::kGateFailed;
  return pending ? ExitCode::kApprovalNeeded : ExitCode::kOk;
}

/// The destination's state would end the promotion of every candidate.
Error error_of_refusal(const Json& refusal) {
  Json as_promotion{{"state", "would fail"}};
  as_promotion.update(refusal);
  return error_of_promotion(as_promotion);
}

void print_rules(Session& session, const Json& answer, bool all) {
  ListWriter rows = session.out.list("GateRuleList", {"candidate", "rule", "outcome", "reason"});
  for (const Json& candidate : answer["results"]) {
    const std::string ref = candidate.value("ref", "");
    for (const Json& rule : candidate["rules"]) {
      if (!all && rule.value("outcome", "") == "pass") continue;
      rows.add(rule,
               {ref, rule.value("rule", ""), rule.value("outcome", ""), rule.value("reason", "")});
    }
    rows.add(candidate,
             {ref, "verdict", candidate.value("verdict", ""),
              candidate.contains("rank") ? str_cat("rank ", candidate.value("rank", int64_t{0}))
                                         : std::string()});
    for (const Json& warning : candidate["warnings"]) {
      session.out.remark(str_cat(ref, ": ", warning.get<std::string>()));
    }
  }
  rows.finish();
  for (const Json& warning : answer.value("warnings", Json::array()))
    session.out.remark(warning.get<std::string>());
}

void report_to_github(const Github& github, const CheckGate& options, const Json& answer,
                      ExitCode code) {
  std::string best;
  std::string refusals;
  for (const Json& candidate : answer["results"]) {
    const std::string ref = candidate.value("ref", "");
    if (best.empty() && candidate.contains("rank")) best = ref;  // the best come first
    const std::string refused = refusals_in_words(candidate);
    if (!refused.empty()) refusals += str_cat(refusals.empty() ? "" : "\n", ref, ": ", refused);
  }
  const Json refusal = answer.value("refusal", Json::object());
  if (!refusal.empty())
    refusals += str_cat(refusals.empty() ? "" : "\n", refusal.value("message", ""));
  const bool failed = code == ExitCode::kGateFailed || code == ExitCode::kMetricMissing ||
                      code == ExitCode::kConflict;
  github.set({{"verdict", failed                              ? "failed"
                          : code == ExitCode::kApprovalNeeded ? "pending"
                                                              : "passed"},
              {"winner", best}});
  github.summarise(
      str_cat("### Gate `", options.policy, "`\n\n", candidates_in_markdown(answer["results"])));
  if (failed) github.complain(std::cerr, refusals);
}

/// The repository's only policy, which a remark names. Throws a usage error if there are several.
std::string only_policy(Session& session, const std::string& repository) {
  std::vector<std::string> names;
  std::string shown;
  session.client.each({.path = api_path({"repositories", repository, "policies"})},
                      [&](const Json& policy) {
                        names.push_back(policy.value("name", ""));
                        shown += str_cat(shown.empty() ? "" : ", ", names.back(), " of ",
                                         policy.value("destination", ""));
                        return true;
                      });
  if (names.empty()) {
    throw Error(ErrorCode::kNotFound,
                str_cat("checking a gate: tarn://", repository,
                        " has no gate policy; tarn policy apply -f FILE sets one"));
  }
  if (names.size() > 1) {
    throw usage_error(str_cat("checking a gate: name the policy with --policy: ", shown));
  }
  session.out.remark(str_cat("policy ", shown));
  return names.front();
}

ExitCode check_gate(Session& session, CheckGate options) {
  const std::string repository = session.take_repository(options.candidates);
  if (options.policy.empty()) options.policy = only_policy(session, repository);
  Json body{{"candidates", options.candidates}};
  if (!options.champion.empty()) body["champion"] = options.champion;
  Json answer = session.client.call(post_request(
      api_path({"repositories", repository, "policies", options.policy}) + ":evaluate", body));
  const Json refusal = answer.value("refusal", Json::object());
  const ExitCode code =
      refusal.empty() ? exit_code_of(answer) : cli::exit_code_of(error_of_refusal(refusal));
  report_to_github(Github(options.github), options, answer, code);
  if (is_document(session.out.format())) {
    session.out.object("GateCheck", std::move(answer), {});
  } else {
    print_rules(session, answer, options.all);
  }
  if (!refusal.empty()) throw error_of_refusal(refusal);
  return code;
}

}  // namespace

void add_gate_commands(CommandTree& tree) {
  tree.group("gate", "Gates: judge candidates by a policy");
  tree.add<CheckGate>(
      "gate check",
      "Judge candidates without promoting (exit status 0: all pass, 10: failed, 11: a "
      "metric is missing, 12: checks or approvals are missing)",
      check_gate);
}

}  // namespace tarn::cli
