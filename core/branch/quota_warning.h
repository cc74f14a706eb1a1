// The warning about quotas that a write has brought past their soft limit.
#pragma once

#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/model/names.h"

namespace tarn::branch {

/// The header of responses that has it.
constexpr std::string_view kQuotaWarningHeader = "X-Tarn-Quota-Warning";

/// Whether there is any quota in the installation. From memory.
bool has_quotas(Engine& engine);

/// The quotas past a soft limit that count what the acting user writes to the branch; "" = none.
/// From memory: no round trip. One line of ASCII.
std::string quota_warning(Engine& engine, RepositoryId repository, std::string_view branch);

}  // namespace tarn::branch
