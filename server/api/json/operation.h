// JSON bodies of background operations and jobs.
#pragma once

#include <string>

#include "core/jobs/jobs.h"
#include "core/model/operation.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_operation(Writer& out, const Operation& operation);
std::string operation_body(const Operation& operation);

/// `is_readable`: whether the caller may read the job's repository; else its names are left out.
void write_job(Writer& out, const jobs::ListedJob& job, bool is_readable);

}  // namespace tarn::api::json
