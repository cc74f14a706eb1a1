#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/normal.hpp>
#include <boost/random/binomial_distribution.hpp>

#include "core/base/error.h"
#include "core/statistics/statistics.h"

namespace tarn::statistics {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
class Random {
 public:
  using result_type = uint64_t;
  explicit Random(uint64_t seed) : state_(seed) {}
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

/// One of `count` equally likely numbers (Lemire 2019).
uint32_t below(uint32_t count, Random& random) {
  for (;;) {
    const uint64_t product = (random() >> 32) * count;
    if (static_cast<uint32_t>(product) >= -count % count)
      return static_cast<uint32_t>(product >> 32);
  }
}

/// One cell of a multinomial distribution: of `left` draws that fall into `left_of` equally likely
/// places, those in `size` of them. Called for one cell after the other, it draws all counts.
size_t draws_in(size_t size, size_t left_of, size_t left, Random& random) {
  if (left == 0 || size == left_of) return left;
  const double share = static_cast<double>(size) / static_cast<double>(left_of);
  return static_cast<size_t>(
      boost::random::binomial_distribution<int64_t>(static_cast<int64_t>(left), share)(random));
}

/// Equal differences, and how many there are.
struct Group {
  double value;
  size_t count;
};

std::vector<Group> groups_of(std::vector<double> sorted) {
  std::sort(sorted.begin(), sorted.end());
  std::vector<Group> out;
  for (const double value : sorted) {
    if (out.empty() || out.back().value != value) out.push_back({value, 0});
    ++out.back().count;
  }
  return out;
}

/// The mean of one resample of grouped differences. Only the counts of the groups matter, and these
/// are multinomial.
double resampled(std::span<const Group> groups, size_t n, Random& random) {
  double sum = 0;
  size_t left = n;
  size_t left_of = n;
  for (const Group& group : groups) {
    const size_t count = draws_in(group.count, left_of, left, random);
    sum += static_cast<double>(count) * group.value;
    left -= count;
    left_of -= group.count;
  }
  return sum / static_cast<double>(n);
}

/// Neighbours among which single examples are drawn: they fit into the first cache, and one random
/// number has six indices.
constexpr size_t kBlockBits = 10;
constexpr size_t kBlock = size_t{1} << kBlockBits;

/// The mean of one resample of any differences: how many draws fall into each block is multinomial,
/// and within a block every example is equally likely.
double resampled(std::span<const double> differences, Random& random) {
  double even = 0;
  double odd = 0;
  size_t left = differences.size();
  for (size_t at = 0; at < differences.size(); at += kBlock) {
    const std::span<const double> block =
        differences.subspan(at, std::min(kBlock, differences.size() - at));
    size_t count = draws_in(block.size(), differences.size() - at, left, random);
    left -= count;
    while (block.size() == kBlock && count >= 6) {
      uint64_t bits = random();
      for (size_t pair = 0; pair < 3; ++pair, bits >>= 2 * kBlockBits) {
        even += block[bits % kBlock];
        odd += block[(bits >> kBlockBits) % kBlock];
      }
      count -= 6;
    }
    for (; count > 0; --count) even += block[below(static_cast<uint32_t>(block.size()), random)];
  }
  return (even + odd) / static_cast<double>(differences.size());
}

/// Between the two nearest values, as numpy.percentile has it.
double quantile_of(std::span<const double> sorted, double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The acceleration: a sixth of the skewness of the jackknife values, which for a mean are the
/// differences themselves.
double acceleration(std::span<const Group> groups, double mean) {
  double squares = 0;
  double cubes = 0;
  for (const Group& group : groups) {
    const double off = group.value - mean;
    squares += static_cast<double>(group.count) * off * off;
    cubes += static_cast<double>(group.count) * off * off * off;
  }
  return cubes / (6 * squares * std::sqrt(squares));
}

/// The limits among the sorted means of resamples.
Interval bca(std::span<const double> means, double estimate, double accelerated,
             double confidence) {
  const auto [first, last] = std::equal_range(means.begin(), means.end(), estimate);
  const double below =
      static_cast<double>(first - means.begin()) + static_cast<double>(last - first) / 2;
  const double share = below / static_cast<double>(means.size());
  const boost::math::normal normal;
  const bool one_sided = share <= 0 || share >= 1;
  const double bias = one_sided ? 0 : boost::math::quantile(normal, share);
  const auto limit = [&](double z) {
    const double moved = bias + z;
    const double to = bias + moved / (1 - accelerated * moved);
    return quantile_of(means, boost::math::cdf(normal, to));
  };
  const double z = boost::math::quantile(normal, (1 + confidence) / 2);
  return {limit(-z), limit(z)};
}

/// The level at which the lower limit of bca() is `bound`.
double level_of(std::span<const double> means, double estimate, double accelerated, double bound) {
  const auto share_below = [&](double value) {
    const auto [first, last] = std::equal_range(means.begin(), means.end(), value);
    return (static_cast<double>(first - means.begin()) + static_cast<double>(last - first) / 2) /
           static_cast<double>(means.size());
  };
  const double least = 1 / (static_cast<double>(means.size()) + 1);
  const boost::math::normal normal;
  const auto z_of = [&](double share) {
    return boost::math::quantile(normal, std::clamp(share, least, 1 - least));
  };
  const double share = share_below(estimate);
  const double bias = share <= 0 || share >= 1 ? 0 : z_of(share);
  const double off = z_of(share_below(bound)) - bias;
  const double level = boost::math::cdf(normal, off / (1 + accelerated * off) - bias);
  return std::max(level, least);
}

void check(bool holds, std::string_view what) {
  if (!holds) throw_invalid(std::string(what));
}

}  // namespace

Bootstrap paired_bootstrap(std::span<const double> first, std::span<const double> second,
                           double confidence, uint32_t resamples, uint64_t seed, double bound) {
  check(first.size() == second.size(), "examples: both models need a value of each");
  check(!first.empty() && first.size() <= kBootstrapExamplesMax,
        "examples: must be 1 to 10,000,000");
  check(resamples >= 1 && resamples <= kBootstrapResamplesMax, "resamples: must be 1 to 1,000,000");
  check(confidence > 0 && confidence < 1, "confidence: must be between 0 and 1");
  const size_t n = first.size();
  std::vector<double> differences(n);
  for (size_t i = 0; i < n; ++i) {
    differences[i] = first[i] - second[i];
    check(std::isfinite(differences[i]), "values: must be finite");
  }
  const std::vector<Group> groups = groups_of(differences);
  double mean = 0;
  for (const Group& group : groups) mean += static_cast<double>(group.count) * group.value;
  mean /= static_cast<double>(n);
  if (groups.size() == 1) return {mean, {mean, mean}, mean > bound ? 0.0 : 1.0};
  // One count takes as long as drawing some hundred examples.
  const bool by_group = groups.size() <= std::max<size_t>(16, n / 100);
  Random random(seed);
  std::vector<double> means(resamples);
  for (double& one : means)
    one = by_group ? resampled(groups, n, random) : resampled(differences, random);
  std::sort(means.begin(), means.end());
  const double accelerated = acceleration(groups, mean);
  return {mean, bca(means, mean, accelerated, confidence),
          level_of(means, mean, accelerated, bound)};
}

}  // namespace tarn::statistics
