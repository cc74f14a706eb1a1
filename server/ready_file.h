// The file that tells a script the server is up.
#pragma once

#include <string>

namespace tarn::server {

/// Gone at once, whether it was there or not.
void remove_ready_file(const std::string& path);
/// Appears complete: one line with the URL. Throws unavailable.
void write_ready_file(const std::string& path, const std::string& url);

}  // namespace tarn::server
