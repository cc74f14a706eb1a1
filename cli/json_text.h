// Text of JSON. Only json_text.cc parses and writes it: a source that does so itself compiles for
// seconds longer.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tarn::cli {

/// is_discarded() if the text is not JSON.
nlohmann::json parse_json(std::string_view text);

/// For readers: bytes that are not UTF-8 are replaced. One line without `indent`.
std::string json_text(const nlohmann::json& json, int indent = -1);

/// The body of a request. Throws a usage error if a string is not UTF-8.
std::string json_body(const nlohmann::json& json);

}  // namespace tarn::cli
