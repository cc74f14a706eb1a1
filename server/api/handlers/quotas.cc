// Quotas: limits, usage and recounts.
#include "core/accounting/quotas.h"

#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/values.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerQuota = 400;

void write_limit(json::Writer& out, std::string_view name, const QuotaLimit& limit) {
  if (!limit.soft && !limit.hard) return;
  out.key(name);
  out.begin_object();
  if (limit.soft) out.number("soft", *limit.soft);
  if (limit.hard) out.number("hard", *limit.hard);
  out.end_object();
}

void write_quota(json::Writer& out, const accounting::QuotaUsage& usage) {
  const Quota& quota = usage.quota;
  out.begin_object();
  if (!quota.scope.user.empty()) out.text("user", quota.scope.user);
  if (!quota.scope.branches.empty()) out.text("branches", quota.scope.branches);
  out.key("limits");
  out.begin_object();
  write_limit(out, "bytes", quota.limits.bytes);
  write_limit(out, "objects", quota.limits.objects);
  write_limit(out, "branches", quota.limits.branches);
  write_limit(out, "uploads", quota.limits.uploads);
  write_limit(out, "metadata_bytes", quota.limits.metadata);
  out.end_object();
  out.key("usage");
  out.begin_object();
  out.number("bytes", static_cast<int64_t>(quota.bytes));
  out.number("objects", static_cast<int64_t>(quota.objects));
  if (usage.branches) out.number("branches", static_cast<int64_t>(*usage.branches));
  if (quota.limits.metadata != QuotaLimit{}) {
    out.number("metadata_bytes", static_cast<int64_t>(quota.metadata));
  }
  if (usage.uploads) out.number("uploads", static_cast<int64_t>(*usage.uploads));
  out.end_object();
  if (quota.counted) out.text("recounted_at", to_rfc3339(*quota.counted));
  out.end_object();
}

std::string quota_body(const accounting::QuotaUsage& usage) {
  json::Writer out(kBytesPerQuota);
  write_quota(out, usage);
  return std::move(out).take();
}

struct QuotaBody {
  QuotaScope scope{};
  QuotaLimits limits{};
};

QuotaLimit parse_limit(const json::Value& limits, std::string_view name) {
  QuotaLimit out;
  const auto limit = limits.find(name);
  if (!limit) return out;
  if (const auto soft = limit->find_number("soft")) out.soft = soft->integer();
  if (const auto hard = limit->find_number("hard")) out.hard = hard->integer();
  return out;
}

QuotaBody parse_quota(const json::Value& body) {
  QuotaBody out;
  out.scope.user = body.text_or_empty("user");
  out.scope.branches = body.text_or_empty("branches");
  const json::Value limits = body.at("limits");
  out.limits.bytes = parse_limit(limits, "bytes");
  out.limits.objects = parse_limit(limits, "objects");
  out.limits.branches = parse_limit(limits, "branches");
  out.limits.uploads = parse_limit(limits, "uploads");
  out.limits.metadata = parse_limit(limits, "metadata_bytes");
  return out;
}

/// The repository of the path; 0 in paths without one.
RepositoryId repository_in(const Context& context, const Call& call) {
  return call.has_path("repository") ? repository_of(context, call).id : RepositoryId{};
}

QuotaScope scope_in(const Context& context, const Call& call) {
  return {.repository = repository_in(context, call),
          .user = std::string(call.parameter("user")),
          .branches = std::string(call.parameter("branches"))};
}

http::Response set_quota(const Context& context, Call& call, QuotaBody given) {
  given.scope.repository = repository_in(context, call);
  return json_response(
      200, quota_body(accounting::set_quota(context.engine, given.scope, given.limits)));
}

}  // namespace

http::Response list_quotas(const Context& context, Call& call) {
  std::optional<Repository> repository;
  if (call.has_path("repository")) repository = repository_of(context, call);
  const auto page = accounting::list_quotas(context.engine, repository ? &*repository : nullptr,
                                            call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerQuota, write_quota));
}

JsonHandler set_quota() { return json_handler<parse_quota, set_quota>; }

http::Response remove_quota(const Context& context, Call& call) {
  accounting::remove_quota(context.engine, scope_in(context, call));
  return empty_response(204);
}

http::Response recount_quota(const Context& context, Call& call) {
  return json_response(
      200, quota_body(accounting::recount_quota(context.engine, scope_in(context, call))));
}

}  // namespace tarn::api
