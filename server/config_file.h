// The YAML file.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// Sets every key that the text names; what it does not name stays. `name` is the file's, for
/// messages. Throws invalid_argument "<name>:<line>: ..." for bad YAML, an unknown or repeated key,
/// or a bad value.
void apply_config_text(Config& config, const std::string& text, const std::string& name);

/// As above. Throws not_found when the file cannot be read.
void apply_config_file(Config& config, const std::string& path);

}  // namespace tarn::server
