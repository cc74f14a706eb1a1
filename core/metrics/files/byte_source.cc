#include "core/metrics/files/byte_source.h"

#include <algorithm>
#include <cstring>

namespace tarn {
namespace {

constexpr size_t kBufferBytes = 64 * 1024;

}  // namespace

ByteSource::ByteSource(Read read, uint64_t bytes_max)
    : read_(std::move(read)), left_(bytes_max), buffer_(kBufferBytes) {}

ByteSource::ByteSource(std::string_view bytes)
    : ByteSource(
          [bytes](std::span<char> out) mutable {
            const size_t count = std::min(out.size(), bytes.size());
            std::copy_n(bytes.data(), count, out.data());
            bytes.remove_prefix(count);
            return count;
          },
          UINT64_MAX) {}

bool ByteSource::fill() {
  if (at_ < end_) return true;
  if (limited_) return false;
  at_ = 0;
  end_ = read_(buffer_);
  if (end_ > left_) {
    end_ = static_cast<size_t>(left_);
    limited_ = true;
  }
  left_ -= end_;
  return end_ > 0;
}

int ByteSource::peek() { return fill() ? static_cast<unsigned char>(buffer_[at_]) : kEnd; }

int ByteSource::get() {
  const int byte = peek();
  if (byte == kEnd) return kEnd;
  ++at_;
  ++position_;
  return byte;
}

size_t ByteSource::read(std::span<char> out) {
  size_t done = 0;
  while (done < out.size() && fill()) {
    const size_t count = std::min(out.size() - done, end_ - at_);
    std::copy_n(buffer_.data() + at_, count, out.data() + done);
    done += count;
    at_ += count;
  }
  position_ += done;
  return done;
}

uint64_t ByteSource::skip(uint64_t count) {
  uint64_t done = 0;
  while (done < count && fill()) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(count - done, end_ - at_));
    done += step;
    at_ += step;
  }
  position_ += done;
  return done;
}

bool ByteSource::line(std::string& out, size_t bytes_max, bool& cut) {
  out.clear();
  cut = false;
  if (!fill()) return false;
  while (fill()) {
    const char* begin = buffer_.data() + at_;
    const size_t there = end_ - at_;
    const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', there));
    const size_t length = newline ? static_cast<size_t>(newline - begin) : there;
    const size_t kept = std::min(length, bytes_max - out.size());
    out.append(begin, kept);
    cut |= kept < length;
    at_ += length + (newline ? 1 : 0);
    position_ += length + (newline ? 1 : 0);
    if (newline) break;
  }
  if (!out.empty() && out.back() == '\r') out.pop_back();
  return true;
}

}  // namespace tarn
