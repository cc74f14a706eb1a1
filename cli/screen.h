// The terminal that shows the output: its size, colours and pager.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/settings.h"

namespace tarn::cli {

/// Without a terminal all members are false, 0 and "": output is then complete and plain.
struct Screen {
  bool is_terminal = false;       ///< of standard output
  size_t columns = 0;             ///< width of the terminal in characters
  size_t rows = 0;                ///< height of the terminal in lines
  bool colours_data = false;      ///< standard output
  bool colours_messages = false;  ///< standard error
  std::string pager{};            ///< shell command for long lists; "" = none
};

struct ScreenFlags {
  std::string color = "auto";  ///< auto, always or never
  bool no_pager = false;
};

/// Size of a terminal; 0 = unknown.
struct ScreenSize {
  size_t columns = 0;
  size_t rows = 0;
};

/// Decides from the flags, NO_COLOR, TERM, CI, COLUMNS, TARN_PAGER and PAGER. Throws a usage error
/// for another word of --color.
Screen choose_screen(const ScreenFlags& flags, const Environment& environment,
                     bool data_is_terminal, bool messages_are_terminal, ScreenSize size);
/// The same as choose_screen, with the streams of this process.
Screen look_at_screen(const ScreenFlags& flags, const Environment& environment);

}  // namespace tarn::cli
