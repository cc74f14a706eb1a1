// A buffer of received bytes.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/error.h"

namespace tarn::http {

/// A fixed space that is filled at the back and used up from the front. One thread at a time.
class InputBuffer {
 public:
  explicit InputBuffer(size_t capacity)
      : bytes_(std::make_unique_for_overwrite<char[]>(capacity)), capacity_(capacity) {}

  std::string_view unused() const { return {bytes_.get() + begin_, end_ - begin_}; }
  void consume(size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  void clear() { begin_ = end_ = 0; }
  void assign(std::string_view bytes) {
    TARN_CHECK(bytes.size() <= capacity_);
    clear();
    if (!bytes.empty()) std::memcpy(bytes_.get(), bytes.data(), bytes.size());
    end_ = bytes.size();
  }
  /// Free space after the bytes; moves them to the front if less than `least` is left.
  std::span<char> space(size_t least) {
    if (capacity_ - end_ < least && begin_ > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void filled(size_t count) { end_ += count; }

 private:
  std::unique_ptr<char[]> bytes_;
  const size_t capacity_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace tarn::http
