#include "core/objects/object_writer.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "core/base/digest.h"
#include "core/base/error.h"

namespace tarn::objects {
namespace {

constexpr size_t kBuffer = 256 * 1024;

/// Some bytes in pieces of changing lengths.
class Source {
 public:
  explicit Source(size_t count) : bytes_(count, '\0') {
    for (char& c : bytes_) c = static_cast<char>(random_());
  }
  size_t operator()(std::span<char> out) {
    const size_t most = std::min(out.size(), bytes_.size() - at_);
    const size_t got = most == 0 ? 0 : 1 + random_() % most;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), got, out.begin());
    at_ += got;
    return got;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::mt19937 random_{7};
  std::string bytes_;
  size_t at_ = 0;
};

TEST(PassBytes, HandsOnAndDigestsEveryByteOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, kBuffer - 1, kBuffer, kBuffer + 1, 2 * kBuffer,
                             2 * kBuffer + 2, 7 * kBuffer + 5}) {
    for (const std::optional<uint64_t> hint :
         {std::optional<uint64_t>(), std::optional<uint64_t>(count), std::optional<uint64_t>(10)}) {
      Source source(count);
      std::string written;
      const PassedBytes passed =
          pass_bytes([&](std::span<char> out) { return source(out); },
                     [&](std::string_view piece) { written += piece; }, hint);
      EXPECT_EQ(passed.size_bytes, count);
      EXPECT_TRUE(passed.sha256 == sha256(source.bytes())) << count;
      EXPECT_TRUE(written == source.bytes()) << count;
    }
  }
}

TEST(PassBytes, DigestsNothingThatIsDigestedElsewhere) {
  Source source(3 * kBuffer);
  std::string written;
  const PassedBytes passed = pass_bytes([&](std::span<char> out) { return source(out); },
                                        [&](std::string_view piece) { written += piece; },
                                        std::nullopt, /*with_sha256=*/false);
  EXPECT_EQ(passed.sha256, "");
  EXPECT_TRUE(written == source.bytes());
}

TEST(PassBytes, EndsWithTheErrorOfEitherSide) {
  Source source(5 * kBuffer);
  int reads = 0;
  const auto fails = [&](std::span<char> out) -> size_t {
    if (++reads > 40) throw Error(ErrorCode::kUnavailable, "the client left");
    return source(out.first(std::min<size_t>(out.size(), 20'000)));
  };
  EXPECT_THROW(pass_bytes(
                   fails, [](std::string_view) {}, std::nullopt),
               Error);
  Source other(5 * kBuffer);
  const auto full = [](std::string_view) { throw Error(ErrorCode::kUnavailable, "disk full"); };
  EXPECT_THROW(pass_bytes([&](std::span<char> out) { return other(out); }, full, std::nullopt),
               Error);
}

}  // namespace
}  // namespace tarn::objects
