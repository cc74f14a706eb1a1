// Numbers in nested maps and lists, as JSON and YAML have them, under dotted names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metrics/files/file_facts.h"

namespace tarn {

/// Takes the events of a parser. A map that is the whole value or an element of a list is a row:
/// its numbers share a step, which is its member named so, if any. One thread at a time.
class NestedNumbers {
 public:
  explicit NestedNumbers(FileFacts& facts) : facts_(facts) {}

  /// false: nested deeper than kMetricDepthMax, stop.
  [[nodiscard]] bool begin_map() { return begin(/*is_list=*/false); }
  [[nodiscard]] bool begin_list() { return begin(/*is_list=*/true); }
  void key(std::string_view name);
  void number(double value);
  void text(std::string_view value);  ///< a number when it reads as one
  void end();
  /// Counts the part of an unfinished value that was read; then the next value begins.
  void finish();

 private:
  struct Frame {
    bool is_list = false;
    bool is_row = false;
    size_t name_bytes = 0;  ///< of the name that its members begin with
    size_t row_start = 0;
  };
  struct Collected {
    std::string name;
    double value = 0;
    bool is_step = false;
  };
  bool begin(bool is_list);

  FileFacts& facts_;
  std::vector<Frame> frames_;
  std::string name_;
  std::vector<Collected> row_;
};

}  // namespace tarn
