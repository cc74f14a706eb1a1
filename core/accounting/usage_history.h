// Sizes of default branches by day.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/accounting/usage.h"
#include "core/branch/engine.h"
#include "core/model/page.h"
#include "core/model/repository.h"

namespace tarn::accounting {

/// The logical size of a repository's default branch when it was measured that day.
struct UsageDay {
  std::string day;  ///< "2026-11-24", UTC by the database's clock
  Amount logical;

  bool operator==(const UsageDay&) const = default;
};

/// Repositories measured in one turn, at most.
constexpr uint32_t kMeasuredPerTurn = 100;

/// Measures repositories that were not measured today, at most kMeasuredPerTurn. Each is claimed by
/// one server, once a day: a day on which measuring failed has no row. Returns whether there were
/// any. Costs two statements and a few nodes for each.
bool measure_usage_of_today(branch::Engine& engine, const std::stop_token& stop);

/// The newest first; `after`: a day, exclusive, "" = from the newest. Throws not_found (the
/// repository was deleted), invalid_argument (`after` is no day).
Page<UsageDay> usage_history(branch::Engine& engine, const Repository& repository,
                             std::string_view after, uint32_t limit);

}  // namespace tarn::accounting
