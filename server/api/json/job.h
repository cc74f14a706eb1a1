// JSON bodies of background jobs.
#pragma once

#include "core/jobs/jobs.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// `is_readable`: whether the caller may read the job's repository; else its names are left out.
void write_job(Writer& out, const jobs::ListedJob& job, bool is_readable);

}  // namespace tarn::api::json
