// JSON bodies of background jobs.
#pragma once

#include "core/jobs/jobs.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_job(Writer& out, const meta::ListedJob& job);

}  // namespace tarn::api::json
