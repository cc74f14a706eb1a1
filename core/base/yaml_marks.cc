#include "core/base/yaml_marks.h"

#include <algorithm>

namespace tarn {

bool has_too_many_yaml_marks(std::string_view text) {
  const auto is_mark = [](char c) {
    return std::string_view("[{,:\"'&*!?#").find(c) != std::string_view::npos;
  };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), is_mark)) > kYamlMarksMax;
}

}  // namespace tarn
