#include "server/api/api.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/auth/resource.h"
#include "core/base/acting_user.h"
#include "core/base/error.h"
#include "core/base/memory_share.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/branch/hooks.h"
#include "core/branch/repositories.h"
#include "core/jobs/operation_runner.h"
#include "server/api/credentials.h"
#include "server/api/errors.h"
#include "server/api/json/document.h"
#include "server/api/json/operation.h"
#include "server/api/origin.h"
#include "server/api/preference.h"
#include "server/api/request_record.h"
#include "server/api/response.h"
#include "server/api/route.h"
#include "server/api/router.h"

namespace tarn::api {
namespace {

// clang-tidy 14 does not see that literals use it.
using std::string_view_literals::operator""sv;  // NOLINT(misc-unused-using-decls)

/// Content types of JSON requests. A page of another origin can send any other type without a CORS
/// preflight request.
bool is_json(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return equal_ignoring_case(type, "application/json");
}

/// Rejects a request because of its headers, before its body is read.
void check_headers(const Route& route, const http::Request& request) {
  const size_t authorizations = request.headers.count("Authorization");
  if (authorizations > 1) throw_invalid("header Authorization: is given twice");
  const bool changes = route.method != Method::kGet && route.method != Method::kHead;
  if (changes && authorizations == 0) check_origin(request);
}

size_t body_bytes_max(const Route& route) {
  if (!route.access.needs_account()) return json::kOpenBodyBytesMax;
  const bool is_long = route.input.body == Input::Body::kLongJson;
  return is_long ? json::kArchiveBodyBytesMax : json::kBodyBytesMax;
}

std::optional<json::Document> read_json(const Route& route, http::Request& request) {
  const Input& input = route.input;
  const std::string body = http::read_document(*request.body, body_bytes_max(route));
  if (body.empty()) {
    if (input.body == Input::Body::kOptionalJson) return std::nullopt;
    throw_invalid("request body: value is required but missing");
  }
  if (const std::string* type = request.headers.find("Content-Type");
      type != nullptr && !is_json(*type)) {
    throw_invalid("request body: header Content-Type must be application/json");
  }
  const bool is_long = input.body == Input::Body::kLongJson;
  return json::Document::parse(body, is_long ? json::kArchiveValuesMax : json::kValuesMax);
}

std::string_view path_of(const http::Request& request) {
  return request.raw_path().substr(kBasePath.size());
}

bool is_below_base(const http::Request& request) {
  const std::string_view path = request.raw_path();
  return path.starts_with(kBasePath) &&
         (path.size() == kBasePath.size() || path[kBasePath.size()] == '/');
}

Error as_clients_read_it(const std::exception_ptr& thrown, const Route* route) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    if (error.reason() == reason::kRefNotFound && route != nullptr && !route->missing_ref.empty()) {
      return Error(error.code(), error.reason(), std::string(route->missing_ref));
    }
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, error.what());
  }
}

/// Whether a request may continue in the background: an operation on a repository with a JSON
/// answer and a body that was read completely. Those about accounts, with the secret of a webhook
/// or with presigned URLs are excluded: secrets must not be stored.
bool may_be_deferred(const Route& route, const Call& call) {
  constexpr std::array kWithSecrets = {"putWebhook"sv, "createPresignMultipartUpload"sv,
                                       "linkPhysicalAddress"sv, "uploadPart"sv};
  constexpr std::array kLongReads = {"diffRefs"sv,      "diffBranch"sv,         "logCommits"sv,
                                     "listObjects"sv,   "findMergeBase"sv,      "verifyImport"sv,
                                     "summariseDiff"sv, "listMergeConflicts"sv, "getUsage"sv};
  if (!route.pattern.starts_with("/repositories") || route.input.body == Input::Body::kStream ||
      route.input.body == Input::Body::kLongJson) {
    return false;
  }
  if (route.method == Method::kHead || call.flag("presign")) return false;
  if (std::find(kWithSecrets.begin(), kWithSecrets.end(), route.operation) != kWithSecrets.end()) {
    return false;
  }
  return route.method != Method::kGet ||
         std::find(kLongReads.begin(), kLongReads.end(), route.operation) != kLongReads.end();
}

/// Whether the request sets `force`, which permits changes of a read-only repository.
bool is_forced(const Call& call, const std::optional<json::Document>& document) {
  if (!call.has_path("repository")) return false;
  if (call.flag("force")) return true;
  if (!document || document->root().is_array()) return false;
  const json::Value body = document->root();
  if (body.flag("force")) return true;
  // Imports carry it in their commit.
  const auto commit = body.find("commit");
  return call.route.operation == "importStart" && commit && commit->flag("force");
}

/// `force` needs the permission to change the repository's read-only flag.
void require_force(const Context& context, const Call& call) {
  const std::string resource = auth::repository_arn(call.path("repository"));
  if (call.allows(auth::Action::kUpdateRepository, resource)) return;
  if (repository_of(context, call).read_only)
    call.require_permission(auth::Action::kUpdateRepository, resource);
}

/// Strict repositories refuse the paths of new objects, not changes of those that are there.
void check_paths(const Context& context, const Call& call) {
  constexpr std::array kOfObjectsThere = {"abortPresignMultipartUpload"sv,
                                          "updateObjectUserMetadata"sv};
  if (std::find(kOfObjectsThere.begin(), kOfObjectsThere.end(), call.route.operation) !=
      kOfObjectsThere.end())
    return;
  for (const std::string& path : written_paths(call)) {
    if (!is_plain_path(path)) branch::check_new_path(repository_of(context, call), path);
  }
}

[[noreturn]] void throw_unknown_endpoint() {
  throw Error(ErrorCode::kNotFound, reason::kUnknownEndpoint, "invalid API endpoint");
}

}  // namespace

struct Api::State {
  explicit State(Context given) : context(std::move(given)), router(routes()), unknown("unknown") {
    for (const Route& route : routes()) probes.emplace_back(route.operation);
  }

  const Probe& probe_of(const Route& route) const {
    return probes[static_cast<size_t>(&route - routes().data())];
  }

  Router::Match match(const http::Request& request) const;
  http::Response answer(http::Request& request, Router::Match match, std::string& user,
                        const auth::Principal* as);
  void renew_session(const http::Request& request, http::Response& response);
  http::Response run_or_defer(Call call, std::chrono::seconds wait);
  http::Response deferred_response(const std::string& owner, const std::string& id);

  Context context;
  Router router;
  std::deque<Probe> probes;  // in the order of routes()
  Probe unknown;
};

Router::Match Api::State::match(const http::Request& request) const {
  const std::optional<Method> method = parse_method(request.method);
  if (!method || !is_below_base(request)) throw_unknown_endpoint();
  Router::Match found = router.find(*method, path_of(request));
  if (found.route == nullptr) throw_unknown_endpoint();
  return found;
}

http::Response Api::State::answer(http::Request& request, Router::Match match, std::string& user,
                                  const auth::Principal* as) {
  const Route& route = *match.route;
  Call call{.request = request,
            .route = route,
            .path_values = std::move(match.values),
            .query = http::Query::parse(request.raw_query()),
            .body = {},
            .caller = {}};
  check_headers(route, request);
  // Authentication comes first: a request without valid credentials is not read and gets no
  // information.
  if (route.access.needs_account()) {
    call.caller = as != nullptr ? *as : authenticate(context.authenticator, request);
    user = call.caller.user.name;
  }
  check_parameters(route.input.parameters, request, call.query);
  std::optional<json::Document> document;
  if (route.handler.takes_json()) document = read_json(route, request);
  if (document) call.body = route.handler.parse(document->root());
  for (const RequiredPermission& required : route.access.permissions()) {
    for (const std::string& resource : required.on(call))
      call.require_permission(required.action, resource);
  }
  if (is_forced(call, document)) require_force(context, call);
  check_paths(context, call);
  if (const auto wait = preferred_wait(request); wait && may_be_deferred(route, call)) {
    return run_or_defer(std::move(call), *wait);
  }
  const ActingUser user_of_hooks(call.caller.user.name, call.request.peer, call.caller.limits);
  const MemoryScope memory(call.caller.user.name);
  http::Response response = route.handler.run(context, call);
  response.hold_memory(request.method);
  if (route.access.needs_account()) renew_session(request, response);
  return response;
}

/// Extends the session cookie of an active browser.
void Api::State::renew_session(const http::Request& request, http::Response& response) {
  if (request.headers.count("Authorization") > 0) return;
  const std::optional<std::string> session = cookie(request.headers, kSessionCookie);
  if (!session) return;
  if (const auto token = context.authenticator.renewed(*session)) {
    response.headers.add("Set-Cookie", session_cookie(*token, request.tls));
  }
}

http::Response Api::State::run_or_defer(Call call, std::chrono::seconds wait) {
  // A copy that outlives the connection's request, whose body has been read.
  const auto kept = std::make_shared<http::Request>();
  kept->method = call.request.method;
  kept->target = call.request.target;
  kept->headers = call.request.headers;
  kept->peer = call.request.peer;
  kept->tls = call.request.tls;
  kept->id = call.request.id;
  kept->body = http::empty_body();
  const auto deferred = std::make_shared<Call>(Call{.request = *kept,
                                                    .route = call.route,
                                                    .path_values = std::move(call.path_values),
                                                    .query = std::move(call.query),
                                                    .body = std::move(call.body),
                                                    .caller = std::move(call.caller)});
  const std::string owner = deferred->caller.user.name;
  const auto response = std::make_shared<http::Response>();
  const Route* route = &call.route;
  const auto kept_answer = [response, kept, route](const std::exception_ptr& thrown) {
    bool cancelled = false;
    if (thrown) {
      const Error error = as_clients_read_it(thrown, route);
      *response = failure_response(error, kept->id);
      cancelled = error.reason() == reason::kOperationCancelled;
    }
    const OperationState state = cancelled                ? OperationState::kCancelled
                                 : response->status < 400 ? OperationState::kDone
                                                          : OperationState::kFailed;
    return jobs::OperationResult{state, response->status, response->body};
  };
  const std::string id = context.operations.run(
      {.name = std::string(route->operation),
       .target = std::string(kept->raw_path()),
       .owner = owner,
       .run =
           [this, response, deferred, kept] {
             const ActingUser user(deferred->caller.user.name, kept->peer, deferred->caller.limits);
             const MemoryScope memory(deferred->caller.user.name);
             *response = deferred->route.handler.run(context, *deferred);
             response->hold_memory(kept->method);
           },
       .result = kept_answer},
      wait);
  if (!id.empty()) return deferred_response(owner, id);
  response->headers.add("Preference-Applied", "wait=" + std::to_string(wait.count()));
  return std::move(*response);
}

http::Response Api::State::deferred_response(const std::string& owner, const std::string& id) {
  const auto operation = context.operations.wait_for(owner, id, {});
  if (!operation) throw Error(ErrorCode::kInternal, "an operation's row is missing");
  http::Response response = json_response(202, json::operation_body(*operation));
  response.headers.add("Location", str_cat(kBasePath, "/operations/", id));
  response.headers.add("Preference-Applied", "respond-async");
  return response;
}

Api::Api(Context context) : state_(std::make_unique<State>(std::move(context))) {}
Api::~Api() = default;

http::Response Api::handle(http::Request& request, const auth::Principal* as) {
  RequestRecord record{.access = {.api = "rest", .operation = "unknown"},
                       .probe = &state_->unknown};
  record.access.count_body(request);
  const Route* route = nullptr;
  http::Response response;
  try {
    Router::Match match = state_->match(request);
    route = match.route;
    record.access.operation = route->operation;
    record.probe = &state_->probe_of(*route);
    response = state_->answer(request, std::move(match), record.access.user, as);
  } catch (const std::exception&) {
    response = record.failed(as_clients_read_it(std::current_exception(), route), request);
  }
  record.finish(request, response);
  return response;
}

}  // namespace tarn::api
