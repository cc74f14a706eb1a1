#include "core/metrics/metric.h"

#include <gtest/gtest.h>

namespace tarn {
namespace {

TEST(MetricOrigin, NamesAreReadAsTheyAreWritten) {
  for (const MetricOrigin origin : {MetricOrigin::kApi, MetricOrigin::kCommitMetadata,
                                    MetricOrigin::kFile, MetricOrigin::kCheck}) {
    EXPECT_EQ(parse_metric_origin(name_of(origin)), origin);
  }
  EXPECT_EQ(parse_metric_origin("API"), std::nullopt);
  EXPECT_EQ(parse_metric_origin(""), std::nullopt);
}

TEST(Metric, ShowsItsFileOrCheck) {
  EXPECT_EQ((Metric{"loss", 1, MetricOrigin::kFile, "metrics/a.json"}).origin_text(),
            "file:metrics/a.json");
  EXPECT_EQ((Metric{"p95", 1, MetricOrigin::kCheck, "bench"}).origin_text(), "check:bench");
  EXPECT_EQ((Metric{"loss", 1, MetricOrigin::kApi, "01h"}).origin_text(), "api");
  EXPECT_EQ((Metric{"loss", 1, MetricOrigin::kCommitMetadata, "metric.loss"}).origin_text(),
            "commit-metadata");
}

}  // namespace
}  // namespace tarn
