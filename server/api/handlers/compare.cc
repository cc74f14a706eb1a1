#include "core/promotion/compare.h"

#include "core/auth/resource.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/promotion.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response compare_candidates(const Context& context, Call& call,
                                  promotion::CompareQuestion question) {
  if (question.policy) {
    call.require_permission(auth::Action::kGetGatePolicy,
                            auth::repository_arn(call.path("repository")));
  }
  return json_response(
      200, json::compare_body(promotion::compare_candidates(context.engine,
                                                            repository_of(context, call), question),
                              question.after));
}
JsonHandler compare_candidates() { return json_handler<json::parse_compare, compare_candidates>; }

}  // namespace tarn::api
