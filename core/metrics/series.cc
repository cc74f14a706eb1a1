#include "core/metrics/series.h"

#include <bit>

#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kSeriesVersion = 1;

}  // namespace

std::string encode_points(const Point* points, size_t count) {
  std::string out(1, static_cast<char>(kSeriesVersion));
  put_varint(out, count);
  uint64_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t step = static_cast<uint64_t>(points[i].step);
    put_varint(out, zigzag(static_cast<int64_t>(step - before)));
    before = step;
    put_u64be(out, std::bit_cast<uint64_t>(points[i].value));
  }
  return out;
}

std::vector<Point> decode_points(std::string_view bytes) {
  WireReader in(bytes, "points of a series");
  if (in.u8() != kSeriesVersion) in.fail("unknown version");
  const uint64_t count = in.varint();
  if (count > kPointsPerPiece) in.fail("too many points");
  std::vector<Point> out;
  out.reserve(count);
  uint64_t step = 0;
  for (uint64_t i = 0; i < count; ++i) {
    step += static_cast<uint64_t>(unzigzag(in.varint()));
    out.push_back({static_cast<int64_t>(step), std::bit_cast<double>(in.u64be())});
  }
  in.expect_end();
  return out;
}

}  // namespace tarn
