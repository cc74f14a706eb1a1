#include "server/api/json/usage.h"

#include "server/api/json/list.h"

namespace tarn::api::json {
namespace {

using accounting::Amount;

void write_members(Writer& out, const Amount& amount) {
  out.number("objects", static_cast<int64_t>(amount.objects));
  out.number("bytes", static_cast<int64_t>(amount.bytes));
}

void write_amount(Writer& out, std::string_view name, const Amount& amount) {
  out.key(name);
  out.begin_object();
  write_members(out, amount);
  out.end_object();
}

void write_stored(Writer& out, const accounting::StoredUsage& usage) {
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

}  // namespace

std::string usage_body(const UsageAnswer& answer) {
  Writer out;
  out.begin_object();
  if (!answer.ref.empty()) {
    out.text("ref", answer.ref);
    out.text("prefix", answer.prefix);
  }
  if (answer.logical) write_amount(out, "logical", *answer.logical);
  if (answer.stored) write_stored(out, *answer.stored);
  write_pagination(out, answer.items.has_more, answer.items.has_more ? answer.items.next : "",
                   answer.items.items.size());
  out.key("results");
  out.begin_array();
  for (const accounting::UsageItem& item : answer.items.items) {
    out.begin_object();
    out.text("path", item.path);
    out.text("path_type", type_of(answer, item));
    write_members(out, item.logical);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

void write_usage_day(Writer& out, const accounting::UsageDay& day) {
  out.begin_object();
  out.text("day", day.day);
  write_members(out, day.logical);
  out.end_object();
}

}  // namespace tarn::api::json
