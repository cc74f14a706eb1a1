#include "core/tree/column.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::tree {
namespace {

constexpr unsigned kWidthMax = 8;

unsigned width_of(uint64_t value) { return (static_cast<unsigned>(std::bit_width(value)) + 7) / 8; }

}  // namespace

void NodeReader::fail(std::string_view why) {
  throw Error(ErrorCode::kDataLoss, str_cat("decoding a tree node: ", why));
}

uint64_t NodeReader::fixed(unsigned width) { return load_fixed(take(width).data(), width); }

uint64_t NodeReader::long_varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint64_t byte = u8();
    if (shift == 63 && byte > 1) break;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("a varint overflows 64 bits");
}

void put_fixed(std::string& out, uint64_t value, unsigned width) {
  char bytes[kWidthMax];
  for (unsigned i = 0; i < kWidthMax; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  out.append(bytes, width);
}

UintColumn UintColumn::parse(NodeReader& in, uint32_t count) {
  UintColumn column;
  column.width_ = in.u8();
  if (column.width_ > kWidthMax) NodeReader::fail("an integer column is wider than 8 bytes");
  column.data_ = in.take(uint64_t{count} * column.width_).data();
  return column;
}

void put_uint_column(std::string& out, std::span<const uint64_t> values) {
  uint64_t all_bits = 0;
  for (uint64_t value : values) all_bits |= value;
  const unsigned width = width_of(all_bits);
  out.push_back(static_cast<char>(width));
  for (uint64_t value : values) put_fixed(out, value, width);
}

BytesColumn BytesColumn::parse(NodeReader& in, uint32_t count) {
  BytesColumn column;
  column.width_ = in.u8();
  if (column.width_ == 0) {
    column.stride_ = static_cast<size_t>(in.fixed(4));
    column.data_ = in.take(uint64_t{count} * column.stride_).data();
    return column;
  }
  if (column.width_ != 1 && column.width_ != 2 && column.width_ != 4) {
    NodeReader::fail("a byte column has an unknown form");
  }
  column.ends_ = in.take(uint64_t{count} * column.width_).data();
  uint64_t previous = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t end = load_fixed(column.ends_ + size_t{i} * column.width_, column.width_);
    if (end < previous) NodeReader::fail("a byte column's ends do not ascend");
    previous = end;
  }
  column.data_ = in.take(previous).data();
  return column;
}

void BytesColumnWriter::write(std::string& out) const {
  const uint64_t total = data_.size();
  const uint64_t stride = ends_.empty() ? 0 : ends_[0];
  bool same = true;
  for (size_t i = 0; i < ends_.size() && same; ++i) same = ends_[i] == stride * (i + 1);
  if (same) {
    out.push_back(0);
    put_fixed(out, stride, 4);
  } else {
    const unsigned width = total <= UINT8_MAX ? 1 : total <= UINT16_MAX ? 2 : 4;
    out.push_back(static_cast<char>(width));
    for (uint64_t end : ends_) put_fixed(out, end, width);
  }
  out.append(data_);
}

}  // namespace tarn::tree
