// Events that webhooks receive.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tarn {

/// All types. The database creates those of refs, policies, imports, quotas, pull requests and the
/// deletion of a repository where the rows change; hooks and promotions add their own
/// (core/events/outbox.h).
constexpr std::array<std::string_view, 34> kEventTypes = {
    "branch.created",
    "branch.updated",
    "branch.renamed",
    "branch.deleted",
    "branch.stale",
    "branch.expiring",
    "tag.created",
    "tag.updated",
    "tag.deleted",
    "alias.set",
    "alias.removed",
    "alias.moved_by_hand",
    "policy.set",
    "policy.proposed",
    "policy.removed",
    "import.completed",
    "import.failed",
    "import.cancelled",
    "hook.completed",
    "hook.failed",
    "pull_request.review_requested",
    "pull_request.reviewed",
    "pull_request.commented",
    "promotion.created",
    "promotion.waiting",
    "promotion.promoted",
    "promotion.rejected",
    "promotion.failed",
    "promotion.cancelled",
    "promotion.rolled_back",
    "quota.warning",
    "quota.exceeded",
    "repository.deleted",
    "champion.expired",
};

constexpr size_t kEventPatternBytesMax = 64;

bool is_event_type(std::string_view text);
/// A type, or a pattern with * that matches at least one.
bool is_event_pattern(std::string_view text);

}  // namespace tarn
