#include "server/api/json/promotion.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/time.h"
#include "core/promotion/evidence.h"

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

/// Rejects unknown members: ignoring one, such as a misspelled "dry_run", would change the outcome.
void refuse_unknown(const Value& body, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : body.members()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      value.fail("is no member of this request");
  }
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
bool counts(const promotion::PromotionApproval& approval, const promotion::Promotion& promotion,
            const std::string& values) {
  return promotion.winner && *promotion.winner == approval.commit &&
         promotion.winner_ref == approval.candidate && approval.values == values;
}

void write_approval_of_promotion(Writer& out, const promotion::PromotionApproval& approval,
                                 const promotion::Promotion& promotion, const std::string& values) {
  out.begin_object();
  out.text("user", approval.user);
  out.text("commit", to_text(approval.commit));
  out.text("reason", approval.reason);
  out.text("candidate", approval.candidate);
  out.boolean("counts", counts(approval, promotion, values));
  out.text("at", to_rfc3339(approval.at));
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
  out.key("steps");
  out.begin_array();
  for (const promotion::PromotionStep& step : details.steps) write_step(out, step);
  out.end_array();
  out.key("checks");
  out.begin_array();
  for (const promotion::PromotionCheck& check : details.checks) write_check(out, check, promotion);
  out.end_array();
  const std::string values =
      details.approvals.empty() ? std::string() : promotion::winner_values(promotion.evidence);
  out.key("approvals");
  out.begin_array();
  for (const promotion::PromotionApproval& approval : details.approvals)
    write_approval_of_promotion(out, approval, promotion, values);
  out.end_array();
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
  refuse_unknown(body, {"reason", "commit"});
  Decision out{.reason = body.text_or_empty("reason"), .commit = std::nullopt};
  if (const auto commit = body.find("commit")) out.commit = commit_from(*commit);
  return out;
}

}  // namespace tarn::api::json
