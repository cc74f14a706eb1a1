#include "server/api/json/promotion.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/time.h"
#include "core/promotion/evidence.h"
#include "core/promotion/review.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {
namespace {

constexpr size_t kBytesPerStep = 200;

/// Strings for values that JSON numbers cannot represent.
std::string text_of_number(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

CommitId commit_from(const Value& value) {
  const auto commit = parse_commit_id(value.text());
  if (!commit) value.fail("must be a commit id of 64 hex digits");
  return *commit;
}

template <typename Enum>
void read_word(const Value& body, std::string_view name,
               std::optional<Enum> (*parse)(std::string_view), std::string_view words, Enum& out) {
  const auto given = body.find(name);
  if (!given) return;
  const auto parsed = parse(given->text());
  if (!parsed) given->fail(words);
  out = *parsed;
}
void read_expectation(const Value& body, promotion::PromotionRequest& request) {
  const auto expect = body.find("expect");
  if (!expect) return;
  refuse_unknown(*expect, {"destination", "alias"});
  if (const auto destination = expect->find("destination")) {
    const std::string text = destination->text();
    if (text.empty()) destination->fail("must be a commit id or another ref");
    request.expect_destination = parse_commit_id(text);
    if (!request.expect_destination) request.expect_destination_ref = text;
  }
  if (const auto alias = expect->find("alias")) {
    const std::string text = alias->text();
    if (text.empty()) alias->fail("must be a commit id, another ref, or none");
    const auto commit = parse_commit_id(text);
    if (commit || text == "none") {
      request.expect_alias = commit;
    } else {
      request.expect_alias_ref = text;
    }
  }
}

promotion::OneOffMetric one_off_metric(const Value& given) {
  refuse_unknown(given, {"name", "goal", "min_delta"});
  promotion::OneOffMetric out{.name = given.at("name").text()};
  const Value goal = given.at("goal");
  const auto parsed = promotion::parse_metric_goal(goal.text());
  if (!parsed) goal.fail("must be max or min");
  out.goal = *parsed;
  if (const auto delta = given.find_number("min_delta")) out.min_delta = delta->number();
  return out;
}

void write_list(Writer& out, std::string_view name, const std::vector<std::string>& items) {
  out.key(name);
  out.begin_array();
  for (const std::string& item : items) out.text(item);
  out.end_array();
}

void write_fields(Writer& out, const promotion::Promotion& promotion) {
  out.text("id", promotion.id);
  out.text("state", promotion::name_of(promotion.state));
  out.text("destination", promotion.request.destination.str());
  out.text("policy", promotion.policy);
  out.number("policy_version", promotion.policy_version);
  if (!promotion.alias.empty()) out.text("alias", promotion.alias);
  out.text("method", promotion::name_of(promotion.request.method));
  out.text("select", promotion::name_of(promotion.request.select));
  write_list(out, "candidates", promotion.request.candidates);
  if (!promotion.request.paths.empty()) write_list(out, "paths", promotion.request.paths);
  if (!promotion.request.metrics.empty()) {
    out.key("metrics");
    out.begin_array();
    for (const promotion::OneOffMetric& metric : promotion.request.metrics) {
      out.begin_object();
      out.text("name", metric.name);
      out.text("goal", promotion::name_of(metric.goal));
      out.document("min_delta", text_of_number(metric.min_delta));
      out.end_object();
    }
    out.end_array();
  }
  if (promotion.winner) {
    out.key("winner");
    out.begin_object();
    out.text("ref", promotion.winner_ref);
    out.text("commit", to_text(*promotion.winner));
    out.end_object();
  }
  if (promotion.champion) out.text("champion", to_text(*promotion.champion));
  if (promotion.result) out.text("result", to_text(*promotion.result));
  if (!promotion.tag.empty()) out.text("tag", promotion.tag);
  if (!promotion.code.empty()) out.text("code", promotion.code);
  if (!promotion.message.empty()) out.text("message", promotion.message);
  if (!promotion.request.reason.empty()) out.text("reason", promotion.request.reason);
  if (promotion.undoes) out.text("undoes", *promotion.undoes);
  if (promotion.undone_by) out.text("undone_by", *promotion.undone_by);
  out.text("actor", promotion.actor);
  out.number("rounds", promotion.rounds);
  out.text("created_at", to_rfc3339(promotion.created));
  out.text("updated_at", to_rfc3339(promotion.updated));
  out.number("version", to_millis(promotion.updated));
}

void write_step(Writer& out, const promotion::PromotionStep& step) {
  out.begin_object();
  out.number("step", step.number);
  out.text("state", promotion::name_of(step.state));
  out.text("actor", step.actor);
  out.text("code", step.code);
  out.text("message", step.message);
  out.text("at", to_rfc3339(step.at));
  out.end_object();
}

void write_check(Writer& out, const promotion::PromotionCheck& check,
                 const promotion::Promotion& promotion) {
  out.begin_object();
  out.text("name", check.name);
  out.text("commit", to_text(check.commit));
  out.text("status", promotion::name_of(check.status));
  out.text("url", check.url);
  out.key("metrics");
  out.begin_object();
  for (const auto& [name, value] : check.metrics) out.document(name, text_of_number(value));
  out.end_object();
  out.text("reporter", check.reporter);
  if (!check.supersedes.empty()) out.text("supersedes", check.supersedes);
  out.boolean("counts", promotion.winner && *promotion.winner == check.commit);
  out.text("at", to_rfc3339(check.at));
  out.end_object();
}

/// Whether the approval counts according to the record; the policy and the user's permissions may
/// still void it.
bool counts(const promotion::PromotionApproval& approval, const promotion::Promotion& promotion) {
  return promotion.winner && approval.review == promotion.review;
}

void write_approval_of_promotion(Writer& out, const promotion::PromotionApproval& approval,
                                 const promotion::Promotion& promotion) {
  out.begin_object();
  out.text("user", approval.user);
  out.text("commit", to_text(approval.commit));
  out.text("reason", approval.reason);
  out.text("candidate", approval.candidate);
  out.text("review_digest", promotion::review_digest(approval.review));
  const bool holds = counts(approval, promotion);
  out.boolean("counts", holds);
  if (!holds && !promotion.review.empty()) {
    out.texts("changed", promotion::changes_between(approval.review, promotion.review));
  }
  out.text("at", to_rfc3339(approval.at));
  out.end_object();
}

void write_stage(Writer& out, const promotion::StageEntry& entry) {
  out.begin_object();
  out.text("alias", entry.alias);
  out.text("candidate", entry.ref);
  out.text("commit", to_text(entry.commit));
  if (entry.before) out.text("before", to_text(*entry.before));
  if (!entry.approved_by.empty()) out.texts("approved_by", entry.approved_by);
  if (!entry.checks.empty()) out.texts("checks", entry.checks);
  out.text("entered_at", to_rfc3339(entry.since));
  if (entry.until) out.text("until", to_rfc3339(*entry.until));
  if (entry.left) out.text("left_at", to_rfc3339(*entry.left));
  if (!entry.outcome.empty()) out.text("outcome", entry.outcome);
  out.end_object();
}

}  // namespace

void write_promotion(Writer& out, const promotion::Promotion& promotion) {
  out.begin_object();
  write_fields(out, promotion);
  out.end_object();
}

std::string promotion_body(const promotion::Promotion& promotion, const PromotionDetails& details) {
  Writer out(promotion.evidence.size() + details.steps.size() * kBytesPerStep + 1024);
  out.begin_object();
  write_fields(out, promotion);
  if (!promotion.evidence.empty()) {
    out.document("evidence", promotion.evidence);
    const std::string digest = sha256(promotion.evidence);
    out.text("evidence_digest", to_hex(digest));
    if (details.logged_digest) {
      out.text("logged_digest", to_hex(*details.logged_digest));
      out.boolean("evidence_verified", *details.logged_digest == digest);
    }
  }
  if (!promotion.review.empty()) {
    out.document("review", promotion.review);
    out.text("review_digest", promotion::review_digest(promotion.review));
  }
  out.key("steps");
  out.begin_array();
  for (const promotion::PromotionStep& step : details.steps) write_step(out, step);
  out.end_array();
  out.key("checks");
  out.begin_array();
  for (const promotion::PromotionCheck& check : details.checks) write_check(out, check, promotion);
  out.end_array();
  out.key("approvals");
  out.begin_array();
  for (const promotion::PromotionApproval& approval : details.approvals)
    write_approval_of_promotion(out, approval, promotion);
  out.end_array();
  if (!details.stages.empty()) {
    out.key("stages");
    out.begin_array();
    for (const promotion::StageEntry& entry : details.stages) write_stage(out, entry);
    out.end_array();
  }
  out.end_object();
  return std::move(out).take();
}

std::string promotion_preview_body(const promotion::PromotionPreview& preview) {
  return preview.refusal ? promotion::with_refusal(preview.evidence, *preview.refusal)
                         : preview.evidence;
}

CreatePromotion parse_create_promotion(const Value& body) {
  refuse_unknown(body, {"candidates", "destination", "policy", "alias", "paths", "method", "select",
                        "expect", "reason", "idempotency_key", "dry_run", "metrics"});
  CreatePromotion out;
  promotion::PromotionRequest& request = out.request;
  request.candidates = body.at("candidates").texts(promotion::kPromotionCandidatesMax);
  request.destination = parse_branch_name(body.at("destination").text());
  request.policy = body.text_or_empty("policy");
  request.alias = body.text_or_empty("alias");
  if (request.alias.starts_with('@')) request.alias.erase(0, 1);
  if (const auto paths = body.find("paths"))
    request.paths = paths->texts(promotion::kPromotionPatternsMax);
  read_word(body, "method", promotion::parse_promotion_method,
            "must be merge, squash or replace-paths", request.method);
  read_word(body, "select", promotion::parse_promotion_select, "must be best or only",
            request.select);
  read_expectation(body, request);
  request.reason = body.text_or_empty("reason");
  if (const auto metrics = body.find("metrics")) {
    for (const Value& metric : metrics->items()) {
      request.metrics.push_back(one_off_metric(metric));
    }
  }
  out.idempotency_key = body.text_or_empty("idempotency_key");
  out.dry_run = body.flag("dry_run");
  promotion::check_promotion_request(request);
  return out;
}

promotion::PromotionCheck parse_report_check(const Value& body) {
  refuse_unknown(body, {"commit", "status", "url", "metrics", "supersedes"});
  promotion::PromotionCheck out;
  out.supersedes = body.text_or_empty("supersedes");
  out.commit = commit_from(body.at("commit"));
  const Value status = body.at("status");
  const auto parsed = promotion::parse_check_status(status.text());
  if (!parsed) status.fail("must be pending, success or failure");
  out.status = *parsed;
  out.url = body.text_or_empty("url");
  if (const auto metrics = body.find("metrics")) {
    for (const auto& [name, value] : metrics->members()) out.metrics[name] = value.number();
  }
  return out;
}

Decision parse_decision(const Value& body) {
  refuse_unknown(body, {"reason"});
  return {.reason = body.text_or_empty("reason")};
}

Decision parse_approval(const Value& body) {
  refuse_unknown(body, {"reason", "review_digest"});
  return {.reason = body.text_or_empty("reason"), .review_digest = body.at("review_digest").text()};
}

namespace {

/// Candidates of one request; each may be a glob.
constexpr size_t kPolicyWordsMax = 1000;

void write_members(Writer& out, const promotion::GatePolicyVersion& version) {
  out.text("author", version.author);
  out.text("creation_date", to_rfc3339(version.at));
  if (version.body) {
    out.text("destination", version.body->destination.str());
    out.text("digest", to_hex(version.body->digest));
    out.text("document", version.body->document);
  }
  out.text("name", version.name);
  out.boolean("removed", !version.body);
  out.number("version", version.version);
}

void write_rule(Writer& out, const promotion::RuleResult& rule) {
  out.begin_object();
  if (!rule.code.empty()) out.text("code", rule.code);
  out.text("outcome", promotion::name_of(rule.outcome));
  out.text("reason", rule.reason);
  out.text("rule", rule.rule);
  out.end_object();
}

void write_candidate(Writer& out, const promotion::JudgedCandidate& judged) {
  out.begin_object();
  if (!judged.candidate.branch.empty()) out.text("branch", judged.candidate.branch);
  out.text("commit_id", to_text(judged.candidate.commit.id));
  out.boolean("dominated", judged.dominated);
  if (judged.rank) out.number("rank", static_cast<int64_t>(*judged.rank));
  out.text("ref", judged.candidate.ref);
  out.key("rules");
  out.begin_array();
  for (const promotion::RuleResult& rule : judged.verdict.rules) write_rule(out, rule);
  out.end_array();
  out.text("verdict", promotion::name_of(judged.verdict.outcome));
  out.texts("warnings", judged.verdict.warnings);
  out.end_object();
}

}  // namespace

void write_gate_policy(Writer& out, const promotion::GatePolicyVersion& version) {
  out.begin_object();
  write_members(out, version);
  out.end_object();
}

std::string gate_policy_body(const promotion::GatePolicyVersion& version,
                             const std::optional<promotion::GatePolicyProposal>& proposal) {
  Writer out;
  out.begin_object();
  write_members(out, version);
  if (proposal) {
    out.key("proposal");
    out.begin_object();
    out.text("author", proposal->author);
    out.number("base_version", proposal->base);
    out.text("creation_date", to_rfc3339(proposal->at));
    if (proposal->document) out.text("document", *proposal->document);
    out.boolean("removes", !proposal->document);
    out.end_object();
  }
  out.end_object();
  return std::move(out).take();
}

std::string set_gate_policy_body(const promotion::GatePolicySet& set) {
  Writer out;
  out.begin_object();
  out.boolean("changed", set.changed);
  write_members(out, set.version);
  out.boolean("proposed", set.proposed);
  out.texts("warnings", set.warnings);
  out.end_object();
  return std::move(out).take();
}

EvaluateGate parse_evaluate_gate(const Value& body) {
  const Value candidates = body.at("candidates");
  EvaluateGate out{.candidates = candidates.texts(kPolicyWordsMax),
                   .champion = body.find_text("champion"),
                   .version = std::nullopt};
  if (out.candidates.empty()) candidates.fail("must name a candidate");
  if (const auto version = body.find_number("version"))
    out.version = version->integer(1, INT64_MAX);
  out.document = body.find_text("document");
  out.measure = body.flag("measure");
  if (out.document && out.version)
    body.fail("expected at most one of \"document\" and \"version\"");
  return out;
}

std::string gate_answer_body(const promotion::GateAnswer& answer) {
  Writer out;
  out.begin_object();
  if (answer.champion) {
    out.key("champion");
    out.begin_object();
    out.text("commit_id", to_text(answer.champion->commit.id));
    out.text("ref", answer.champion->ref);
    out.end_object();
  }
  out.text("destination", answer.version.body->destination.str());
  out.text("destination_commit_id", to_text(answer.destination));
  out.text("digest", to_hex(answer.version.body->digest));
  out.text("policy", answer.version.name);
  if (answer.refusal) {
    out.key("refusal");
    out.begin_object();
    out.text("code", answer.refusal->code);
    out.text("message", answer.refusal->reason);
    out.end_object();
  }
  out.key("results");
  out.begin_array();
  for (const promotion::JudgedCandidate& judged : answer.candidates) write_candidate(out, judged);
  out.end_array();
  out.number("version", answer.version.version);
  if (!answer.warnings.empty()) out.texts("warnings", answer.warnings);
  out.end_object();
  return std::move(out).take();
}

namespace {

constexpr size_t kCandidateWordsMax = 1000;
constexpr size_t kBytesPerCell = 80;

promotion::MetricRule metric_of(const Value& value) {
  promotion::MetricRule rule{.name = value.at("name").text(),
                             .split = value.text_or_empty("split")};
  if (rule.name.empty() || rule.name.size() > kMetricNameBytesMax) {
    value.at("name").fail(str_cat("must have 1 to ", kMetricNameBytesMax, " bytes"));
  }
  if (const auto goal = value.find("goal")) {
    rule.goal = promotion::parse_metric_goal(goal->text());
    if (!rule.goal) goal->fail("must be max or min");
  }
  rule.primary = value.flag("primary");
  return rule;
}

size_t position_of(const Value& value) {
  const std::string text = value.text();
  size_t position = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), position);
  if (error != std::errc() || end != text.data() + text.size()) {
    value.fail("must be the next_offset of the page before");
  }
  return position;
}

void write_values(Writer& out, const std::vector<promotion::MetricRule>& columns,
                  const std::vector<promotion::ComparedValue>& values) {
  out.key("metrics");
  out.begin_object();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].value) continue;
    out.named(columns[i].label());
    out.begin_object();
    if (values[i].delta) out.real("delta", *values[i].delta);
    out.text("origin", values[i].origin);
    if (const auto& sample = values[i].sample) {
      out.key("runs");
      out.begin_object();
      out.number("n", static_cast<int64_t>(sample->n));
      out.real("sd", sample->sd);
      out.end_object();
    }
    out.real("value", *values[i].value);
    out.end_object();
  }
  out.end_object();
}

void write_object_totals(Writer& out, std::string_view name,
                         const versioning::ObjectTotals& totals) {
  out.key(name);
  out.begin_object();
  out.number("bytes", static_cast<int64_t>(totals.bytes));
  out.number("objects", static_cast<int64_t>(totals.objects));
  out.end_object();
}

void write_object_changes(Writer& out, const promotion::ObjectChanges& changes) {
  out.key("objects");
  out.begin_object();
  write_object_totals(out, "added", changes.totals.added);
  write_object_totals(out, "changed", changes.totals.changed);
  out.boolean("complete", changes.complete);
  write_object_totals(out, "removed", changes.totals.removed);
  out.end_object();
}

void write_named(Writer& out, const branch::NamedCommit& named) {
  if (!named.branch.empty()) out.text("branch", named.branch);
  out.text("commit_id", to_text(named.commit.id));
  out.text("creation_date", to_rfc3339(named.commit.created));
  out.text("ref", named.ref);
}

void write_row(Writer& out, const std::vector<promotion::MetricRule>& columns,
               const promotion::CompareRow& row) {
  out.begin_object();
  if (row.ancestor) out.text("ancestor_commit_id", to_text(*row.ancestor));
  write_named(out, row.candidate);
  if (row.compared.rank) {
    out.boolean("dominated", row.compared.dominated);
    out.number("rank", static_cast<int64_t>(*row.compared.rank));
  }
  write_values(out, columns, row.compared.metrics);
  if (row.objects) write_object_changes(out, *row.objects);
  out.text_map("params", row.compared.params);
  out.texts("warnings", row.compared.warnings);
  out.end_object();
}

void write_columns(Writer& out, const std::vector<promotion::MetricRule>& columns) {
  out.key("metrics");
  out.begin_array();
  for (const promotion::MetricRule& column : columns) {
    out.begin_object();
    if (column.goal) out.text("goal", promotion::name_of(*column.goal));
    out.text("name", column.name);
    out.boolean("primary", column.primary);
    if (!column.split.empty()) out.text("split", column.split);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

promotion::CompareQuestion parse_compare(const Value& body) {
  promotion::CompareQuestion out;
  const Value candidates = body.at("candidates");
  out.candidates = candidates.texts(kCandidateWordsMax);
  if (out.candidates.empty()) candidates.fail("must name a candidate");
  out.baseline = body.find_text("baseline");
  out.policy = body.find_text("policy");
  if (const auto metrics = body.find("metrics")) {
    for (const Value& metric : metrics->items()) out.metrics.push_back(metric_of(metric));
    if (out.metrics.size() > promotion::kComparedMetricsMax) {
      metrics->fail(str_cat("must be at most ", promotion::kComparedMetricsMax));
    }
  }
  if (const auto params = body.find("params")) {
    const auto shown = promotion::parse_params_shown(params->text());
    if (!shown) params->fail("must be changed, all or none");
    out.params = *shown;
  }
  if (const auto objects = body.find("objects")) out.objects = objects->boolean();
  if (const auto after = body.find("after")) out.after = position_of(*after);
  if (const auto amount = body.find_number("amount")) {
    out.limit = static_cast<uint32_t>(amount->integer(1, kPageItemsMax));
  }
  return out;
}

std::string compare_body(const promotion::CompareAnswer& answer, size_t after) {
  const std::vector<promotion::MetricRule>& columns = answer.comparison.metrics;
  Writer out(answer.rows.size() * (columns.size() + 8) * kBytesPerCell);
  out.begin_object();
  if (answer.baseline) {
    out.key("baseline");
    out.begin_object();
    write_named(out, *answer.baseline);
    write_values(out, columns, answer.comparison.baseline);
    out.text_map("params", answer.comparison.baseline_params);
    out.end_object();
  }
  out.number("candidates", static_cast<int64_t>(answer.candidates));
  write_columns(out, columns);
  write_pagination(out, answer.has_more,
                   answer.has_more ? std::to_string(after + answer.rows.size()) : std::string(),
                   answer.rows.size());
  out.key("results");
  out.begin_array();
  for (const promotion::CompareRow& row : answer.rows) write_row(out, columns, row);
  out.end_array();
  out.texts("warnings", answer.comparison.warnings);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
