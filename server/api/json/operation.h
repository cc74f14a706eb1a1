// Bodies about operations.
#pragma once

#include <string>

#include "core/meta/operations.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_operation(Writer& out, const meta::Operation& operation);
std::string operation_body(const meta::Operation& operation);

}  // namespace tarn::api::json
