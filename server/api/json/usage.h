// JSON of sizes of repositories and refs.
#pragma once

#include <optional>
#include <string>

#include "core/accounting/usage.h"
#include "core/accounting/usage_history.h"
#include "core/model/page.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

struct UsageAnswer {
  std::string ref{};  ///< "" = of the repository, whose items are branches
  std::string prefix{};
  std::optional<accounting::Amount> logical{};
  std::optional<accounting::StoredUsage> stored{};
  Page<accounting::UsageItem> items{};
};

std::string usage_body(const UsageAnswer& answer);
void write_usage_day(Writer& out, const accounting::UsageDay& day);

}  // namespace tarn::api::json
