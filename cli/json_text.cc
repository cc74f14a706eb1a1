#include "cli/json_text.h"

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"

namespace tarn::cli {

using Json = nlohmann::json;

Json parse_json(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string json_body(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::type_error&) {
    throw usage_error("sending a request: a name or text in it is not UTF-8");
  }
}

}  // namespace tarn::cli
