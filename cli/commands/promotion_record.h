// Output of promotions, shared by the commands that create and show them.
#pragma once

#include <string>

#include "cli/patient_client.h"
#include "cli/session.h"

namespace tarn::cli {

/// Below the promotions of a repository.
std::string promotion_path(const Uri& uri);
/// With a verb: ".../promotions/ID:approve".
std::string promotion_path(const Uri& uri, std::string_view verb);

bool promotion_has_ended(const Json& promotion);
void print_promotion(Session& session, const Uri& uri, const Json& promotion);
/// Markdown: the outcome, and each candidate with its metrics and failed rules.
std::string promotion_in_markdown(const Json& promotion);
/// The table of it, of any candidates that were judged.
std::string candidates_in_markdown(const Json& candidates);
/// "rule: reason" of each rule that failed, one a line.
std::string refusals_in_words(const Json& candidate);
/// Whether rules failed only because metrics are missing or have no trusted source, so that a job
/// can measure and retry.
bool lacks_metrics_only(const Json& candidate);

/// The exit status of a promotion that has ended otherwise than promoted.
Error error_of_promotion(const Json& promotion);

/// Asks until it has ended, also while the server is away. Throws, with the id and how to continue:
/// a timeout; approval_required when people were waited for to the end; interrupted, and with
/// `cancel_on_interrupt` the promotion is cancelled too; what the server refuses.
Json wait_for_promotion(Session& session, PatientClient& client, const Uri& uri, Json promotion,
                        bool cancel_on_interrupt);

/// SHA-256 of the evidence in `body`, the server's answer about a promotion, in hex. Throws
/// not_found when the promotion moved no alias, data_loss when the history of the alias has another
/// digest.
std::string verified_evidence(Session& session, const Uri& uri, const std::string& body);

}  // namespace tarn::cli
