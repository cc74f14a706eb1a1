// JSON documents as YAML.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tarn::cli {

/// The document in block style, each line after `indent` spaces, with a line end. Strings that
/// YAML would read as something else are quoted, so a reader gets the same values.
std::string yaml_text(const nlohmann::json& document, size_t indent = 0);

}  // namespace tarn::cli
