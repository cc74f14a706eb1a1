#include "core/statistics/statistics.h"

#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::statistics {
namespace {

/// Results of SciPy (tests/golden/make_statistics.py), by case.
std::map<int, std::vector<double>> results_of(const std::string& kind) {
  std::ifstream in(TARN_GOLDEN_DIR "/statistics.csv");
  std::map<int, std::vector<double>> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string cell;
    std::getline(cells, cell, ',');
    if (cell != kind) continue;
    std::getline(cells, cell, ',');
    std::vector<double>& values = out[std::stoi(cell)];
    while (std::getline(cells, cell, ',')) values.push_back(std::stod(cell));
  }
  EXPECT_EQ(out.size(), 1000U);
  return out;
}

size_t below(std::minstd_rand& random, size_t count) { return random() % count; }

std::vector<double> sample(std::minstd_rand& random) {
  const size_t size = 2 + below(random, 30);
  const double shift = static_cast<double>(below(random, 1000));
  const double spread = static_cast<double>(1 + below(random, 1000));
  std::vector<double> out(size);
  for (double& value : out)
    value = 0.9 + shift / 1e5 + static_cast<double>(below(random, 1000)) * spread / 1e8;
  return out;
}

void expect_close(double value, double wanted, double tolerance = 1e-9) {
  EXPECT_NEAR(value, wanted, tolerance * std::max(1.0, std::abs(wanted)));
}

TEST(Statistics, WelchIsThatOfScipy) {
  for (const auto& [number, wanted] : results_of("welch")) {
    SCOPED_TRACE(number);
    std::minstd_rand random(static_cast<unsigned>(number));
    const Sample first = sample_of(sample(random));
    const Sample second = sample_of(sample(random));
    const auto found = welch(first, second);
    ASSERT_TRUE(found);
    const Interval interval = found->interval(0.95);
    const double values[] = {
        found->t(),   found->freedom, found->p_two_sided(),   found->p_greater(),
        interval.low, interval.high,  found->lower_bound(0.9)};
    for (size_t i = 0; i < std::size(values); ++i) expect_close(values[i], wanted.at(i));
  }
}

TEST(Statistics, McnemarIsThatOfScipy) {
  for (const auto& [number, wanted] : results_of("mcnemar")) {
    std::minstd_rand random(static_cast<unsigned>(number));
    const size_t first = below(random, 1 + below(random, 500));
    const size_t second = below(random, 1 + below(random, 500));
    expect_close(mcnemar_p(first, second), wanted.at(0));
  }
  EXPECT_EQ(mcnemar_p(0, 0), 1);
}

TEST(Statistics, HolmIsByItsDefinition) {
  for (const auto& [number, wanted] : results_of("holm")) {
    std::minstd_rand random(static_cast<unsigned>(number));
    std::vector<double> p_values(1 + below(random, 8));
    for (double& value : p_values) value = static_cast<double>(below(random, 10000)) / 100000;
    const std::vector<double> found = holm(p_values);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) expect_close(found[i], wanted[i]);
  }
  EXPECT_TRUE(holm({}).empty());
}

/// Both draw at random, so limits differ by some hundredths of the standard error.
TEST(Statistics, BootstrapIsThatOfScipy) {
  for (const auto& [number, wanted] : results_of("bootstrap")) {
    SCOPED_TRACE(number);
    std::minstd_rand random(static_cast<unsigned>(number));
    std::vector<double> values(20 + below(random, 60));
    for (double& value : values) {
      if (number % 2 == 1) {
        const double one = static_cast<double>(below(random, 1000));
        value = one * static_cast<double>(below(random, 1000)) / 1e6 - 0.2;
      } else {
        const bool right = below(random, 5) == 0;
        value = (right ? 1 : 0) - (below(random, 6) == 0 ? 1 : 0);
      }
    }
    const std::vector<double> none(values.size(), 0.0);
    const Bootstrap found = paired_bootstrap(values, none, 0.95, 9999, 1);
    const double error = sample_of(values).sd / std::sqrt(static_cast<double>(values.size()));
    // Means of few distinct values move in steps of one example.
    const double step = number % 2 == 1 ? 0 : 1.0 / static_cast<double>(values.size());
    expect_close(found.difference, wanted.at(0));
    EXPECT_NEAR(found.interval.low, wanted.at(1), 0.25 * error + step);
    EXPECT_NEAR(found.interval.high, wanted.at(2), 0.25 * error + step);
  }
}

/// Few values are resampled by their counts, many in blocks: the distribution is the same.
TEST(Statistics, BothWaysToResampleAgree) {
  std::minstd_rand random(1);
  std::vector<double> values(5000);
  for (double& value : values) value = static_cast<double>(below(random, 10)) - 4;
  std::vector<double> apart = values;
  for (double& value : apart) value += static_cast<double>(below(random, 1000000)) * 1e-12;
  const std::vector<double> none(values.size(), 0.0);
  const double error = sample_of(values).sd / std::sqrt(static_cast<double>(values.size()));
  const Bootstrap grouped = paired_bootstrap(values, none, 0.95, 20000, 1);
  const Bootstrap blocks = paired_bootstrap(apart, none, 0.95, 20000, 1);
  EXPECT_NEAR(grouped.interval.low, blocks.interval.low, 0.1 * error);
  EXPECT_NEAR(grouped.interval.high, blocks.interval.high, 0.1 * error);
  EXPECT_NEAR(grouped.interval.high - grouped.difference, 1.96 * error, 0.1 * error);
}

TEST(Statistics, BootstrapDependsOnItsSeedAlone) {
  const std::vector<double> first = {1, 2, 3, 5, 8, 13};
  const std::vector<double> second = {1, 1, 2, 3, 5, 8};
  const auto high = [&](uint64_t seed) {
    return paired_bootstrap(first, second, 0.9, 1000, seed).interval.high;
  };
  EXPECT_EQ(high(7), high(7));
  const Bootstrap same = paired_bootstrap(first, first, 0.9, 1000, 7);
  EXPECT_EQ(same.interval.low, 0);
  EXPECT_EQ(same.interval.high, 0);
}

TEST(Statistics, NothingIsSaidOfValuesThatDoNotVary) {
  const Sample same = sample_of(std::vector<double>(7, 0.7));
  EXPECT_EQ(same.mean, 0.7);
  EXPECT_EQ(same.sd, 0);
  const Sample other = sample_of(std::vector<double>(7, 0.8));
  EXPECT_FALSE(welch(same, other));
  EXPECT_FALSE(welch(sample_of(std::vector<double>{1}), sample_of(std::vector<double>{1, 2})));
  EXPECT_TRUE(welch(same, sample_of(std::vector<double>{0.1, 0.2})));
  // The squares of such distances are no doubles.
  EXPECT_FALSE(welch(sample_of(std::vector<double>{1e300, -1e300}), same));
}

TEST(Statistics, ALowerBoundDecidesAsItsPValue) {
  for (int number = 1; number < 200; ++number) {
    std::minstd_rand random(static_cast<unsigned>(number));
    const Sample first = sample_of(sample(random));
    const auto found = welch(first, sample_of(sample(random)));
    EXPECT_EQ(found->lower_bound(0.95) > 0, found->p_greater(0) < 0.05);
  }
}

TEST(Statistics, TheBootstrapsPValueIsWhereItsLowerLimitIs) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> first(400), second(400);
  for (size_t i = 0; i < first.size(); ++i) {
    first[i] = std::exp(noise(random));
    second[i] = std::exp(noise(random)) - 0.2;
  }
  for (const double alpha : {0.01, 0.05, 0.2}) {
    const double low = paired_bootstrap(first, second, 1 - 2 * alpha, 20'000, 7).interval.low;
    const auto p = [&](double bound) {
      return paired_bootstrap(first, second, 0.9, 20'000, 7, bound).p_greater;
    };
    EXPECT_NEAR(p(low), alpha, 0.002) << alpha;
    EXPECT_LT(p(low - 0.05), alpha);
    EXPECT_GT(p(low + 0.05), alpha);
  }
  EXPECT_GE(paired_bootstrap(first, second, 0.9, 100, 7, -1e9).p_greater, 1.0 / 101);
}

TEST(Statistics, McnemarOneSidedIsHalfOfBoth) {
  EXPECT_DOUBLE_EQ(mcnemar_p_greater(9, 2), mcnemar_p(9, 2) / 2);
  EXPECT_DOUBLE_EQ(mcnemar_p_greater(0, 5), 1);
  EXPECT_DOUBLE_EQ(mcnemar_p_greater(1, 0), 0.5);
  EXPECT_GT(mcnemar_p_greater(2, 9), 0.95);
}

TEST(Statistics, WrongArgumentsAreRefused) {
  const double nan = std::nan("");
  const std::vector<double> two = {1, 2};
  const std::vector<std::function<void()>> wrong = {
      [&] {
        sample_of(std::vector<double>{1, nan});
      },
      [&] { paired_bootstrap(two, std::vector<double>{1}, 0.9, 10, 1); },
      [&] { paired_bootstrap({}, {}, 0.9, 10, 1); },
      [&] { paired_bootstrap(two, two, 1, 10, 1); },
      [&] { paired_bootstrap(two, two, 0.9, 0, 1); },
      [&] { paired_bootstrap(two, two, 0.9, kBootstrapResamplesMax + 1, 1); },
      [&] {
        paired_bootstrap(two, std::vector<double>{1, HUGE_VAL}, 0.9, 10, 1);
      },
      [&] { welch(sample_of(two), sample_of(two))->interval(0); },
      [&] { welch(sample_of(two), sample_of(two))->lower_bound(nan); },
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_THROW(wrong[i](), Error);
  }
}

/// Experiments with two equal models: an interval of 95 % may miss zero in 50 of 1,000.
TEST(Simulation, OfEqualModelsFewAreCalledDifferent) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> seeds(0.99, 0.002);
  std::bernoulli_distribution right(0.95);
  int by_welch = 0;
  int by_lower_bound = 0;
  int by_bootstrap = 0;
  int by_mcnemar = 0;
  int better_by_bootstrap = 0;
  int better_by_mcnemar = 0;
  for (uint64_t experiment = 0; experiment < 1000; ++experiment) {
    std::vector<double> first(5), second(5);
    for (double& value : first) value = seeds(random);
    for (double& value : second) value = seeds(random);
    const auto found = welch(sample_of(first), sample_of(second));
    const Interval interval = found->interval(0.95);
    by_welch += interval.low > 0 || interval.high < 0 ? 1 : 0;
    by_lower_bound += found->lower_bound(0.95) > 0 ? 1 : 0;

    std::vector<double> one(500), other(500);
    uint64_t only_one = 0;
    uint64_t only_other = 0;
    for (size_t i = 0; i < one.size(); ++i) {
      one[i] = right(random) ? 1 : 0;
      other[i] = right(random) ? 1 : 0;
      only_one += one[i] > other[i] ? 1 : 0;
      only_other += one[i] < other[i] ? 1 : 0;
    }
    const Bootstrap paired = paired_bootstrap(one, other, 0.95, 2000, experiment);
    by_bootstrap += paired.interval.low > 0 || paired.interval.high < 0 ? 1 : 0;
    by_mcnemar += mcnemar_p(only_one, only_other) < 0.05 ? 1 : 0;
    better_by_bootstrap += paired.p_greater < 0.05 ? 1 : 0;
    better_by_mcnemar += mcnemar_p_greater(only_one, only_other) < 0.05 ? 1 : 0;
  }
  EXPECT_LE(better_by_bootstrap, 60);
  EXPECT_GE(better_by_bootstrap, 25);
  EXPECT_LE(better_by_mcnemar, 60);
  EXPECT_LE(by_welch, 60);
  EXPECT_LE(by_lower_bound, 60);
  EXPECT_LE(by_bootstrap, 60);
  EXPECT_LE(by_mcnemar, 60);
  EXPECT_GE(by_welch, 25);
  EXPECT_GE(by_bootstrap, 25);
  RecordProperty("different",
                 std::to_string(by_welch) + " " + std::to_string(by_lower_bound) + " " +
                     std::to_string(by_bootstrap) + " " + std::to_string(by_mcnemar) + " " +
                     std::to_string(better_by_bootstrap) + " " + std::to_string(better_by_mcnemar));
}

/// Some 20 candidates that are equal to the champion: without the correction most judgements would
/// call one of them better.
TEST(Simulation, OfManyEqualCandidatesFewWin) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> seeds(0.99, 0.002);
  const auto measured = [&] {
    std::vector<double> values(5);
    for (double& value : values) value = seeds(random);
    return sample_of(values);
  };
  int uncorrected = 0;
  int corrected = 0;
  for (int judgement = 0; judgement < 1000; ++judgement) {
    const Sample champion = measured();
    std::vector<double> p_values;
    for (int i = 0; i < 20; ++i) p_values.push_back(welch(measured(), champion)->p_greater());
    const std::vector<double> adjusted = holm(p_values);
    uncorrected += *std::min_element(p_values.begin(), p_values.end()) < 0.05 ? 1 : 0;
    corrected += *std::min_element(adjusted.begin(), adjusted.end()) < 0.05 ? 1 : 0;
  }
  EXPECT_GT(uncorrected, 250);
  EXPECT_LE(corrected, 60);
}

/// Processor time, which other work on the machine does not lengthen much.
TEST(Statistics, BootstrapOfAHundredThousandExamplesTakesSeconds) {
  std::minstd_rand random(1);
  std::vector<double> loss(100'000), right(loss.size());
  for (double& value : loss) value = static_cast<double>(random()) * 1e-9;
  for (double& value : right) value = below(random, 50) == 0 ? 1 : 0;
  const std::vector<double> none(loss.size(), 0.0);
  const auto seconds_of = [&](const std::vector<double>& values) {
    const std::clock_t begin = std::clock();
    paired_bootstrap(values, none, 0.95, 10'000, 1);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double few = seconds_of(right);
  const double many = seconds_of(loss);
  RecordProperty("seconds", std::to_string(few) + " " + std::to_string(many));
  // Many times the promise, since sanitizers are slow.
  EXPECT_LT(few, 4);
  EXPECT_LT(many, 20);
}

}  // namespace
}  // namespace tarn::statistics
