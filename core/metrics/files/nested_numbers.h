// Numbers in nested maps and lists, as JSON and YAML have them, under dotted names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/metrics/files/file_facts.h"

namespace tarn {

/// Different names of one file that are compared with each other.
constexpr size_t kNestedNamesMax = 10'000;

/// Takes the events of a parser, of one value or of several that belong together. A map that is a
/// whole value or an element of a list is a row: its numbers share a step, which is its member
/// named so, if any. The file is rejected if keys of different places give one name, as {"a": {"b":
/// 1}} and {"a.b": 2} do. One thread at a time.
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

 private:
  struct Frame {
    bool is_list = false;
    bool is_row = false;
    size_t name_bytes = 0;   ///< of the name that its members begin with
    size_t place_bytes = 0;  ///< the same of the place
    size_t row_start = 0;
  };
  struct Collected {
    std::string name;
    double value = 0;
    bool is_step = false;
  };
  bool begin(bool is_list);
  void check_place();

  FileFacts& facts_;
  std::vector<Frame> frames_;
  std::string name_;
  std::string place_;  ///< the keys with their lengths, and the lists
  std::unordered_map<std::string, std::string> places_;  ///< by name
  std::vector<Collected> row_;
};

}  // namespace tarn
