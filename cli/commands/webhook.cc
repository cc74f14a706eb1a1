// tarn webhook set | show | ls | rm | ping | deliveries | redeliver
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/session.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::cli {
namespace {

constexpr std::string_view kNameHelp = "tarn://repository/name, or a name in --repo";

std::string webhook_path(const Uri& uri, std::string_view verb = "") {
  return str_cat(api_path({"repositories", uri.repository, "webhooks", uri.ref}), verb);
}

std::string events_of(const Json& webhook) {
  return joined(webhook.value("events", std::vector<std::string>{}), " ");
}

void print_webhook(Session& session, const Uri& uri, Json webhook) {
  webhook["repository"] = uri.repository;
  std::vector<std::pair<std::string, std::string>> lines = {
      {"webhook", to_string(uri)},
      {"url", webhook.value("url", "")},
      {"events", events_of(webhook)},
      {"format", webhook.value("format", "")},
      {"active", webhook.value("active", false) ? "yes" : "no"},
      {"made by", webhook.value("created_by", "")}};
  if (webhook.contains("secret")) {
    lines.emplace_back("secret, shown this once", webhook.value("secret", ""));
  }
  session.out.object("Webhook", std::move(webhook), lines);
}

struct SetWebhook {
  std::string name;
  std::string url;
  std::vector<std::string> events;
  std::string format;
  std::string secret;
  bool inactive = false;

  void declare(Command& command) {
    command.argument("NAME", name, std::string(kNameHelp))
        .argument("URL", url, "URL that receives the events, http or https")
        .option("--event", events,
                "a type of event, with * as a wildcard; may be repeated; default all")
        .option("--format", format, "standard (default) or mlflow")
        .option("--secret", secret,
                "the signing secret: whsec_ and 24 to 64 bytes in base64; default: generated")
        .flag("--inactive", inactive, "create it inactive: no events are sent");
  }
};

void set_webhook(Session& session, const SetWebhook& options) {
  const Uri uri = session.ref(options.name);
  Json body{{"url", options.url}, {"active", !options.inactive}};
  if (!options.events.empty()) body["events"] = options.events;
  if (!options.format.empty()) body["format"] = options.format;
  if (!options.secret.empty()) body["secret"] = options.secret;
  print_webhook(session, uri, session.client.call(put_request(webhook_path(uri), body)));
}

struct WebhookTarget {
  std::string name;

  void declare(Command& command) { command.argument("NAME", name, std::string(kNameHelp)); }
};

void show_webhook(Session& session, const WebhookTarget& options) {
  const Uri uri = session.ref(options.name);
  print_webhook(session, uri, session.client.call({.path = webhook_path(uri)}));
}

void list_webhooks(Session& session, const InRepository& options) {
  const Uri uri = session.repository(options.repository);
  print_list(session, {.path = api_path({"repositories", uri.repository, "webhooks"})},
             "WebhookList", {"name", "active", "format", "events", "url"},
             [](const Json& item) -> Cells {
               return {item.value("id", ""), item.value("active", false) ? "yes" : "no",
                       item.value("format", ""), events_of(item), item.value("url", "")};
             });
}

void remove_webhook(Session& session, const WebhookTarget& options) {
  const Uri uri = session.ref(options.name);
  session.client.call(delete_request(webhook_path(uri)));
  session.out.remark(str_cat("deleted webhook ", to_string(uri)));
}

ExitCode ping(Session& session, const WebhookTarget& options) {
  const Uri uri = session.ref(options.name);
  Json result = session.client.call(post_request(webhook_path(uri, ":ping")));
  const bool delivered = result.value("delivered", false);
  const std::string status =
      result.contains("status") ? std::to_string(result["status"].get<int>()) : "none";
  std::vector<std::pair<std::string, std::string>> lines = {
      {"delivered", delivered ? "yes" : "no"},
      {"status", status},
      {"milliseconds", std::to_string(result.value("duration_ms", 0))}};
  if (!delivered) lines.emplace_back("error", result.value("error", ""));
  session.out.object("WebhookPing", std::move(result), lines);
  return delivered ? ExitCode::kOk : ExitCode::kFailure;
}

struct Deliveries {
  std::string name;
  std::string state;

  void declare(Command& command) {
    command.argument("NAME", name, std::string(kNameHelp))
        .option("--state", state, "pending, delivered or dead; default all");
  }
};

void deliveries(Session& session, const Deliveries& options) {
  const Uri uri = session.ref(options.name);
  Request request{.path = webhook_path(uri, "/deliveries")};
  if (!options.state.empty()) request.query = {{"state", options.state}};
  print_list(
      session, request, "DeliveryList",
      {"id", "type", "state", "attempts", "status", "created", "error"},
      [](const Json& item) -> Cells {
        return {item.value("id", ""),
                item.value("type", ""),
                item.value("state", ""),
                std::to_string(item.value("attempts", 0)),
                item.contains("last_status") ? std::to_string(item["last_status"].get<int>()) : "",
                item.value("creation_date", ""),
                item.value("last_error", "")};
      });
}

struct Redeliver {
  std::string name;
  std::vector<std::string> ids;
  bool dead = false;

  void declare(Command& command) {
    command.argument("NAME", name, std::string(kNameHelp))
        .optional_arguments("ID", ids, "ids of deliveries, as listed by tarn webhook deliveries")
        .flag("--dead", dead, "all dead deliveries");
  }
};

void redeliver(Session& session, const Redeliver& options) {
  const Uri uri = session.ref(options.name);
  std::vector<std::string> ids = options.ids;
  if (options.dead) {
    session.client.each({.path = webhook_path(uri, "/deliveries"), .query = {{"state", "dead"}}},
                        [&](const Json& item) {
                          ids.push_back(item.value("id", ""));
                          return true;
                        });
  } else if (ids.empty()) {
    throw usage_error("sending deliveries again: name them, or say --dead");
  }
  for (const std::string& id : ids) {
    const std::string path =
        str_cat(api_path({"repositories", uri.repository, "webhooks", uri.ref, "deliveries", id}),
                ":redeliver");
    session.client.call(post_request(path));
  }
  session.out.object("Redelivery", {{"count", ids.size()}, {"changed", !ids.empty()}},
                     {{"deliveries to be sent again", std::to_string(ids.size())}});
}

}  // namespace

void add_webhook_commands(CommandTree& tree) {
  tree.group("webhook", "Webhooks: events of a repository sent to an HTTP endpoint");
  tree.add<SetWebhook>("webhook set", "Create or change a webhook", set_webhook);
  tree.add<WebhookTarget>("webhook show", "Show a webhook", show_webhook);
  tree.add<InRepository>("webhook ls", "List webhooks", list_webhooks);
  tree.add<WebhookTarget>("webhook rm", "Delete a webhook and its pending deliveries",
                          remove_webhook);
  tree.add<WebhookTarget>("webhook ping", "Send a test event", ping);
  tree.add<Deliveries>("webhook deliveries", "List the deliveries of a webhook, newest first",
                       deliveries);
  tree.add<Redeliver>("webhook redeliver", "Redeliver events with their ids", redeliver);
}

}  // namespace tarn::cli
