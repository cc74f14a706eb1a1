// Hooks that send HTTP requests: webhook and airflow.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/actions/hook_work.h"
#include "core/base/cancellation.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/pause.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/http/webhook_headers.h"

namespace tarn::actions {
namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Json = nlohmann::json;

constexpr milliseconds kRetryPause{500};
constexpr milliseconds kDagPollPause{2'000};
/// Limit of a response's body in the output.
constexpr size_t kShownBytesMax = 4 * 1024;
/// Limit of a response about a DAG run, which includes its configuration.
constexpr size_t kDagAnswerBytesMax = 1u << 20;
constexpr std::string_view kHidden[] = {"authorization", "proxy-authorization", "cookie",
                                        "set-cookie", "x-api-key"};

[[noreturn]] void fail(std::string why) {
  throw Error(ErrorCode::kPreconditionFailed, reason::kHookFailed, std::move(why));
}

bool is_hidden(std::string_view name) {
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [name](std::string_view hidden) { return equal_ignoring_case(name, hidden); });
}

/// Masked before it is cut: the first part of a value would not be recognised.
std::string shown(const http::OutboundAnswer& answer, const Variables& variables) {
  const std::string masked = variables.masked(answer.body);
  if (masked.size() <= kShownBytesMax) return masked;
  return str_cat(std::string_view(masked).substr(0, kShownBytesMax), "\n... ",
                 masked.size() - kShownBytesMax, answer.cut ? " and more" : "",
                 " bytes left out ...");
}

std::string dump_of(const http::Headers& headers) {
  std::string out;
  for (const auto& [name, value] : headers.all()) {
    out += str_cat(name, ": ", is_hidden(name) ? std::string_view("*****") : value, "\n");
  }
  return out;
}

bool may_be_cured(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

/// The rest of a hook's timeout.
class TimeLeft {
 public:
  explicit TimeLeft(milliseconds timeout) : timeout_(timeout), end_(SteadyClock::now() + timeout) {}

  milliseconds operator()() const {
    const auto left = std::chrono::duration_cast<milliseconds>(end_ - SteadyClock::now());
    if (left.count() <= 0) fail(str_cat("no end after ", timeout_.count(), " ms"));
    return left;
  }

 private:
  const milliseconds timeout_;
  const SteadyClock::time_point end_;
};

/// One request and its response, both added to the output.
http::OutboundAnswer exchange(const HookWork& work, const http::OutboundRequest& request) {
  work.output.add(str_cat("> ", request.method, " ", request.url, "\n", dump_of(request.headers),
                          "\n", request.body, "\n\n"));
  const SteadyClock::time_point began = SteadyClock::now();
  http::OutboundAnswer answer;
  try {
    answer = work.outbound.send(request);
  } catch (const Error& error) {
    work.output.add(str_cat("< ", error.message(), "\n\n"));
    throw;
  }
  const auto took = std::chrono::duration_cast<milliseconds>(SteadyClock::now() - began);
  work.output.add(str_cat("< ", answer.status, " after ", took.count(), " ms\n",
                          dump_of(answer.headers), "\n", shown(answer, work.variables), "\n\n"));
  return answer;
}

void pause_for(milliseconds time) {
  pause(cancellation_token(), time);
  throw_if_cancelled();
}

/// Retries transient errors, with the pause that Retry-After requests. If that exceeds the hook's
/// timeout, the last response is the result. `make` creates the request of each attempt.
template <typename Make>
http::OutboundAnswer exchange_patiently(const HookWork& work, const TimeLeft& left, Make&& make) {
  for (int attempt = 1;; ++attempt) {
    milliseconds delay = kRetryPause * attempt;
    try {
      http::OutboundRequest request = make();
      request.timeout = left();
      http::OutboundAnswer answer = exchange(work, request);
      if (!may_be_cured(answer.status) || attempt == kWebhookAttemptsMax) return answer;
      if (const auto wish = http::retry_after(answer, SystemClock().now(), work.timeout)) {
        if (*wish >= left()) return answer;
        delay = std::max(delay, *wish);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable || attempt == kWebhookAttemptsMax) throw;
    }
    pause_for(std::min(delay, left()));
  }
}

/// The key in a secret: decoded from base64 after "whsec_" (Standard Webhooks), else the text
/// itself.
std::string signing_key(const std::string& secret) {
  constexpr std::string_view kMark = "whsec_";
  if (!secret.starts_with(kMark)) return secret;
  auto key = from_base64(std::string_view(secret).substr(kMark.size()));
  if (!key || key->empty()) throw_invalid("secret: what follows whsec_ is no base64");
  return *std::move(key);
}

}  // namespace

void run_webhook(const WebhookHook& hook, const HookWork& work) {
  const TimeLeft left(work.timeout);
  std::string url = work.variables.resolve(hook.url);
  for (const auto& [name, value] : hook.query_params) {
    url += str_cat(url.find('?') == std::string::npos ? '?' : '&', percent_encode(name), "=",
                   percent_encode(work.variables.resolve(value)));
  }
  http::Headers headers;
  headers.add("Content-Type", "application/json");
  for (const auto& [name, value] : hook.headers) {
    headers.set(name, work.variables.resolve(value));
  }
  const std::string secret = work.variables.resolve(hook.secret);
  const std::string body = event_body(work.context, work.identity);
  const std::string id = str_cat(work.identity.run, "_", work.identity.step);
  const SystemClock clock;
  const http::OutboundAnswer answer = exchange_patiently(work, left, [&] {
    http::OutboundRequest request{.url = url, .headers = headers, .body = body};
    if (!secret.empty()) {
      http::add_standard_webhook_headers(
          request.headers, {.id = id, .sent = clock.now(), .body = body}, signing_key(secret));
    }
    return request;
  });
  if (answer.status < 200 || answer.status > 299) {
    fail(str_cat("the webhook answered ", answer.status));
  }
}

void run_airflow(const AirflowHook& hook, const HookWork& work) {
  const TimeLeft left(work.timeout);
  std::string url = work.variables.resolve(hook.url);
  while (url.ends_with('/')) url.pop_back();
  url += str_cat("/api/v1/dags/", percent_encode(work.variables.resolve(hook.dag_id)), "/dagRuns");
  const std::string run = str_cat("lakeFS_hook_", work.identity.hook, "_", work.identity.run);
  Json conf = Json::parse(work.variables.resolve_json(hook.dag_conf));
  conf["lakeFS_event"] = Json::parse(event_body(work.context, work.identity));
  http::Headers headers;
  headers.add("Content-Type", "application/json");
  headers.add("Authorization",
              str_cat("Basic ", to_base64(str_cat(work.variables.resolve(hook.username), ":",
                                                  work.variables.resolve(hook.password)))));
  const std::string body = Json{{"dag_run_id", run}, {"conf", std::move(conf)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
  const http::OutboundAnswer started = exchange_patiently(work, left, [&] {
    return http::OutboundRequest{.url = url, .headers = headers, .body = body};
  });
  // 409: an earlier attempt has already started the run.
  if (started.status != 409 && (started.status < 200 || started.status > 299)) {
    fail(str_cat("Airflow answered ", started.status));
  }
  while (hook.wait_for_dag) {
    pause_for(std::min(kDagPollPause, left()));
    const http::OutboundAnswer answer = exchange_patiently(work, left, [&] {
      return http::OutboundRequest{.method = "GET",
                                   .url = str_cat(url, "/", percent_encode(run)),
                                   .headers = headers,
                                   .answer_bytes_max = kDagAnswerBytesMax};
    });
    if (answer.status != 200) fail(str_cat("Airflow answered ", answer.status));
    if (answer.cut) {
      fail(str_cat("Airflow's answer about the DAG run ", run, " is longer than ",
                   kDagAnswerBytesMax, " bytes"));
    }
    const Json seen = Json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
    const Json state = seen.is_object() ? seen.value("state", Json()) : Json();
    if (state == "success") return;
    if (state == "failed") fail(str_cat("the DAG run ", run, " failed"));
  }
}

}  // namespace tarn::actions
