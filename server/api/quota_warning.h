// The header that tells a client of a quota past its soft limit.
#pragma once

#include <string_view>

#include "core/http/message.h"
#include "core/model/names.h"
#include "server/api/call.h"

namespace tarn::api {

/// Adds branch::kQuotaWarningHeader if a quota of what the caller writes to the branch is past
/// its soft limit. Every operation that stages objects calls it.
void add_quota_warning(const Context& context, RepositoryId repository, std::string_view branch,
                       http::Response& response);

}  // namespace tarn::api
