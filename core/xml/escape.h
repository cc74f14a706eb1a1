// Text of an element of XML.
#pragma once

#include <string>
#include <string_view>

namespace tarn {

/// Appends with &, <, > and " escaped, CR and other control characters as numeric references.
void append_escaped(std::string& out, std::string_view text);
std::string xml_escaped(std::string_view text);

}  // namespace tarn
