// A body that arrives in pieces.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "core/http/message.h"

/// Returns at most the given number of bytes per read.
class PiecewiseSource final : public tarn::http::BodySource {
 public:
  PiecewiseSource(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}
  size_t read(std::span<char> out) override {
    const size_t count = std::min({piece_, out.size(), bytes_.size()});
    std::copy_n(bytes_.data(), count, out.data());
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
  size_t piece_;
};
