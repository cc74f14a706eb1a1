// Output of a metric.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tarn::cli {

/// "accuracy", or "accuracy@test" of a split.
std::string metric_name(const nlohmann::json& metric);
/// The value of a metric as the server wrote it: NaN and the infinities, which JSON lacks, are
/// strings.
std::string number_text(const nlohmann::json& value);

}  // namespace tarn::cli
