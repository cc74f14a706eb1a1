// JSON items of a diff.
#pragma once

#include "core/model/change.h"
#include "core/versioning/diff_summary.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// `with_right` adds the right side's checksum, time, type and metadata if that side has the
/// object.
void write_change(Writer& out, const Change& change, bool with_right);
/// An extension of Tarn: totals, overall and per prefix.
std::string diff_summary_body(const versioning::DiffSummary& summary);

}  // namespace tarn::api::json
