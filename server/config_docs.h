// The texts about the configuration that are generated from the table of its keys.
#pragma once

#include <string>

#include "server/config.h"

namespace tarn::server {

/// docs/configuration.md.
std::string configuration_page();
/// server/tarn.sample.yaml: every key as a comment with its default.
std::string sample_file();
/// The values in force, one "key: value" a line, without secrets.
std::string effective_text(Config config);

}  // namespace tarn::server
