#include "core/promotion/promotion.h"

#include <array>

#include <nlohmann/json.hpp>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/model/descending_id.h"
#include "core/model/path_scope.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 10> kStates = {
    "draft",    "comparing", "gates_running", "awaiting_approval", "merging",
    "promoted", "rejected",  "failed",        "cancelled",         "rolled_back"};
constexpr std::array<std::string_view, 2> kSelects = {"best", "only"};
constexpr size_t kCheckNameBytesMax = 255;

void check_one_off(const PromotionRequest& request) {
  if (request.metrics.empty()) return;
  if (!request.policy.empty()) throw_invalid("metrics: are for promotions without a policy");
  if (request.method == PromotionMethod::kReplacePaths) {
    throw_invalid("method: replace-paths needs a policy; without one there are merge and squash");
  }
  if (request.metrics.size() > kPolicyMetricsMax) {
    throw_invalid(str_cat("metrics: there may be at most ", kPolicyMetricsMax));
  }
  // The policy's own reader judges names, repeated ones and numbers.
  try {
    parse_gate_policy(one_off_document(request));
  } catch (const Error& error) {
    throw_invalid(str_cat("metrics: ", error.message()));
  }
}

void check_patterns(const std::vector<std::string>& patterns, std::string_view member) {
  if (patterns.size() > kPromotionPatternsMax) {
    throw_invalid(str_cat(member, ": there may be at most ", kPromotionPatternsMax, " of them"));
  }
  for (const std::string& pattern : patterns) {
    const std::string problem = Glob::problem(pattern);
    if (!problem.empty()) throw_invalid(str_cat(member, ": \"", pattern, "\": ", problem));
  }
}

Json id_or_null(const std::optional<CommitId>& id) {
  return id ? Json(to_text(*id)) : Json(nullptr);
}

std::optional<CommitId> id_from(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return parse_commit_id(value.get<std::string>());
}

}  // namespace

std::string_view name_of(PromotionState state) { return kStates[static_cast<size_t>(state)]; }
std::optional<PromotionState> parse_promotion_state(std::string_view name) {
  return find_name<PromotionState>(kStates, name);
}
bool has_ended(PromotionState state) { return state >= PromotionState::kPromoted; }

std::string_view name_of(PromotionSelect select) { return kSelects[static_cast<size_t>(select)]; }
std::optional<PromotionSelect> parse_promotion_select(std::string_view name) {
  return find_name<PromotionSelect>(kSelects, name);
}

void check_promotion_request(const PromotionRequest& request) {
  if (request.candidates.empty()) {
    throw_invalid("candidates: must name at least one ref, or glob of branches");
  }
  if (request.candidates.size() > kPromotionCandidatesMax) {
    throw_invalid(str_cat("candidates: there may be at most ", kPromotionCandidatesMax));
  }
  check_patterns(request.paths, "paths");
  const bool replaces = request.method == PromotionMethod::kReplacePaths;
  if (replaces && request.paths.empty()) {
    throw_invalid("paths: the method replace-paths needs the paths that it replaces");
  }
  if (!replaces && !request.paths.empty()) {
    throw_invalid("paths: only the method replace-paths takes paths");
  }
  check_one_off(request);
  if (request.reason.size() > kPromotionReasonBytesMax) {
    throw_invalid(str_cat("reason: is longer than ", kPromotionReasonBytesMax, " bytes"));
  }
}

std::string one_off_document(const PromotionRequest& request) {
  Json out;
  out["destination"] = request.destination.str();
  out["baseline"] = name_of(Baseline::kDestination);
  out["method"] = {name_of(PromotionMethod::kMerge), name_of(PromotionMethod::kSquash)};
  for (const OneOffMetric& metric : request.metrics) {
    Json rule{{"name", metric.name},
              {"goal", name_of(metric.goal)},
              {"vs_champion", {{name_of(ChampionBound::kMinDelta), metric.min_delta}}}};
    if (&metric == &request.metrics.front()) {
      rule["primary"] = true;
    } else {
      out["tie_break"].push_back(metric.name);
    }
    out["metrics"].push_back(std::move(rule));
  }
  return out.dump();
}

bool asks_the_same(const PromotionRequest& a, const PromotionRequest& b) {
  const auto as_given = [](PromotionRequest request) {
    if (!request.expect_destination_ref.empty()) request.expect_destination.reset();
    if (!request.expect_alias_ref.empty()) request.expect_alias.reset();
    return request;
  };
  return as_given(a) == as_given(b);
}

std::string to_json(const PromotionRequest& request) {
  Json out;
  out["candidates"] = request.candidates;
  out["destination"] = request.destination.str();
  out["policy"] = request.policy;
  out["alias"] = request.alias;
  out["paths"] = request.paths;
  out["method"] = name_of(request.method);
  out["select"] = name_of(request.select);
  if (request.expect_destination)
    out["expect"]["destination"] = id_or_null(request.expect_destination);
  if (request.expect_alias) out["expect"]["alias"] = id_or_null(*request.expect_alias);
  if (!request.expect_destination_ref.empty())
    out["expect"]["destination_ref"] = request.expect_destination_ref;
  if (!request.expect_alias_ref.empty()) out["expect"]["alias_ref"] = request.expect_alias_ref;
  out["reason"] = request.reason;
  for (const OneOffMetric& metric : request.metrics) {
    out["metrics"].push_back(
        {{"name", metric.name}, {"goal", name_of(metric.goal)}, {"min_delta", metric.min_delta}});
  }
  return out.dump();
}

PromotionRequest promotion_request_from_json(std::string_view text) {
  try {
    const Json in = Json::parse(text);
    PromotionRequest out;
    out.candidates = in.at("candidates").get<std::vector<std::string>>();
    out.destination = BranchName(in.at("destination").get<std::string>());
    out.policy = in.at("policy").get<std::string>();
    out.alias = in.at("alias").get<std::string>();
    out.paths = in.at("paths").get<std::vector<std::string>>();
    out.method = parse_promotion_method(in.at("method").get<std::string>()).value();
    out.select = parse_promotion_select(in.at("select").get<std::string>()).value();
    if (in.contains("expect")) {
      const Json& expect = in.at("expect");
      if (expect.contains("destination"))
        out.expect_destination = id_from(expect.at("destination"));
      if (expect.contains("alias")) out.expect_alias = id_from(expect.at("alias"));
      out.expect_destination_ref = expect.value("destination_ref", "");
      out.expect_alias_ref = expect.value("alias_ref", "");
    }
    out.reason = in.at("reason").get<std::string>();
    for (const Json& metric : in.value("metrics", Json::array())) {
      out.metrics.push_back({metric.at("name").get<std::string>(),
                             parse_metric_goal(metric.at("goal").get<std::string>()).value(),
                             metric.at("min_delta").get<double>()});
    }
    return out;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kDataLoss, str_cat("promotion request: ", error.what()));
  }
}

std::string to_json(const std::vector<PinnedCandidate>& candidates) {
  Json out = Json::array();
  for (const PinnedCandidate& candidate : candidates) {
    out.push_back({candidate.ref, to_text(candidate.commit), candidate.is_branch,
                   to_millis(candidate.since)});
  }
  return out.dump();
}

std::vector<PinnedCandidate> pinned_candidates_from_json(std::string_view text) {
  try {
    std::vector<PinnedCandidate> out;
    for (const Json& item : Json::parse(text)) {
      PinnedCandidate& pinned = out.emplace_back();
      pinned.ref = item.at(0).get<std::string>();
      pinned.commit = id_from(item.at(1)).value();
      pinned.is_branch = item.at(2).get<bool>();
      pinned.since = from_millis(item.at(3).get<int64_t>());
    }
    return out;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kDataLoss, str_cat("promotion candidates: ", error.what()));
  }
}

void check_promotion_check(const PromotionCheck& check) {
  if (check.name.empty() || check.name.size() > kCheckNameBytesMax) {
    throw_invalid(str_cat("name: must have 1 to ", kCheckNameBytesMax, " bytes"));
  }
  if (check.url.size() > kPromotionUrlBytesMax) {
    throw_invalid(str_cat("url: is longer than ", kPromotionUrlBytesMax, " bytes"));
  }
  if (check.supersedes.size() > kPromotionReasonBytesMax) {
    throw_invalid(str_cat("supersedes: is longer than ", kPromotionReasonBytesMax, " bytes"));
  }
  if (check.metrics.size() > kPromotionCheckMetricsMax) {
    throw_invalid(
        str_cat("metrics: one report may have at most ", kPromotionCheckMetricsMax, " of them"));
  }
}

std::vector<Metric> metrics_of(const PromotionCheck& check) {
  std::vector<Metric> out;
  for (const auto& [name, value] : check.metrics) {
    out.push_back(
        {.name = name, .value = value, .origin = MetricOrigin::kCheck, .source = check.name});
  }
  return out;
}

std::string make_promotion_id(Instant now) { return make_descending_id(now); }

std::string parse_promotion_id(std::string_view text) {
  if (!is_descending_id(text)) {
    throw_invalid("promotion id: must be 20 characters of 0-9 and a-v");
  }
  return std::string(text);
}

}  // namespace tarn::promotion
