#include "core/metrics/run_query.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/metrics/metric.h"

namespace tarn {
namespace {

constexpr std::string_view kMetrics = "metrics.";
constexpr std::string_view kParams = "params.";
constexpr std::string_view kOperatorCharacters = "<>=!";

[[noreturn]] void throw_condition(std::string_view text, std::string_view why) {
  throw_invalid(str_cat("where \"", text, "\": ", why));
}

bool is_operator(std::string_view text) {
  for (const std::string_view op : {">", ">=", "<", "<=", "=", "!="}) {
    if (text == op) return true;
  }
  return false;
}

}  // namespace

RunCondition parse_run_condition(std::string_view text) {
  RunCondition out;
  std::string_view rest = trimmed(text, " ");
  out.of_param = rest.starts_with(kParams);
  if (!out.of_param && !rest.starts_with(kMetrics)) {
    throw_condition(text, "must begin with \"metrics.\" or \"params.\"");
  }
  rest.remove_prefix(out.of_param ? kParams.size() : kMetrics.size());
  const size_t op = rest.find_first_of(kOperatorCharacters);
  if (op == std::string_view::npos) {
    throw_condition(text, "has none of the operators > >= < <= = !=");
  }
  const size_t behind = std::min(rest.find_first_not_of(kOperatorCharacters, op), rest.size());
  out.name = trimmed(rest.substr(0, op), " ");
  out.op = rest.substr(op, behind - op);
  out.value = trimmed(rest.substr(behind), " ");
  if (out.name.empty() || out.name.size() > kMetricNameBytesMax) {
    throw_condition(text, str_cat("the name must have 1 to ", kMetricNameBytesMax, " bytes"));
  }
  if (!is_operator(out.op)) throw_condition(text, str_cat("\"", out.op, "\" is no operator"));
  const bool needs_number = !out.of_param || (out.op != "=" && out.op != "!=");
  const auto number = parse_number(out.value);
  if (needs_number && !(number && std::isfinite(*number))) {
    throw_condition(text, "the value must be a finite number");
  }
  return out;
}

RunOrder parse_run_order(std::string_view text) {
  RunOrder order;
  if (text.empty()) return order;
  std::string_view name = text;
  order.descending = name.starts_with('-');
  if (order.descending) name.remove_prefix(1);
  if (name == "created") return order;
  if (name.starts_with(kMetrics) && name.size() > kMetrics.size()) {
    order.metric = name.substr(kMetrics.size());
    return order;
  }
  throw_invalid(str_cat("order \"", text,
                        "\": must be created or metrics.NAME, with a - in front for descending"));
}

RunColumns parse_run_columns(const std::vector<std::string>& texts) {
  if (texts.size() > kRunColumnsMax) {
    throw_invalid(str_cat("column: may be given at most ", kRunColumnsMax, " times"));
  }
  RunColumns out;
  if (texts.size() == 1 && texts.front() == "none") return out;
  for (const std::string& text : texts) {
    const bool of_param = text.starts_with(kParams);
    const std::string_view prefix = of_param ? kParams : kMetrics;
    if (!text.starts_with(prefix) || text.size() == prefix.size() ||
        text.size() > prefix.size() + kMetricNameBytesMax) {
      throw_invalid(
          str_cat("column \"", text, "\": must be metrics.NAME or params.NAME, or none alone"));
    }
    (of_param ? out.params : out.metrics).push_back(text.substr(prefix.size()));
  }
  return out;
}

}  // namespace tarn
