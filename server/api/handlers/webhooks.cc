#include "core/events/webhooks.h"

#include <chrono>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/uptime.h"
#include "core/http/outbound.h"
#include "core/http/webhook_headers.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/repository.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerWebhook = 300;
constexpr size_t kBytesPerDelivery = 300;
constexpr std::chrono::milliseconds kPingTimeout{10'000};
constexpr size_t kPingAnswerBytesMax = 200;

std::string name_in(const Call& call) { return parse_webhook_name(call.path("webhook")); }

std::optional<DeliveryState> state_in(const Call& call) {
  const std::string_view text = call.parameter("state");
  if (text.empty()) return std::nullopt;
  const auto state = parse_delivery_state(text);
  if (!state) throw_invalid("state: must be pending, delivered or dead");
  return state;
}

std::string ping_message(const Call& call, Instant now) {
  json::Writer out;
  out.begin_object();
  out.text("type", "ping");
  out.text("timestamp", to_rfc3339(now));
  out.key("data");
  out.begin_object();
  out.text("repository", call.repository().str());
  out.end_object();
  out.end_object();
  return std::move(out).take();
}

json::PingResult send_ping(const Context& context, const std::string& url,
                           const std::string& secret, const std::string& body) {
  const std::chrono::milliseconds began = uptime();
  json::PingResult result{.id = str_cat("evt_ping_", to_hex(random_bytes(8)))};
  http::OutboundRequest request{
      .url = url, .body = body, .timeout = kPingTimeout, .answer_bytes_max = kPingAnswerBytesMax};
  request.headers.add("Content-Type", "application/json");
  http::add_standard_webhook_headers(
      request.headers, {.id = result.id, .sent = SystemClock().now(), .body = request.body},
      webhook_key(secret));
  try {
    result.status = context.outbound.send(request).status;
    if (*result.status < 200 || *result.status > 299) {
      result.error = str_cat("answered ", *result.status);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    result.error = error.message();
  }
  result.took = uptime() - began;
  return result;
}

}  // namespace

http::Response list_webhooks(const Context& context, Call& call) {
  const Page<Webhook> page =
      events::list_webhooks(context.engine, repository_of(context, call), call.parameter("prefix"),
                            call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerWebhook, json::write_webhook));
}

http::Response get_webhook(const Context& context, Call& call) {
  return json_response(200, json::webhook_body(events::get_webhook(
                                context.engine, repository_of(context, call), name_in(call))));
}

http::Response put_webhook(const Context& context, Call& call, json::PutWebhook given) {
  given.webhook.name = name_in(call);
  given.webhook.created_by = call.caller.user.name;
  context.outbound.check(given.webhook.url);
  const events::WebhookPut put =
      events::put_webhook(context.engine, context.webhook_key, repository_of(context, call),
                          std::move(given.webhook), given.secret);
  return json_response(put.made ? 201 : 200, json::webhook_body(put.webhook, put.secret));
}

http::Response delete_webhook(const Context& context, Call& call) {
  events::delete_webhook(context.engine, repository_of(context, call), name_in(call));
  return empty_response(204);
}

http::Response ping_webhook(const Context& context, Call& call) {
  const std::string name = name_in(call);
  const Repository repository = repository_of(context, call);
  const Webhook webhook = events::get_webhook(context.engine, repository, name);
  const std::string secret =
      events::get_webhook_secret(context.engine, context.webhook_key, repository, name);
  const std::string message = ping_message(call, context.clock.now());
  return json_response(200, json::ping_body(send_ping(context, webhook.url, secret, message)));
}

http::Response list_deliveries(const Context& context, Call& call) {
  const Page<Delivery> page =
      events::list_deliveries(context.engine, repository_of(context, call), name_in(call),
                              state_in(call), call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerDelivery, json::write_delivery));
}

http::Response redeliver_event(const Context& context, Call& call) {
  return json_response(
      200, json::delivery_body(events::redeliver(context.engine, repository_of(context, call),
                                                 name_in(call), call.path("delivery"))));
}

}  // namespace tarn::api
