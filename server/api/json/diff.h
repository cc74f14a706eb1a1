// Items of a diff.
#pragma once

#include "core/model/change.h"
#include "core/versioning/diff_summary.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// `with_right` adds the right side's checksum, time, type and metadata where there is one.
void write_change(Writer& out, const Change& change, bool with_right);
/// Tarn's own: totals, and those of each prefix.
std::string diff_summary_body(const versioning::DiffSummary& summary);

}  // namespace tarn::api::json
