#include "core/promotion/gate_policies.h"

#include <charconv>

#include "core/auth/resource.h"
#include "core/base/str_cat.h"
#include "core/promotion/gate_facts.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/promotion.h"
#include "server/api/json/writer.h"
#include "server/api/parameter.h"
#include "server/api/response.h"

namespace tarn::api {
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

http::Response tagged_response(std::string body, int64_t version) {
  http::Response response = json_response(200, std::move(body));
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
  const auto found = promotion::get_gate_policy(context.engine, repository_of(context, call),
                                                call.path("policy"), version);
  return tagged_response(json::gate_policy_body(found), found.version);
}

http::Response set_gate_policy(const Context& context, Call& call) {
  const promotion::GatePolicySet set = promotion::set_gate_policy(
      context.engine, repository_of(context, call), call.path("policy"),
      {.document = http::read_document(*call.request.body, json::kBodyBytesMax),
       .author = call.caller.user.name,
       .expected = expected_version(call)});
  return tagged_response(json::set_gate_policy_body(set), set.version.version);
}

http::Response remove_gate_policy(const Context& context, Call& call) {
  promotion::remove_gate_policy(context.engine, repository_of(context, call), call.path("policy"),
                                call.caller.user.name, expected_version(call));
  return empty_response(204);
}

http::Response evaluate_gate_policy(const Context& context, Call& call, json::EvaluateGate given) {
  // A document may name files whose numbers the caller could not read otherwise.
  if (given.document) {
    call.require_permission(auth::Action::kSetGatePolicy,
                            auth::repository_arn(call.path("repository")));
  }
  return json_response(200, json::gate_answer_body(promotion::evaluate_gate(
                                context.engine, repository_of(context, call),
                                {.policy = call.path("policy"),
                                 .version = given.version,
                                 .document = std::move(given.document),
                                 .candidates = std::move(given.candidates),
                                 .champion = std::move(given.champion)})));
}
JsonHandler evaluate_gate_policy() {
  return json_handler<json::parse_evaluate_gate, evaluate_gate_policy>;
}

}  // namespace tarn::api
