// A limit on the structural characters of YAML, checked before it is parsed.
#pragma once

#include <cstddef>
#include <string_view>

namespace tarn {

/// Most marks of a text that is parsed as YAML. The parser reads a list or map in brackets to its
/// end before it reports anything of it, and takes up to 240 bytes of memory for each mark: with
/// this limit 24 MB.
constexpr size_t kYamlMarksMax = 100'000;

/// Whether `text` has more than kYamlMarksMax of the characters that begin or separate YAML's
/// tokens, wherever they stand: in quotes and comments they count as well, so that no quoting hides
/// them. Pure.
bool has_too_many_yaml_marks(std::string_view text);

}  // namespace tarn
