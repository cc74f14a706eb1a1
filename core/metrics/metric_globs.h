// The globs of a repository's metric files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tarn {

constexpr size_t kMetricGlobsMax = 100;

/// Default globs.
const std::vector<std::string>& default_metric_globs();

/// Throws invalid_argument naming the pattern.
void check_metric_globs(const std::vector<std::string>& globs);

/// The form in the database.
std::string encode_metric_globs(const std::vector<std::string>& globs);
/// Throws: data_loss.
std::vector<std::string> decode_metric_globs(std::string_view bytes);

}  // namespace tarn
