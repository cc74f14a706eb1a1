#include "cli/commands/promotion_record.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/json_text.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using std::chrono::seconds;

/// Maximum wait of one request: an interrupt is noticed after it.
constexpr seconds kWaitPerRequest{1};

std::string state_of(const Json& promotion) { return promotion.value("state", ""); }

std::string winner_of(const Json& promotion) {
  return promotion.value("winner", Json::object()).value("ref", "");
}

}  // namespace

std::string spread_text(const Json& value) {
  const Json evaluation = value.value("evaluation", Json::object());
  if (!evaluation.empty()) return str_cat(" (", evaluation.value("examples", 0), " examples)");
  const Json runs = value.value("runs", Json::object());
  if (runs.empty()) return "";
  const std::string n = str_cat(" (n=", runs.value("n", 0), ")");
  return runs.value("n", 0) < 2 ? n : str_cat(" ± ", difference_to_text(runs.value("sd", 0.0)), n);
}

namespace {

std::string metrics_in_words(const Json& candidate) {
  std::string out;
  for (const Json& metric : candidate.value("metrics", Json::array())) {
    out += str_cat(out.empty() ? "" : ", ", metric.value("name", ""), "=",
                   number_text(metric.value("value", Json())), spread_text(metric));
  }
  return out;
}

/// The SHA-256 of the promotion's evidence in the alias's history; "" = none.
std::string logged_digest(Session& session, const Uri& uri, const Json& promotion) {
  std::string digest;
  session.client.each({.path = api_path({"repositories", uri.repository, "aliases",
                                         promotion.value("alias", ""), "history"})},
                      [&](const Json& change) {
                        if (change.value("promotion_id", "") == promotion.value("id", ""))
                          digest = change.value("evidence", "");
                        return digest.empty();
                      });
  return digest;
}

[[noreturn]] void end_interrupted(Session& session, const Uri& uri, bool cancel) {
  const auto interrupted = [&](std::string_view what) {
    return Error(ErrorCode::kUnavailable, kReasonInterrupted,
                 str_cat("promotion ", uri.ref, ": ", what));
  };
  if (!cancel) throw interrupted(str_cat("the waiting was interrupted; ", how_to_wait_on(uri)));
  try {
    session.client.call(post_request(promotion_path(uri, "cancel")));
  } catch (const Error& error) {
    throw Error(error.code(), error.reason(),
                str_cat("promotion ", uri.ref, ": was not cancelled: ", error.message(),
                        "; try again: tarn promote cancel ", to_string(uri)));
  }
  throw interrupted("cancelled, as it was interrupted");
}

/// "accuracy (max), loss (min, better by 0.01) compared with the destination"
std::string one_off_rule(const Json& metrics) {
  std::string out;
  for (const Json& metric : metrics) {
    const Json delta = metric.value("min_delta", Json(0));
    out +=
        str_cat(out.empty() ? "" : ", ", metric.value("name", ""), " (", metric.value("goal", ""),
                delta == 0 ? std::string() : str_cat(", better by ", json_text(delta)), ")");
  }
  return out + " compared with the destination";
}

std::string text_or(const Json& value, std::string_view otherwise) {
  return value.is_string() ? value.get<std::string>() : std::string(otherwise);
}

/// "@canary since 2026-11-30T08:00:00Z", with what became of it.
std::string stage_in_words(const Json& stage) {
  std::string out =
      str_cat("@", stage.value("alias", ""), " since ", stage.value("entered_at", ""));
  if (stage.contains("until"))
    out += str_cat(", checks take it back until ", stage.value("until", ""));
  if (stage.value("outcome", "") == "taken_back")
    out += str_cat(", taken back ", stage.value("left_at", ""));
  return out;
}

}  // namespace

std::string cell(std::string_view text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += str_cat(at == 0 ? "" : "<br>", markdown_cell(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

std::string stored_text(const std::string& body, std::string_view member) {
  // Quotes inside strings are escaped, so these matches are members.
  const std::string begins = str_cat("\"", member, "\":");
  const size_t begin = body.find(begins);
  const size_t end = body.find(str_cat(",\"", member, "_digest\":"), begin);
  if (begin == std::string::npos || end == std::string::npos) return "";
  return body.substr(begin + begins.size(), end - begin - begins.size());
}

std::vector<std::string> changes_in_words(const Json& promotion) {
  constexpr size_t kDigits = 12;
  const Json evidence = promotion.value("evidence", Json::object());
  const Json since = evidence.value("changes_since", Json::object());
  const auto commit_in = [](const Json& change, const char* member) {
    return change[member].is_string() ? change[member].get<std::string>().substr(0, kDigits)
                                      : std::string("none");
  };
  std::vector<std::string> out;
  for (const Json& change : since.value("policies", Json::array())) {
    out.push_back(str_cat("policy ", change.value("name", ""), " version ",
                          change.value("version", 0),
                          change.value("removed", false) ? " removed it, by " : " by ",
                          change.value("author", ""), ", ", change.value("at", "")));
  }
  for (const Json& change : since.value("aliases", Json::array())) {
    out.push_back(str_cat("alias @", change.value("alias", ""), " by hand from ",
                          commit_in(change, "from"), " to ", commit_in(change, "to"), ", by ",
                          change.value("actor", ""), ", ", change.value("at", "")));
  }
  for (const Json& change : since.value("commits", Json::array())) {
    out.push_back(str_cat("commit ", commit_in(change, "commit"), " without a promotion, by ",
                          change.value("committer", ""), ", ", change.value("at", "")));
  }
  if (const uint64_t more = since.value("more", uint64_t{0}); more > 0)
    out.push_back(str_cat(more, " more"));
  return out;
}

std::vector<std::pair<std::string, std::string>> review_lines(const Json& promotion) {
  std::vector<std::pair<std::string, std::string>> lines;
  const Json review = promotion.value("review", Json::object());
  if (review.empty()) return lines;
  const Json champion = review.value("champion", Json::object());
  const std::string alias = champion.value("alias", "");
  const std::string replaced = alias.empty() ? "the head" : str_cat("@", alias);
  const std::string commit = text_or(champion.value("commit", Json()), "nothing");
  if (review.value("action", "") == "roll_back") {
    lines.emplace_back("takes back", review.value("commit", ""));
    if (!alias.empty()) lines.emplace_back(str_cat(replaced, " becomes"), commit);
  } else {
    lines.emplace_back("method", review.value("method", ""));
    for (const Json& path : review.value("paths", Json::array()))
      lines.emplace_back("replaces", path.get<std::string>());
    lines.emplace_back(str_cat(replaced, " is now"), commit);
    const Json values = review.value("values", Json::object());
    for (const auto& [name, value] : values.items()) {
      lines.emplace_back(
          name, str_cat(text_or(value.value("candidate", Json()), "not measured"),
                        ", to beat: ", text_or(value.value("champion", Json()), "nothing")));
    }
    const Json objects = review.value("objects", Json::object());
    if (objects.value("count", 0) > 0) {
      lines.emplace_back("required objects", str_cat(objects.value("count", 0), ", SHA-256 ",
                                                     objects.value("digest", "")));
    }
  }
  lines.emplace_back("review", promotion.value("review_digest", ""));
  return lines;
}

std::string refusals_in_words(const Json& candidate) {
  std::string out;
  for (const Json& rule : candidate.value("rules", Json::array())) {
    if (rule.value("outcome", "") != "fail") continue;
    out += str_cat(out.empty() ? "" : "\n", rule.value("rule", ""), ": ", rule.value("reason", ""));
  }
  return out;
}

bool lacks_metrics_only(const Json& candidate) {
  for (const Json& rule : candidate.value("rules", Json::array())) {
    const std::string code = rule.value("code", "");
    if (rule.value("outcome", "") == "fail" && code != kReasonMetricMissing &&
        code != "untrusted_origin" && code != "replicates_missing" && code != "slices_missing")
      return false;
  }
  return true;
}

std::string promotion_path(const Uri& uri) {
  return api_path({"repositories", uri.repository, "promotions", uri.ref});
}

std::string promotion_path(const Uri& uri, std::string_view verb) {
  return str_cat(promotion_path(uri), ":", verb);
}

bool promotion_has_ended(const Json& promotion) {
  const std::string state = state_of(promotion);
  return state == "promoted" || state == "rejected" || state == "failed" || state == "cancelled" ||
         state == "rolled_back";
}

bool promotion_has_failed(const Json& promotion) {
  return promotion_has_ended(promotion) && promotion.value("state", "") != "promoted";
}

void print_promotion(Session& session, const Uri& uri, const Json& promotion) {
  Json shown = promotion;
  shown["repository"] = uri.repository;
  shown["changed"] = state_of(promotion) == "promoted" || state_of(promotion) == "rolled_back";
  std::vector<std::pair<std::string, std::string>> lines = {
      {"promotion", promotion.value("id", "")},
      {"state", state_of(promotion)},
      {"destination", promotion.value("destination", "")},
      {"policy", promotion.contains("metrics")
                     ? str_cat("none; ", one_off_rule(promotion["metrics"]))
                     : str_cat(promotion.value("policy", ""), " version ",
                               promotion.value("policy_version", 0))}};
  const auto add = [&](const char* label, std::string value) {
    if (!value.empty()) lines.emplace_back(label, std::move(value));
  };
  if (!promotion.contains("undoes")) {  // of a rollback it is the promotion that it undoes
    add("winner", winner_of(promotion));
    add("winner's commit", promotion.value("winner", Json::object()).value("commit", ""));
  }
  for (auto& [label, value] : review_lines(promotion)) lines.emplace_back(label, std::move(value));
  for (const Json& stage : promotion.value("stages", Json::array())) {
    add("stage", stage_in_words(stage));
  }
  add("alias", promotion.value("alias", ""));
  add("commit", promotion.value("result", ""));
  add("tag", promotion.value("tag", ""));
  add("undoes", promotion.value("undoes", ""));
  add("why", promotion.value("message", ""));
  for (std::string& change : changes_in_words(promotion)) add("changed since", std::move(change));
  session.out.object("Promotion", std::move(shown), lines);
}

std::string promotion_in_markdown(const Json& promotion) {
  std::string out = str_cat("### Promotion to `", promotion.value("destination", ""),
                            "`: ", state_of(promotion), "\n\n");
  if (const std::string winner = winner_of(promotion); !winner.empty())
    out += str_cat("Winner: `", winner, "`\n\n");
  if (const std::string why = promotion.value("message", ""); !why.empty())
    out += str_cat(cell(why), "\n\n");
  for (const std::string& change : changes_in_words(promotion))
    out += str_cat("- changed since the promotion before: ", cell(change), "\n");
  const Json evidence = promotion.value("evidence", Json::object());
  return out + candidates_in_markdown(evidence.value("candidates", Json::array()));
}

std::string candidates_in_markdown(const Json& candidates) {
  std::string out =
      "| candidate | rank | verdict | metrics | refused by |\n|---|---|---|---|---|\n";
  for (const Json& candidate : candidates) {
    const int rank = candidate.value("rank", 0);
    out += str_cat("| ", cell(candidate.value("ref", "")), " | ",
                   rank == 0 ? std::string("-") : std::to_string(rank), " | ",
                   candidate.value("verdict", ""), " | ", cell(metrics_in_words(candidate)), " | ",
                   cell(refusals_in_words(candidate)), " |\n");
  }
  return out;
}

Error error_of_promotion(const Json& promotion) {
  const std::string code = promotion.value("code", "");
  const std::string id = promotion.value("id", "");
  const std::string message = str_cat("promotion", id.empty() ? "" : " ", id, ": ",
                                      state_of(promotion), ": ", promotion.value("message", code));
  if (code == "gate_failed" || code == "check_timeout" || code == "rejected")
    return Error(ErrorCode::kPreconditionFailed, kReasonGateFailed, message);
  if (code == "metric_missing")
    return Error(ErrorCode::kPreconditionFailed, kReasonMetricMissing, message);
  if (code == "destination_moved")
    return Error(ErrorCode::kConflict, kReasonDestinationMoved, message);
  if (code == "hook_failed")
    return Error(ErrorCode::kPreconditionFailed, kReasonHookFailed, message);
  if (code == "approval_required")
    return Error(ErrorCode::kPermissionDenied, kReasonApprovalNeeded, message);
  if (code == "protected_branch") return Error(ErrorCode::kPermissionDenied, message);
  if (code == "merge_conflict" || code == "destination_dirty" || code == "destination_has_policy")
    return Error(ErrorCode::kConflict, message);
  if (code == "candidate_not_found" || code == "ref_not_found" || code == "policy_not_found" ||
      code == "branch_not_found") {
    return Error(ErrorCode::kNotFound, message);
  }
  return Error(ErrorCode::kInternal, message);
}

std::string how_to_wait_on(const Uri& uri) {
  return str_cat("it goes on: tarn promote wait ", to_string(uri));
}

Json await_change(PatientClient& client, const Uri& uri, const Json& promotion) {
  const auto most = std::chrono::ceil<seconds>(client.left(kWaitPerRequest));
  return client.call({.path = promotion_path(uri),
                      .query = {{"wait", str_cat(static_cast<uint64_t>(most.count()), "s")},
                                {"seen", std::to_string(promotion.value("version", int64_t{0}))}}});
}

Json wait_for_promotion(Session& session, PatientClient& client, const Uri& uri, Json promotion,
                        bool cancel_on_interrupt) {
  std::string told;
  while (!promotion_has_ended(promotion)) {
    const std::string why = promotion.value("message", "");
    const std::string state = str_cat(state_of(promotion), why.empty() ? "" : ": ", why);
    if (state != told) session.out.remark(str_cat("promotion ", uri.ref, ": ", state));
    told = state;
    if (client.interrupted()) end_interrupted(session, uri, cancel_on_interrupt);
    if (client.time_is_up()) {
      const bool people = promotion.value("code", "") == kReasonApprovalNeeded;
      throw Error(ErrorCode::kUnavailable, people ? kReasonApprovalNeeded : kReasonTimeout,
                  str_cat("promotion ", uri.ref, ": is still ", state, "; ", how_to_wait_on(uri)));
    }
    try {
      promotion = await_change(client, uri, promotion);
    } catch (const Error& error) {
      if (client.interrupted() || client.time_is_up()) continue;
      throw Error(error.code(), error.reason(),
                  str_cat("promotion ", uri.ref, ": ", error.message(), "; ", how_to_wait_on(uri)));
    }
  }
  return promotion;
}

std::string verified_evidence(Session& session, const Uri& uri, const std::string& body) {
  const Json promotion = parse_json(body);
  const std::string id = promotion.value("id", "");
  if (promotion.value("alias", "").empty() || !promotion.contains("result")) {
    throw Error(ErrorCode::kNotFound,
                str_cat("promotion ", id, ": it moved no alias, so no history has its digest"));
  }
  const std::string digest = to_hex(sha256(stored_text(body, "evidence")));
  const std::string logged = logged_digest(session, uri, promotion);
  if (digest != logged) {
    throw Error(
        ErrorCode::kDataLoss,
        str_cat("promotion ", id, ": its evidence has SHA-256 ", digest, ", and the history of @",
                promotion.value("alias", ""), " says ", logged.empty() ? "nothing" : logged));
  }
  return digest;
}

using Json = nlohmann::json;

std::string metric_name(const Json& metric) {
  const std::string split = metric.value("split", "");
  return split.empty() ? metric.value("name", "") : str_cat(metric.value("name", ""), "@", split);
}

std::string number_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return json_text(value);
  constexpr size_t kTextMax = 32;
  std::array<char, kTextMax> text{};
  std::snprintf(text.data(), text.size(), "%.15g", value.get<double>());
  return text.data();
}

}  // namespace tarn::cli
