#include "core/actions/yaml_json.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::actions {
namespace {

using Json = nlohmann::json;

template <typename T>
bool whole(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

Json plain(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (int64_t integer = 0; whole(text, integer)) return integer;
  const bool number_like = text.find_first_of("0123456789") != std::string::npos &&
                           text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (double real = 0; number_like && whole(text, real) && std::isfinite(real)) return real;
  return text;
}

class Converter {
 public:
  explicit Converter(const YamlLimits& limits) : limits_(limits) {}

  Json convert(const YAML::Node& node, size_t depth) {
    if (++values_ > limits_.values_max) {
      fail(node, str_cat("more than ", limits_.values_max, " values"));
    }
    if (depth > limits_.nesting_max) fail(node, "is nested too deeply");
    if (node.IsScalar()) {
      if (limits_.visit) limits_.visit(node);
      return node.Tag() == "!" ? Json(node.Scalar()) : plain(node.Scalar());
    }
    if (node.IsSequence()) {
      Json out = Json::array();
      for (const auto& item : node) out.push_back(convert(item, depth + 1));
      return out;
    }
    if (node.IsMap()) {
      Json out = Json::object();
      for (const auto& item : node) {
        if (!item.first.IsScalar()) fail(item.first, "a key must be a text");
        if (out.contains(item.first.Scalar())) {
          fail(item.first, str_cat("\"", item.first.Scalar(), "\" is given twice"));
        }
        out[item.first.Scalar()] = convert(item.second, depth + 1);
      }
      return out;
    }
    return nullptr;
  }

 private:
  [[noreturn]] static void fail(const YAML::Node& node, const std::string& why) {
    throw_invalid(str_cat("line ", node.Mark().line + 1, ": ", why));
  }

  const YamlLimits& limits_;
  size_t values_ = 0;
};

}  // namespace

std::string yaml_to_json(const YAML::Node& node, const YamlLimits& limits) {
  return Converter(limits).convert(node, 0).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tarn::actions
