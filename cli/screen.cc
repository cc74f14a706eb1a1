#include "cli/screen.h"

#include <charconv>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr ScreenSize kUsualSize{.columns = 80, .rows = 24};
/// -F: no paging of what fits the screen; -R: colours; -X: the text stays when the pager ends.
constexpr const char* kDefaultPager = "less -FRX";

std::string value_of(const Environment& environment, std::string_view name) {
  return environment(name).value_or("");
}

size_t number_of(const std::string& text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

std::string pager_of(const Environment& environment) {
  for (const char* name : {"TARN_PAGER", "PAGER"}) {
    if (const auto value = environment(name)) return *value == "cat" ? "" : *value;
  }
  return kDefaultPager;
}

}  // namespace

Screen choose_screen(const ScreenFlags& flags, const Environment& environment,
                     bool data_is_terminal, bool messages_are_terminal, ScreenSize size) {
  if (flags.color != "auto" && flags.color != "always" && flags.color != "never") {
    throw usage_error(str_cat("--color ", flags.color, ": must be auto, always or never"));
  }
  const bool plain = value_of(environment, "TERM") == "dumb";
  const bool wanted = value_of(environment, "NO_COLOR").empty() && !plain;
  const auto colours = [&](bool terminal) {
    return flags.color == "always" || (flags.color == "auto" && wanted && terminal);
  };
  Screen screen{.is_terminal = data_is_terminal,
                .colours_data = colours(data_is_terminal),
                .colours_messages = colours(messages_are_terminal)};
  if (!data_is_terminal) return screen;
  screen.columns = number_of(value_of(environment, "COLUMNS"));
  if (screen.columns == 0) screen.columns = size.columns > 0 ? size.columns : kUsualSize.columns;
  screen.rows = size.rows > 0 ? size.rows : kUsualSize.rows;
  const std::string ci = value_of(environment, "CI");
  const bool nobody = !ci.empty() && ci != "false";
  if (!flags.no_pager && !plain && !nobody) screen.pager = pager_of(environment);
  return screen;
}

Screen look_at_screen(const ScreenFlags& flags, const Environment& environment) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) size = {};
  return choose_screen(flags, environment, ::isatty(STDOUT_FILENO) != 0,
                       ::isatty(STDERR_FILENO) != 0, {size.ws_col, size.ws_row});
}

}  // namespace tarn::cli
