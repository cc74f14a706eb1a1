#include "core/actions/script_slots.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/cancellation.h"
#include "core/base/error.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 60s;

std::chrono::steady_clock::time_point in(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

/// Threads that take a slot one after another, and hold it until end() is called for them.
class Scripts {
 public:
  explicit Scripts(ScriptSlots& slots) : slots_(slots) {}
  ~Scripts() {
    for (auto& script : scripts_) script->ends = true;
  }

  void start(const std::string& user) {
    scripts_.push_back(std::make_unique<Script>());
    Script& script = *scripts_.back();
    script.user = user;
    script.thread = std::jthread([this, &script] {
      const ScriptSlots::Slot slot = slots_.take(script.user, in(kLong));
      {
        MutexLock lock(mutex_);
        begun_.push_back(script.user);
      }
      script.runs = true;
      while (!script.ends) std::this_thread::sleep_for(1ms);
    });
    // The order of arrival is the order of the calls.
    std::this_thread::sleep_for(20ms);
  }
  void end(size_t number) { scripts_[number]->ends = true; }
  /// The users in the order in which their scripts began, once there are `count`.
  std::string begun(size_t count) {
    for (int i = 0; i < 5000; ++i) {
      {
        MutexLock lock(mutex_);
        if (begun_.size() >= count) break;
      }
      std::this_thread::sleep_for(1ms);
    }
    MutexLock lock(mutex_);
    std::string out;
    for (const std::string& user : begun_) out += user + " ";
    return out;
  }

 private:
  struct Script {
    std::string user;
    std::atomic<bool> runs{false};
    std::atomic<bool> ends{false};
    std::jthread thread;
  };
  ScriptSlots& slots_;
  Mutex mutex_;
  std::vector<std::string> begun_;
  std::vector<std::unique_ptr<Script>> scripts_;
};

TEST(ScriptSlots, OneUserLeavesASlotToOthers) {
  ScriptSlots slots(3);
  Scripts scripts(slots);
  for (int i = 0; i < 4; ++i) scripts.start("ann");
  EXPECT_EQ(scripts.begun(2), "ann ann ");
  scripts.start("bob");
  EXPECT_EQ(scripts.begun(3), "ann ann bob ");
  scripts.end(0);
  EXPECT_EQ(scripts.begun(4), "ann ann bob ann ");
}

TEST(ScriptSlots, UserWithTheFewestRunningIsNext) {
  ScriptSlots slots(3);
  Scripts scripts(slots);
  scripts.start("ann");
  scripts.start("ann");
  scripts.start("bob");
  ASSERT_EQ(scripts.begun(3), "ann ann bob ");
  scripts.start("ann");
  scripts.start("bob");
  scripts.start("cid");
  scripts.end(0);  // ann and bob hold one each, cid none
  EXPECT_EQ(scripts.begun(4), "ann ann bob cid ");
  scripts.end(2);  // bob holds none
  EXPECT_EQ(scripts.begun(5), "ann ann bob cid bob ");
  scripts.end(1);
  EXPECT_EQ(scripts.begun(6), "ann ann bob cid bob ann ");
}

TEST(ScriptSlots, SingleSlotGoesToUsersInTurn) {
  ScriptSlots slots(1);
  { const ScriptSlots::Slot slot = slots.take("ann", in(kLong)); }
  { const ScriptSlots::Slot slot = slots.take("ann", in(kLong)); }
}

TEST(ScriptSlots, WaitingEndsAtTheDeadlineAndLeavesNothingBehind) {
  ScriptSlots slots(1);
  std::optional<std::string> reason;
  {
    const ScriptSlots::Slot slot = slots.take("ann", in(kLong));
    try {
      slots.take("bob", in(30ms));
    } catch (const Error& error) {
      reason = error.reason();
    }
  }
  EXPECT_EQ(reason, "script_timeout");
  const ScriptSlots::Slot slot = slots.take("cid", in(kLong));
}

TEST(ScriptSlots, WaitingEndsWhenTheWorkIsCancelled) {
  ScriptSlots slots(1);
  const ScriptSlots::Slot slot = slots.take("ann", in(kLong));
  std::stop_source cancel;
  std::jthread waiting([&] {
    const CancellationScope scope(cancel.get_token());
    EXPECT_THROW(slots.take("bob", in(kLong)), Error);
  });
  std::this_thread::sleep_for(20ms);
  cancel.request_stop();
  waiting.join();
}

}  // namespace
}  // namespace tarn::actions
