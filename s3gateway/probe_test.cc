#include "s3gateway/probe.h"

#include <string>

#include <gtest/gtest.h>

namespace tarn::s3 {
namespace {

/// The value of one line of /metrics, -1 when it is not there.
double metric(const std::string& line) {
  const std::string text = metrics::text();
  const size_t at = text.find("\n" + line + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + line.size() + 2));
}

TEST(Probe, CountsByOperationAndCode) {
  Probe::instance().answered({.operation = "GetObject",
                              .code = "",
                              .status = 206,
                              .seconds = 0.001,
                              .received_bytes = 0,
                              .sent_bytes = 500});
  Probe::instance().answered({.operation = "GetObject", .code = "NoSuchKey", .status = 404});
  Probe::instance().answered({.operation = "GetObject", .code = "NoSuchKey", .status = 404});
  Probe::instance().answered({.operation = "PutObject",
                              .code = "SlowDown",
                              .status = 503,
                              .seconds = 0,
                              .received_bytes = 7});
  EXPECT_EQ(metric("tarn_s3_requests_total{code=\"OK\",operation=\"GetObject\"}"), 1);
  EXPECT_EQ(metric("tarn_s3_requests_total{code=\"NoSuchKey\",operation=\"GetObject\"}"), 2);
  EXPECT_EQ(metric("tarn_s3_requests_total{code=\"SlowDown\",operation=\"PutObject\"}"), 1);
  EXPECT_EQ(metric("tarn_s3_request_seconds_count{operation=\"GetObject\"}"), 3);
  EXPECT_EQ(metric("tarn_s3_sent_bytes_total{operation=\"GetObject\"}"), 500);
  EXPECT_EQ(metric("tarn_s3_received_bytes_total{operation=\"PutObject\"}"), 7);
  EXPECT_EQ(metric("tarn_s3_failures_total{operation=\"PutObject\"}"), 1);
  EXPECT_EQ(metric("tarn_s3_failures_total{operation=\"GetObject\"}"), 0);
}

TEST(Probe, LabelsUnknownOperationsOther) {
  Probe::instance().answered(
      {.operation = "GET /made/up", .code = "NotImplemented", .status = 501});
  EXPECT_EQ(metric("tarn_s3_requests_total{code=\"NotImplemented\",operation=\"Other\"}"), 1);
  EXPECT_EQ(metrics::text().find("made/up"), std::string::npos);
}

}  // namespace
}  // namespace tarn::s3
