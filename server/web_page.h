// The web page at "/".
#pragma once

#include <string_view>

namespace tarn::server {

/// web/index.html with the version filled in, embedded in the binary.
std::string_view web_page();

/// For example "0.1.0".
std::string_view program_version();

}  // namespace tarn::server
