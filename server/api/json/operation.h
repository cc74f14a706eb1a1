// JSON bodies of background operations.
#pragma once

#include <string>

#include "core/model/operation.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_operation(Writer& out, const Operation& operation);
std::string operation_body(const Operation& operation);

}  // namespace tarn::api::json
