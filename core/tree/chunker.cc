#include "core/tree/chunker.h"

#define XXH_INLINE_ALL
#include <array>

#include <xxhash.h>

namespace tarn::tree {
namespace {

#include "core/tree/chunk_thresholds.inc"

static_assert(kLeafThresholds.size() == kLeafWeightMax + 1);
static_assert(kInnerThresholds.size() == kInnerWeightMax + 1);

constexpr uint64_t kChunkSeed = 0x5461726e43687531;  // "TarnChu1"
constexpr uint64_t kLevelSalt =
    0x9e3779b97f4a7c15;  // 2^64 / golden ratio: no two levels share a seed
__extension__ using Wide = unsigned __int128;

uint64_t multiply_high(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

}  // namespace

Chunker::Chunker(const TreeFormat& format, uint8_t level)
    : seed_(kChunkSeed ^ (kLevelSalt * level) ^ format.salt), leaf_(level == 0) {}

bool Chunker::add(std::string_view key, uint32_t weight) {
  key_bytes_ += key.size();
  const bool ends = draw(key, weight) || key_bytes_ > kNodeKeyBytesMax;
  weight_ += weight;
  if (ends) restart();
  return ends;
}

bool Chunker::draw(std::string_view key, uint32_t weight) const {
  const uint64_t* table = leaf_ ? kLeafThresholds.data() : kInnerThresholds.data();
  const uint32_t max = leaf_ ? kLeafWeightMax : kInnerWeightMax;
  const uint32_t min = leaf_ ? kLeafWeightMin : kInnerWeightMin;
  if (weight_ + weight >= max) return true;
  if (weight_ + weight < min) return false;
  // The chance that any of the sizes that a heavy entry passes ends the node, in one draw.
  uint64_t chance = 0;
  for (uint32_t size = weight_ + 1; size <= weight_ + weight; ++size) {
    chance = chance + table[size] - multiply_high(chance, table[size]);
  }
  return XXH3_64bits_withSeed(key.data(), key.size(), seed_) < chance;
}

void Chunker::restart() {
  weight_ = 0;
  key_bytes_ = 0;
}

}  // namespace tarn::tree
