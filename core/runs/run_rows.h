// Parts of statements on rows of runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/number.h"
#include "core/db/pool.h"

namespace tarn::runs {

/// Counts what a run's rows have grown for quotas: $4 is what run_values_bytes was, less the bytes
/// that its curves have grown.
inline constexpr db::Query kChargeRun{
    "runs_charge_metadata", "SELECT charge_metadata($1, $2, run_values_bytes($1, $3) - $4, false)"};

/// Bytes that a row of run_points counts besides its name and body, as run_metadata_bytes has it.
constexpr size_t kRunPieceBytes = 100;

/// The column number of params; "" = no number.
inline std::string number_text(std::string_view text) {
  const auto number = parse_number(text);
  return number ? to_text(*number) : std::string();
}

}  // namespace tarn::runs
