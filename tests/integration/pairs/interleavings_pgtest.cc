// Every verb against every other, with the one stopped at each of its statements.
//
// TARN_PAIR_A, TARN_PAIR_B, TARN_PAIR_POINT ("after branches_publish_commit") and TARN_PAIR_POINTS
// (of each pair) choose; see README.md in this folder.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "core/base/mutex.h"
#include "tests/integration/pairs/driver.h"
#include "tests/support/long_tests.h"

namespace tarn::pairs {
namespace {

constexpr int kWorkers = 2;
/// In the sample, which must take less than a minute: of two verbs, one stops and the other runs.
constexpr size_t kPointsPerPair = 1;
constexpr uint32_t kSeed = 6;
/// Every n-th pair of the sample also runs in sequence; n does not divide the number of verbs.
constexpr size_t kInOrderEvery = 5;
constexpr size_t kViolationsShownMax = 40;

std::string wanted(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

struct Case {
  const Verb* a;
  const Verb* b;
  Point point;
};

/// Runs `work(driver, index)` for every index on a few threads, each with its own driver.
template <typename Work>
void spread(size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&] {
      Driver driver;
      for (size_t at = next++; at < count; at = next++) work(driver, at);
    });
  }
}

using Statements = std::map<std::string, std::vector<std::string>>;

const Statements& statements() {
  static const Statements kStatements = [] {
    Statements out;
    Driver driver;
    for (const Verb& verb : all_verbs()) out[verb.name] = driver.record(verb);
    return out;
  }();
  return kStatements;
}

/// Whether the sample stops the verb at `a` of all_verbs() while the one at `b` runs, not the other
/// way round: each verb stops beside about half of the others.
bool is_sampled(size_t a, size_t b) { return a == b || ((a + b) % 2 == 0) == (a < b); }

std::vector<Case> cases() {
  std::vector<Case> out;
  std::mt19937 random(kSeed);
  const std::string a = wanted("TARN_PAIR_A"), b = wanted("TARN_PAIR_B");
  const std::string point = wanted("TARN_PAIR_POINT");
  const std::string points_of_pair = wanted("TARN_PAIR_POINTS");
  const bool all =
      points_of_pair.empty() && (testing::is_long() || !a.empty() || !b.empty() || !point.empty());
  const size_t sampled = points_of_pair.empty() ? kPointsPerPair : std::stoul(points_of_pair);
  const std::vector<Verb>& verbs = all_verbs();
  for (size_t at = 0; at < verbs.size(); ++at) {
    for (size_t beside = 0; beside < verbs.size(); ++beside) {
      const Verb& first = verbs[at];
      const Verb& second = verbs[beside];
      if (!all && points_of_pair.empty() && !is_sampled(at, beside)) continue;
      std::vector<Point> points = points_of(statements().at(first.name));
      if (!all) {
        std::shuffle(points.begin(), points.end(), random);
        points.resize(std::min(points.size(), sampled));
      }
      if ((!a.empty() && first.name != a) || (!b.empty() && second.name != b)) continue;
      for (Point& p : points) {
        if (point.empty() || name_of(p) == point) out.push_back({&first, &second, p});
      }
    }
  }
  return out;
}

TEST(Pairs, SequentialRunsMatchTheModel) {
  std::vector<std::pair<const Verb*, const Verb*>> pairs;
  const std::string only_a = wanted("TARN_PAIR_A"), only_b = wanted("TARN_PAIR_B");
  const bool all = testing::is_long() || !only_a.empty() || !only_b.empty();
  size_t count = 0;
  for (const Verb& a : all_verbs()) {
    for (const Verb& b : all_verbs()) {
      if (count++ % kInOrderEvery != 0 && !all) continue;
      if ((only_a.empty() || a.name == only_a) && (only_b.empty() || b.name == only_b)) {
        pairs.push_back({&a, &b});
      }
    }
  }
  Mutex mutex;
  spread(pairs.size(), [&](Driver& driver, size_t at) {
    const auto [a, b] = pairs[at];
    const std::string wrong = driver.run_in_order(*a, *b);
    MutexLock lock(mutex);
    EXPECT_EQ(wrong, "") << a->name << ", then " << b->name;
  });
}

TEST(Pairs, EveryInterleavingIsExplainedBySomeOrder) {
  const std::vector<Case> all = cases();
  const auto begun = std::chrono::steady_clock::now();
  Mutex mutex;
  size_t reached = 0, blocked = 0, violations = 0;
  std::map<std::string, size_t> by_pair;
  spread(all.size(), [&](Driver& driver, size_t at) {
    const Case& c = all[at];
    const Outcome outcome = driver.run(*c.a, *c.b, c.point);
    MutexLock lock(mutex);
    reached += outcome.reached;
    blocked += outcome.blocked;
    if (outcome.violation.empty()) return;
    ++by_pair[c.a->name + " | " + c.b->name + " | " + name_of(c.point)];
    if (++violations <= kViolationsShownMax) ADD_FAILURE() << outcome.violation;
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf(
      "%zu interleavings in %.1f s: the point was reached in %zu, the second verb waited in "
      "%zu, %zu violations\n",
      all.size(), seconds, reached, blocked, violations);
  for (const auto& [pair, count] : by_pair) std::printf("violation: %s\n", pair.c_str());
  EXPECT_EQ(violations, 0u);
}

/// The generated page: each verb's statements, and the number of points of each pair.
std::string table_page() {
  std::ostringstream out;
  out << "# Pairs of verbs\n\n"
         "Generated by `pairs_integration_test` (tests/integration/pairs/README.md says how); "
         "a test compares this page\nwith the program. A row's verb stands at each point of its "
         "statements while a column's verb runs: "
      << std::size(kMishaps)
      << " points a\nstatement, before it, after it, with its answer lost, and with the verb's "
         "leases expired. A cell is the number of\npoints.\n\n"
         "| # | verb | statements |\n|---|---|---|\n";
  const std::vector<Verb>& verbs = all_verbs();
  for (size_t i = 0; i < verbs.size(); ++i) {
    out << "| " << i + 1 << " | " << verbs[i].name << " |";
    for (const std::string& statement : statements().at(verbs[i].name)) out << " " << statement;
    out << " |\n";
  }
  out << "\n| |";
  for (size_t i = 0; i < verbs.size(); ++i) out << " " << i + 1 << " |";
  out << "\n|---|";
  for (size_t i = 0; i < verbs.size(); ++i) out << "---|";
  out << "\n";
  size_t total = 0;
  for (size_t i = 0; i < verbs.size(); ++i) {
    out << "| " << i + 1 << " |";
    for (size_t j = 0; j < verbs.size(); ++j) {
      const size_t points = points_of(statements().at(verbs[i].name)).size();
      out << " " << points << " |";
      total += points;
    }
    out << "\n";
  }
  out << "\n" << verbs.size() * verbs.size() << " pairs, " << total << " points.\n";
  return out.str();
}

TEST(Pairs, TablePageMatchesTheProgram) {
  for (const auto& [verb, list] : statements()) EXPECT_FALSE(list.empty()) << verb;
  if (std::getenv("TARN_PAIRS_WRITE") != nullptr) std::ofstream(TARN_PAIRS_PAGE) << table_page();
  std::ifstream in(TARN_PAIRS_PAGE);
  std::ostringstream page;
  page << in.rdbuf();
  EXPECT_EQ(page.str(), table_page()) << "write it anew with TARN_PAIRS_WRITE=1";
}

}  // namespace
}  // namespace tarn::pairs
