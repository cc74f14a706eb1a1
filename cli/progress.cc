#include "cli/progress.h"

#include <iostream>

#include "cli/output.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr size_t kBarWidth = 24;
constexpr uint64_t kMillisPerSecond = 1000;
constexpr uint64_t kPercent = 100;
/// Moves to the first column and clears the line.
constexpr std::string_view kWipe = "\r\x1b[K";

std::string in_words(Unit unit, uint64_t amount) {
  return unit == Unit::kBytes ? size_in_words(amount) : std::to_string(amount);
}

std::string bar(uint64_t percent) {
  const size_t full = percent * kBarWidth / kPercent;
  std::string out(full, '=');
  if (full < kBarWidth) out += '>';
  out.resize(kBarWidth, ' ');
  return str_cat('[', out, "] ", percent, "%  ");
}

}  // namespace

std::string progress_line(std::string_view what, Unit unit, uint64_t done, uint64_t total,
                          std::chrono::milliseconds elapsed) {
  std::string line = str_cat(what, "  ");
  if (total > 0) {
    const uint64_t shown = std::min(done, total);
    line +=
        str_cat(bar(shown * kPercent / total), in_words(unit, done), " of ", in_words(unit, total));
  } else {
    line += in_words(unit, done);
  }
  if (unit == Unit::kObjects) line += " objects";
  const auto millis = static_cast<uint64_t>(elapsed.count());
  if (millis > 0) line += str_cat("  ", in_words(unit, done * kMillisPerSecond / millis), "/s");
  return line;
}

Progress::Progress(std::string what, Unit unit, uint64_t total, bool shown)
    : what_(std::move(what)),
      unit_(unit),
      total_(total),
      shown_(shown),
      started_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { wipe(); }

void Progress::wipe() {
  if (shown_ && drawn_ != Time{}) std::cerr << kWipe << std::flush;
  drawn_ = {};
}

void Progress::set(uint64_t done) {
  done_ = done;
  const Time now = std::chrono::steady_clock::now();
  if (!shown_ || now - drawn_ < kRedrawEvery) return;
  drawn_ = now;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_);
  std::cerr << kWipe << progress_line(what_, unit_, done_, total_, elapsed) << std::flush;
}

}  // namespace tarn::cli
