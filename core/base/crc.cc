#include "core/base/crc.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/error.h"

namespace tarn {
namespace {

// All three are reflected: the first bit of a byte is its least significant one, and bit 63 - i of
// a "wide" word holds the coefficient of x^i. A 32-bit CRC uses the low half of its 64-bit state.
struct Polynomial {
  uint64_t reflected;
  int width;
};

constexpr Polynomial polynomial_of(CrcKind kind) {
  switch (kind) {
    case CrcKind::kCrc32:
      return {0xedb88320, 32};
    case CrcKind::kCrc32c:
      return {0x82f63b78, 32};
    case CrcKind::kCrc64Nvme:
      return {0x9a6c9329ac4bc9b5, 64};
  }
  return {0, 64};
}

constexpr uint64_t mask_of(const Polynomial& p) {
  return p.width == 64 ? ~uint64_t{0} : 0xffffffff;
}

/// value * x modulo the polynomial.
constexpr uint64_t times_x(const Polynomial& p, uint64_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? p.reflected : 0);
}

constexpr uint64_t one_of(const Polynomial& p) { return uint64_t{1} << (p.width - 1); }

uint64_t multiply(const Polynomial& p, uint64_t a, uint64_t b) {
  uint64_t product = 0;
  for (uint64_t bit = one_of(p); bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = times_x(p, b);
  }
  return product;
}

uint64_t power_of_x(const Polynomial& p, uint64_t exponent) {
  uint64_t result = one_of(p);
  uint64_t square = times_x(p, result);
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(p, result, square);
    square = multiply(p, square, square);
  }
  return result;
}

constexpr size_t kSlices = 8;
constexpr size_t kFoldBytes = 64;  // four 128-bit lanes

struct Tables {
  explicit Tables(CrcKind kind) {
    const Polynomial p = polynomial_of(kind);
    for (uint64_t byte = 0; byte < 256; ++byte) {
      uint64_t value = byte;
      for (int bit = 0; bit < 8; ++bit) value = times_x(p, value);
      slice[0][byte] = value;
    }
    for (size_t s = 1; s < kSlices; ++s) {
      for (size_t byte = 0; byte < 256; ++byte) {
        const uint64_t before = slice[s - 1][byte];
        slice[s][byte] = (before >> 8) ^ slice[0][before & 0xff];
      }
    }
    // Moving a lane by D bits multiplies its first half by x^(D+64) and its second by x^D. A
    // carry-less product of reflected words comes out multiplied by x once more, hence the minus
    // one.
    const int up = 64 - p.width;
    near = {power_of_x(p, 128 + 64 - 1) << up, power_of_x(p, 128 - 1) << up};
    far = {power_of_x(p, 8 * kFoldBytes + 64 - 1) << up, power_of_x(p, 8 * kFoldBytes - 1) << up};
  }
  std::array<std::array<uint64_t, 256>, kSlices> slice;
  std::array<uint64_t, 2> near;  ///< by one lane
  std::array<uint64_t, 2> far;   ///< by four lanes
};

const Tables& tables_of(CrcKind kind) {
  static const std::array<Tables, 3> all{Tables(CrcKind::kCrc32), Tables(CrcKind::kCrc32c),
                                         Tables(CrcKind::kCrc64Nvme)};
  return all[static_cast<size_t>(kind)];
}

uint64_t load_le(const char* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

uint64_t update_by_table(const Tables& t, uint64_t state, std::string_view bytes) {
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kSlices; left -= kSlices, at += kSlices) {
    const uint64_t word = state ^ load_le(at);
    state = 0;
    for (size_t i = 0; i < kSlices; ++i)
      state ^= t.slice[kSlices - 1 - i][(word >> (8 * i)) & 0xff];
  }
  for (; left > 0; --left, ++at) {
    state = (state >> 8) ^ t.slice[0][(state ^ static_cast<uint8_t>(*at)) & 0xff];
  }
  return state;
}

#if defined(__x86_64__)

constexpr size_t kFoldBytesMin = 256;  // below this, the set-up costs more than it saves

__attribute__((target("pclmul,sse4.1"))) inline __m128i load_lane(const char* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i load_factors(
    const std::array<uint64_t, 2>& from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data()));
}

__attribute__((target("pclmul,sse4.1"))) inline __m128i moved(__m128i lane, __m128i factors) {
  return _mm_xor_si128(_mm_clmulepi64_si128(lane, factors, 0x00),
                       _mm_clmulepi64_si128(lane, factors, 0x11));
}

/// Reduces the bytes to 16 with the same remainder, four lanes at a time; the tables handle those.
__attribute__((target("pclmul,sse4.1"))) uint64_t update_by_folding(const Tables& t, uint64_t state,
                                                                    std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size() / kFoldBytes * kFoldBytes;
  __m128i a = _mm_xor_si128(load_lane(at), _mm_cvtsi64_si128(static_cast<int64_t>(state)));
  __m128i b = load_lane(at + 16);
  __m128i c = load_lane(at + 32);
  __m128i d = load_lane(at + 48);
  const __m128i far = load_factors(t.far);
  for (at += kFoldBytes; at != end; at += kFoldBytes) {
    a = _mm_xor_si128(moved(a, far), load_lane(at));
    b = _mm_xor_si128(moved(b, far), load_lane(at + 16));
    c = _mm_xor_si128(moved(c, far), load_lane(at + 32));
    d = _mm_xor_si128(moved(d, far), load_lane(at + 48));
  }
  const __m128i near = load_factors(t.near);
  b = _mm_xor_si128(moved(a, near), b);
  c = _mm_xor_si128(moved(b, near), c);
  d = _mm_xor_si128(moved(c, near), d);
  std::array<char, 16> last;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(last.data()), d);
  state = update_by_table(t, 0, {last.data(), last.size()});
  return update_by_table(t, state, bytes.substr(static_cast<size_t>(end - bytes.data())));
}

bool can_fold() {
  static const bool yes = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return yes;
}

#endif

uint64_t update_state(CrcKind kind, uint64_t state, std::string_view bytes) {
  const Tables& t = tables_of(kind);
#if defined(__x86_64__)
  if (bytes.size() >= kFoldBytesMin && can_fold()) return update_by_folding(t, state, bytes);
#endif
  return update_by_table(t, state, bytes);
}

}  // namespace

Crc::Crc(CrcKind kind) : kind_(kind), state_(mask_of(polynomial_of(kind))) {}

void Crc::update(std::string_view bytes) { state_ = update_state(kind_, state_, bytes); }
uint64_t Crc::value() const { return state_ ^ mask_of(polynomial_of(kind_)); }
std::string Crc::digest() const { return crc_digest(kind_, value()); }

size_t crc_bytes(CrcKind kind) { return static_cast<size_t>(polynomial_of(kind).width) / 8; }

uint64_t crc_of(CrcKind kind, std::string_view bytes) {
  Crc crc(kind);
  crc.update(bytes);
  return crc.value();
}

uint64_t combine_crc(CrcKind kind, uint64_t crc_a, uint64_t crc_b, uint64_t length_b) {
  // Start value and final complement are both all ones, so they cancel out of the sum.
  const Polynomial p = polynomial_of(kind);
  uint64_t shift = power_of_x(p, 8);  // then raised to length_b: 8 * length_b may not fit 64 bits
  uint64_t factor = one_of(p);
  for (uint64_t exponent = length_b; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) factor = multiply(p, factor, shift);
    shift = multiply(p, shift, shift);
  }
  return multiply(p, factor, crc_a) ^ crc_b;
}

std::string crc_digest(CrcKind kind, uint64_t value) {
  std::string out;
  for (size_t i = crc_bytes(kind); i-- > 0;) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

uint64_t crc_value(CrcKind kind, std::string_view digest) {
  TARN_CHECK(digest.size() == crc_bytes(kind));
  uint64_t value = 0;
  for (char c : digest) value = (value << 8) | static_cast<uint8_t>(c);
  return value;
}

}  // namespace tarn
