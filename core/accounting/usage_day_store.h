// Rows of the sizes of default branches by day.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/accounting/usage_history.h"
#include "core/db/pool.h"
#include "core/model/names.h"

namespace tarn::accounting {

/// A repository that this server is to measure.
struct ClaimedDay {
  RepositoryId repository{};
  RepositoryName name;
  std::string day;
};

/// Cheap to make. Safe from any thread.
class UsageDayStore {
 public:
  explicit UsageDayStore(db::Pool& pool) : pool_(pool) {}

  /// Claims repositories without a row of today; no other call returns the same ones.
  std::vector<ClaimedDay> claim(uint32_t limit);
  /// Nothing is stored if the repository was deleted.
  void record(const ClaimedDay& claim, const Amount& amount);
  /// The newest first, days before `before` only ("" = all).
  Page<UsageDay> list(RepositoryId repository, std::string_view before, uint32_t limit);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::accounting
