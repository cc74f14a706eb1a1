// tarn promote | promote run | show | ls | wait | evidence | report | rollback

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/promotion_record.h"
#include "cli/commands/promotion_report.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "cli/github.h"
#include "cli/json_text.h"
#include "cli/local_file.h"
#include "cli/session.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

/// Maximum size of a report that is verified; a promotion of 1,000 candidates has some megabytes.
constexpr size_t kReportBytesMax = 64 << 20;
/// Random bytes of a generated idempotency key.
constexpr size_t kKeyBytes = 16;

struct Promote {
  std::vector<std::string> candidates;
  std::string destination;
  std::string policy;
  std::vector<std::string> metrics;
  std::string alias;
  std::string method;
  std::string select;
  std::vector<std::string> paths;
  std::string expect_destination;
  std::string expect_alias;
  std::string message;
  std::string key;
  std::string timeout;
  bool wait = false;
  bool cancel_on_interrupt = false;
  bool dry_run = false;
  bool github = false;

  void declare(Command& command) {
    command
        .optional_arguments("CANDIDATE", candidates,
                            "refs, or globs of branches ('exp-*'), of --repo or as tarn://")
        .option("--to", destination, "the branch that changes; default --branch")
        .option("--policy", policy, "default: the policy that protects the branch")
        .option("--metric", metrics,
                "without a policy of the branch: NAME:max or NAME:min must not be worse than the "
                "destination's, NAME:max:0.01 better by this; the first ranks; may be repeated")
        .option("--alias", alias, "moved with it; default: the policy's")
        .option("--method", method, "merge (the default), squash or replace-paths")
        .option("--select", select, "best (the default) or only: there may be one candidate")
        .option("--path", paths, "for replace-paths: a glob; again for more")
        .condition("--expect-destination", expect_destination,
                   "fail unless the branch's head is this commit, or what a ref means at first")
        .condition("--expect-alias", expect_alias,
                   "the same of the alias; 'none': fail unless there is none")
        .option("-m,--message", message, "the reason, kept with the promotion")
        .option("--idempotency-key", key, "asking again with it finds the same promotion")
        .flag("--dry-run", dry_run, "judge only: nothing is stored, nothing moves")
        .flag("--wait", wait, "until it has ended; the exit status tells how")
        .option("--timeout", timeout, "stop waiting after 90s, 30m or 2h; the promotion continues")
        .flag("--cancel-on-interrupt", cancel_on_interrupt,
              "cancel the promotion when the waiting is interrupted; else it goes on")
        .flag("--github", github, "write outputs, summary and annotations for GitHub Actions");
  }
};

/// "accuracy:max" or "accuracy:max:0.01".
Json one_off_metric(const std::string& word) {
  const size_t goal = word.find(':');
  const size_t delta = goal == std::string::npos ? goal : word.find(':', goal + 1);
  const bool has_delta = delta != std::string::npos;
  Json metric{{"name", word.substr(0, goal)},
              {"goal", goal == std::string::npos ? "" : word.substr(goal + 1, delta - goal - 1)}};
  double number = 0;
  const std::string_view text =
      has_delta ? std::string_view(word).substr(delta + 1) : std::string_view("0");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool known = metric["goal"] == "max" || metric["goal"] == "min";
  if (!known || error != std::errc() || end != text.data() + text.size() ||
      !std::isfinite(number)) {
    throw usage_error(str_cat("--metric ", word,
                              ": must be NAME:max or NAME:min, and may end in :NUMBER, how much "
                              "better the candidate must be"));
  }
  metric["min_delta"] = number;
  return metric;
}

Json body_of(Session& session, const Promote& options, const std::string& repository,
             const std::vector<std::string>& candidates) {
  const Uri destination = ref_uri(options.destination, {repository, session.settings.branch.value});
  Json body{{"candidates", candidates},
            {"destination", destination.ref},
            {"reason", options.message},
            {"idempotency_key", options.key},
            {"dry_run", options.dry_run}};
  const auto set = [&body](const char* name, const std::string& value) {
    if (!value.empty()) body[name] = value;
  };
  set("policy", options.policy);
  set("alias", options.alias);
  set("method", options.method);
  set("select", options.select);
  if (!options.paths.empty()) body["paths"] = options.paths;
  for (const std::string& word : options.metrics) body["metrics"].push_back(one_off_metric(word));
  if (!options.expect_destination.empty()) {
    body["expect"]["destination"] = options.expect_destination;
  }
  if (!options.expect_alias.empty()) body["expect"]["alias"] = options.expect_alias;
  return body;
}

void report_to_github(const Github& github, const Uri& uri, const Json& promotion) {
  const std::string commit = promotion.value("result", "");
  github.set({{"promotion-id", promotion.value("id", "")},
              {"verdict", promotion.value("state", "")},
              {"branch", promotion.value("destination", "")},
              {"commit", commit},
              {"s3-uri", commit.empty() ? "" : str_cat("s3://", uri.repository, "/", commit, "/")},
              {"tag", promotion.value("tag", "")},
              {"winner", promotion.value("winner", Json::object()).value("ref", "")}});
  github.summarise(promotion_in_markdown(promotion));
}

ExitCode finish(Session& session, const Uri& uri, const Json& promotion, const Github& github) {
  report_to_github(github, uri, promotion);
  print_promotion(session, uri, promotion);
  if (!promotion_has_failed(promotion)) return ExitCode::kOk;
  const Error error = error_of_promotion(promotion);
  github.complain(std::cerr, error.message());
  throw Error(error);
  return ExitCode::kOk;
}

/// The reasons why a candidate's rules are not met, or not yet.
std::string unmet_rules_of(const Json& candidate) {
  std::string out;
  for (const Json& rule : candidate.value("rules", Json::array())) {
    const std::string outcome = rule.value("outcome", "");
    if (outcome != "fail" && outcome != "pending") continue;
    out += str_cat(out.empty() ? "" : "; ", rule.value("rule", ""), ": ", rule.value("reason", ""));
  }
  return out;
}

/// The answer to a dry run is the evidence only.
ExitCode judge(Session& session, const Json& evidence, const Github& github) {
  constexpr int kWinnersRank = 1;
  const Json candidates = evidence.value("candidates", Json::array());
  ListWriter rows = session.out.list("Verdict", {"candidate", "rank", "verdict", "why"});
  std::string verdict = "failed";
  std::string winner;
  std::string refusals;
  bool all_missing = true;
  for (const Json& candidate : candidates) {
    const std::string ref = candidate.value("ref", "");
    const std::string why = unmet_rules_of(candidate);
    const int rank = candidate.value("rank", 0);
    if (rank == kWinnersRank) {
      winner = ref;
      verdict = candidate.value("verdict", "");
    }
    refusals += str_cat(refusals.empty() ? "" : "\n", ref, ": ", why);
    all_missing = all_missing && lacks_metrics_only(candidate);
    rows.add(candidate,
             {ref, rank == 0 ? "-" : std::to_string(rank), candidate.value("verdict", ""), why});
  }
  rows.finish();
  for (const Json& warning : evidence.value("warnings", Json::array()))
    session.out.remark(warning.get<std::string>());
  const Json refusal = evidence.value("refusal", Json::object());
  const bool refused = !winner.empty() && !refusal.empty();
  if (refused) verdict = "failed";
  const bool waits = verdict == "pending";
  Json as_promotion{{"state", winner.empty() ? "would be rejected"
                              : refused      ? "would fail"
                              : waits        ? "would wait"
                                             : "would be promoted"},
                    {"evidence", evidence},
                    {"destination", evidence["destination"].value("branch", "")}};
  if (!winner.empty()) as_promotion["winner"]["ref"] = winner;
  if (refused) as_promotion.update(refusal);
  github.set({{"verdict", verdict}, {"winner", winner}});
  github.summarise(promotion_in_markdown(as_promotion));
  if (waits) session.out.remark(str_cat(winner, " would be promoted when what it waits for comes"));
  if (refused) {
    const Error error = error_of_promotion(as_promotion);
    github.complain(std::cerr, error.message());
    throw Error(error);
  }
  if (!winner.empty()) return ExitCode::kOk;
  github.complain(std::cerr, refusals);
  return all_missing ? ExitCode::kMetricMissing : ExitCode::kGateFailed;
}

ExitCode promote(Session& session, const Promote& options) {
  if (options.candidates.empty()) throw usage_error("promoting: name at least one CANDIDATE");
  if (!options.wait && (!options.timeout.empty() || options.cancel_on_interrupt))
    throw usage_error("promoting: --timeout and --cancel-on-interrupt are about --wait");
  if (options.destination.empty() && session.settings.branch.value.empty())
    throw usage_error("promoting: name the branch that changes with --to");
  const auto timeout = parse_timeout(options.timeout);
  std::vector<std::string> candidates = options.candidates;
  const std::string repository = session.take_repository(candidates);
  const Github github(options.github);
  Json body = body_of(session, options, repository, candidates);
  const bool waits = options.wait && !options.dry_run;
  // A request with a key can be repeated if the server dies before it answers.
  if (waits && options.key.empty()) body["idempotency_key"] = to_hex(random_bytes(kKeyBytes));
  const Request request = post_request(api_path({"repositories", repository, "promotions"}), body);
  if (options.dry_run) return judge(session, session.client.call(request), github);
  if (!waits) {
    const Json made = session.client.call(request);
    const Uri uri{repository, made.value("id", ""), ""};
    if (!promotion_has_ended(made)) {
      session.out.remark(str_cat("it goes on in the server: tarn promote wait ", uri.ref));
    }
    return finish(session, uri, made, github);
  }
  PatientClient client(session, timeout);
  const Json made = client.call(request);
  const Uri uri{repository, made.value("id", ""), ""};
  session.out.remark(str_cat("promotion ", uri.ref));
  github.set({{"promotion-id", uri.ref}});
  return finish(session, uri,
                wait_for_promotion(session, client, uri, made, options.cancel_on_interrupt),
                github);
}

/// The promotion that moved the alias to its commit.
std::string promotion_of_alias(Session& session, const Uri& uri) {
  const std::string alias = uri.ref.substr(1);
  std::string id;
  session.client.each(
      {.path = api_path({"repositories", uri.repository, "aliases", alias, "history"}),
       .query = {{"amount", "1"}}},
      [&](const Json& change) {
        id = change.value("promotion_id", "");
        return false;
      });
  if (id.empty()) {
    throw Error(ErrorCode::kNotFound,
                str_cat("@", alias, ": was not put where it is by a promotion"));
  }
  return id;
}

/// The URI of a promotion, from its id or from "@alias": the promotion that moved the alias.
Uri promotion_uri(Session& session, const std::string& text) {
  Uri uri = session.ref(text);
  if (uri.ref.starts_with('@')) uri.ref = promotion_of_alias(session, uri);
  return uri;
}

struct PromotionTarget {
  std::string id;

  void declare(Command& command) {
    command.argument("ID", id, str_cat(kPromotionIdHelp, ", or @alias: what put it where it is"));
  }
};

void show_promotion(Session& session, const PromotionTarget& options) {
  const Uri uri = promotion_uri(session, options.id);
  print_promotion(session, uri, session.client.call({.path = promotion_path(uri)}));
}

struct EvidenceOptions {
  std::string id;
  bool verify = false;

  void declare(Command& command) {
    command.argument("ID", id, str_cat(kPromotionIdHelp, ", or @alias: what put it where it is"))
        .flag("--verify", verify, "compare its SHA-256 with the one in the history of the alias");
  }
};

void evidence(Session& session, const EvidenceOptions& options) {
  const Uri uri = promotion_uri(session, options.id);
  const Answer answer = session.client.ask({.path = promotion_path(uri)});
  const Json promotion = json_of(answer);
  const std::string id = promotion.value("id", "");
  if (!promotion.contains("evidence")) {
    throw Error(ErrorCode::kNotFound,
                str_cat("promotion ", id, ": nothing was compared yet, it has no evidence"));
  }
  if (!options.verify) {
    session.out.data() << json_text(promotion["evidence"], 2) << '\n';
    return;
  }
  session.out.data() << "SHA-256 " << verified_evidence(session, uri, answer.body)
                     << " is in the history of @" << promotion.value("alias", "") << '\n';
}

struct ReportOptions {
  std::string id;
  bool html = false;
  std::string verify;

  void declare(Command& command) {
    command
        .optional_argument("ID", id,
                           str_cat(kPromotionIdHelp, ", or @alias: what put it where it is"))
        .flag("--html", html, "a page that needs nothing else; default: Markdown, -o json: data")
        .option("--verify", verify,
                "check this report (HTML or JSON) without a server: its digests and its text");
  }
};

void report(Session& session, const ReportOptions& options) {
  if (!options.verify.empty()) {
    session.out.data() << verify_report(read_whole_file(options.verify, kReportBytesMax));
    return;
  }
  if (options.id.empty())
    throw usage_error("reporting a promotion: name it, or a file with --verify");
  const Uri uri = promotion_uri(session, options.id);
  const std::string body = session.client.ask({.path = promotion_path(uri)}).body;
  if (stored_text(body, "evidence").empty()) {
    throw Error(ErrorCode::kNotFound,
                str_cat("promotion ", uri.ref, ": nothing was compared yet, it has no evidence"));
  }
  session.out.data() << (options.html                            ? report_in_html(body)
                         : session.out.format() == Format::kJson ? report_in_json(body) + "\n"
                                                                 : report_in_markdown(body));
}

struct ListPromotions {
  std::string repository;
  std::string destination;
  std::string alias;
  bool open = false;

  void declare(Command& command) {
    command.optional_argument("REPOSITORY", repository, "tarn://NAME or NAME; default --repo")
        .option("--to", destination, "only promotions to this branch")
        .option("--alias", alias, "only promotions that move this alias")
        .flag("--open", open, "only promotions that have not ended");
  }
};

void list_promotions(Session& session, const ListPromotions& options) {
  const Uri uri = session.repository(options.repository);
  Pairs query;
  if (!options.destination.empty()) query.emplace_back("destination", options.destination);
  if (!options.alias.empty()) query.emplace_back("alias", options.alias);
  if (options.open) query.emplace_back("open", "true");
  print_list(
      session, {.path = api_path({"repositories", uri.repository, "promotions"}), .query = query},
      "Promotion", {"id", "state", "destination", "winner", "alias", "actor", "created"},
      [](const Json& item) -> Cells {
        return {
            item.value("id", ""),          item.value("state", ""),
            item.value("destination", ""), item.value("winner", Json::object()).value("ref", ""),
            item.value("alias", ""),       item.value("actor", ""),
            item.value("created_at", "")};
      });
}

struct WaitPromotion {
  std::string id;
  std::string timeout;
  bool github = false;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kPromotionIdHelp))
        .option("--timeout", timeout, "stop waiting after 90s, 30m or 2h; the promotion continues")
        .flag("--github", github, "write outputs, summary and annotations for GitHub Actions");
  }
};

ExitCode wait_promotion(Session& session, const WaitPromotion& options) {
  const Uri uri = session.ref(options.id);
  const Github github(options.github);
  github.set({{"promotion-id", uri.ref}});
  PatientClient client(session, parse_timeout(options.timeout));
  const Json promotion = client.call({.path = promotion_path(uri)});
  return finish(session, uri,
                wait_for_promotion(session, client, uri, promotion, /*cancel_on_interrupt=*/false),
                github);
}

struct Rollback {
  std::string target;
  std::string message;
  bool to_previous = false;

  void declare(Command& command) {
    command.argument("TARGET", target, "@alias for its latest promotion, or the id of a promotion")
        .option("-m,--message", message, "the reason, kept with the promotion")
        .flag("--to-previous", to_previous,
              "restore the previous commit of the alias (always done)");
  }
};

void rollback(Session& session, const Rollback& options) {
  const Uri uri = promotion_uri(session, options.target);
  const Json made = session.client.call(
      post_request(promotion_path(uri, "rollback"), Json{{"reason", options.message}}));
  print_promotion(session, {uri.repository, made.value("id", ""), ""}, made);
}

}  // namespace

void add_promote_commands(CommandTree& tree) {
  tree.add<Promote>("promote", "Promote the best candidate through the gate", promote);
  tree.add<Promote>("promote run", "Same as tarn promote; for candidates named like a command",
                    promote);
  tree.add<PromotionTarget>("promote show", "Show a promotion", show_promotion);
  tree.add<ListPromotions>("promote ls", "List promotions, newest first", list_promotions);
  tree.add<WaitPromotion>(
      "promote wait", "Wait for a promotion to end; the exit status is its result", wait_promotion);
  tree.add<EvidenceOptions>("promote evidence", "Print the evidence of a promotion", evidence);
  tree.add<ReportOptions>("promote report", "Print why a promotion decided as it did, on one page",
                          report);
  add_promotion_vote_commands(tree);
  tree.add<Rollback>("promote rollback", "Roll back a promotion: restore branch and alias",
                     rollback);
}

}  // namespace tarn::cli
