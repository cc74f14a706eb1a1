// The version of tarnd.
#pragma once

#include <string_view>

namespace tarn::server {

/// For example "0.1.0".
std::string_view program_version();

}  // namespace tarn::server
