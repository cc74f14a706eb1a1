// JSON bodies of access policies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/auth/policy.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

/// Checks the shape only; core/auth validates the statements.
auth::Policy parse_policy(const Value& body);
/// A statement's resource in the wire format: one pattern, or a JSON array of patterns in a string.
std::vector<std::string> parse_resources(std::string_view text);

void write_policy(Writer& out, const auth::Policy& policy);
std::string policy_body(const auth::Policy& policy);

}  // namespace tarn::api::json
