#include "core/actions/live_steps.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::actions {
namespace {

using namespace std::chrono_literals;

class Live : public ::testing::Test {
 protected:
  HookStep step(const std::string& id) {
    return {.id = id, .action = "a", .hook = "h", .started = Instant{}};
  }
  /// "0:running:text" of each step that is written `after` the start.
  std::string written(std::chrono::milliseconds after) {
    std::string out;
    steps.store(start + after, [&](const std::vector<events::HookStepOutput>& given) {
      for (const events::HookStepOutput& one : given) {
        constexpr std::string_view kNames[] = {"completed", "failed", "skipped", "running"};
        out += (out.empty() ? "" : " ") + one.step.id + ":" +
               std::string(kNames[static_cast<int>(one.step.status)]) + ":" + one.output;
      }
    });
    return out;
  }

  const Environment environment = [](const std::string&) { return std::nullopt; };
  Variables variables{environment};
  HookOutput output{variables};
  LiveSteps steps;
  const LiveSteps::SteadyTime start = std::chrono::steady_clock::now();
};

TEST_F(Live, OutputIsWrittenWhenItHasGrownAndIsDue) {
  steps.begin(step("0"), output);
  EXPECT_EQ(written(0ms), "0:running:");
  EXPECT_EQ(written(5s), "") << "nothing has changed";
  output.add("one");
  EXPECT_EQ(written(5s), "0:running:one");
  output.add("two");
  EXPECT_EQ(written(5s + kLiveOutputInterval - 1ms), "");
  EXPECT_EQ(written(5s + kLiveOutputInterval), "0:running:onetwo");
}

TEST_F(Live, LongOutputIsWrittenLessOften) {
  steps.begin(step("0"), output);
  output.add(std::string(4 * kLiveBytesPerSecond, 'x'));
  EXPECT_NE(written(0ms), "");
  output.add("y");
  EXPECT_EQ(written(3s), "");
  EXPECT_NE(written(4s), "");
}

TEST_F(Live, BeginningsAndEndsAreWrittenAtOnce) {
  HookOutput other(variables);
  steps.begin(step("0"), output);
  EXPECT_EQ(written(0ms), "0:running:");
  output.add("done");
  steps.end("0", HookStatus::kCompleted, Instant{});
  steps.begin(step("1"), other);
  EXPECT_EQ(written(1ms), "0:completed:done 1:running:");
  EXPECT_EQ(written(10s), "");
}

TEST_F(Live, EndWritesOnlyStepsThatTheDatabaseLacks) {
  steps.begin(step("0"), output);
  steps.end("0", HookStatus::kCompleted, Instant{});
  HookOutput other(variables);
  steps.begin(step("1"), other);
  EXPECT_NE(written(0ms), "");
  other.add("more");
  steps.end("1", HookStatus::kFailed, Instant{});
  const auto left = steps.unstored();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].step.id, "1");
  EXPECT_EQ(left[0].output, "more");
}

TEST_F(Live, StepsThatCouldNotBeWrittenStayUnstored) {
  steps.begin(step("0"), output);
  steps.end("0", HookStatus::kCompleted, Instant{});
  const auto fails = [](const auto&) { throw Error(ErrorCode::kUnavailable, "database: is gone"); };
  EXPECT_THROW(steps.store(start, fails), Error);
  EXPECT_EQ(steps.unstored().size(), 1u);
  EXPECT_EQ(written(1ms), "0:completed:") << "it is tried again";
}

}  // namespace
}  // namespace tarn::actions
