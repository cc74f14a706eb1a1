// Time rules of a gate policy: freeze windows, and the pause between two promotions.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/promotion/document_reader.h"

namespace tarn::promotion {

constexpr size_t kFreezeReasonBytesMax = 500;

/// A time in which nothing is promoted, once or each week.
struct FreezeWindow {
  /// When it begins, from Monday 00:00 UTC; one of each listed day. Empty = it does not recur.
  std::vector<std::chrono::milliseconds> weekly{};
  std::chrono::milliseconds length{};  ///< of each weekly one, at most a week
  Instant from{};                      ///< of one that does not recur
  Instant to{};                        ///< exclusive
  std::string reason{};
  bool operator==(const FreezeWindow&) const = default;

  /// The end of the window that holds at `now`.
  std::optional<Instant> end_at(Instant now) const;
  /// Whether the days are next to each other and the window is shorter than a day: who means one
  /// long window may have written several.
  bool has_gaps() const;
};

/// Reads an item of `freeze`; a wrong value adds a complaint.
std::optional<FreezeWindow> freeze_window_at(DocumentReader& in, const YamlNode& node,
                                             const std::string& path);

/// A rule by which a promotion waits for a moment.
struct TimeHold {
  std::string rule;  ///< "freeze" or "cooldown"
  std::string code;  ///< "frozen" or "cooling_down"
  Instant until{};
  std::string reason{};
};

/// The rules that hold a promotion back at `now`. `last`: when the last promotion that stands was
/// made. Windows that follow each other without a gap are one.
std::vector<TimeHold> time_holds(std::span<const FreezeWindow> freeze,
                                 std::chrono::milliseconds cooldown, Instant now,
                                 std::optional<Instant> last);

}  // namespace tarn::promotion
