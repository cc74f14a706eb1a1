// Curves of metrics and their form in the database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

struct Point {
  int64_t step = 0;
  double value = 0;
};

struct Series {
  std::string name;
  std::string split{};  ///< "" = none
  std::vector<Point> points;
};

/// Points of one stored piece.
constexpr size_t kPointsPerPiece = 4096;

std::string encode_points(const Point* points, size_t count);
/// Throws: data_loss.
std::vector<Point> decode_points(std::string_view bytes);

}  // namespace tarn
