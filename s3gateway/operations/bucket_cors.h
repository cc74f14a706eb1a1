// CORS rules of buckets: which apply to a request.
#pragma once

#include "s3gateway/operations/call.h"
#include "s3gateway/wire/cors.h"

namespace tarn::s3 {

/// The rules of the request's bucket, which are those of its repository; without any those of the
/// server. At most two round trips. Throws as core/db.
CorsRules cors_rules(const S3Context& context, const http::Request& request);

}  // namespace tarn::s3
