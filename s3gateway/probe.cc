#include "s3gateway/probe.h"

#include <memory>

#include "s3gateway/wire/endpoint.h"

namespace tarn::s3 {
namespace {

constexpr int kServerErrorMin = 500;
constexpr std::string_view kOther = "Other";
/// The code of successful requests.
constexpr std::string_view kNoFailure = "OK";

metrics::Counter& requests(std::string_view operation, std::string_view code) {
  return metrics::counter("tarn_s3_requests_total", "S3 requests answered, by operation and code",
                          {"operation", operation}, {"code", code});
}

}  // namespace

const Probe& Probe::instance() {
  static const Probe probe;
  return probe;
}

Probe::Probe() {
  for (const OperationRow& row : operation_table()) operations_.try_emplace(row.operation, nullptr);
}

Probe::~Probe() {
  for (const auto& [operation, slot] : operations_) delete slot.load();
  delete other_.load();
}

/// Threads that make them at once get handles of the same series; the loser's are forgotten.
const Probe::Meters& Probe::meters_of(Slot& slot, std::string_view operation) {
  if (const Meters* known = slot) return *known;
  const metrics::Label label{"operation", operation};
  auto made = std::make_unique<Meters>(Meters{
      .seconds =
          &metrics::histogram("tarn_s3_request_seconds",
                              "Time to answer S3 requests, bodies sent later not counted", label),
      .failures = &metrics::counter("tarn_s3_failures_total",
                                    "S3 requests answered with a status of 500 and above", label),
      .good = &requests(operation, kNoFailure),
      .received_bytes = &metrics::counter("tarn_s3_received_bytes_total",
                                          "Bytes read of the bodies of S3 requests", label),
      .sent_bytes = &metrics::counter("tarn_s3_sent_bytes_total",
                                      "Bytes of the bodies of S3 answers, as announced", label)});
  const Meters* expected = nullptr;
  if (slot.compare_exchange_strong(expected, made.get())) return *made.release();
  return *expected;
}

void Probe::answered(const Answered& request) const {
  const auto at = operations_.find(request.operation);
  const bool known = at != operations_.end();
  const Meters& meters = known ? meters_of(at->second, at->first) : meters_of(other_, kOther);
  meters.seconds->observe(request.seconds);
  if (request.status >= kServerErrorMin) meters.failures->add();
  if (request.code.empty()) {
    meters.good->add();
  } else {
    requests(known ? request.operation : kOther, request.code).add();
  }
  if (request.received_bytes > 0) {
    meters.received_bytes->add(static_cast<double>(request.received_bytes));
  }
  if (request.sent_bytes > 0) meters.sent_bytes->add(static_cast<double>(request.sent_bytes));
}

}  // namespace tarn::s3
