// tarn gate check

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "cli/commands/commands.h"
#include "cli/commands/promotion_record.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "cli/github.h"
#include "cli/local_file.h"
#include "cli/session.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Servers accept less; a document of this size means a wrong file name.
constexpr size_t kDocumentBytesMax = 1024 * 1024;
/// The time between two looks at what runners measure.
constexpr std::chrono::seconds kMeasurePoll{2};

/// The name in the document; the server reports all its other errors.
std::string name_in(const std::string& document, const std::string& file) {
  std::string name;
  try {
    const YAML::Node root = YAML::Load(document);
    if (root.IsMap() && root["name"] && root["name"].IsScalar()) name = root["name"].Scalar();
  } catch (const YAML::Exception& error) {
    throw usage_error(str_cat("reading ", file, ":", error.mark.line + 1, ":",
                              error.mark.column + 1, ": ", error.msg));
  }
  if (name.empty()) {
    throw usage_error(str_cat("reading ", file,
                              ": the policy has no name, write it into the file or "
                              "behind the command"));
  }
  return name;
}

struct CheckGate {
  std::vector<std::string> candidates;
  std::string policy;
  std::string champion;
  std::string file;
  std::string timeout = "30m";
  bool measure = false;
  bool all = false;
  bool github = false;

  void declare(Command& command) {
    command
        .arguments("CANDIDATE", candidates,
                   "tarn://repository/branch, a glob of branches such as 'exp-*', or another ref "
                   "in --repo")
        .option("--policy", policy, "name of the gate policy; default: the repository's only one")
        .option("-f,--file", file, "judge by the policy in this file, which need not be set")
        .option("--champion", champion, "the ref to compare with; default: the policy's alias")
        .flag("--measure", measure,
              "have runners measure what evaluations lack, as a promotion does, and wait for them")
        .option("--timeout", timeout, "with --measure: how long to wait (30m)")
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

/// "rank 1; accuracy is 0.9 (api:run)": the values that the rules chose.
std::string verdict_in_words(const Json& candidate) {
  std::string out;
  if (candidate.contains("rank")) out = str_cat("rank ", candidate.value("rank", int64_t{0}));
  for (const Json& rule : candidate["rules"]) {
    const std::string name = rule.value("rule", "");
    // The rule of a metric as such, without a bound: metrics.accuracy
    if (!name.starts_with("metrics.") || std::count(name.begin(), name.end(), '.') != 1 ||
        rule.value("outcome", "") != "pass") {
      continue;
    }
    out += str_cat(out.empty() ? "" : "; ", rule.value("reason", ""));
  }
  return out;
}

/// Each warning once, with the candidates that it is about.
void print_warnings(Session& session, const Json& candidates) {
  constexpr size_t kRefsShown = 3;
  std::vector<std::pair<std::string, std::vector<std::string>>> warnings;
  for (const Json& candidate : candidates) {
    for (const Json& warning : candidate["warnings"]) {
      const auto at = std::find_if(warnings.begin(), warnings.end(), [&](const auto& known) {
        return known.first == warning.get<std::string>();
      });
      auto& refs =
          at == warnings.end()
              ? warnings.emplace_back(warning.get<std::string>(), std::vector<std::string>()).second
              : at->second;
      refs.push_back(candidate.value("ref", ""));
    }
  }
  for (const auto& [warning, refs] : warnings) {
    std::string who;
    for (size_t i = 0; i < refs.size() && i < kRefsShown; ++i) {
      who += str_cat(i == 0 ? "" : ", ", refs[i]);
    }
    if (refs.size() > kRefsShown) who += str_cat(" and ", refs.size() - kRefsShown, " more");
    session.out.remark(str_cat(who, ": ", warning));
  }
}

void print_rules(Session& session, const Json& answer, bool all) {
  ListWriter rows = session.out.list("GateRuleList", {"candidate", "rule", "outcome", "reason"});
  for (const Json& candidate : answer["results"]) {
    const std::string ref = candidate.value("ref", "");
    for (const Json& rule : candidate["rules"]) {
      const std::string outcome = rule.value("outcome", "");
      // A skipped rule has a warning.
      if (!all && (outcome == "pass" || outcome == "skipped")) continue;
      rows.add(rule, {ref, rule.value("rule", ""), outcome, rule.value("reason", "")});
    }
    rows.add(candidate,
             {ref, "verdict", candidate.value("verdict", ""), verdict_in_words(candidate)});
  }
  rows.finish();
  print_warnings(session, answer["results"]);
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

/// Whether the verdict on any candidate waits for a runner.
bool waits_for_runner(const Json& answer) {
  for (const Json& candidate : answer["results"]) {
    for (const Json& rule : candidate["rules"]) {
      if (rule.value("outcome", "") == "pending" &&
          rule.value("code", "") == "evaluation_pending") {
        return true;
      }
    }
  }
  return false;
}

ExitCode check_gate(Session& session, CheckGate options) {
  const std::string repository = session.take_repository(options.candidates);
  Json body{{"candidates", options.candidates}};
  if (!options.file.empty()) {
    const std::string document = read_whole_file(options.file, kDocumentBytesMax);
    if (options.policy.empty()) options.policy = name_in(document, options.file);
    body["document"] = document;
  }
  if (options.policy.empty()) options.policy = only_policy(session, repository);
  if (!options.champion.empty()) body["champion"] = options.champion;
  if (options.measure) body["measure"] = true;
  const auto deadline = std::chrono::steady_clock::now() + parse_duration(options.timeout);
  const auto judge = [&] {
    return session.client.call(post_request(
        api_path({"repositories", repository, "policies", options.policy}) + ":evaluate", body));
  };
  Json answer = judge();
  while (options.measure && waits_for_runner(answer) &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kMeasurePoll);
    answer = judge();
  }
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

// tarn policy apply | show | ls | log | rm

namespace {

constexpr std::string_view kNameHelp = "tarn://repository/policy, or a policy in --repo";
constexpr size_t kDigestShown = 12;

std::string policy_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "policies", uri.ref});
}

std::string state_of(const Json& policy) {
  return policy.value("removed", false) ? "removed" : policy.value("destination", "");
}

Cells cells_of(const Json& policy) {
  return {policy.value("name", ""),
          std::to_string(policy.value("version", int64_t{0})),
          state_of(policy),
          policy.value("author", ""),
          policy.value("creation_date", ""),
          policy.value("digest", "").substr(0, kDigestShown)};
}

const Cells kColumns = {"policy", "version", "destination", "author", "created", "digest"};

struct Apply {
  std::string policy;
  std::string file;
  int64_t expect = -1;

  void declare(Command& command) {
    command
        .optional_argument("POLICY", policy,
                           str_cat(kNameHelp, "; default: the name in the document"))
        .option("-f,--file", file, "the document in YAML or JSON; '-' = standard input")
        .option("--expect", expect,
                "the expected current version, 0 = none; refused if it differs");
  }
};

ExitCode apply(Session& session, const Apply& options) {
  if (options.file.empty()) throw usage_error("setting a policy: name its file with -f");
  const std::string document = read_whole_file(options.file, kDocumentBytesMax);
  const Uri uri = options.policy.empty()
                      ? Uri{session.repository("").repository, name_in(document, options.file), ""}
                      : session.ref(options.policy);
  Upload upload{.request = {.method = Method::kPut, .path = policy_path(uri)},
                .content_type = "application/yaml",
                .size_bytes = static_cast<int64_t>(document.size()),
                .open = [&document] {
                  return BodySource([&document, done = false]() mutable -> std::string_view {
                    if (done) return {};
                    done = true;
                    return document;
                  });
                }};
  if (options.expect >= 0) {
    upload.request.headers.emplace_back("If-Match", std::to_string(options.expect));
  }
  const Answer answer = session.client.upload(upload);
  Json set = json_of(answer);
  const bool proposed = set.value("proposed", false);
  const std::string changed = set.value("changed", false) ? "yes"
                              : proposed                  ? "no, waits for a second user"
                                                          : "no";
  for (const Json& warning : set.value("warnings", Json::array()))
    session.out.remark(warning.get<std::string>());
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"policy", set.value("name", "")},
      {"version", std::to_string(set.value("version", int64_t{0}))},
      {"destination", set.value("destination", "")},
      {"digest", set.value("digest", "")},
      {"changed", changed}};
  session.out.object("GatePolicy", std::move(set), lines);
  if (!proposed) return ExitCode::kOk;
  session.out.remark(
      str_cat("another user confirms the change by applying the same document: tarn ",
              "policy show ", to_string(uri), " --proposed > FILE, then tarn policy ", "apply ",
              to_string(uri), " -f FILE"));
  return ExitCode::kApprovalNeeded;
}

struct ShowGatePolicy {
  std::string policy;
  int64_t version = 0;
  bool proposed = false;

  void declare(Command& command) {
    command.argument("POLICY", policy, std::string(kNameHelp))
        .option("--version", version, "an older version; default: the current one")
        .flag("--proposed", proposed, "the change that waits for a second user");
  }
};

void show_gate_policy(Session& session, const ShowGatePolicy& options) {
  Request request{.path = policy_path(session.ref(options.policy))};
  if (options.version != 0) request.query.emplace_back("version", std::to_string(options.version));
  Json policy = session.client.call(request);
  const Json proposal = policy.value("proposal", Json::object());
  if (options.proposed) {
    if (proposal.empty()) {
      throw Error(ErrorCode::kNotFound,
                  "showing a policy: no change of it waits for a second user");
    }
    session.out.remark(str_cat("proposed by ", proposal.value("author", ""), " at ",
                               proposal.value("creation_date", ""), ", to change version ",
                               proposal.value("base_version", int64_t{0}),
                               proposal.value("removes", false) ? ": removes the policy" : ""));
    if (session.out.format() == Format::kTable) {
      session.out.data() << proposal.value("document", "");
      return;
    }
  }
  if (session.out.format() == Format::kTable) {
    // Print the document unchanged, so that it can be edited and applied again.
    session.out.remark(str_cat(
        "version ", policy.value("version", int64_t{0}), " by ", policy.value("author", ""), " at ",
        policy.value("creation_date", ""), policy.value("removed", false) ? ": removed" : "",
        proposal.empty() ? "" : "; a change waits for a second user (--proposed)"));
    session.out.data() << policy.value("document", "");
    return;
  }
  const std::vector<std::pair<std::string, std::string>> lines = {
      {"policy", policy.value("name", "")},
      {"version", std::to_string(policy.value("version", int64_t{0}))},
      {"destination", state_of(policy)},
      {"digest", policy.value("digest", "")}};
  session.out.object("GatePolicy", std::move(policy), lines);
}

void list_gate_policies(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(session, {.path = api_path({"repositories", uri.repository, "policies"})},
             "GatePolicyList", kColumns, cells_of);
}

struct GatePolicyTarget {
  std::string policy;

  void declare(Command& command) { command.argument("POLICY", policy, std::string(kNameHelp)); }
};

void log_gate_policy(Session& session, const GatePolicyTarget& options) {
  const Uri uri = session.ref(options.policy);
  print_list(session,
             {.path = api_path({"repositories", uri.repository, "policies", uri.ref, "versions"})},
             "GatePolicyList", kColumns, cells_of);
}

struct RemoveGatePolicy {
  std::string policy;
  bool yes = false;

  void declare(Command& command) {
    command.argument("POLICY", policy, std::string(kNameHelp))
        .flag("-y,--yes", yes, "do not ask for confirmation");
  }
};

ExitCode remove_gate_policy(Session& session, const RemoveGatePolicy& options) {
  const Uri uri = session.ref(options.policy);
  session.confirm(
      str_cat("remove policy ", to_string(uri), ", so that its destination has no gate?"),
      options.yes);
  if (!session.client.call(delete_request(policy_path(uri))).is_null()) {
    session.out.remark(str_cat("the removal waits until another user asks for it: tarn policy rm ",
                               to_string(uri)));
    return ExitCode::kApprovalNeeded;
  }
  session.out.remark(str_cat("removed policy ", to_string(uri), "; its versions stay"));
  return ExitCode::kOk;
}

}  // namespace

void add_policy_commands(CommandTree& tree) {
  tree.group("policy", "Gate policies: conditions for a promotion");
  tree.add<Apply>("policy apply", "Create a gate policy from its document, or set a new version",
                  apply);
  tree.add<ShowGatePolicy>("policy show", "Print a policy's document", show_gate_policy);
  tree.add<InRepository>("policy ls", "List the current gate policies", list_gate_policies);
  tree.add<GatePolicyTarget>("policy log", "List the versions of a gate policy, newest first",
                             log_gate_policy);
  tree.add<RemoveGatePolicy>("policy rm", "Delete a gate policy; its versions are kept",
                             remove_gate_policy);
}

}  // namespace tarn::cli
