// JSON bodies of verifications.
#pragma once

#include <string>

#include "core/verify/verify_job.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

/// Verification options. Throws invalid_argument.
versioning::RepositoryVerification parse_verification(const Value& body);
std::string verification_status_body(const versioning::VerifyStatus& status);

}  // namespace tarn::api::json
