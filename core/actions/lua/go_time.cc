#include "core/actions/lua/go_time.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace tarn::actions::lua {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

enum class Field {
  kText,
  kYear,
  kShortYear,
  kMonth2,
  kMonth,
  kMonthName,
  kShortMonth,
  kDay2,
  kDay,
  kDaySpace,
  kYearDay,
  kHour24,
  kHour2,
  kHour,
  kMinute2,
  kMinute,
  kSecond2,
  kSecond,
  kPm,
  kLowPm,
  kWeekday,
  kShortWeekday,
  kZone,
  kIsoZ,
  kIsoZColon,
  kOffset,
  kOffsetColon,
  kOffsetHours,
  kFraction,
};

struct Token {
  std::string_view text;
  Field field;
};
/// Longer tokens come before their prefixes.
constexpr Token kTokens[] = {
    {"2006", Field::kYear},
    {"January", Field::kMonthName},
    {"Jan", Field::kShortMonth},
    {"Monday", Field::kWeekday},
    {"Mon", Field::kShortWeekday},
    {"MST", Field::kZone},
    {"Z07:00", Field::kIsoZColon},
    {"Z0700", Field::kIsoZ},
    {"-07:00", Field::kOffsetColon},
    {"-0700", Field::kOffset},
    {"-07", Field::kOffsetHours},
    {"002", Field::kYearDay},
    {"01", Field::kMonth2},
    {"02", Field::kDay2},
    {"03", Field::kHour2},
    {"04", Field::kMinute2},
    {"05", Field::kSecond2},
    {"06", Field::kShortYear},
    {"15", Field::kHour24},
    {"PM", Field::kPm},
    {"pm", Field::kLowPm},
    {"_2", Field::kDaySpace},
    {"1", Field::kMonth},
    {"2", Field::kDay},
    {"3", Field::kHour},
    {"4", Field::kMinute},
    {"5", Field::kSecond},
};

struct Piece {
  Field field = Field::kText;
  std::string_view text{};
};

/// The next token of the layout; a fraction is a point or comma followed by zeros or nines.
Piece take(std::string_view& layout) {
  if (layout[0] == '.' || layout[0] == ',') {
    const size_t end = layout.size() > 1 && (layout[1] == '0' || layout[1] == '9')
                           ? layout.find_first_not_of(layout[1], 1)
                           : 0;
    const bool digits_follow = end != std::string_view::npos && end < layout.size() &&
                               layout[end] >= '0' && layout[end] <= '9';
    if (end != 0 && !digits_follow) {
      const Piece piece{Field::kFraction, layout.substr(0, end)};
      layout.remove_prefix(piece.text.size());
      return piece;
    }
  }
  for (const Token& token : kTokens) {
    if (!layout.starts_with(token.text)) continue;
    layout.remove_prefix(token.text.size());
    return {token.field, token.text};
  }
  const Piece piece{Field::kText, layout.substr(0, 1)};
  layout.remove_prefix(1);
  return piece;
}

std::string number(const char* form, int64_t value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, form, static_cast<long long>(value));
  return buffer;
}

std::string fraction(std::string_view layout, int64_t ns) {
  std::string digits = number("%09lld", ns).substr(0, layout.size() - 1);
  if (layout[1] == '9') {
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    if (digits.empty()) return "";
  }
  return std::string(1, layout[0]) + digits;
}

struct Parsed {
  int64_t year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0, ns = 0, offset = 0;
  int pm = -1;
  bool ok = true;
};

class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : text_(text) {}

  void read(const Piece& piece) {
    switch (piece.field) {
      case Field::kText:
        return expect(piece.text);
      case Field::kYear:
        out.year = digits(4, 4);
        return;
      case Field::kShortYear:
        out.year = digits(2, 2);
        out.year += out.year >= 69 ? 1900 : 2000;
        return;
      case Field::kMonth2:
      case Field::kMonth:
        out.month = digits(piece.field == Field::kMonth2 ? 2 : 1, 2);
        return;
      case Field::kMonthName:
      case Field::kShortMonth:
        out.month = name(kMonths, piece.field == Field::kShortMonth) + 1;
        return;
      case Field::kWeekday:
      case Field::kShortWeekday:
        name(kDays, piece.field == Field::kShortWeekday);
        return;
      case Field::kDaySpace:
        while (!text_.empty() && text_[0] == ' ') text_.remove_prefix(1);
        out.day = digits(1, 2);
        return;
      case Field::kDay2:
      case Field::kDay:
        out.day = digits(piece.field == Field::kDay2 ? 2 : 1, 2);
        return;
      case Field::kYearDay:
        out.day = digits(3, 3);
        return;
      case Field::kHour24:
      case Field::kHour2:
        out.hour = digits(2, 2);
        return;
      case Field::kHour:
        out.hour = digits(1, 2);
        return;
      case Field::kMinute2:
      case Field::kMinute:
        out.minute = digits(piece.field == Field::kMinute2 ? 2 : 1, 2);
        return;
      case Field::kSecond2:
      case Field::kSecond:
        out.second = digits(piece.field == Field::kSecond2 ? 2 : 1, 2);
        // The value may have a fraction even if the layout has none.
        if (text_.size() > 1 && text_[0] == '.' && is_digit(text_[1])) read_fraction();
        return;
      case Field::kFraction:
        if (!text_.empty() && text_[0] == piece.text[0]) read_fraction();
        return;
      case Field::kPm:
      case Field::kLowPm:
        if (text_.size() < 2) return fail();
        out.pm = text_[0] == 'P' || text_[0] == 'p' ? 1 : 0;
        text_.remove_prefix(2);
        return;
      case Field::kZone:
        if (text_.starts_with("UTC") || text_.starts_with("GMT")) return text_.remove_prefix(3);
        return fail();
      case Field::kIsoZ:
      case Field::kIsoZColon:
        if (text_.starts_with("Z")) return text_.remove_prefix(1);
        return offset(piece.field == Field::kIsoZColon, true);
      case Field::kOffset:
      case Field::kOffsetColon:
        return offset(piece.field == Field::kOffsetColon, true);
      case Field::kOffsetHours:
        return offset(false, false);
    }
  }

  bool at_end() const { return text_.empty(); }

  Parsed out;

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void fail() { out.ok = false; }

  void expect(std::string_view wanted) {
    if (!text_.starts_with(wanted)) return fail();
    text_.remove_prefix(wanted.size());
  }

  int64_t digits(size_t least, size_t most) {
    int64_t value = 0;
    size_t count = 0;
    while (count < most && count < text_.size() && is_digit(text_[count])) {
      value = value * 10 + (text_[count++] - '0');
    }
    if (count < least) fail();
    text_.remove_prefix(count);
    return value;
  }

  void read_fraction() {
    text_.remove_prefix(1);
    int64_t scale = kNanosPerSecond / 10;
    while (!text_.empty() && is_digit(text_[0])) {
      out.ns += (text_[0] - '0') * scale;
      scale /= 10;
      text_.remove_prefix(1);
    }
  }

  template <size_t count>
  int64_t name(const std::array<std::string_view, count>& names, bool shortened) {
    for (size_t i = 0; i < count; ++i) {
      const std::string_view wanted = shortened ? names[i].substr(0, 3) : names[i];
      if (!text_.starts_with(wanted)) continue;
      text_.remove_prefix(wanted.size());
      return static_cast<int64_t>(i);
    }
    fail();
    return 0;
  }

  void offset(bool colon, bool minutes) {
    if (text_.empty() || (text_[0] != '+' && text_[0] != '-')) return fail();
    const int64_t sign = text_[0] == '-' ? -1 : 1;
    text_.remove_prefix(1);
    int64_t seconds = digits(2, 2) * 3600;
    if (colon) expect(":");
    if (minutes) seconds += digits(2, 2) * 60;
    out.offset = sign * seconds;
  }

  std::string_view text_;
};

}  // namespace

std::string format_time(int64_t epoch_ns, std::string_view layout) {
  using namespace std::chrono;
  const sys_time<nanoseconds> at{nanoseconds{epoch_ns}};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss<nanoseconds> time(at - day);
  const auto year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const auto day_of_month = static_cast<unsigned>(date.day());
  const int64_t hour = time.hours().count();
  const int64_t hour12 = hour % 12 == 0 ? 12 : hour % 12;
  const std::string_view day_name = kDays[std::chrono::weekday(day).c_encoding()];
  const std::string_view month_name = kMonths[month - 1];
  std::string out;
  while (!layout.empty()) {
    const Piece piece = take(layout);
    switch (piece.field) {
      case Field::kText:
        out += piece.text;
        break;
      case Field::kYear:
        out += number("%04lld", year);
        break;
      case Field::kShortYear:
        out += number("%02lld", year % 100);
        break;
      case Field::kMonth2:
        out += number("%02lld", month);
        break;
      case Field::kMonth:
        out += number("%lld", month);
        break;
      case Field::kMonthName:
        out += month_name;
        break;
      case Field::kShortMonth:
        out += month_name.substr(0, 3);
        break;
      case Field::kDay2:
        out += number("%02lld", day_of_month);
        break;
      case Field::kDay:
        out += number("%lld", day_of_month);
        break;
      case Field::kDaySpace:
        out += number("%2lld", day_of_month);
        break;
      case Field::kYearDay:
        out += number("%03lld", (day - sys_days(date.year() / January / 1)).count() + 1);
        break;
      case Field::kHour24:
        out += number("%02lld", hour);
        break;
      case Field::kHour2:
        out += number("%02lld", hour12);
        break;
      case Field::kHour:
        out += number("%lld", hour12);
        break;
      case Field::kMinute2:
        out += number("%02lld", time.minutes().count());
        break;
      case Field::kMinute:
        out += number("%lld", time.minutes().count());
        break;
      case Field::kSecond2:
        out += number("%02lld", time.seconds().count());
        break;
      case Field::kSecond:
        out += number("%lld", time.seconds().count());
        break;
      case Field::kPm:
        out += hour < 12 ? "AM" : "PM";
        break;
      case Field::kLowPm:
        out += hour < 12 ? "am" : "pm";
        break;
      case Field::kWeekday:
        out += day_name;
        break;
      case Field::kShortWeekday:
        out += day_name.substr(0, 3);
        break;
      case Field::kZone:
        out += "UTC";
        break;
      case Field::kIsoZ:
      case Field::kIsoZColon:
        out += "Z";
        break;
      case Field::kOffset:
        out += "+0000";
        break;
      case Field::kOffsetColon:
        out += "+00:00";
        break;
      case Field::kOffsetHours:
        out += "+00";
        break;
      case Field::kFraction:
        out += fraction(piece.text, time.subseconds().count());
        break;
    }
  }
  return out;
}

std::optional<int64_t> parse_time(std::string_view layout, std::string_view text) {
  using namespace std::chrono;
  TimeReader reader(text);
  bool by_day_of_year = false;
  while (!layout.empty()) {
    const Piece piece = take(layout);
    by_day_of_year |= piece.field == Field::kYearDay;
    reader.read(piece);
    if (!reader.out.ok) return std::nullopt;
  }
  Parsed p = reader.out;
  if (!reader.at_end()) return std::nullopt;
  if (p.pm == 1 && p.hour < 12) p.hour += 12;
  if (p.pm == 0 && p.hour == 12) p.hour = 0;
  const year_month_day date{year(static_cast<int>(p.year)), month(static_cast<unsigned>(p.month)),
                            std::chrono::day(by_day_of_year ? 1u : static_cast<unsigned>(p.day))};
  if (!date.ok() || p.hour > 23 || p.minute > 59 || p.second > 59) return std::nullopt;
  const int64_t days_since =
      sys_days(date).time_since_epoch().count() + (by_day_of_year ? p.day - 1 : 0);
  const int64_t seconds =
      days_since * 86'400 + p.hour * 3'600 + p.minute * 60 + p.second - p.offset;
  // The range of 64-bit nanoseconds.
  if (p.year < 1678 || p.year > 2261) return std::nullopt;
  return seconds * kNanosPerSecond + p.ns;
}

}  // namespace tarn::actions::lua
