#include "core/promotion/promotions.h"

#include <charconv>

#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/branch/ref_globs.h"
#include "core/promotion/compare.h"
#include "core/promotion/gate_facts.h"
#include "core/promotion/gate_policies.h"
#include "core/promotion/judgement.h"
#include "core/promotion/rollback.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/promotion.h"
#include "server/api/json/writer.h"
#include "server/api/parameter.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerPromotion = 800;

std::string promotion_id(const Call& call) {
  return promotion::parse_promotion_id(call.path("promotion"));
}

http::Response answer_promotion(const Context& context, const Repository& repository, int status,
                                const promotion::Promotion& promotion) {
  promotion::PromotionRecord record =
      promotion::get_promotion_record(context.engine, repository, promotion);
  return json_response(
      status, json::promotion_body(promotion, {.steps = std::move(record.steps),
                                               .checks = std::move(record.checks),
                                               .approvals = std::move(record.approvals),
                                               .stages = std::move(record.stages),
                                               .logged_digest = std::move(record.logged_digest)}));
}

/// Checks the permission on the destination, which is not in the path.
void demand_on_destination(const Call& call, auth::Action action,
                           const promotion::Promotion& promotion) {
  call.require_permission(
      action, auth::branch_arn(call.path("repository"), promotion.request.destination.str()));
}

/// Accepts a permission on this check alone; a permission on the branch covers all its checks.
void demand_check(const Call& call, const promotion::Promotion& promotion) {
  const std::string branch =
      auth::branch_arn(call.path("repository"), promotion.request.destination.str());
  const std::string check = str_cat(branch, "/check/", call.path("check"));
  using Decision = auth::Permissions::Decision;
  const Decision on_check =
      call.caller.permissions->decide(auth::Action::kReportCheck, check, call.request.peer);
  if (on_check == Decision::kAllowed) return;
  call.require_permission(auth::Action::kReportCheck,
                          on_check == Decision::kDenied ? check : branch);
}

http::Response end(const Context& context, Call& call, promotion::PromotionState state,
                   auth::Action action, const json::Decision& decision) {
  const std::string id = promotion_id(call);
  const Repository repository = repository_of(context, call);
  demand_on_destination(call, action, promotion::get_promotion(context.engine, repository, id));
  promotion::end_promotion(context.engine, repository, id, state, call.caller.user.name,
                           decision.reason);
  return answer_promotion(context, repository, 200,
                          promotion::get_promotion(context.engine, repository, id));
}

/// Requires permission to read every candidate: the winner is not known yet, and the gate's policy
/// may move an alias and a tag to it.
void demand_candidates(const Call& call, const std::vector<std::string>& candidates) {
  for (const std::string& word : candidates) {
    if (branch::is_glob_of_branches(word)) {
      call.require_permission_on_source({Glob(word).prefix(), /*all_that_begin=*/true}, "");
    } else {
      call.require_permission_on_source({word}, "");
    }
  }
}

}  // namespace

http::Response create_promotion(const Context& context, Call& call, json::CreatePromotion given) {
  call.require_permission(
      auth::Action::kPromote,
      auth::branch_arn(call.path("repository"), given.request.destination.str()));
  // Without a policy of the branch, a promotion is a merge like any other.
  if (!given.request.metrics.empty()) {
    call.require_permission(
        auth::Action::kCreateCommit,
        auth::branch_arn(call.path("repository"), given.request.destination.str()));
  }
  demand_candidates(call, given.request.candidates);
  const Repository repository = repository_of(context, call);
  // The policy's alias moves with the promotion; any other alias is the caller's choice and needs
  // permission.
  const std::string alias = promotion::wished_alias(context.engine, repository, given.request);
  if (!alias.empty()) {
    call.require_permission(auth::Action::kSetAlias,
                            auth::alias_arn(call.path("repository"), alias));
  }
  if (given.dry_run) {
    return json_response(200,
                         json::promotion_preview_body(promotion::judge_request(
                             context.engine, repository, given.request, call.caller.user.name)));
  }
  const promotion::CreatedPromotion made =
      promotion::create_promotion(context.engine, repository,
                                  {.request = std::move(given.request),
                                   .actor = call.caller.user.name,
                                   .address = call.request.peer,
                                   .idempotency_key = std::move(given.idempotency_key)});
  return answer_promotion(context, repository, made.existed ? 200 : 202, made.promotion);
}

http::Response list_promotions(const Context& context, Call& call) {
  const auto page = promotion::list_promotions(
      context.engine, repository_of(context, call),
      {.destination = std::string(call.parameter("destination")),
       .alias = std::string(call.parameter("alias")),
       .open_only = call.flag("open")},
      {.after = std::string(call.parameter("after")), .limit = call.amount()});
  return json_response(200, json::list_of(page, kBytesPerPromotion, json::write_promotion));
}

http::Response get_promotion(const Context& context, Call& call) {
  std::optional<Instant> seen;
  if (const auto version = parse_size(call.parameter("seen")))
    seen = from_millis(static_cast<int64_t>(*version));
  const auto wait = parse_wait(call.parameter("wait")).value_or(std::chrono::seconds{0});
  const std::string id = promotion_id(call);
  const Repository repository = repository_of(context, call);
  return answer_promotion(
      context, repository, 200,
      promotion::wait_for_promotion(context.engine, repository, id, seen, wait));
}

http::Response report_check(const Context& context, Call& call, promotion::PromotionCheck check) {
  const std::string id = promotion_id(call);
  const Repository repository = repository_of(context, call);
  demand_check(call, promotion::get_promotion(context.engine, repository, id));
  check.name = call.path("check");
  check.reporter = call.caller.user.name;
  promotion::report_check(context.engine, repository, id, check);
  return answer_promotion(context, repository, 200,
                          promotion::get_promotion(context.engine, repository, id));
}

http::Response approve_promotion(const Context& context, Call& call, json::Decision decision) {
  const std::string id = promotion_id(call);
  const Repository repository = repository_of(context, call);
  demand_on_destination(call, auth::Action::kApprovePromotion,
                        promotion::get_promotion(context.engine, repository, id));
  promotion::approve_promotion(context.engine, repository, id,
                               {call.caller.user.name, call.request.peer}, decision.reason,
                               decision.review_digest);
  return answer_promotion(context, repository, 200,
                          promotion::get_promotion(context.engine, repository, id));
}

http::Response reject_promotion(const Context& context, Call& call, json::Decision decision) {
  return end(context, call, promotion::PromotionState::kRejected, auth::Action::kApprovePromotion,
             decision);
}

/// The promotion is cancelled by its starter, or by who may approve it; not by everybody who may
/// promote a rival.
http::Response cancel_promotion(const Context& context, Call& call, json::Decision decision) {
  const Repository repository = repository_of(context, call);
  const bool own = promotion::get_promotion(context.engine, repository, promotion_id(call)).actor ==
                   call.caller.user.name;
  return end(context, call, promotion::PromotionState::kCancelled,
             own ? auth::Action::kPromote : auth::Action::kApprovePromotion, decision);
}

http::Response roll_back_promotion(const Context& context, Call& call, json::Decision decision) {
  const std::string id = promotion_id(call);
  const Repository repository = repository_of(context, call);
  demand_on_destination(call, auth::Action::kRollBack,
                        promotion::get_promotion(context.engine, repository, id));
  const promotion::Promotion made = promotion::roll_back_promotion(
      context.engine, repository, id, {call.caller.user.name, call.request.peer}, decision.reason);
  return answer_promotion(context, repository, promotion::has_ended(made.state) ? 200 : 202, made);
}

namespace {

constexpr size_t kBytesPerPolicy = 2048;
constexpr std::string_view kNoPolicy = "0";

/// The version that the caller expects: its number, or 0 for none; absent = any version.
std::optional<int64_t> expected_version(const Call& call) {
  const std::string* text = call.request.headers.find("If-Match");
  if (text == nullptr) return std::nullopt;
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), version);
  if (error != std::errc() || end != text->data() + text->size() || version < 0) {
    throw_invalid(
        str_cat("If-Match: expected the version of the policy, or ", kNoPolicy, " for none"));
  }
  return version;
}

http::Response tagged_response(std::string body, int64_t version, int status = 200) {
  http::Response response = json_response(status, std::move(body));
  response.headers.add("ETag", std::to_string(version));
  return response;
}

}  // namespace

http::Response list_gate_policies(const Context& context, Call& call) {
  const auto page = promotion::list_gate_policies(context.engine, repository_of(context, call),
                                                  call.parameter("prefix"), call.parameter("after"),
                                                  call.amount());
  return json_response(200, json::list_of(page, kBytesPerPolicy, json::write_gate_policy));
}

http::Response list_gate_policy_versions(const Context& context, Call& call) {
  const auto page = promotion::list_gate_policy_versions(
      context.engine, repository_of(context, call), call.path("policy"), call.parameter("after"),
      call.amount());
  return json_response(200, json::list_of(page, kBytesPerPolicy, json::write_gate_policy));
}

http::Response get_gate_policy(const Context& context, Call& call) {
  std::optional<int64_t> version;
  if (!call.parameter("version").empty()) {
    version = static_cast<int64_t>(*parse_size(call.parameter("version")));
  }
  const Repository repository = repository_of(context, call);
  const auto found =
      promotion::get_gate_policy(context.engine, repository, call.path("policy"), version);
  const auto proposal = version ? std::nullopt
                                : promotion::find_gate_policy_proposal(context.engine, repository,
                                                                       call.path("policy"));
  return tagged_response(json::gate_policy_body(found, proposal), found.version);
}

/// A policy may measure with data that its author may read, and no other.
void demand_data(const Call& call, const std::string& document) {
  for (const promotion::EvaluationRules& rules :
       promotion::parse_gate_policy(document).evaluations) {
    auth::require_permission_below(call.caller, auth::Action::kReadObject,
                                   auth::object_arn(rules.repository, rules.ref, rules.spec.folder),
                                   call.request.peer);
  }
}

http::Response set_gate_policy(const Context& context, Call& call) {
  std::string document = http::read_document(*call.request.body, json::kBodyBytesMax);
  demand_data(call, document);
  const promotion::GatePolicySet set =
      promotion::set_gate_policy(context.engine, repository_of(context, call), call.path("policy"),
                                 {.document = std::move(document),
                                  .author = call.caller.user.name,
                                  .expected = expected_version(call)});
  return tagged_response(json::set_gate_policy_body(set), set.version.version,
                         set.proposed ? 202 : 200);
}

http::Response remove_gate_policy(const Context& context, Call& call) {
  const bool removed = promotion::remove_gate_policy(context.engine, repository_of(context, call),
                                                     call.path("policy"), call.caller.user.name,
                                                     expected_version(call));
  return removed ? empty_response(204) : json_response(202, R"({"proposed":true})");
}

http::Response evaluate_gate_policy(const Context& context, Call& call, json::EvaluateGate given) {
  // A document may name files whose numbers the caller could not read otherwise.
  if (given.document) {
    call.require_permission(auth::Action::kSetGatePolicy,
                            auth::repository_arn(call.path("repository")));
    demand_data(call, *given.document);
  }
  const Repository repository = repository_of(context, call);
  if (given.measure) {
    const BranchName destination =
        given.document
            ? promotion::parse_gate_policy(*given.document).destination
            : promotion::policy_of(promotion::get_gate_policy(context.engine, repository,
                                                              call.path("policy"), given.version))
                  .destination;
    call.require_permission(auth::Action::kPromote,
                            auth::branch_arn(repository.name.str(), destination.str()));
  }
  return json_response(
      200, json::gate_answer_body(promotion::evaluate_gate(
               context.engine, repository,
               {.policy = call.path("policy"),
                .version = given.version,
                .document = std::move(given.document),
                .candidates = std::move(given.candidates),
                .champion = std::move(given.champion),
                .measures_for = given.measure ? call.caller.user.name : std::string()})));
}

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

}  // namespace tarn::api
