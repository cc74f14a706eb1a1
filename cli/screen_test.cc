#include "cli/screen.h"

#include <map>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::cli {
namespace {

Environment with(std::map<std::string, std::string> values) {
  return [values](std::string_view name) -> std::optional<std::string> {
    const auto at = values.find(std::string(name));
    return at == values.end() ? std::nullopt : std::optional(at->second);
  };
}

Screen terminal(const ScreenFlags& flags, std::map<std::string, std::string> values = {}) {
  return choose_screen(flags, with(std::move(values)), true, true, {120, 40});
}

TEST(Screen, HasTheSizeOfTheTerminal) {
  EXPECT_EQ(terminal({}).columns, 120u);
  EXPECT_EQ(terminal({}).rows, 40u);
  EXPECT_EQ(terminal({}, {{"COLUMNS", "60"}}).columns, 60u);
  EXPECT_EQ(choose_screen({}, with({}), true, true, {0, 0}).columns, 80u);
}

TEST(Screen, WithoutATerminalIsPlain) {
  const Screen screen = choose_screen({}, with({{"PAGER", "less"}}), false, false, {0, 0});
  EXPECT_FALSE(screen.is_terminal);
  EXPECT_FALSE(screen.colours_data);
  EXPECT_FALSE(screen.colours_messages);
  EXPECT_EQ(screen.pager, "");
}

TEST(Screen, ColoursObeyTheFlagBeforeTheEnvironment) {
  EXPECT_TRUE(terminal({}).colours_data);
  EXPECT_FALSE(terminal({}, {{"NO_COLOR", "1"}}).colours_data);
  EXPECT_TRUE(terminal({}, {{"NO_COLOR", ""}}).colours_data);
  EXPECT_FALSE(terminal({}, {{"TERM", "dumb"}}).colours_data);
  EXPECT_FALSE(terminal({.color = "never"}).colours_data);
  EXPECT_TRUE(terminal({.color = "always"}, {{"NO_COLOR", "1"}}).colours_data);
  EXPECT_TRUE(choose_screen({.color = "always"}, with({}), false, false, {}).colours_data);
  EXPECT_TRUE(choose_screen({}, with({}), false, true, {}).colours_messages);
  EXPECT_FALSE(choose_screen({}, with({}), false, true, {}).colours_data);
  EXPECT_THROW(terminal({.color = "purple"}), Error);
}

TEST(Screen, PagerComesFromTheEnvironment) {
  EXPECT_EQ(terminal({}).pager, "less -FRX");
  EXPECT_EQ(terminal({}, {{"PAGER", "more"}}).pager, "more");
  EXPECT_EQ(terminal({}, {{"PAGER", "more"}, {"TARN_PAGER", "most"}}).pager, "most");
  EXPECT_EQ(terminal({}, {{"TARN_PAGER", ""}}).pager, "");
  EXPECT_EQ(terminal({}, {{"PAGER", "cat"}}).pager, "");
  EXPECT_EQ(terminal({.no_pager = true}).pager, "");
  EXPECT_EQ(terminal({}, {{"TERM", "dumb"}}).pager, "");
  EXPECT_EQ(terminal({}, {{"CI", "true"}}).pager, "");
}

}  // namespace
}  // namespace tarn::cli
