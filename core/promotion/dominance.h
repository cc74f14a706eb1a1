// Dominance: the candidates that no other beats.
#pragma once

#include <vector>

namespace tarn {

/// Rows of scores, all of one length; greater is better, minus infinity = missing, never NaN. A row
/// is dominated when another is as good in every score and better in one. Time: rows squared times
/// scores, at worst.
std::vector<bool> find_dominated(const std::vector<std::vector<double>>& rows);

}  // namespace tarn
