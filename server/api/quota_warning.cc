#include "server/api/quota_warning.h"

#include <string>
#include <utility>

#include "core/branch/quota_warning.h"

namespace tarn::api {

void add_quota_warning(const Context& context, RepositoryId repository, std::string_view branch,
                       http::Response& response) {
  std::string warning = branch::quota_warning(context.engine, repository, branch);
  if (warning.empty()) return;
  response.headers.add(std::string(branch::kQuotaWarningHeader), std::move(warning));
}

}  // namespace tarn::api
