// Items of a diff.
#pragma once

#include "core/model/change.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// `with_right` adds the right side's checksum, time, type and metadata where there is one.
void write_change(Writer& out, const Change& change, bool with_right);

}  // namespace tarn::api::json
