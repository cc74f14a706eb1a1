#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <utility>

#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr size_t kColumnGap = 2;
constexpr size_t kIdShown = 12;
constexpr size_t kIdDigitsMin = 40;
/// No column is made narrower than this.
constexpr size_t kNarrowest = 10;
/// "2026-11-20 08:15:42"
constexpr size_t kTimeLength = 19;
constexpr std::string_view kEllipsis = "…";

constexpr std::array<std::pair<std::string_view, Column>, 41> kColumns{
    {{"commit", Column::kId},
     {"from", Column::kId},
     {"to", Column::kId},
     {"evidence", Column::kId},
     {"winner's commit", Column::kId},
     {"parent", Column::kId},
     {"date", Column::kTime},
     {"created", Column::kTime},
     {"modified", Column::kTime},
     {"started", Column::kTime},
     {"ended", Column::kTime},
     {"until", Column::kTime},
     {"since", Column::kTime},
     {"time", Column::kTime},
     {"deleted", Column::kTime},
     {"expires", Column::kTime},
     {"ok", Column::kState},
     {"state", Column::kState},
     {"status", Column::kState},
     {"verdict", Column::kState},
     {"outcome", Column::kState},
     {"type", Column::kState},
     {"severity", Column::kState},
     {"active", Column::kState},
     {"why", Column::kProse},
     {"reason", Column::kProse},
     {"found", Column::kProse},
     {"what to do", Column::kProse},
     {"problem", Column::kProse},
     {"error", Column::kProse},
     {"warnings", Column::kProse},
     {"message", Column::kText},
     {"params", Column::kText},
     {"objects", Column::kText},
     {"storage", Column::kText},
     {"url", Column::kText},
     {"request", Column::kText},
     {"content type", Column::kText},
     {"address", Column::kText},
     {"stored at", Column::kText},
     {"committer", Column::kText}}};

enum class Colour { kNone, kBold, kRed, kGreen, kYellow };

constexpr std::array<std::pair<std::string_view, Colour>, 36> kStates{
    {{"yes", Colour::kGreen},
     {"ok", Colour::kGreen},
     {"pass", Colour::kGreen},
     {"passed", Colour::kGreen},
     {"added", Colour::kGreen},
     {"completed", Colour::kGreen},
     {"success", Colour::kGreen},
     {"succeeded", Colour::kGreen},
     {"promoted", Colour::kGreen},
     {"delivered", Colour::kGreen},
     {"done", Colour::kGreen},
     {"merged", Colour::kGreen},
     {"open", Colour::kGreen},
     {"no", Colour::kRed},
     {"fail", Colour::kRed},
     {"failed", Colour::kRed},
     {"removed", Colour::kRed},
     {"rejected", Colour::kRed},
     {"error", Colour::kRed},
     {"lost", Colour::kRed},
     {"conflict", Colour::kRed},
     {"cancelled", Colour::kRed},
     {"dead", Colour::kRed},
     {"changed", Colour::kYellow},
     {"pending", Colour::kYellow},
     {"skipped", Colour::kYellow},
     {"waiting", Colour::kYellow},
     {"running", Colour::kYellow},
     {"warning", Colour::kYellow},
     {"comparing", Colour::kYellow},
     {"gates_running", Colour::kYellow},
     {"awaiting_approval", Colour::kYellow},
     {"merging", Colour::kYellow},
     {"rolled_back", Colour::kYellow},
     {"queued", Colour::kYellow},
     {"-", Colour::kYellow}}};

std::string painted(const std::string& text, Colour colour) {
  switch (colour) {
    case Colour::kNone:
      return text;
    case Colour::kBold:
      return str_cat("\x1b[1m", text, "\x1b[0m");
    case Colour::kRed:
      return str_cat("\x1b[31m", text, "\x1b[0m");
    case Colour::kGreen:
      return str_cat("\x1b[32m", text, "\x1b[0m");
    case Colour::kYellow:
      return str_cat("\x1b[33m", text, "\x1b[0m");
  }
  return text;
}

Colour colour_of(Column column, const std::string& text) {
  if (column == Column::kId && !text.empty()) return Colour::kYellow;
  if (column != Column::kState) return Colour::kNone;
  const auto at = std::find_if(kStates.begin(), kStates.end(),
                               [&](const auto& state) { return state.first == text; });
  return at == kStates.end() ? Colour::kNone : at->second;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

/// Continuation bytes of UTF-8 take no column.
size_t display_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

/// The number of bytes of the first `width` characters.
size_t bytes_of(std::string_view text, size_t width) {
  size_t at = 0;
  for (; at < text.size(); ++at) {
    if (is_continuation(text[at])) continue;
    if (width == 0) break;
    --width;
  }
  return at;
}

std::string shortened(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  return str_cat(text.substr(0, bytes_of(text, width - 1)), kEllipsis);
}

/// Lines of at most `width` characters, broken at spaces where there are some.
std::vector<std::string> wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (display_width(text) > width) {
    const size_t fits = bytes_of(text, width);
    const size_t space = text.substr(0, fits + 1).rfind(' ');
    const bool breaks = space != std::string_view::npos && space > 0;
    const size_t end = breaks ? space : fits;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(breaks ? end + 1 : end);
  }
  lines.emplace_back(text);
  return lines;
}

bool is_long_id(const std::string& text) {
  return text.size() >= kIdDigitsMin && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isxdigit(static_cast<unsigned char>(c)) != 0;
         });
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string person_cell(Column column, const std::string& cell, Instant now) {
  if (column == Column::kId && is_long_id(cell)) return cell.substr(0, kIdShown);
  if (column != Column::kTime) return cell;
  const auto time = time_in_cell(cell);
  return time ? time_from(now, *time) : cell;
}

}  // namespace

Column column_of(std::string_view name) {
  const auto at = std::find_if(kColumns.begin(), kColumns.end(),
                               [&](const auto& known) { return known.first == name; });
  return at == kColumns.end() ? Column::kPlain : at->second;
}

std::optional<Instant> time_in_cell(const std::string& cell) {
  return cell.size() < kTimeLength ? std::nullopt : parse_rfc3339(cell);
}

std::string time_from(Instant now, Instant time) {
  struct Step {
    std::string_view unit;
    int64_t seconds;
    int64_t below;  ///< in this unit
  };
  constexpr std::array<Step, 7> kSteps{{{"second", 1, 90},
                                        {"minute", 60, 90},
                                        {"hour", 3600, 36},
                                        {"day", 86'400, 14},
                                        {"week", 604'800, 10},
                                        {"month", 2'629'746, 24},
                                        {"year", 31'556'952, INT64_MAX}}};
  const int64_t apart = to_seconds(now) - to_seconds(time);
  if (apart == 0) return "now";
  const int64_t seconds = std::abs(apart);
  for (const Step& step : kSteps) {
    const int64_t amount = (seconds + step.seconds / 2) / step.seconds;
    if (amount >= step.below) continue;
    const std::string words = str_cat(amount, ' ', step.unit, amount == 1 ? "" : "s");
    return apart > 0 ? str_cat(words, " ago") : str_cat("in ", words);
  }
  return "";
}

std::string machine_time(const std::string& cell) {
  constexpr size_t kSeparator = 10;
  if (cell.size() != kTimeLength || cell[kSeparator] != ' ' || !time_in_cell(cell)) return cell;
  std::string text = cell;
  text[kSeparator] = 'T';
  return text + 'Z';
}

TableLayout::TableLayout(Cells columns, const Screen& screen, Instant now)
    : columns_(std::move(columns)), screen_(screen), now_(now) {}

void TableLayout::measure(const std::vector<Cells>& rows) {
  for (const std::string& column : columns_) widths_.push_back(display_width(column));
  for (const Cells& cells : rows) {
    for (size_t i = 0; i < cells.size(); ++i)
      widths_[i] = std::max(widths_[i], display_width(cells[i]));
  }
  if (!screen_.is_terminal) return;
  size_t total = kColumnGap * (widths_.size() - 1);
  for (const size_t width : widths_) total += width;
  // Long values give way first, then names; the first column, ids, times and states never do.
  for (const bool names : {false, true}) {
    while (total > screen_.columns) {
      size_t widest = 0;
      for (size_t i = 1; i < widths_.size(); ++i) {
        const Column column = column_of(columns_[i]);
        const bool gives_way = column == Column::kProse || column == Column::kText ||
                               (names && column == Column::kPlain);
        if (!gives_way || widths_[i] <= std::max(kNarrowest, columns_[i].size())) continue;
        if (widest == 0 || widths_[i] >= widths_[widest]) widest = i;
      }
      if (widest == 0) break;
      --widths_[widest];
      --total;
    }
  }
}

std::vector<std::string> TableLayout::lines_of(const Cells& cells, bool head) const {
  std::vector<std::vector<std::string>> parts;
  size_t height = 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!screen_.is_terminal || i == 0) {
      parts.push_back({cells[i]});
    } else if (!head && column_of(columns_[i]) == Column::kProse) {
      parts.push_back(wrapped(cells[i], widths_[i]));
    } else if (column_of(columns_[i]) == Column::kText ||
               column_of(columns_[i]) == Column::kPlain) {
      parts.push_back({shortened(cells[i], widths_[i])});
    } else {
      parts.push_back({cells[i]});
    }
    height = std::max(height, parts.back().size());
  }
  std::vector<std::string> lines(height);
  for (size_t line = 0; line < height; ++line) {
    size_t owed = 0;  // spaces before the next cell
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string text = line < parts[i].size() ? parts[i][line] : std::string();
      const size_t width = display_width(text);
      const Colour colour = head ? Colour::kBold : colour_of(column_of(columns_[i]), text);
      // A table for programs has its spaces as it always had; on a terminal none end a line.
      if (!text.empty() || (!screen_.is_terminal && height == 1)) {
        lines[line].append(owed, ' ');
        owed = 0;
        lines[line] += screen_.colours_data ? painted(text, colour) : text;
      }
      owed += (width < widths_[i] ? widths_[i] - width : 0) + kColumnGap;
    }
  }
  return lines;
}

std::string TableLayout::text(std::vector<Cells> rows) {
  if (screen_.is_terminal) {
    for (Cells& cells : rows) {
      for (size_t i = 0; i < cells.size(); ++i)
        cells[i] = person_cell(column_of(columns_[i]), cells[i], now_);
    }
  }
  std::string out;
  const auto add = [&](const Cells& cells, bool head) {
    for (const std::string& line : lines_of(cells, head)) out += str_cat(line, '\n');
  };
  if (widths_.empty()) {
    measure(rows);
    Cells head;
    for (const std::string& column : columns_) head.push_back(upper(column));
    add(head, /*head=*/true);
  }
  for (const Cells& cells : rows) add(cells, /*head=*/false);
  return out;
}

std::string shown_value(const std::string& label, const std::string& value, const Screen& screen,
                        Instant now) {
  const Column column = column_of(label);
  std::string text = value;
  if (screen.is_terminal && column == Column::kTime) {
    const auto time = time_in_cell(value);
    if (time) text += str_cat(" (", time_from(now, *time), ')');
  }
  if (!screen.colours_data) return text;
  return painted(
      text, column == Column::kId && !is_long_id(value) ? Colour::kNone : colour_of(column, value));
}

std::string coloured_message(std::string text) {
  for (const auto& [word, colour] : {std::pair<std::string_view, Colour>{"tarn:", Colour::kRed},
                                     {"warning:", Colour::kYellow}}) {
    if (text.starts_with(word)) {
      return str_cat(painted(std::string(word), colour), text.substr(word.size()));
    }
  }
  return text;
}

}  // namespace tarn::cli
