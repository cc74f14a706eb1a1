#include "core/promotion/review.h"

#include <array>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/promotion/computed_values.h"
#include "core/promotion/metric_choice.h"
#include "core/promotion/replicates.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::ordered_json;

Json commit_or_null(const std::optional<CommitId>& commit) {
  return commit ? Json(to_text(*commit)) : Json(nullptr);
}

/// Numbers as text: NaN and infinities differ from each other, and no digit is lost. A mean is
/// shown with its spread, and has every digit in a member of its own.
void write_value(const std::string& whose, std::span<const Metric> metrics, const MetricRule& rule,
                 Json& out) {
  const Metric* metric = choose_metric(metrics, rule.name, rule.split, sources_of(rule));
  out[whose] = metric == nullptr ? Json(nullptr) : Json(measured_text(*metric));
  if (metric == nullptr || metric->replicates.by.empty()) return;
  const statistics::Sample sample = sample_of(*metric);
  out[whose + "_runs"] = {{"mean", to_text(sample.mean)},
                          {"sd", to_text(sample.sd)},
                          {"n", sample.n},
                          {"by", metric->replicates.by}};
}

Json values_json(const GatePolicy& policy, const GateCandidate& candidate,
                 const CommitFacts* baseline) {
  const std::vector<Metric> metrics = metrics_of(policy, candidate);
  Json out = Json::object();
  const std::array commits = {&metrics, baseline == nullptr ? nullptr : &baseline->metrics};
  for (const MetricRule& rule : rules_by_name(policy.metrics, commits)) {
    Json& value = out[rule.label()];
    // Without the correction, which a commit of any other candidate changes: every judgement makes
    // it again.
    if (const auto at = candidate.distinctions.find({rule.name, rule.split});
        at != candidate.distinctions.end() && rule.distinction) {
      value["test"] = {{"name", name_of(at->second.test)},
                       {"confidence", to_text(rule.distinction->confidence)},
                       {"improvement", to_text(at->second.improvement)},
                       {"lower_bound",
                        at->second.varies ? Json(to_text(at->second.lower_bound)) : Json(nullptr)}};
    }
    write_value("candidate", metrics, rule, value);
    if (baseline == nullptr) {
      value["champion"] = nullptr;
    } else {
      write_value("champion", baseline->metrics, rule, value);
    }
  }
  return out;
}

/// Names come from files: bytes that are not UTF-8 must not fail the promotion.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parsed(std::string_view review) {
  try {
    return Json::parse(review);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss, str_cat("review of a promotion: ", error.what()));
  }
}

/// "values.accuracy.candidate" of "/values/accuracy/candidate".
std::string words_of(const std::string& pointer) {
  const Json::json_pointer at(pointer);
  std::string out;
  for (Json::json_pointer rest = at; !rest.empty(); rest.pop_back())
    out = out.empty() ? rest.back() : str_cat(rest.back(), ".", out);
  return out;
}

std::string text_at(const Json& flat, const std::string& pointer) {
  const auto at = flat.find(pointer);
  if (at == flat.end() || at->is_null()) return "nothing";
  return at->is_string() ? at->get<std::string>() : text_of(*at);
}

}  // namespace

std::string review_of(const ReviewContext& context, const GatePolicy& policy,
                      const GateCandidate& candidate, const CommitFacts* baseline) {
  Json out;
  out["action"] = "promote";
  out["promotion"] = context.promotion;
  out["destination"] = context.destination.str();
  out["candidate"] = candidate.ref;
  out["commit"] = to_text(candidate.facts.commit);
  out["method"] = name_of(context.method);
  if (!context.paths.empty()) out["paths"] = context.paths;
  out["policy"] = {{"name", context.policy},
                   {"version", context.policy_version},
                   {"digest", context.policy_digest}};
  // Without an alias, the destination itself is what the candidate replaces.
  Json& champion = out["champion"];
  champion["alias"] = context.alias;
  champion["commit"] =
      commit_or_null(context.alias.empty() ? context.destination_head : context.champion);
  champion["measured"] = baseline == nullptr ? Json(nullptr) : Json(to_text(baseline->commit));
  out["values"] = values_json(policy, candidate, baseline);
  out["objects"] = {{"count", candidate.objects.required_count},
                    {"digest", candidate.objects.required_digest}};
  return text_of(out);
}

std::string review_of(const RollbackReview& rollback) {
  Json out;
  out["action"] = "roll_back";
  out["promotion"] = rollback.rollback;
  out["destination"] = rollback.destination.str();
  out["undoes"] = rollback.undoes;
  out["commit"] = to_text(rollback.undone);
  out["policy"] = {{"name", rollback.policy}, {"version", rollback.policy_version}};
  out["champion"] = {{"alias", rollback.alias}, {"commit", commit_or_null(rollback.restored)}};
  return text_of(out);
}

std::string review_digest(std::string_view review) {
  return review.empty() ? std::string() : to_hex(sha256(review));
}

std::vector<std::string> changes_between(std::string_view before, std::string_view now) {
  const Json old_members = parsed(before).flatten();
  const Json new_members = parsed(now).flatten();
  std::vector<std::string> pointers;
  std::set<std::string> seen;
  for (const Json& side : {old_members, new_members}) {
    for (const auto& [pointer, value] : side.items()) {
      if (seen.insert(pointer).second) pointers.push_back(pointer);
    }
  }
  std::vector<std::string> out;
  size_t more = 0;
  for (const std::string& pointer : pointers) {
    const std::string was = text_at(old_members, pointer);
    const std::string is = text_at(new_members, pointer);
    if (was == is) continue;
    if (out.size() == kReviewChangesShownMax) {
      ++more;
      continue;
    }
    out.push_back(str_cat(words_of(pointer), " was ", was, " and is ", is));
  }
  if (more > 0) out.push_back(str_cat(more, " more"));
  return out;
}

}  // namespace tarn::promotion
