// Columns of a node: one value per entry, read in place.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarn::tree {

/// Bounds-checked reading position in a node's bytes. Inline: a leaf's validation reads some 500
/// varints. Anything out of bounds throws data_loss. One thread at a time.
class NodeReader {
 public:
  explicit NodeReader(std::string_view bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  const char* at() const { return at_; }
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  bool done() const { return at_ == end_; }

  std::string_view take(uint64_t count) {
    if (count > static_cast<uint64_t>(end_ - at_)) fail("ends early");
    const char* from = at_;
    at_ += count;
    return {from, static_cast<size_t>(count)};
  }
  uint64_t fixed(unsigned width);
  uint8_t u8() { return static_cast<uint8_t>(take(1)[0]); }
  uint64_t varint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint8_t>(*at_++);
    return long_varint();
  }
  [[noreturn]] static void fail(std::string_view why);

 private:
  uint64_t long_varint();

  const char* begin_;
  const char* at_;
  const char* end_;
};

/// The little-endian unsigned integer in `width` (0..8) bytes.
inline uint64_t load_fixed(const char* from, unsigned width) {
  uint64_t value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, from, width);
  } else {
    for (unsigned i = 0; i < width; ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(from[i])) << (8 * i);
    }
  }
  return value;
}
void put_fixed(std::string& out, uint64_t value, unsigned width);

/// Integers, all in the fewest bytes that hold the greatest: u8 width (0..8), then count * width
/// bytes.
class UintColumn {
 public:
  static UintColumn parse(NodeReader& in, uint32_t count);
  uint64_t at(uint32_t index) const { return load_fixed(data_ + size_t{index} * width_, width_); }
  /// Calls `visit` with each of the first `count` values; faster than at(), whose reads are of
  /// unknown width.
  template <typename Visit>
  void each(uint32_t count, Visit&& visit) const {
    switch (width_) {
      case 1:
        return each_of<1>(count, visit);
      case 2:
        return each_of<2>(count, visit);
      case 3:
        return each_of<3>(count, visit);
      case 4:
        return each_of<4>(count, visit);
      default:
        for (uint32_t i = 0; i < count; ++i) visit(at(i));
    }
  }

 private:
  template <unsigned kWidth, typename Visit>
  void each_of(uint32_t count, Visit& visit) const {
    for (uint32_t i = 0; i < count; ++i) visit(load_fixed(data_ + size_t{i} * kWidth, kWidth));
  }

  const char* data_ = nullptr;
  unsigned width_ = 0;
};
void put_uint_column(std::string& out, std::span<const uint64_t> values);

/// Byte strings. u8 form 0: u32 length that all share, then the bytes. Form 1, 2 or 4: an array of
/// where each value ends, in integers of that many bytes, then the bytes.
class BytesColumn {
 public:
  static BytesColumn parse(NodeReader& in, uint32_t count);
  std::string_view at(uint32_t index) const {
    if (width_ == 0) return {data_ + size_t{index} * stride_, stride_};
    const uint64_t begin = index == 0 ? 0 : load_fixed(ends_ + size_t{index - 1} * width_, width_);
    const uint64_t end = load_fixed(ends_ + size_t{index} * width_, width_);
    return {data_ + begin, static_cast<size_t>(end - begin)};
  }
  /// Every value is surely empty.
  bool all_empty() const { return width_ == 0 && stride_ == 0; }

 private:
  const char* ends_ = nullptr;
  const char* data_ = nullptr;
  unsigned width_ = 0;
  size_t stride_ = 0;
};

/// Collects the values of a BytesColumn. One thread at a time.
class BytesColumnWriter {
 public:
  void add(std::string_view value) {
    data_.append(value);
    ends_.push_back(data_.size());
  }
  /// For values assembled in place: append to data(), then end_value().
  std::string& data() { return data_; }
  void end_value() { ends_.push_back(data_.size()); }
  void write(std::string& out) const;
  void clear() {
    data_.clear();
    ends_.clear();
  }

 private:
  std::string data_;
  std::vector<uint64_t> ends_;
};

}  // namespace tarn::tree
