// Runs two verbs on two servers so that one stops at a chosen statement while the other runs, and
// compares their results and effects with the model.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/integration/pairs/verbs.h"
#include "tests/support/fault_points.h"
#include "tests/support/postgres_test.h"

namespace tarn::pairs {

/// The event at the first verb's statement, while the second verb runs.
enum class Mishap {
  kStopsBefore,    ///< it waits
  kStopsAfter,     ///< it waits
  kAnswerLost,     ///< the statement takes effect, its connection breaks after the second verb
  kLeasesExpired,  ///< it waits before the statement until its leases have expired
};
inline constexpr Mishap kMishaps[] = {Mishap::kStopsBefore, Mishap::kStopsAfter,
                                      Mishap::kAnswerLost, Mishap::kLeasesExpired};
std::string name_of(Mishap mishap);

/// One cell of the table.
struct Point {
  Mishap mishap;
  std::string statement;
  int nth = 1;
};
std::string name_of(const Point& point);

/// All points of a verb with these statements.
std::vector<Point> points_of(const std::vector<std::string>& statements);

struct Outcome {
  std::string violation;  ///< "" = some order of the two explains everything
  bool reached = false;   ///< the first verb reached the point
  bool blocked = false;   ///< the second waited for the first
};

/// Two servers on one database and one store, and a third that observes. One thread.
class Driver {
 public:
  Driver();
  ~Driver();

  /// The statements of the verb when nothing interferes.
  std::vector<std::string> record(const Verb& verb);
  Outcome run(const Verb& a, const Verb& b, const Point& point);
  /// Checks that the model agrees with the two verbs in sequence.
  std::string run_in_order(const Verb& a, const Verb& b);

 private:
  class Watch;
  std::unique_ptr<Scenario> scenario(const Verb& a, const Verb* b);
  RepositoryName fresh_name();
  void heartbeat();

  const testing::TestDatabase database_;
  const std::string url_;
  testing::FaultPoints faults_;
  std::unique_ptr<Watch> watch_;
  testing::TestEngine observer_;
  testing::TestEngine one_;
  testing::TestEngine two_;
  Scenario original_;
  int count_ = 0;
  std::chrono::steady_clock::time_point heartbeat_ = std::chrono::steady_clock::now();
};

}  // namespace tarn::pairs
