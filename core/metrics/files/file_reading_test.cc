// Tests of the kept contents of a metric file, and their stored form.
#include "core/metrics/files/file_reading.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn {
namespace {

FileReading a_reading() {
  FileFacts facts("metrics/a.csv");
  facts.add_point("loss", "val", 1, 0.5);
  facts.add_point("loss", "val", 2, std::numeric_limits<double>::quiet_NaN());
  facts.add_point("f1", "", std::nullopt, -0.25);
  facts.add_param("lr", "0.1");
  facts.warn("line 3: makes no sense");
  return reading_of(facts);
}

TEST(FileReading, RoundTrips) {
  const FileReading read = decode_file_reading(encode_file_reading(a_reading()));
  ASSERT_EQ(read.measured.size(), 2u);
  EXPECT_EQ(read.measured[0].name, "loss");
  EXPECT_EQ(read.measured[0].split, "val");
  EXPECT_TRUE(std::isnan(read.measured[0].last));
  EXPECT_EQ(read.measured[1].name, "f1");
  EXPECT_EQ(read.measured[1].last, -0.25);
  EXPECT_EQ(read.points, 2u) << "of curves: one point is none";
  EXPECT_EQ(read.params, (std::map<std::string, std::string>{{"lr", "0.1"}}));
  EXPECT_EQ(read.warnings, std::vector<std::string>{"metrics/a.csv: line 3: makes no sense"});
}

TEST(FileReading, TruncatedIsRefused) {
  const std::string whole = encode_file_reading(a_reading());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(decode_file_reading(whole.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(decode_file_reading(whole + "x"), Error);
}

}  // namespace
}  // namespace tarn
