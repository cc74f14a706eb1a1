// Faults at statements: stops a verb, loses a response, or records statements.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/db/faults.h"

namespace tarn::testing {

/// A moment of a verb: before or after the `nth` run (from 1) of a statement.
struct StatementMoment {
  std::string statement;
  bool after = false;
  int nth = 1;
};

/// Pass it to a TestEngine. Armed faults act once; of several at one moment, the first armed acts
/// first, and the next at the next run. Safe from any thread.
class FaultPoints final : public db::Faults {
 public:
  /// Runs `action` at the moment, in the verb's thread, without holding a lock of this class.
  void at(StatementMoment moment, std::function<db::Fault()> action) {
    MutexLock lock(mutex_);
    armed_.push_back({std::move(moment), std::move(action)});
  }
  /// Runs `action` at the moment, then continues the verb: the usual interleaving.
  void at_then_go_on(StatementMoment moment, std::function<void()> action) {
    at(std::move(moment), [action = std::move(action)] {
      action();
      return db::Fault::kNone;
    });
  }
  /// The statement takes effect, but its response is lost with the connection; `meanwhile` runs
  /// first.
  void lose_answer(std::string statement, std::function<void()> meanwhile = {}) {
    at({std::move(statement), true}, [meanwhile = std::move(meanwhile)] {
      if (meanwhile) meanwhile();
      return db::Fault::kConnectionLost;
    });
  }
  /// The connection breaks before the statement is sent.
  void lose_connection(std::string statement) {
    at({std::move(statement), false}, [] { return db::Fault::kConnectionLost; });
  }
  /// Number of armed moments that were not reached: a test that expects an interleaving expects 0.
  size_t unreached() const {
    MutexLock lock(mutex_);
    return armed_.size();
  }

  /// Removes the armed moments that were not reached.
  void disarm() {
    MutexLock lock(mutex_);
    armed_.clear();
  }

  /// record() starts recording; recorded() returns the statements since then, in order.
  void record() {
    MutexLock lock(mutex_);
    recorded_.emplace();
  }
  std::vector<std::string> recorded() {
    MutexLock lock(mutex_);
    auto out = std::move(recorded_).value_or(std::vector<std::string>{});
    recorded_.reset();
    return out;
  }

  db::Fault before(std::string_view statement) override {
    {
      MutexLock lock(mutex_);
      if (recorded_) recorded_->emplace_back(statement);
    }
    return run(statement, false);
  }
  db::Fault after(std::string_view statement) override { return run(statement, true); }

 private:
  struct Armed {
    StatementMoment moment;
    std::function<db::Fault()> action;
  };

  db::Fault run(std::string_view statement, bool after) {
    std::function<db::Fault()> action;
    {
      MutexLock lock(mutex_);
      for (auto at = armed_.begin(); at != armed_.end(); ++at) {
        if (at->moment.statement != statement || at->moment.after != after) continue;
        if (--at->moment.nth > 0) continue;
        action = std::move(at->action);
        armed_.erase(at);
        break;
      }
    }
    return action ? action() : db::Fault::kNone;
  }

  mutable Mutex mutex_;
  std::vector<Armed> armed_ TARN_GUARDED_BY(mutex_);
  std::optional<std::vector<std::string>> recorded_ TARN_GUARDED_BY(mutex_);
};

}  // namespace tarn::testing
