#include "core/branch/quota_warning.h"

#include <algorithm>

#include "core/base/acting_user.h"
#include "core/base/str_cat.h"
#include "core/branch/hooks.h"
#include "core/quotas/quotas.h"

namespace tarn::branch {
namespace {

constexpr size_t kWarningBytesMax = 500;

void add(std::string& out, const QuotaScope& scope, std::string_view what, uint64_t used,
         const QuotaLimit& limit) {
  if (!limit.soft || used <= static_cast<uint64_t>(*limit.soft)) return;
  if (!out.empty()) out += "; ";
  out += str_cat(used, " ", what, " used");
  if (!scope.user.empty()) out += str_cat(" by user ", scope.user);
  if (!scope.branches.empty()) out += str_cat(" on branches ", scope.branches);
  out += str_cat(", the soft limit is ", *limit.soft);
  if (limit.hard) out += str_cat(", the hard limit ", *limit.hard);
}

}  // namespace

bool has_quotas(Engine& engine) { return engine.quotas.any(); }

std::string quota_warning(Engine& engine, RepositoryId repository, std::string_view branch) {
  std::string out;
  for (const Quota& quota : engine.quotas.matching(repository, branch, ActingUser::name())) {
    add(out, quota.scope, "bytes", quota.bytes, quota.limits.bytes);
    add(out, quota.scope, "objects", quota.objects, quota.limits.objects);
  }
  if (out.size() > kWarningBytesMax) out.resize(kWarningBytesMax);
  // User names and globs may have characters that no header takes.
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

}  // namespace tarn::branch
