#include "s3gateway/probe.h"

#include "s3gateway/endpoint.h"

namespace tarn::s3 {
namespace {

constexpr int kServerErrorMin = 500;

}  // namespace

const Probe& Probe::instance() {
  static const Probe probe;
  return probe;
}

Probe::Probe() : other_(make("Other")) {
  for (const OperationRow& row : operation_table()) {
    operations_.try_emplace(row.operation, make(row.operation));
  }
}

Probe::Meters Probe::make(std::string_view operation) {
  const metrics::Label label{"operation", operation};
  return {&metrics::histogram("tarn_s3_request_seconds",
                              "Time to answer S3 requests, bodies sent later not counted", label),
          &metrics::counter("tarn_s3_failures_total",
                            "S3 requests answered with a status of 500 and above", label)};
}

void Probe::answered(std::string_view operation, int status, double seconds) const {
  const auto at = operations_.find(operation);
  const Meters& meters = at == operations_.end() ? other_ : at->second;
  meters.seconds->observe(seconds);
  if (status >= kServerErrorMin) meters.failures->add();
}

}  // namespace tarn::s3
