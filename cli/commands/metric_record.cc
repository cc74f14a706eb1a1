#include "cli/commands/metric_record.h"

#include <nlohmann/json.hpp>

#include "cli/json_text.h"
#include "core/base/str_cat.h"

namespace tarn::cli {

using Json = nlohmann::json;

std::string metric_name(const Json& metric) {
  const std::string split = metric.value("split", "");
  return split.empty() ? metric.value("name", "") : str_cat(metric.value("name", ""), "@", split);
}

std::string number_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace tarn::cli
