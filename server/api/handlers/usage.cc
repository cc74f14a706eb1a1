#include "server/api/json/usage.h"

#include "core/accounting/logical_size.h"
#include "core/accounting/stored_usage.h"
#include "core/accounting/usage_history.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/list.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response get_usage(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const PageStart page = call.page();
  json::UsageAnswer answer{.ref = std::string(call.parameter("ref")), .prefix = page.prefix};
  if (answer.ref.empty()) {
    if (!page.prefix.empty()) throw_invalid("measuring a prefix: name the ref too");
    call.require_permission(auth::Action::kListBranches,
                            auth::repository_arn(call.path("repository")));
    answer.items = accounting::usage_by_branch(context.engine, repository, page.after, page.limit);
  } else {
    answer.logical = accounting::logical_size(context.engine, repository, answer.ref, page.prefix);
  }
  if (!answer.ref.empty() && call.flag("depth")) {
    answer.items = accounting::usage_by_prefix(context.engine, repository, answer.ref, page.prefix,
                                               page.after, page.limit);
  }
  if (call.flag("exact")) {
    answer.stored = accounting::stored_usage(context.engine, repository, answer.ref, page.prefix);
  }
  return json_response(200, json::usage_body(answer));
}

http::Response list_usage_history(const Context& context, Call& call) {
  constexpr size_t kBytesPerDay = 64;
  const Page<accounting::UsageDay> days = accounting::usage_history(
      context.engine, repository_of(context, call), call.parameter("after"), call.amount());
  return json_response(200, json::list_of(days, kBytesPerDay, json::write_usage_day));
}

}  // namespace tarn::api
