#include "server/api/json/webhook.h"

namespace tarn::api::json {
namespace {

void write_members(Writer& out, const Webhook& webhook) {
  out.boolean("active", webhook.active);
  out.text("created_by", webhook.created_by);
  out.text("creation_date", to_rfc3339(webhook.created));
  out.key("events");
  out.begin_array();
  for (const std::string& event : webhook.events) out.text(event);
  out.end_array();
  out.text("format", name_of(webhook.format));
  out.text("id", webhook.name);
  out.text("url", webhook.url);
}

}  // namespace

void write_webhook(Writer& out, const Webhook& webhook) {
  out.begin_object();
  write_members(out, webhook);
  out.end_object();
}

std::string webhook_body(const Webhook& webhook, const std::optional<std::string>& secret) {
  Writer out;
  out.begin_object();
  write_members(out, webhook);
  if (secret) out.text("secret", *secret);
  out.end_object();
  return std::move(out).take();
}

void write_delivery(Writer& out, const Delivery& delivery) {
  out.begin_object();
  out.number("attempts", delivery.attempts);
  out.text("creation_date", to_rfc3339(delivery.created));
  if (delivery.ended) out.text("end_date", to_rfc3339(*delivery.ended));
  out.text("id", delivery.id);
  if (!delivery.last_error.empty()) out.text("last_error", delivery.last_error);
  if (delivery.last_status) out.number("last_status", *delivery.last_status);
  if (delivery.next_attempt) out.text("next_attempt", to_rfc3339(*delivery.next_attempt));
  out.text("state", name_of(delivery.state));
  out.text("type", delivery.type);
  out.end_object();
}

std::string delivery_body(const Delivery& delivery) {
  Writer out;
  write_delivery(out, delivery);
  return std::move(out).take();
}

std::string ping_body(const PingResult& result) {
  Writer out;
  out.begin_object();
  out.boolean("delivered", result.error.empty());
  out.number("duration_ms", result.took.count());
  if (!result.error.empty()) out.text("error", result.error);
  out.text("id", result.id);
  if (result.status) out.number("status", *result.status);
  out.end_object();
  return std::move(out).take();
}

PutWebhook parse_put_webhook(const Value& body) {
  PutWebhook out;
  out.webhook.url = body.at("url").text();
  if (const auto events = body.find("events")) {
    out.webhook.events = events->texts(kWebhookEventsMax);
  }
  if (const auto format = body.find("format")) {
    const auto known = parse_webhook_format(format->text());
    if (!known) format->fail("must be standard or mlflow");
    out.webhook.format = *known;
  }
  if (const auto active = body.find("active")) out.webhook.active = active->boolean();
  out.secret = body.find_text("secret");
  return out;
}

}  // namespace tarn::api::json
