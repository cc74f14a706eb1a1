// Output of promotions, shared by the commands that create and show them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/session.h"

namespace tarn::cli {

constexpr std::string_view kPromotionIdHelp = "tarn://repository/id, or an id in --repo";

/// The API path of a promotion.
std::string promotion_path(const Uri& uri);
/// The path of a promotion, with a verb: ".../promotions/ID:approve".
std::string promotion_path(const Uri& uri, std::string_view verb);

bool promotion_has_ended(const Json& promotion);
/// It has ended in another state than promoted.
bool promotion_has_failed(const Json& promotion);
/// The review of the promotion, which an approval consents to, as labels and values; empty while
/// there is no winner.
std::vector<std::pair<std::string, std::string>> review_lines(const Json& promotion);
void print_promotion(Session& session, const Uri& uri, const Json& promotion);
/// Markdown: the outcome, and each candidate with its metrics and failed rules.
std::string promotion_in_markdown(const Json& promotion);
/// The Markdown table of evaluated candidates.
std::string candidates_in_markdown(const Json& candidates);
/// "rule: reason" for each failed rule, one per line.
std::string refusals_in_words(const Json& candidate);
/// Whether rules failed only because metrics are missing or have no trusted source, so that a job
/// can measure and retry.
bool lacks_metrics_only(const Json& candidate);

/// The error for a promotion with a terminal state other than promoted.
Error error_of_promotion(const Json& promotion);

/// Asks for the promotion again, and returns it once it has changed, or after a second.
Json await_change(PatientClient& client, const Uri& uri, const Json& promotion);

/// "it goes on: tarn promote wait tarn://lake/ID"
std::string how_to_wait_on(const Uri& uri);

/// Polls until the promotion has ended, also while the server is unavailable. Throws, with the id
/// and how to continue: a timeout; approval_required if only approvals were missing; interrupted,
/// and with `cancel_on_interrupt` the promotion is cancelled too; errors of the server.
Json wait_for_promotion(Session& session, PatientClient& client, const Uri& uri, Json promotion,
                        bool cancel_on_interrupt);

/// Changes of policies, aliases and commits since the promotion before, one text each.
std::vector<std::string> changes_in_words(const Json& promotion);
/// Text with several lines as a cell of a Markdown table.
std::string cell(std::string_view text);
/// The document `member` ("evidence", "review") as the server stores it, byte for byte, from its
/// answer about a promotion; "" = none.
std::string stored_text(const std::string& body, std::string_view member);
/// " ± 0.0021 (n=5)" for a value that is the mean of several measurements; "" for others.
std::string spread_text(const Json& value);
/// The SHA-256 in hex of the evidence in `body`, the server's answer about a promotion. Throws
/// not_found if the promotion moved no alias, data_loss if the alias's history has another digest.
std::string verified_evidence(Session& session, const Uri& uri, const std::string& body);

// Output of a metric.

/// "accuracy", or "accuracy@test" of a split.
std::string metric_name(const nlohmann::json& metric);
/// The value of a metric for people: 15 significant digits: the rest of a
/// double is noise of its binary form. NaN and the
/// infinities, which JSON lacks, are strings.
std::string number_text(const nlohmann::json& value);

}  // namespace tarn::cli
