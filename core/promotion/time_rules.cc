#include "core/promotion/time_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/base/str_cat.h"
#include "core/promotion/policy_keys.h"

namespace tarn::promotion {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr milliseconds kDay = std::chrono::days{1};
constexpr milliseconds kWeek = std::chrono::weeks{1};
/// 1970-01-01 was a Thursday.
constexpr milliseconds kMondayToEpoch = std::chrono::days{3};
constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
/// Windows one after the other whose common end is looked for; more freeze for as good as ever.
constexpr int kWindowsJoinedMax = 1000;
constexpr size_t kTimeBytesMax = 64;
constexpr int kZoneHoursMax = 14;

/// Not negative.
milliseconds modulo(milliseconds value, milliseconds of) { return ((value % of) + of) % of; }

/// "16:00" as the time since midnight; hours below `hours_end`.
std::optional<minutes> parse_time_of_day(std::string_view text, int hours_end) {
  int hours = 0;
  int mins = 0;
  const char* const end = text.data() + text.size();
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  if (std::from_chars(text.data(), text.data() + 2, hours).ptr != text.data() + 2 ||
      std::from_chars(text.data() + 3, end, mins).ptr != end || hours < 0 || hours >= hours_end ||
      mins < 0 || mins > 59) {
    return std::nullopt;
  }
  return std::chrono::hours{hours} + minutes{mins};
}

std::optional<size_t> parse_day(std::string_view text) {
  const auto at = std::find(kDays.begin(), kDays.end(), text);
  if (at == kDays.end()) return std::nullopt;
  return static_cast<size_t>(at - kDays.begin());
}

/// "fri 16:00" as the time since Monday 00:00.
std::optional<milliseconds> parse_time_of_week(std::string_view text) {
  if (text.size() != 9 || text[3] != ' ') return std::nullopt;
  const auto day = parse_day(text.substr(0, 3));
  const auto time = parse_time_of_day(text.substr(4), 24);
  if (!day || !time) return std::nullopt;
  return *day * kDay + *time;
}

/// "+01:00" as what local time is ahead of UTC.
std::optional<milliseconds> parse_zone(std::string_view text) {
  if (text == "UTC" || text == "Z") return milliseconds{0};
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const auto offset = parse_time_of_day(text.substr(1), kZoneHoursMax + 1);
  if (!offset) return std::nullopt;
  return text[0] == '-' ? -*offset : *offset;
}

/// Reads one window.
class WindowReader {
 public:
  WindowReader(DocumentReader& in, const YamlNode& node, const std::string& path)
      : in_(in),
        node_(node),
        path_(path),
        members_(in.members_of(node, path, policy_keys_below("freeze[]"))) {}

  std::optional<FreezeWindow> read() {
    if (node_.kind != YamlNode::Kind::kMap) return std::nullopt;
    read_days();
    read_zone();
    if (const YamlNode* reason = find("reason"))
      window_.reason = in_.text_at(*reason, path_ + ".reason", kFreezeReasonBytesMax).value_or("");
    const YamlNode* from = find("from");
    const YamlNode* to = find("to");
    if (from == nullptr || to == nullptr) {
      in_.complain(node_, path_, "needs from and to");
      return std::nullopt;
    }
    const std::string begin = in_.text_at(*from, path_ + ".from", kTimeBytesMax).value_or("");
    const std::string end = in_.text_at(*to, path_ + ".to", kTimeBytesMax).value_or("");
    if (begin.empty() || end.empty() || read_daily(begin, end) || read_weekly(begin, end) ||
        read_once(begin, end))
      return window_;
    in_.complain(*from, path_,
                 str_cat("from \"", begin, "\" and to \"", end,
                         "\": expected two times of day (\"16:00\"), of the week (\"fri 16:00\"), "
                         "or moments (\"2026-12-20T00:00:00Z\")"));
    return std::nullopt;
  }

 private:
  const YamlNode* find(std::string_view name) const {
    const auto at = members_.find(name);
    return at == members_.end() ? nullptr : at->second;
  }

  void read_days() {
    const YamlNode* days = find("days");
    if (days == nullptr) return;
    in_.read_list(*days, path_ + ".days", days_,
                  [&](const YamlNode& item, const std::string& item_path) {
                    const auto day = parse_day(item.text);
                    if (!day) in_.expected(item, item_path, "mon, tue, wed, thu, fri, sat or sun");
                    return day;
                  });
    if (days->kind == YamlNode::Kind::kList && days->items.empty())
      in_.complain(*days, path_ + ".days", "names no day");
  }

  void read_zone() {
    const YamlNode* zone = find("zone");
    if (zone == nullptr) return;
    if (const auto ahead = parse_zone(zone->text)) {
      ahead_ = *ahead;
    } else {
      in_.expected(*zone, path_ + ".zone",
                   "UTC or an offset such as \"+01:00\"; names of zones are not known here");
    }
  }

  bool read_daily(const std::string& begin, const std::string& end) {
    const auto from = parse_time_of_day(begin, 24);
    const auto to = parse_time_of_day(end, 24);
    if (!from || !to) return false;
    window_.length = modulo(*to - *from, kDay);
    if (window_.length == milliseconds{0}) window_.length = kDay;
    if (find("days") == nullptr) {
      for (size_t day = 0; day < kDays.size(); ++day) days_.push_back(day);
    }
    for (const size_t day : days_)
      window_.weekly.push_back(modulo(day * kDay + *from - ahead_, kWeek));
    return true;
  }

  bool read_weekly(const std::string& begin, const std::string& end) {
    const auto from = parse_time_of_week(begin);
    const auto to = parse_time_of_week(end);
    if (!from || !to) return false;
    if (const YamlNode* days = find("days"))
      in_.complain(*days, path_ + ".days", "from and to have the days already");
    window_.length = modulo(*to - *from, kWeek);
    if (window_.length == milliseconds{0}) in_.complain(node_, path_, "ends when it begins");
    window_.weekly = {modulo(*from - ahead_, kWeek)};
    return true;
  }

  bool read_once(const std::string& begin, const std::string& end) {
    const auto from = parse_rfc3339(begin);
    const auto to = parse_rfc3339(end);
    if (!from || !to) return false;
    for (const std::string_view of_recurring : {"days", "zone"}) {
      if (const YamlNode* member = find(of_recurring))
        in_.complain(*member, str_cat(path_, ".", of_recurring), "is for windows that recur");
    }
    if (*from >= *to) in_.complain(node_, path_, "ends before it begins");
    window_.from = *from;
    window_.to = *to;
    return true;
  }

  DocumentReader& in_;
  const YamlNode& node_;
  const std::string& path_;
  const DocumentReader::Members members_;
  std::vector<size_t> days_;
  milliseconds ahead_{};
  FreezeWindow window_;
};

}  // namespace

std::optional<Instant> FreezeWindow::end_at(Instant now) const {
  if (weekly.empty()) return from <= now && now < to ? std::optional(to) : std::nullopt;
  std::optional<Instant> end;
  for (const milliseconds begin : weekly) {
    const milliseconds since = modulo(now.time_since_epoch() + kMondayToEpoch - begin, kWeek);
    if (since < length) end = std::max(end.value_or(now), now - since + length);
  }
  return end;
}

bool FreezeWindow::has_gaps() const {
  if (length >= kDay || weekly.size() < 2 || weekly.size() == kDays.size()) return false;
  return std::any_of(weekly.begin(), weekly.end(), [&](milliseconds begin) {
    return std::find(weekly.begin(), weekly.end(), modulo(begin + kDay, kWeek)) != weekly.end();
  });
}

std::optional<FreezeWindow> freeze_window_at(DocumentReader& in, const YamlNode& node,
                                             const std::string& path) {
  return WindowReader(in, node, path).read();
}

std::vector<TimeHold> time_holds(std::span<const FreezeWindow> freeze, milliseconds cooldown,
                                 Instant now, std::optional<Instant> last) {
  std::vector<TimeHold> out;
  Instant until = now;
  std::string why;
  for (int joined = 0; joined < kWindowsJoinedMax; ++joined) {
    const Instant before = until;
    for (const FreezeWindow& window : freeze) {
      const auto end = window.end_at(before);
      if (!end) continue;
      if (why.empty()) why = window.reason;
      until = std::max(until, *end);
    }
    if (until == before) break;
  }
  if (until > now) {
    out.push_back({.rule = "freeze",
                   .code = "frozen",
                   .until = until,
                   .reason = str_cat("nothing is promoted before ", to_rfc3339(until),
                                     why.empty() ? "" : ": ", why)});
  }
  if (cooldown > milliseconds{0} && last && *last + cooldown > now) {
    out.push_back({.rule = "cooldown",
                   .code = "cooling_down",
                   .until = *last + cooldown,
                   .reason = str_cat("the last promotion was at ", to_rfc3339(*last),
                                     ", the next may be at ", to_rfc3339(*last + cooldown))});
  }
  return out;
}

}  // namespace tarn::promotion
