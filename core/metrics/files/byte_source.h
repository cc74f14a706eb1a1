// The bytes of one file, read forward through a small buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

/// One thread at a time; never holds more than its buffer.
class ByteSource {
 public:
  /// At most out.size() bytes; 0 = the end. What it throws passes through.
  using Read = std::function<size_t(std::span<char>)>;
  /// Ends after `bytes_max` bytes, whether or not there are more.
  ByteSource(Read read, uint64_t bytes_max);
  /// `bytes` outlives it.
  explicit ByteSource(std::string_view bytes);

  static constexpr int kEnd = -1;
  /// The next byte as 0..255, or kEnd.
  int peek();
  int get();
  /// Fills `out`; less only at the end.
  size_t read(std::span<char> out);
  /// Passes over; less only at the end.
  uint64_t skip(uint64_t count);
  /// The bytes up to the next newline, without it. false: the end. Of a longer line the first
  /// `bytes_max` bytes, with `cut` set; the rest is skipped.
  bool line(std::string& out, size_t bytes_max, bool& cut);

  uint64_t position() const { return position_; }  ///< bytes taken so far
  /// The end was reached because of bytes_max, and there are more bytes.
  bool limited() const { return limited_; }

 private:
  bool fill();

  Read read_;
  uint64_t left_;
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t end_ = 0;
  uint64_t position_ = 0;
  bool limited_ = false;
};

}  // namespace tarn
