// Invisible and bidirectional characters, which make one name look like another.
#pragma once

#include <string_view>

namespace tarn {

/// Whether a text of well-formed UTF-8 holds characters that are invisible or change the direction
/// of writing, but for ASCII's control characters.
bool holds_hidden_characters(std::string_view text);

/// Whether it begins or ends with a space of any kind.
bool begins_or_ends_with_space(std::string_view text);

}  // namespace tarn
