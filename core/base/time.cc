#include "core/base/time.h"

#include <array>

namespace tarn {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct Parts {
  int year, month, day, weekday;
  int64_t hour, minute, second, milli;
};

Parts parts_of(Instant t) {
  const auto day = std::chrono::floor<days>(t);
  const std::chrono::year_month_day date{day};
  const int64_t ms = (t - day).count();
  return {int(date.year()),
          static_cast<int>(unsigned(date.month())),
          static_cast<int>(unsigned(date.day())),
          static_cast<int>(std::chrono::weekday{day}.c_encoding()),
          ms / 3600000,
          ms / 60000 % 60,
          ms / 1000 % 60,
          ms % 1000};
}

/// Writes fixed-width numbers and literals. Listings format one date per key, and printf takes
/// longer for it than everything else about the key.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  Writer& number(int64_t value, int width) {
    const int64_t whole = value;
    std::array<char, 4> digits{};
    for (int i = width - 1; i >= 0; --i) {
      digits[static_cast<size_t>(i)] = static_cast<char>('0' + value % 10);
      value /= 10;
    }
    if (value == 0 && whole >= 0) {
      out_.append(digits.data(), static_cast<size_t>(width));
    } else {
      out_.append(std::to_string(whole));  // a year before 0 or after 9999
    }
    return *this;
  }
  Writer& text(std::string_view literal) {
    out_.append(literal);
    return *this;
  }

 private:
  std::string& out_;
};

std::optional<Instant> instant_of(int year, int month, int day, int hour, int minute, int second) {
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const int64_t s = int64_t{hour} * 3600 + int64_t{minute} * 60 + second;
  return Instant{std::chrono::sys_days{date}} + seconds{s};
}

/// Reads fixed-width numbers from the start of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool number(int width, int* out) {
    if (text_.size() < static_cast<size_t>(width)) return false;
    int value = 0;
    for (int i = 0; i < width; ++i) {
      const char c = text_[static_cast<size_t>(i)];
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    *out = value;
    text_.remove_prefix(static_cast<size_t>(width));
    return true;
  }
  bool literal(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view w) {
    if (text_.substr(0, w.size()) != w) return false;
    text_.remove_prefix(w.size());
    return true;
  }
  bool done() const { return text_.empty(); }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace

Instant SystemClock::now() const {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

std::string to_rfc3339(Instant t) {
  const Parts p = parts_of(t);
  std::string out;
  out.reserve(24);
  Writer(out).number(p.year, 4).text("-").number(p.month, 2).text("-").number(p.day, 2).text("T");
  Writer(out).number(p.hour, 2).text(":").number(p.minute, 2).text(":").number(p.second, 2);
  Writer(out).text(".").number(p.milli, 3).text("Z");
  return out;
}

std::optional<Instant> parse_rfc3339(std::string_view text) {
  Reader in(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!in.number(4, &year) || !in.literal('-') || !in.number(2, &month) || !in.literal('-') ||
      !in.number(2, &day)) {
    return std::nullopt;
  }
  if (in.done()) return instant_of(year, month, day, 0, 0, 0);
  if (!in.literal('T') && !in.literal('t') && !in.literal(' ')) return std::nullopt;
  if (!in.number(2, &hour) || !in.literal(':') || !in.number(2, &minute) || !in.literal(':') ||
      !in.number(2, &second)) {
    return std::nullopt;
  }
  auto result = instant_of(year, month, day, hour, minute, second);
  if (!result) return std::nullopt;
  if (in.literal('.')) {
    int scale = 100, digit = 0, count = 0;
    while (in.number(1, &digit)) {
      *result += milliseconds{digit * scale};
      scale /= 10;
      ++count;
    }
    if (count == 0) return std::nullopt;
  }
  if (in.done() || ((in.literal('Z') || in.literal('z')) && in.done())) return result;
  const bool minus = in.literal('-');
  if (!minus && !in.literal('+')) return std::nullopt;
  int zone_hour = 0, zone_minute = 0;
  if (!in.number(2, &zone_hour)) return std::nullopt;
  if (!in.done()) {
    in.literal(':');
    if (!in.number(2, &zone_minute) || !in.done()) return std::nullopt;
  }
  if (zone_hour > 23 || zone_minute > 59) return std::nullopt;
  const auto offset = std::chrono::minutes{zone_hour * 60 + zone_minute};
  return minus ? *result + offset : *result - offset;
}

std::string to_http_date(Instant t) {
  const Parts p = parts_of(t);
  std::string out;
  out.reserve(29);
  Writer(out).text(kDays[static_cast<size_t>(p.weekday)]).text(", ").number(p.day, 2).text(" ");
  Writer(out).text(kMonths[static_cast<size_t>(p.month - 1)]).text(" ").number(p.year, 4).text(" ");
  Writer(out).number(p.hour, 2).text(":").number(p.minute, 2).text(":").number(p.second, 2);
  Writer(out).text(" GMT");
  return out;
}

std::optional<Instant> parse_http_date(std::string_view text) {
  if (text.size() < 5 || text[3] != ',') return std::nullopt;
  Reader in(text.substr(4));
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!in.literal(' ') || !in.number(2, &day) || !in.literal(' ')) return std::nullopt;
  for (size_t i = 0; i < kMonths.size(); ++i) {
    if (in.word(kMonths[i])) {
      month = static_cast<int>(i) + 1;
      break;
    }
  }
  if (month == 0 || !in.literal(' ') || !in.number(4, &year) || !in.literal(' ') ||
      !in.number(2, &hour) || !in.literal(':') || !in.number(2, &minute) || !in.literal(':') ||
      !in.number(2, &second) ||
      (in.rest() != " GMT" && in.rest() != " UTC" && in.rest() != " +0000")) {
    return std::nullopt;
  }
  return instant_of(year, month, day, hour, minute, second);
}

std::string to_iso_basic(Instant t) {
  const Parts p = parts_of(t);
  std::string out;
  out.reserve(16);
  Writer(out).number(p.year, 4).number(p.month, 2).number(p.day, 2).text("T");
  Writer(out).number(p.hour, 2).number(p.minute, 2).number(p.second, 2).text("Z");
  return out;
}

std::optional<Instant> parse_iso_basic(std::string_view text) {
  Reader in(text);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!in.number(4, &year) || !in.number(2, &month) || !in.number(2, &day) || !in.literal('T') ||
      !in.number(2, &hour) || !in.number(2, &minute) || !in.number(2, &second) ||
      in.rest() != "Z") {
    return std::nullopt;
  }
  return instant_of(year, month, day, hour, minute, second);
}

}  // namespace tarn
