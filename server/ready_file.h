// The file that signals to scripts that the server is ready.
#pragma once

#include <string>

namespace tarn::server {

/// Removes the file if it exists.
void remove_ready_file(const std::string& path);
/// Creates the file atomically: one line with the URL. Throws unavailable.
void write_ready_file(const std::string& path, const std::string& url);

}  // namespace tarn::server
