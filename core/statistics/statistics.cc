#include "core/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "core/base/error.h"

namespace tarn::statistics {
namespace {

namespace policies = boost::math::policies;
// Arguments are checked here, so no error of Boost may leave as an exception.
using Quiet = policies::policy<
    policies::promote_double<false>, policies::domain_error<policies::ignore_error>,
    policies::pole_error<policies::ignore_error>, policies::overflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>>;
using StudentsT = boost::math::students_t_distribution<double, Quiet>;
using Binomial = boost::math::binomial_distribution<double, Quiet>;

void check_confidence(double confidence) {
  if (!(confidence > 0 && confidence < 1)) throw_invalid("confidence: must be between 0 and 1");
}

}  // namespace

Sample sample_of(std::span<const double> values) {
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    throw_invalid("values: must be finite");
  Sample out{.n = values.size()};
  if (values.empty()) return out;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  // Rounding of a sum must not make equal values vary.
  if (*least == *most) {
    out.mean = *least;
    return out;
  }
  const double n = static_cast<double>(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.sd = std::sqrt(squares / (n - 1));
  return out;
}

std::optional<Welch> welch(const Sample& first, const Sample& second) {
  if (first.n < 2 || second.n < 2) return std::nullopt;
  const double n1 = static_cast<double>(first.n);
  const double n2 = static_cast<double>(second.n);
  const double v1 = first.sd * first.sd / n1;
  const double v2 = second.sd * second.sd / n2;
  const double error = std::sqrt(v1 + v2);
  // Shares of the variance, since the square of a small or great variance leaves the range.
  const double share1 = v1 / (v1 + v2);
  const double share2 = v2 / (v1 + v2);
  const double difference = first.mean - second.mean;
  if (!(error > 0) || !std::isfinite(error) || !std::isfinite(difference)) return std::nullopt;
  return Welch{.difference = difference,
               .error = error,
               .freedom = 1 / (share1 * share1 / (n1 - 1) + share2 * share2 / (n2 - 1))};
}

double Welch::p_two_sided() const {
  return 2 * boost::math::cdf(boost::math::complement(StudentsT(freedom), std::abs(t())));
}

double Welch::p_greater(double bound) const {
  return boost::math::cdf(boost::math::complement(StudentsT(freedom), t(bound)));
}

Interval Welch::interval(double confidence) const {
  check_confidence(confidence);
  const double half = error * boost::math::quantile(boost::math::complement(StudentsT(freedom),
                                                                            (1 - confidence) / 2));
  return {difference - half, difference + half};
}

double Welch::lower_bound(double confidence) const {
  check_confidence(confidence);
  return difference -
         error * boost::math::quantile(boost::math::complement(StudentsT(freedom), 1 - confidence));
}

double mcnemar_p(uint64_t only_first, uint64_t only_second) {
  const uint64_t fewer = std::min(only_first, only_second);
  const double all = static_cast<double>(only_first) + static_cast<double>(only_second);
  if (only_first == only_second) return 1;
  return std::min(1.0, 2 * boost::math::cdf(Binomial(all, 0.5), static_cast<double>(fewer)));
}

double mcnemar_p_greater(uint64_t only_first, uint64_t only_second) {
  if (only_first == 0) return 1;
  const double all = static_cast<double>(only_first) + static_cast<double>(only_second);
  return boost::math::cdf(
      boost::math::complement(Binomial(all, 0.5), static_cast<double>(only_first - 1)));
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> out(p_values.size());
  double adjusted = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const double factor = static_cast<double>(order.size() - i);
    adjusted = std::max(adjusted, std::min(1.0, factor * p_values[order[i]]));
    out[order[i]] = adjusted;
  }
  return out;
}

}  // namespace tarn::statistics
