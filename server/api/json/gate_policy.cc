#include "server/api/json/gate_policy.h"

#include "core/base/encoding.h"
#include "core/base/time.h"

namespace tarn::api::json {
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

std::string gate_policy_body(const promotion::GatePolicyVersion& version) {
  Writer out;
  write_gate_policy(out, version);
  return std::move(out).take();
}

std::string set_gate_policy_body(const promotion::GatePolicySet& set) {
  Writer out;
  out.begin_object();
  out.boolean("changed", set.changed);
  write_members(out, set.version);
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

}  // namespace tarn::api::json
