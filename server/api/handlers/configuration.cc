#include "server/api/json/configuration.h"

#include <optional>
#include <string>

#include "core/accounting/logical_size.h"
#include "core/accounting/stored_usage.h"
#include "core/accounting/usage.h"
#include "core/accounting/usage_history.h"
#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/model/page.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/account.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response get_config(const Context& context, Call&) {
  return json_response(200, json::config_body(context.installation));
}

http::Response get_version(const Context& context, Call&) {
  return json_response(200, json::version_body(context.installation));
}

http::Response get_storage_config(const Context& context, Call&) {
  return json_response(200, json::storage_body(context.installation));
}

http::Response get_collection_config(const Context& context, Call&) {
  return json_response(200, json::collection_body(context.installation));
}

http::Response list_settings(const Context& context, Call&) {
  return json_response(200, json::settings_body(context.settings));
}

http::Response list_servers(const Context& context, Call&) {
  std::vector<ServerProcess> servers;
  if (context.list_servers) servers = context.list_servers();
  return json_response(200, json::servers_body(servers, context.server_id));
}

http::Response health_check(const Context&, Call&) { return empty_response(204); }

http::Response post_statistics(const Context&, Call&, json::Checked) {
  return empty_response(204);  // clients insist on sending them; nothing is kept
}

http::Response get_usage_report(const Context& context, Call& call) {
  if (call.request.headers.get("Accept") == "text/plain") {
    return text_response(200, str_cat("Usage for installation ID: ", context.installation.id,
                                      "\nNothing is counted.\n"));
  }
  return json_response(200, json::usage_body(context.installation));
}

namespace {

struct UsageAnswer {
  std::string ref{};  ///< "" = of the repository, whose items are branches
  std::string prefix{};
  std::optional<accounting::Amount> logical{};
  std::optional<accounting::StoredUsage> stored{};
  Page<accounting::UsageItem> items{};
};

using accounting::Amount;

void write_members(json::Writer& out, const Amount& amount) {
  out.number("objects", static_cast<int64_t>(amount.objects));
  out.number("bytes", static_cast<int64_t>(amount.bytes));
}

void write_amount(json::Writer& out, std::string_view name, const Amount& amount) {
  out.key(name);
  out.begin_object();
  write_members(out, amount);
  out.end_object();
}

void write_stored(json::Writer& out, const accounting::StoredUsage& usage) {
  out.key("stored");
  out.begin_object();
  write_amount(out, "own", usage.stored);
  write_amount(out, "shared", usage.shared);
  write_amount(out, "foreign", usage.foreign);
  write_amount(out, "imported", usage.imported);
  if (usage.freed) write_amount(out, "freed", *usage.freed);
  out.end_object();
}

std::string_view type_of(const UsageAnswer& answer, const accounting::UsageItem& item) {
  if (answer.ref.empty()) return "branch";
  return item.is_prefix ? "common_prefix" : "object";
}

std::string usage_body(const UsageAnswer& answer) {
  json::Writer out;
  out.begin_object();
  if (!answer.ref.empty()) {
    out.text("ref", answer.ref);
    out.text("prefix", answer.prefix);
  }
  if (answer.logical) write_amount(out, "logical", *answer.logical);
  if (answer.stored) write_stored(out, *answer.stored);
  constexpr size_t kBytesPerItem = 160;
  const auto write_item = [&](json::Writer& to, const accounting::UsageItem& item) {
    to.begin_object();
    to.text("path", item.path);
    to.text("path_type", type_of(answer, item));
    write_members(to, item.logical);
    to.end_object();
  };
  json::write_page(out, answer.items, kBytesPerItem, write_item);
  out.end_object();
  return std::move(out).take();
}

void write_usage_day(json::Writer& out, const accounting::UsageDay& day) {
  out.begin_object();
  out.text("day", day.day);
  write_members(out, day.logical);
  out.end_object();
}

}  // namespace

http::Response get_usage(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const PageStart page = call.page();
  UsageAnswer answer{.ref = std::string(call.parameter("ref")), .prefix = page.prefix};
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
  return json_response(200, usage_body(answer));
}

http::Response list_usage_history(const Context& context, Call& call) {
  constexpr size_t kBytesPerDay = 64;
  const Page<accounting::UsageDay> days = accounting::usage_history(
      context.engine, repository_of(context, call), call.parameter("after"), call.amount());
  return json_response(200, json::list_of(days, kBytesPerDay, write_usage_day));
}

}  // namespace tarn::api
