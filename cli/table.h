// Layout of tables: which columns hold ids, times and states, and how rows fit a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/screen.h"
#include "core/base/time.h"

namespace tarn::cli {

using Cells = std::vector<std::string>;

/// The content of a column or a labelled line, known from its name.
enum class Column {
  kPlain,
  kId,     ///< ids of commits: 12 digits are shown
  kTime,   ///< "3 hours ago" for people
  kState,  ///< one word, which colours may stress
  kProse,  ///< sentences, which are wrapped
  kText,   ///< long values, which are shortened first
};
Column column_of(std::string_view name);

/// The text of a time cell as an instant; empty for another text.
std::optional<Instant> time_in_cell(const std::string& cell);
/// "3 hours ago", "in 2 days", "now".
std::string time_from(Instant now, Instant time);
/// A time cell as RFC 3339; another text unchanged.
std::string machine_time(const std::string& cell);

/// Rows of a table with fixed columns. Widths come from the rows of the first call of `text`.
class TableLayout {
 public:
  TableLayout(Cells columns, const Screen& screen, Instant now);

  /// The lines of the rows, the first time below the head. `rows` are printable.
  std::string text(std::vector<Cells> rows);

 private:
  std::vector<std::string> lines_of(const Cells& cells, bool head) const;
  void measure(const std::vector<Cells>& rows);

  const Cells columns_;
  const Screen& screen_;
  const Instant now_;
  std::vector<size_t> widths_;
};

/// A labelled value of an object: "2026-11-20 08:15:42 (3 hours ago)" on a terminal, coloured where
/// the screen has colours.
std::string shown_value(const std::string& label, const std::string& value, const Screen& screen,
                        Instant now);
/// "tarn: ..." and "warning: ..." with a coloured first word.
std::string coloured_message(std::string text);

}  // namespace tarn::cli
