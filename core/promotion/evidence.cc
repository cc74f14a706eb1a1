#include "core/promotion/evidence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/promotion/replicates.h"
#include "core/promotion/review.h"

namespace tarn::promotion {
namespace {

using Json = nlohmann::ordered_json;

/// Maximum number of creators of left-out branches in a text.
constexpr size_t kCreatorsShownMax = 10;

Json number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

Json replicates_json(const std::vector<Replicate>& replicates) {
  Json out = Json::array();
  for (const Replicate& one : replicates) {
    Json item = {{"key", one.key}, {"value", number(one.value)}};
    if (!one.run.empty()) item["run"] = one.run;
    if (!one.reporter.empty()) item["reporter"] = one.reporter;
    if (!one.ignored.empty()) item["ignored"] = one.ignored;
    out.push_back(std::move(item));
  }
  return out;
}

Json metrics_json(const std::vector<Metric>& metrics) {
  Json out = Json::array();
  for (const Metric& metric : metrics) {
    Json item;
    item["name"] = metric.name;
    if (!metric.split.empty()) item["split"] = metric.split;
    item["value"] = number(metric.value);
    item["origin"] = metric.origin_text();
    if (!metric.reporter.empty()) item["reporter"] = metric.reporter;
    if (metric.reporter_id != 0) item["reporter_id"] = metric.reporter_id;
    if (metric.examples != 0) {
      item["evaluation"] = {{"key", metric.evaluation}, {"examples", metric.examples}};
    }
    if (metric.remeasured) {
      item["remeasured"] = {{"run", metric.source},
                            {"user", metric.reporter},
                            {"at", to_rfc3339(metric.measured)},
                            {"was", metric.replaced ? number(*metric.replaced) : Json(nullptr)}};
    }
    if (metric.stale) item["stale"] = true;
    if (!metric.cap_reason.empty()) {
      item["capped"] = {{"was", number(*metric.replaced)}, {"reason", metric.cap_reason}};
    }
    if (!metric.replicates.by.empty()) {
      const statistics::Sample sample = sample_of(metric);
      item["runs"] = {{"by", metric.replicates.by},
                      {"n", sample.n},
                      {"sd", number(sample.sd)},
                      {"counted", replicates_json(metric.replicates.counted)},
                      {"ignored", replicates_json(metric.replicates.ignored)},
                      {"ignored_count", metric.replicates.ignored_count}};
    }
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
    item["reporter"] = check.reporter;
    item["metrics"] = metrics_json(check.metrics);
    item["counts"] = check.commit == candidate.facts.commit;
    if (!check.supersedes.empty()) item["supersedes"] = check.supersedes;
    item["promotion"] = check.promotion;
    out.push_back(std::move(item));
  }
  return out;
}

Json approvals_json(const GateCandidate& candidate) {
  Json out = Json::array();
  for (const GateApproval& approval : candidate.approvals) {
    out.push_back({{"user", approval.user},
                   {"candidate", approval.candidate},
                   {"commit", to_text(approval.commit)},
                   {"reason", approval.reason},
                   {"at", to_rfc3339(approval.at)},
                   {"review_digest", review_digest(approval.review)}});
  }
  return out;
}

Json tries_json(const GateCandidate& candidate) {
  Json out = Json::array();
  for (const EarlierTry& one : candidate.tries) {
    out.push_back({{"promotion", one.promotion},
                   {"ref", one.ref},
                   {"commit", to_text(one.commit)},
                   {"state", one.state},
                   {"code", one.code},
                   {"at", to_rfc3339(one.at)}});
  }
  return out;
}

Json distinctions_json(const GateCandidate& candidate) {
  Json out = Json::array();
  for (const auto& [metric, found] : candidate.distinctions) {
    out.push_back({{"name", metric.first},
                   {"split", metric.second},
                   {"test", name_of(found.test)},
                   {"varies", found.varies},
                   {"improvement", number(found.improvement)},
                   {"lower_bound", number(found.lower_bound)},
                   {"p", found.p},
                   {"adjusted_p", found.adjusted_p},
                   {"comparisons", found.comparisons},
                   {"tries", found.tries}});
    if (found.test == DistinctionTest::kPairedBootstrap) out.back()["seed"] = found.seed;
  }
  return out;
}

Json unmeasured_json(const GateCandidate& candidate) {
  Json out = Json::array();
  for (const UnmeasuredValue& value : candidate.unmeasured) {
    Json item = metrics_json({value.metric}).front();
    item["why"] = value.why;
    out.push_back(std::move(item));
  }
  return out;
}

Json objects_json(const ObjectFacts& objects) {
  Json out = Json::array();
  for (const RequiredObject& object : objects.required) {
    out.push_back(
        {{"path", object.path}, {"size_bytes", object.size_bytes}, {"checksum", object.checksum}});
  }
  return out;
}

Json changes_json(const ChangesSince& since) {
  const auto commit_or_null = [](const std::optional<CommitId>& commit) {
    return commit ? Json(to_text(*commit)) : Json(nullptr);
  };
  Json out;
  out["promotion"] = since.promotion.empty() ? Json(nullptr) : Json(since.promotion);
  Json& policies = out["policies"] = Json::array();
  for (const GatePolicyVersion& version : since.policies) {
    policies.push_back({{"name", version.name},
                        {"version", version.version},
                        {"removed", !version.body.has_value()},
                        {"author", version.author},
                        {"at", to_rfc3339(version.at)}});
  }
  Json& aliases = out["aliases"] = Json::array();
  for (const AliasChange& change : since.aliases) {
    aliases.push_back({{"alias", since.alias},
                       {"version", change.version},
                       {"from", commit_or_null(change.from)},
                       {"to", commit_or_null(change.to)},
                       {"actor", change.actor},
                       {"reason", change.reason},
                       {"at", to_rfc3339(change.at)}});
  }
  Json& commits = out["commits"] = Json::array();
  for (const Commit& commit : since.commits) {
    commits.push_back({{"commit", to_text(commit.id)},
                       {"committer", commit.committer},
                       {"at", to_rfc3339(commit.created)}});
  }
  out["more"] = since.more;
  return out;
}

Json evaluations_json(const std::vector<EvaluationRules>& evaluations) {
  Json out = Json::array();
  for (const EvaluationRules& rules : evaluations) {
    out.push_back({{"name", rules.name},
                   {"repository", rules.repository},
                   {"commit", to_text(rules.spec.commit)},
                   {"folder", rules.spec.folder},
                   {"predict", rules.spec.predict},
                   {"score", rules.spec.score}});
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
  out["recorded_at"] = to_rfc3339(candidate.recorded);
  out["metrics"] = metrics_json(candidate.facts.metrics);
  out["unmeasured"] = unmeasured_json(candidate);
  if (candidate.values_of) out["values_of"] = to_text(*candidate.values_of);
  if (!candidate.distinctions.empty()) out["comparisons"] = distinctions_json(candidate);
  out["review_digest"] = review_digest(candidate.review);
  out["params"] = candidate.facts.params;
  out["total_bytes"] = candidate.objects.total_bytes;
  out["objects"] = objects_json(candidate.objects);
  out["removes"] = candidate.objects.removed;
  out["verdict"] = name_of(judged.verdict.outcome);
  out["rules"] = rules_json(judged.verdict);
  out["rank"] = judged.rank;
  out["dominated"] = judged.dominated;
  out["checks"] = checks_json(candidate);
  out["approvals"] = approvals_json(candidate);
  out["tries"] = tries_json(candidate);
  out["warnings"] = judged.verdict.warnings;
  return out;
}

/// Names come from files: bytes that are not UTF-8 must not fail the promotion.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

[[noreturn]] void throw_damaged(std::string_view why) {
  throw Error(ErrorCode::kDataLoss, str_cat("evidence of a promotion: ", why));
}

Json parsed(const std::string& evidence) {
  try {
    return Json::parse(evidence);
  } catch (const Json::exception& error) {
    throw_damaged(error.what());
  }
}

const Json* winner_of(const Json& evidence) {
  const auto name = evidence.find("winner");
  const auto candidates = evidence.find("candidates");
  if (name == evidence.end() || !name->is_string() || candidates == evidence.end()) return nullptr;
  for (const Json& candidate : *candidates) {
    if (candidate.value("ref", "") == name->get<std::string>()) return &candidate;
  }
  return nullptr;
}

double number_from(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string text = json.get<std::string>();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return text.starts_with('-') ? -infinity : infinity;
}

/// The inverse of metrics_json, except for the source of runs and metadata, which that omits.
Metric metric_from(const Json& item) {
  Metric out;
  out.name = item.at("name").get<std::string>();
  out.split = item.value("split", "");
  out.value = number_from(item.at("value"));
  out.reporter = item.value("reporter", "");
  out.reporter_id = item.value("reporter_id", 0);
  if (const auto runs = item.find("runs"); runs != item.end()) {
    out.replicates.by = runs->at("by").get<std::string>();
    for (const Json& one : runs->at("counted")) {
      out.replicates.counted.push_back({.key = one.at("key").get<std::string>(),
                                        .value = number_from(one.at("value")),
                                        .run = one.value("run", ""),
                                        .reporter = one.value("reporter", "")});
    }
  }
  const std::string origin = item.at("origin").get<std::string>();
  const size_t colon = std::min(origin.find(':'), origin.size());
  const auto known = parse_metric_origin(std::string_view(origin).substr(0, colon));
  if (!known) throw_damaged(str_cat("origin \"", origin, "\" is unknown"));
  out.origin = *known;
  if (colon < origin.size()) out.source = origin.substr(colon + 1);
  return out;
}

}  // namespace

std::string describe(const std::vector<LeftOut>& left_out) {
  uint64_t all = 0;
  std::string whose;
  for (size_t i = 0; i < left_out.size(); ++i) {
    const LeftOut& one = left_out[i];
    all += one.branches;
    if (i < kCreatorsShownMax) {
      whose += str_cat(i == 0 ? "" : ", ", one.branches, " of ",
                       one.creator.empty() ? "nobody known" : one.creator);
    }
  }
  if (all == 0) return "";
  if (left_out.size() > kCreatorsShownMax)
    whose += str_cat(" and those of ", left_out.size() - kCreatorsShownMax, " others");
  return str_cat(all, all == 1 ? " branch was" : " branches were",
                 " not judged, since there are too many: ", whose);
}

std::string to_json(const Evidence& evidence) {
  Json out;
  out["apiVersion"] = kEvidenceVersion;
  out["kind"] = "Evidence";
  if (!evidence.promotion.empty()) out["promotion"] = evidence.promotion;
  out["at"] = to_rfc3339(evidence.at);
  out["actor"] = evidence.actor;
  out["method"] = name_of(evidence.method);
  if (!evidence.paths.empty()) out["paths"] = evidence.paths;
  out["policy"] = {{"version", evidence.policy_version},
                   {"digest", evidence.policy_digest},
                   {"text", evidence.policy_text}};
  if (evidence.ancestor) out["policy"]["ancestor"] = to_text(*evidence.ancestor);
  if (evidence.unchanged_since)
    out["policy"]["unchanged_since"] = to_text(*evidence.unchanged_since);
  if (!evidence.evaluations.empty()) {
    out["policy"]["evaluations"] = evaluations_json(evidence.evaluations);
  }
  if (evidence.one_off) {
    out["policy"]["one_off"] = true;
    if (evidence.champion_facts != nullptr) {
      out["baseline"] = {{"commit", to_text(evidence.champion_facts->commit)},
                         {"metrics", metrics_json(evidence.champion_facts->metrics)}};
    }
  }
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
  if (!evidence.left_out.empty()) {
    Json left_out = Json::array();
    for (const LeftOut& one : evidence.left_out)
      left_out.push_back({{"creator", one.creator}, {"branches", one.branches}});
    out["left_out"] = std::move(left_out);
    out["warnings"] = {describe(evidence.left_out)};
  }
  if (evidence.changes_since) out["changes_since"] = changes_json(*evidence.changes_since);
  if (!evidence.decided_by.empty()) {
    Json tied = Json::array();
    for (const RankedCandidate& judged : evidence.candidates) {
      if (judged.tied) tied.push_back(judged.candidate.ref);
    }
    out["decided_by"] = {{"by", evidence.decided_by}, {"tied", std::move(tied)}};
  }
  out["winner"] =
      evidence.winner ? Json(evidence.candidates[*evidence.winner].candidate.ref) : Json(nullptr);
  return text_of(out);
}

std::string with_result(const std::string& evidence, const CommitId& result) {
  Json out = parsed(evidence);
  out["result"] = to_text(result);
  return text_of(out);
}

std::string with_refusal(const std::string& evidence, const GateRefusal& refusal) {
  Json out = parsed(evidence);
  out["refusal"] = {{"code", refusal.code}, {"message", refusal.reason}};
  return text_of(out);
}

std::vector<LeftOut> left_out_of(const std::string& evidence) {
  std::vector<LeftOut> out;
  if (evidence.empty()) return out;
  const Json all = parsed(evidence);
  const auto at = all.find("left_out");
  if (at == all.end()) return out;
  try {
    for (const Json& one : *at)
      out.push_back({one.at("creator").get<std::string>(), one.at("branches").get<uint64_t>()});
  } catch (const Json::exception& error) {
    throw_damaged(error.what());
  }
  return out;
}

std::set<std::string> winner_authors(const std::string& evidence) {
  if (evidence.empty()) return {};
  const Json all = parsed(evidence);
  const Json* winner = winner_of(all);
  if (winner == nullptr) return {};
  try {
    return winner->at("authors").get<std::set<std::string>>();
  } catch (const Json::exception& error) {
    throw_damaged(error.what());
  }
}

std::vector<Metric> winner_metrics(const std::string& evidence) {
  std::vector<Metric> out;
  if (evidence.empty()) return out;
  const Json all = parsed(evidence);
  const Json* winner = winner_of(all);
  if (winner == nullptr) return out;
  try {
    for (const Json& item : winner->at("metrics")) {
      Metric metric = metric_from(item);
      // The policy of today computes them again.
      if (metric.origin != MetricOrigin::kPolicy) out.push_back(std::move(metric));
    }
    for (const Json& check : winner->at("checks")) {
      if (!check.at("counts").get<bool>() || check.at("status") != name_of(CheckStatus::kSuccess))
        continue;
      for (const Json& item : check.at("metrics")) out.push_back(metric_from(item));
    }
  } catch (const Json::exception& error) {
    throw_damaged(error.what());
  }
  return out;
}

}  // namespace tarn::promotion
