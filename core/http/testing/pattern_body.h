// A body of bytes that tell their position.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "core/http/message.h"

namespace tarn::http::testing {

/// Byte `i` of the pattern.
inline char byte_at(uint64_t i) { return static_cast<char>(i % 251); }

/// Gives `total` bytes of the pattern, and counts those it gave.
class PatternBody final : public BodySource {
 public:
  PatternBody(uint64_t total, std::atomic<uint64_t>& given) : total_(total), given_(given) {}
  size_t read(std::span<char> out) override {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(out.size(), total_ - at_));
    for (size_t i = 0; i < count; ++i) out[i] = byte_at(at_ + i);
    at_ += count;
    given_ += count;
    return count;
  }

 private:
  const uint64_t total_;
  std::atomic<uint64_t>& given_;
  uint64_t at_ = 0;
};

/// An answer with a PatternBody, whose length it states.
inline Response pattern_answer(uint64_t total, std::atomic<uint64_t>& given) {
  Response response;
  response.source = std::make_unique<PatternBody>(total, given);
  response.content_length = total;
  return response;
}

}  // namespace tarn::http::testing
