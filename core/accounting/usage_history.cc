#include "core/accounting/usage_history.h"

#include "core/accounting/logical_size.h"
#include "core/accounting/usage_day_store.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/repositories.h"

namespace tarn::accounting {
namespace {

/// Whether the text has the form of UsageDay::day.
bool is_day(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != kForm.size()) return false;
  for (size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0' ? !is_digit(text[i]) : text[i] != kForm[i]) return false;
  }
  return true;
}

/// The size of the default branch; a bare repository has none yet.
Amount size_of_default_branch(branch::Engine& engine, const RepositoryName& name) {
  const Repository repository = branch::get_repository(engine, name);
  try {
    return logical_size(engine, repository, repository.default_branch.str(), "");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return {};
  }
}

void measure(branch::Engine& engine, UsageDayStore& store, const ClaimedDay& claim) {
  try {
    store.record(claim, size_of_default_branch(engine, claim.name));
  } catch (const Error& error) {
    log::warn("usage_not_measured", {{"repository", claim.name.str()}, {"error", error.message()}});
  }
}

}  // namespace

bool measure_usage_of_today(branch::Engine& engine, const std::stop_token& stop) {
  UsageDayStore store(engine.pool);
  const std::vector<ClaimedDay> claims = store.claim(kMeasuredPerTurn);
  for (const ClaimedDay& claim : claims) {
    if (stop.stop_requested()) return false;
    measure(engine, store, claim);
  }
  return !claims.empty();
}

Page<UsageDay> usage_history(branch::Engine& engine, const Repository& repository,
                             std::string_view after, uint32_t limit) {
  if (!after.empty() && !is_day(after)) {
    throw_invalid(str_cat("history of sizes: \"", after, "\" is no day such as 2026-11-24"));
  }
  return branch::existing(engine, repository,
                          UsageDayStore(engine.pool).list(repository.id, after, limit));
}

}  // namespace tarn::accounting
