#include "server/hook_calls.h"

#include <unistd.h>

#include "core/actions/lua/channel.h"
#include "core/actions/runner.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/http/request_id.h"

namespace tarn::server {
namespace {

std::string bytes_of(const http::FileSlice& file) {
  if (file.length > actions::kMessageBytesMax) {
    throw Error(ErrorCode::kResourceExhausted, reason::kObjectTooLarge,
                str_cat("the object is longer than ", actions::kMessageBytesMax, " bytes"));
  }
  std::string out(file.length, '\0');
  size_t at = 0;
  while (at < out.size()) {
    const ssize_t got =
        ::pread(file.fd, out.data() + at, out.size() - at, static_cast<off_t>(file.offset + at));
    if (got <= 0) throw Error(ErrorCode::kUnavailable, "reading an object: its bytes ended early");
    at += static_cast<size_t>(got);
  }
  return out;
}

/// Sends the call as a client would, with a token of the user, so that the user's policies apply to
/// it.
actions::ApiAnswer answer(Backend& backend, api::Api& rest, const actions::ApiCall& call) {
  http::Request request;
  request.method = call.method;
  request.target = call.target;
  request.id = http::next_request_id();
  request.content_length = call.body.size();
  request.body = http::string_body(call.body);
  if (!call.body.empty()) request.headers.add("Content-Type", "application/json");
  request.headers.add("User-Agent", "tarn-hook");
  if (const auto caller = backend.authenticator().find_user(call.user)) {
    request.headers.add("Authorization",
                        "Bearer " + backend.authenticator().issue_token(*caller).token);
  }
  http::Response response = rest.handle(request);
  actions::ApiAnswer out{.status = response.status,
                         .json = response.headers.get("Content-Type") == "application/json",
                         .body = std::move(response.body)};
  if (response.source) out.body = http::read_all(*response.source, actions::kMessageBytesMax);
  if (response.file) out.body = bytes_of(*response.file);
  return out;
}

}  // namespace

HookCalls::HookCalls(Backend& backend, api::Api& rest) : backend_(backend) {
  backend.hooks().serve_calls(
      [&backend, &rest](const actions::ApiCall& call) { return answer(backend, rest, call); });
}

HookCalls::~HookCalls() { backend_.hooks().serve_calls({}); }

}  // namespace tarn::server
