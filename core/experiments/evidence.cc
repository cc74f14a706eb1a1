#include "core/experiments/evidence.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "core/base/time.h"

namespace tarn {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

Json metrics_json(const std::vector<Metric>& metrics) {
  Json out = Json::array();
  for (const Metric& metric : metrics) {
    Json item;
    item["name"] = metric.name;
    if (!metric.split.empty()) item["split"] = metric.split;
    item["value"] = number(metric.value);
    item["origin"] = metric.origin_text();
    out.push_back(std::move(item));
  }
  return out;
}

Json rules_json(const Verdict& verdict) {
  Json out = Json::array();
  for (const RuleResult& rule : verdict.rules) {
    Json item;
    item["rule"] = rule.rule;
    item["outcome"] = name_of(rule.outcome);
    if (!rule.code.empty()) item["code"] = rule.code;
    item["reason"] = rule.reason;
    out.push_back(std::move(item));
  }
  return out;
}

Json checks_json(const GateCandidate& candidate) {
  Json out = Json::array();
  for (const CheckResult& check : candidate.checks) {
    Json item;
    item["name"] = check.name;
    item["commit"] = to_text(check.commit);
    item["status"] = name_of(check.status);
    item["url"] = check.url;
    item["metrics"] = metrics_json(check.metrics);
    item["counts"] = check.commit == candidate.facts.commit;
    out.push_back(std::move(item));
  }
  return out;
}

Json approvals_json(const GateCandidate& candidate) {
  Json out = Json::array();
  for (const GateApproval& approval : candidate.approvals) {
    out.push_back({{"user", approval.user}, {"commit", to_text(approval.commit)}});
  }
  return out;
}

Json candidate_json(const RankedCandidate& judged) {
  const GateCandidate& candidate = judged.candidate;
  Json out;
  out["ref"] = candidate.ref;
  out["commit"] = to_text(candidate.facts.commit);
  out["author"] = candidate.author;
  out["authors"] = candidate.authors;
  out["created_at"] = to_rfc3339(candidate.created);
  out["metrics"] = metrics_json(candidate.facts.metrics);
  out["params"] = candidate.facts.params;
  out["total_bytes"] = candidate.objects.total_bytes;
  out["verdict"] = name_of(judged.verdict.outcome);
  out["rules"] = rules_json(judged.verdict);
  out["rank"] = judged.rank;
  out["dominated"] = judged.dominated;
  out["checks"] = checks_json(candidate);
  out["approvals"] = approvals_json(candidate);
  out["warnings"] = judged.verdict.warnings;
  return out;
}

}  // namespace

std::string to_json(const Evidence& evidence) {
  Json out;
  out["apiVersion"] = kEvidenceVersion;
  out["kind"] = "Evidence";
  if (!evidence.promotion.empty()) out["promotion"] = evidence.promotion;
  out["at"] = to_rfc3339(evidence.at);
  out["policy"] = {{"version", evidence.policy_version},
                   {"digest", evidence.policy_digest},
                   {"text", evidence.policy_text}};
  out["destination"] = {{"branch", evidence.destination.str()},
                        {"commit", to_text(evidence.destination_head)}};
  if (!evidence.alias.empty()) {
    Json& champion = out["champion"];
    champion["alias"] = evidence.alias;
    champion["commit"] = evidence.champion ? Json(to_text(*evidence.champion)) : Json(nullptr);
    if (evidence.champion_facts != nullptr)
      champion["metrics"] = metrics_json(evidence.champion_facts->metrics);
  }
  Json candidates = Json::array();
  for (const RankedCandidate& judged : evidence.candidates)
    candidates.push_back(candidate_json(judged));
  out["candidates"] = std::move(candidates);
  out["winner"] =
      evidence.winner ? Json(evidence.candidates[*evidence.winner].candidate.ref) : Json(nullptr);
  // Names come from files: bytes that are no UTF-8 must not end the promotion.
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tarn
