#include "server/api/json/evaluation.h"

#include "core/base/encoding.h"
#include "server/api/json/values.h"

namespace tarn::api::json {
namespace {

constexpr std::chrono::seconds kLeaseWaitMax{60};

}  // namespace

LeaseEvaluation parse_lease_evaluation(const Value& body) {
  refuse_unknown(body, {"labels", "wait_seconds"});
  LeaseEvaluation out;
  if (const auto labels = body.find("labels"))
    out.labels = labels->texts(evaluation::kEvaluationLabelsMax);
  if (const auto wait = body.find_number("wait_seconds"))
    out.wait = std::chrono::seconds(wait->integer(0, kLeaseWaitMax.count()));
  return out;
}

evaluation::Failure parse_evaluation_failure(const Value& body) {
  refuse_unknown(body, {"phase", "code", "detail"});
  const Value phase = body.at("phase");
  const Value code = body.at("code");
  evaluation::Failure out{
      .phase = phase.text(), .code = code.text(), .detail = body.text_or_empty("detail")};
  if (!evaluation::is_failure_phase(out.phase)) phase.fail("must be predict or score");
  if (!evaluation::is_failure_code(out.code)) {
    code.fail("must be program_failed, timeout, memory, output_too_large or output_invalid");
  }
  return out;
}

std::string evaluation_job_body(const evaluation::EvaluationStore::Lease& lease,
                                const std::string& repository) {
  const evaluation::Evaluation& job = lease.evaluation;
  Writer out;
  out.begin_object();
  out.text("id", to_hex(job.key));
  out.text("token", to_hex(lease.token));
  out.number("lease_seconds", evaluation::kRunnerLease.count());
  out.text("repository", repository);
  out.text("evaluation", job.name);
  out.text("commit", to_text(job.commit));
  out.text("inputs", job.spec.inputs);
  out.text("predict", job.spec.predict);
  out.text("score", job.spec.score);
  out.number("timeout_seconds", std::chrono::ceil<std::chrono::seconds>(job.spec.timeout).count());
  out.number("memory_bytes", static_cast<int64_t>(job.spec.memory_bytes));
  out.number("output_bytes_max", static_cast<int64_t>(evaluation::kResultBytesMax));
  out.texts("labels", job.spec.labels);
  out.end_object();
  return std::move(out).take();
}

void write_evaluation(Writer& out, const evaluation::Evaluation& evaluation, bool in_full) {
  out.begin_object();
  out.text("key", to_hex(evaluation.key));
  out.text("policy", evaluation.policy);
  out.text("evaluation", evaluation.name);
  out.text("commit", to_text(evaluation.commit));
  out.text("state", name_of(evaluation.state));
  out.texts("asked_by", evaluation.asked_by);
  out.text("asked_at", to_rfc3339(evaluation.asked));
  if (!evaluation.runner.empty()) out.text("runner", evaluation.runner);
  if (evaluation.ended) out.text("ended_at", to_rfc3339(*evaluation.ended));
  if (evaluation.state == evaluation::State::kFailed) {
    out.text("phase", evaluation.phase);
    out.text("code", evaluation.code);
    if (in_full) out.text("detail", evaluation.detail);
  }
  if (evaluation.state == evaluation::State::kMeasured) {
    out.number("examples", static_cast<int64_t>(evaluation.examples));
    out.key("metrics");
    out.begin_array();
    for (const evaluation::Mean& mean : evaluation.means) {
      out.begin_object();
      out.text("name", evaluation::metric_name(mean));
      out.real("value",
               in_full ? mean.mean : evaluation::rounded(mean.mean, evaluation.spec.digits));
      out.number("examples", static_cast<int64_t>(mean.n));
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace tarn::api::json
