// Texts that are generated from tables: pages of docs/, the sample of the configuration.
#pragma once

#include <string>
#include <vector>

#include "server/api/json/configuration.h"
#include "server/config.h"

namespace tarn::server {

/// docs/configuration.md.
std::string configuration_page();
/// server/tarn.sample.yaml: every key as a comment with its default.
std::string sample_file();
/// The effective values, without secrets.
std::vector<api::json::Setting> effective_settings(Config config);
/// The effective values, one "key: value" per line, without secrets.
std::string effective_text(Config config);
/// docs/rest-compatibility.md up to the answers that differ, from the table of routes.
std::string rest_table_page();

}  // namespace tarn::server
