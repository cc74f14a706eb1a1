// A progress line of a long operation, redrawn in place on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tarn::cli {

enum class Unit { kBytes, kObjects };

/// "[=====>    ]  52%  5.2 MiB of 10.0 MiB  1.3 MiB/s"; with total 0 (unknown) only the count and
/// the rate.
std::string progress_line(std::string_view what, Unit unit, uint64_t done, uint64_t total,
                          std::chrono::milliseconds elapsed);

/// Draws on standard error, at most a few times per second, and only if `shown`. The destructor
/// clears the line. One thread at a time.
class Progress {
 public:
  Progress(std::string what, Unit unit, uint64_t total, bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set(uint64_t done);
  void add(uint64_t more) { set(done_ + more); }
  /// Increases the total that was given to the constructor.
  void expect(uint64_t more) { total_ += more; }
  void rename(std::string what) { what_ = std::move(what); }
  /// Clears the line for other text; the next change draws it again.
  void wipe();

 private:
  using Time = std::chrono::steady_clock::time_point;

  std::string what_;
  const Unit unit_;
  uint64_t total_;
  const bool shown_;
  const Time started_;
  Time drawn_{};
  uint64_t done_ = 0;
};

}  // namespace tarn::cli
