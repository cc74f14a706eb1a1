// tarn promote check | approve | reject | cancel: what people and checks say of a promotion.

#include <charconv>
#include <cmath>
#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/commit_record.h"
#include "cli/commands/promotion_record.h"
#include "cli/duration.h"
#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "cli/session.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

struct Decide {
  std::string id;
  std::string message;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kPromotionIdHelp))
        .option("-m,--message", message, "the reason, kept with the promotion");
  }
};

struct ApproveVote : Decide {
  std::string review;
  std::string timeout = "1m";

  void declare(Command& command) {
    Decide::declare(command);
    command
        .condition("--review", review,
                   "the review that was looked at, as `tarn promote show` prints it: nothing is "
                   "asked, and another review is refused")
        .option("--timeout", timeout,
                "how long to wait for the end after the last approval: 90s, 30m or 2h (1m); the "
                "promotion continues");
  }
};

/// The server counts an approval a moment after it was given. Until then the message is that of
/// before, which does not say whether the approval counts.
constexpr std::chrono::seconds kCountedWithin{3};

/// Whether nothing more comes without other people or checks.
bool stands_still(const Json& promotion, const std::string& message_before, bool counted) {
  const std::string state = promotion.value("state", "");
  if (promotion_has_ended(promotion) || state == "gates_running") return true;
  return state == "awaiting_approval" &&
         (counted || promotion.value("message", "") != message_before);
}

/// Waits until the approval that was given is counted and, if it was the last, until the promotion
/// has ended.
Json follow_approval(PatientClient& client, const Uri& uri, Json promotion) {
  const std::string before = promotion.value("message", "");
  const auto counted_by = std::chrono::steady_clock::now() + kCountedWithin;
  const auto fail = [&](ErrorCode code, std::string_view reason, const std::string& what) {
    return Error(code, reason,
                 str_cat("promotion ", uri.ref, ": the approval was given; ", what, "; ",
                         how_to_wait_on(uri)));
  };
  while (!stands_still(promotion, before, std::chrono::steady_clock::now() >= counted_by)) {
    const auto check = [&] {
      if (client.interrupted())
        throw fail(ErrorCode::kUnavailable, kReasonInterrupted, "the waiting was interrupted");
      if (client.time_is_up()) {
        throw fail(ErrorCode::kUnavailable, kReasonTimeout,
                   str_cat("the promotion is still ", promotion.value("state", "")));
      }
    };
    check();
    try {
      promotion = await_change(client, uri, promotion);
    } catch (const Error& error) {
      check();
      throw fail(error.code(), error.reason(), error.message());
    }
  }
  return promotion;
}

Json decide(Session& session, const Uri& uri, std::string_view verb, const Json& body) {
  return session.client.call(post_request(promotion_path(uri, verb), body));
}

/// Shows what would be approved, asks, and returns its digest; "" while there is nothing to
/// approve, which the server explains.
std::string ask_for_review(Session& session, const Uri& uri) {
  const Json promotion = session.client.call({.path = promotion_path(uri)});
  if (promotion_has_ended(promotion) || !promotion.contains("review")) return "";
  if (!session.terminal.may_prompt) {
    throw usage_error(str_cat("approving: there is nobody to ask; look at tarn promote show ",
                              uri.ref, " and add --review with the review that it prints"));
  }
  const Json winner = promotion.value("winner", Json::object());
  session.out.remark(str_cat(winner.value("ref", ""), " to ", promotion.value("destination", "")));
  session.out.remark(str_cat("commit: ", winner.value("commit", "")));
  for (const auto& [label, value] : review_lines(promotion))
    session.out.remark(str_cat(label, ": ", value));
  session.confirm("Approve this?", /*yes=*/false);
  return promotion.value("review_digest", "");
}

ExitCode approve_vote(Session& session, const ApproveVote& options) {
  const Uri uri = session.ref(options.id);
  const auto timeout = parse_timeout(options.timeout);
  const Json body{
      {"reason", options.message},
      {"review_digest", options.review.empty() ? ask_for_review(session, uri) : options.review}};
  PatientClient client(session, timeout);
  Json promotion = decide(session, uri, "approve", body);
  promotion = follow_approval(client, uri, std::move(promotion));
  print_promotion(session, uri, promotion);
  if (promotion_has_failed(promotion)) throw error_of_promotion(promotion);
  return ExitCode::kOk;
}

void reject(Session& session, const Decide& options) {
  const Uri uri = session.ref(options.id);
  print_promotion(session, uri, decide(session, uri, "reject", {{"reason", options.message}}));
}

void cancel_vote(Session& session, const Decide& options) {
  const Uri uri = session.ref(options.id);
  print_promotion(session, uri, decide(session, uri, "cancel", {{"reason", options.message}}));
}

struct CheckVote {
  std::string id;
  std::string name;
  std::string commit;
  std::string status = "success";
  std::string url;
  std::vector<std::string> metrics;
  std::string supersedes;

  void declare(Command& command) {
    command.argument("ID", id, std::string(kPromotionIdHelp))
        .argument("NAME", name, "name of the check in the policy")
        .condition("--commit", commit, "the id of the commit that was checked, or its beginning")
        .option("--status", status, "success (default), failure or pending")
        .option("--url", url, "a page about the result")
        .option("--metric", metrics, "a measured value, name=value; may be repeated")
        .option("--supersedes", supersedes,
                "the reason why a failure that you reported earlier is not valid");
  }
};

/// Numbers by name; duplicate names are errors.
Json numbers_from(const std::vector<std::string>& metrics) {
  Json out = Json::object();
  for (const std::string& given : metrics) {
    const size_t equals = given.find('=');
    const std::string name = given.substr(0, equals);
    const std::string_view text = equals == std::string::npos
                                      ? std::string_view()
                                      : std::string_view(given).substr(equals + 1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (name.empty() || error != std::errc() || end != text.data() + text.size() ||
        !std::isfinite(number)) {
      throw usage_error(str_cat("--metric ", given, ": must be name=number, the number decimal"));
    }
    if (out.contains(name)) {
      throw usage_error(str_cat("--metric ", name, ": is given twice"));
    }
    out[name] = number;
  }
  return out;
}

void check_vote(Session& session, const CheckVote& options) {
  const Uri uri = session.ref(options.id);
  if (options.commit.empty()) {
    throw usage_error("reporting a check: say with --commit which commit was checked");
  }
  Json body{{"commit", get_full_commit_id(session.client, uri.repository, options.commit)},
            {"status", options.status},
            {"url", options.url},
            {"metrics", numbers_from(options.metrics)}};
  if (!options.supersedes.empty()) body["supersedes"] = options.supersedes;
  const std::string path =
      api_path({"repositories", uri.repository, "promotions", uri.ref, "checks", options.name});
  print_promotion(session, uri, session.client.call(post_request(path, body)));
}

}  // namespace

void add_promotion_vote_commands(CommandTree& tree) {
  tree.add<CheckVote>("promote check", "Report the result of a check of a commit", check_vote);
  tree.add<ApproveVote>(
      "promote approve",
      "Approve the winner of a promotion; after the last approval wait for its end, "
      "the exit status is its result",
      approve_vote);
  tree.add<Decide>("promote reject", "Reject a promotion; nothing moves", reject);
  tree.add<Decide>("promote cancel", "Cancel a promotion that has not ended", cancel_vote);
}

}  // namespace tarn::cli
