// The contents of a metric file without the points of its curves, and their form in the database.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/files/file_facts.h"

namespace tarn {

struct FileReading {
  struct Measured {
    std::string name;
    std::string split;
    double last = 0;  ///< the metric's value
  };
  std::vector<Measured> measured;
  size_t points = 0;  ///< of its curves together
  std::map<std::string, std::string> params;
  std::vector<std::string> warnings;
};

/// A metric with fewer points has no curve.
constexpr size_t kCurvePointsMin = 2;

FileReading reading_of(const FileFacts& facts);

std::string encode_file_reading(const FileReading& reading);
/// Throws: data_loss.
FileReading decode_file_reading(std::string_view bytes);

}  // namespace tarn
