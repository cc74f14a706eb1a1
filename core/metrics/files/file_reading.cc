#include "core/metrics/files/file_reading.h"

#include <bit>

#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kVersion = 1;

}  // namespace

FileReading reading_of(const FileFacts& facts) {
  FileReading reading;
  for (const FileFacts::Measured& measured : facts.measured()) {
    const Series& series = measured.series;
    reading.measured.push_back({series.name, series.split, measured.last});
    if (series.points.size() >= kCurvePointsMin) reading.points += series.points.size();
  }
  reading.params = facts.params();
  reading.warnings = facts.warnings();
  return reading;
}

std::string encode_file_reading(const FileReading& reading) {
  std::string out(1, static_cast<char>(kVersion));
  put_varint(out, reading.measured.size());
  for (const FileReading::Measured& measured : reading.measured) {
    put_bytes(out, measured.name);
    put_bytes(out, measured.split);
    put_u64be(out, std::bit_cast<uint64_t>(measured.last));
  }
  put_varint(out, reading.points);
  put_varint(out, reading.params.size());
  for (const auto& [name, value] : reading.params) {
    put_bytes(out, name);
    put_bytes(out, value);
  }
  put_varint(out, reading.warnings.size());
  for (const std::string& warning : reading.warnings) put_bytes(out, warning);
  return out;
}

FileReading decode_file_reading(std::string_view bytes) {
  WireReader in(bytes, "what a metric file says");
  if (in.u8() != kVersion) in.fail("unknown version");
  FileReading reading;
  for (uint64_t left = in.varint(); left > 0; --left) {
    const std::string_view name = in.bytes();
    const std::string_view split = in.bytes();
    reading.measured.push_back(
        {std::string(name), std::string(split), std::bit_cast<double>(in.u64be())});
  }
  reading.points = in.varint();
  for (uint64_t left = in.varint(); left > 0; --left) {
    const std::string_view name = in.bytes();
    reading.params.emplace(name, in.bytes());
  }
  for (uint64_t left = in.varint(); left > 0; --left) reading.warnings.emplace_back(in.bytes());
  in.expect_end();
  return reading;
}

}  // namespace tarn
