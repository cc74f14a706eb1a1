// Promotions as the command shows them, shared by the commands that make and look at them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

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

/// What a promotion that has ended otherwise than promoted means for the exit status.
Error error_of_promotion(const Json& promotion);

/// Asks until it has ended. Throws, with the id and how to go on: a timeout; approval_required when
/// people were waited for to the end.
Json wait_for_promotion(Session& session, const Uri& uri, Json promotion,
                        std::optional<std::chrono::milliseconds> timeout);

}  // namespace tarn::cli
