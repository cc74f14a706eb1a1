// The YAML configuration file.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// Sets every key in the text; the others keep their values. `name` is the file's, for messages.
/// Throws invalid_argument "<name>:<line>: ..." for bad YAML, an unknown or repeated key, or a bad
/// value.
void apply_config_text(Config& config, const std::string& text, const std::string& name);

/// The same for a file. Throws not_found if the file cannot be read.
void apply_config_file(Config& config, const std::string& path);

}  // namespace tarn::server
