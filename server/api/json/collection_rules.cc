#include "server/api/json/collection_rules.h"

#include "core/base/str_cat.h"
#include "core/model/names.h"

namespace tarn::api::json {
namespace {

uint32_t days_of(const Value& days) {
  return static_cast<uint32_t>(days.integer(0, kRetentionDaysMax));
}

}  // namespace

std::string collection_rules_body(const CollectionRules& rules) {
  Writer out;
  out.begin_object();
  out.key("branches");
  out.begin_array();
  for (const auto& [branch, days] : rules.retention_days) {
    out.begin_object();
    out.text("branch_id", branch);
    out.number("retention_days", days);
    out.end_object();
  }
  out.end_array();
  out.number("default_retention_days", rules.default_retention_days);
  out.end_object();
  return std::move(out).take();
}

CollectionRules parse_collection_rules(const Value& body) {
  CollectionRules out{.default_retention_days = days_of(body.at("default_retention_days")),
                      .retention_days = {}};
  const Value branches = body.at("branches");
  for (const Value& rule : branches.items()) {
    const Value name = rule.at("branch_id");
    if (!is_branch_name(name.text())) name.fail("must be the name of a branch");
    if (!out.retention_days.emplace(name.text(), days_of(rule.at("retention_days"))).second) {
      name.fail("is named twice");
    }
  }
  if (out.retention_days.size() > kCollectionBranchesMax) {
    branches.fail(str_cat("must be at most ", kCollectionBranchesMax, " branches"));
  }
  return out;
}

}  // namespace tarn::api::json
